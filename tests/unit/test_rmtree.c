/* The numbers in the names are those of the MUSTs in rmtree.h. */
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/rmtree_walk.h"
#include "os/walk.h"
#include "within.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

enum { SOMEBODY = 12345, LONG_MS = 120000 };

/*
 * The real unlinkat, with somebody else's hand in between: the hook runs before each call that is
 * made in this process, so that what a race needs luck for happens on cue. What it has to interfere
 * with is then the walk itself, called without the wall, behind which nobody else's hand reaches.
 */
static void (*hook)(void **state, const char *name, int flags);
static void **hook_state;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names */
int unlinkat(int dir, const char *name, int flags)
{
	if (hook)
		hook(hook_state, name, flags);
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

/* The real renameat2, unless the filesystem is to be one that moves nothing (two btrfs subvolumes). */
static bool unmovable;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names */
int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags)
{
	if (unmovable && flags == RENAME_NOREPLACE) {
		errno = EXDEV;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

static int hook_done(void **state)
{
	hook = NULL;
	unmovable = false;
	return workdir_teardown(state);
}

static int remove_tree(
	void **state, const char *name, struct rmtree_report *report, struct error *error)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);

	return rmtree(parent, name, WITHIN_MS(LONG_MS), report, error);
}

static void expect_gone(void **state, const char *name)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	assert_int_equal(remove_tree(state, name, &report, &error), 1);
	assert_int_equal(error.code, 0);
	assert_false(workdir_has(*state, name));
}

/* As rmtree() does it, but in this process, where the hook is. */
static int walk_tree(
	void **state, const char *name, struct rmtree_report *report, struct error *error)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	int top CLEANUP(fd_done) = rmtree_open(parent, name, error);
	int r;

	assert_return_code(top, -top);
	do {
		r = rmtree_walk(&(struct rmtree_top){ top, name, NULL, *WITHIN_MS(LONG_MS) },
			report, error);
		if (r < 0)
			return r;
		r = rmtree_rmdir(parent, name, report, error);
	} while (r == -ENOTEMPTY);
	return r;
}

static void expect_walked(void **state, const char *name)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	assert_in_range(walk_tree(state, name, &report, &error), 0, 1);
	assert_int_equal(error.code, 0);
	assert_false(workdir_has(*state, name));
	assert_null(hook);
}

static void make_link(void **state, const char *target, const char *name)
{
	const char *path = workdir_path(*state, name);

	assert_return_code(symlink(target, path), errno);
}

/* A tree that is nobody's to remove; check_victim sees whether it is as it was. */
static void make_victim(void **state)
{
	workdir_make(*state, "victim");
	workdir_make(*state, "victim/sub");
	workdir_fill(*state, "victim/f");
	workdir_fill(*state, "victim/sub/f");
}

static void check_victim(void **state)
{
	assert_true(workdir_has(*state, "victim/f"));
	assert_true(workdir_has(*state, "victim/sub/f"));
}

static void a_tree_goes_and_what_it_freed_is_counted(void **state)
{
	struct rmtree_report report = { .entries = 100, .bytes_freed = 1 };
	struct error error = { 0 };

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_make(*state, "r1/a/empty");
	workdir_fill(*state, "r1/f");
	workdir_fill(*state, "r1/a/f");
	assert_int_equal(remove_tree(state, "r1", &report, &error), 1);
	assert_int_equal(report.entries, 105);
	assert_int_equal(report.bytes_freed, 1 + 2 * 8192);
	assert_false(workdir_has(*state, "r1"));
	assert_int_equal(remove_tree(state, "r1", &report, &error), 0);
	assert_int_equal(error.code, 0);
	assert_int_equal(report.entries, 105);
}

static void a_single_entry_of_any_kind_goes_without_being_opened(void **state)
{
	static const mode_t kinds[] = { S_IFIFO, S_IFCHR, S_IFBLK, S_IFSOCK, S_IFREG };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *path = workdir_path(*state, "thing");
		const char *inside = workdir_path(*state, "r1/thing");

		workdir_make(*state, "r1");
		assert_return_code(mknod(path, kinds[i] | 0600, 0), errno);
		assert_return_code(mknod(inside, kinds[i] | 0600, 0), errno);
		expect_gone(state, "thing");
		expect_gone(state, "r1");
	}
}

static void names_that_are_no_entries_are_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", "sub/f", "../f", "sub/", "/none" };
	const char *path = workdir_path(*state, "victim");
	int victim CLEANUP(fd_done) = -EBADF;

	make_victim(state);
	victim = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct rmtree_report report = { 0 };

		assert_int_equal(
			rmtree(victim, names[i], WITHIN_MS(LONG_MS), &report, NULL), -EINVAL);
	}
	check_victim(state);
}

static void must_2_links_are_unlinked_and_never_followed(void **state)
{
	const char *absolute = workdir_path(*state, "victim");

	make_victim(state);
	workdir_make(*state, "r1");
	make_link(state, "../victim", "r1/dir");
	make_link(state, "../victim/f", "r1/file");
	make_link(state, absolute, "r1/absolute");
	make_link(state, ".", "r1/loop");
	make_link(state, "nowhere", "r1/dangling");
	make_link(state, "victim", "top");
	expect_gone(state, "r1");
	expect_gone(state, "top");
	check_victim(state);
}

/* Somebody swaps a directory and a link to the victim, again and again, until killed. */
static pid_t start_swapper(void **state)
{
	const char *dir = workdir_path(*state, "r1/d");
	const char *link = workdir_path(*state, "r1/link");
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;)
		(void)renameat2(AT_FDCWD, dir, AT_FDCWD, link, RENAME_EXCHANGE);
}

static void stop(pid_t pid)
{
	assert_return_code(kill(pid, SIGKILL), errno);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void must_2_a_directory_swapped_for_a_link_leads_nowhere(void **state)
{
	int64_t end = clock_boot_ms() + 4000;

	workdir_in_memory(*state);
	make_victim(state);
	while (clock_boot_ms() < end) {
		struct rmtree_report report = { 0 };
		pid_t swapper;
		int r;

		workdir_make(*state, "r1");
		workdir_make(*state, "r1/d");
		workdir_make(*state, "r1/d/sub");
		workdir_fill(*state, "r1/d/sub/f");
		make_link(state, "../victim", "r1/link");
		swapper = start_swapper(state);
		r = remove_tree(state, "r1", &report, NULL);
		stop(swapper);
		assert_int_equal(r, 1);
		check_victim(state);
	}
}

static void swap_for_link(void **state, const char *name, int flags)
{
	const char *dir = workdir_path(*state, "r1/d");
	const char *away = workdir_path(*state, "r1/away");

	if (strcmp(name, "f") != 0 || flags)
		return;
	hook = NULL;
	assert_return_code(rename(dir, away), errno);
	make_link(state, "../victim", "r1/d");
}

static void must_2_a_link_in_the_place_of_the_directory_being_emptied_goes_alone(void **state)
{
	make_victim(state);
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/d");
	workdir_fill(*state, "r1/d/f");
	hook_state = state;
	hook = swap_for_link;
	expect_walked(state, "r1");
	check_victim(state);
}

static void bind_into(void **state, const char *source, const char *name)
{
	const char *from = workdir_path(*state, source);
	const char *to = workdir_path(*state, name);

	assert_return_code(mount(from, to, NULL, MS_BIND, NULL), errno);
}

static void must_3_no_mount_is_entered_and_the_rest_still_goes(void **state)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	make_victim(state);
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_make(*state, "r1/a/bound");
	workdir_make(*state, "r1/b");
	workdir_fill(*state, "r1/b/f");
	workdir_fill(*state, "r1/z");
	bind_into(state, "victim", "r1/a/bound");
	assert_int_equal(remove_tree(state, "r1", &report, &error), -EXDEV);
	assert_int_equal(error.code, EXDEV);
	assert_non_null(strstr(error.text, "r1/a/bound"));
	assert_non_null(strstr(error.text, "mounted"));
	check_victim(state);
	assert_false(workdir_has(*state, "r1/b"));
	assert_false(workdir_has(*state, "r1/z"));
}

static void must_3_mounted_files_and_mounted_tops_stay(void **state)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	make_victim(state);
	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/f");
	workdir_make(*state, "top");
	bind_into(state, "victim/f", "r1/f");
	bind_into(state, "victim", "top");
	assert_int_equal(remove_tree(state, "r1", &report, &error), -EBUSY);
	assert_non_null(strstr(error.text, "r1/f"));
	assert_int_equal(remove_tree(state, "top", &report, NULL), -EXDEV);
	assert_int_equal(report.bytes_freed, 0);
	check_victim(state);
}

/* All of a file that a removal of another of its links has to leave alone. */
struct file_state {
	struct stat st;
	int flags;
	char xattr[16];
	char bytes[8192];
};

static int flags_of(void **state, const char *name)
{
	const char *path = workdir_path(*state, name);
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_NOATIME | O_CLOEXEC), flags = 0;

	assert_return_code(fd, errno);
	assert_return_code(ioctl(fd, FS_IOC_GETFLAGS, &flags), errno);
	return flags;
}

static void set_flag(void **state, const char *name, int flag)
{
	const char *path = workdir_path(*state, name);
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_NOATIME | O_CLOEXEC);
	int flags = flags_of(state, name) | flag;

	assert_return_code(fd, errno);
	assert_return_code(ioctl(fd, FS_IOC_SETFLAGS, &flags), errno);
}

static void file_read(void **state, const char *name, struct file_state *ret_file)
{
	const char *path = workdir_path(*state, name);
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_NOATIME | O_CLOEXEC);

	*ret_file = (struct file_state){ .flags = flags_of(state, name) };
	assert_return_code(fd, errno);
	assert_int_equal(read(fd, ret_file->bytes, sizeof(ret_file->bytes)), 8192);
	assert_return_code(fgetxattr(fd, "user.of", ret_file->xattr, 16), errno);
	assert_return_code(fstat(fd, &ret_file->st), errno);
}

/* But for the number of its links, and so the time of its last change. */
static void expect_same_file(void **state, const char *name, const struct file_state *before)
{
	struct file_state *after = mem_new(sizeof(*after));

	file_read(state, name, after);
	after->st.st_nlink = before->st.st_nlink;
	after->st.st_ctim = before->st.st_ctim;
	assert_memory_equal(after, before, sizeof(*after));
	free(after);
}

static void clear_flags(void **state)
{
	char *command CLEANUP(mem_done) =
		mem_printf("chattr -R -f -i -a '%s'", workdir_path(*state, "."));

	(void)system(command); /* also when nothing had any */
}

static void must_4_hard_links_elsewhere_stay_as_they_were(void **state)
{
	static const struct {
		const char *removed, *flagged;
		int flag;
		mode_t mode; /* of the directory that the link is in */
		int answer;
	} cases[] = {
		{ "r1", NULL, 0, 0755, 1 },
		{ "r1", NULL, 0, 0000, 1 },
		{ "r1", "r1/a", FS_IMMUTABLE_FL, 0755, 1 },
		{ "r1", "r1/a", FS_APPEND_FL, 0755, 1 },
		{ "r1", "kept", FS_IMMUTABLE_FL, 0755, -EPERM },
		{ "r1", "kept", FS_APPEND_FL, 0755, -EPERM },
		{ "link", NULL, 0, 0755, 1 },
		{ "link", "kept", FS_IMMUTABLE_FL, 0755, -EPERM },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *kept = workdir_path(*state, "kept");
		const char *tree = workdir_path(*state, "r1");
		struct file_state *before = mem_new(sizeof(*before));
		struct rmtree_report report = { 0 };
		struct error error = { 0 };

		workdir_fill(*state, "kept");
		workdir_make(*state, "r1");
		workdir_make(*state, "r1/a");
		assert_return_code(link(kept, workdir_path(*state, "r1/a/f")), errno);
		assert_return_code(link(kept, workdir_path(*state, "link")), errno);
		assert_return_code(setxattr(kept, "user.of", "somebody", 9, 0), errno);
		assert_return_code(chown(kept, SOMEBODY, 7), errno);
		assert_return_code(chmod(kept, 04440), errno);
		set_flag(state, "kept", FS_NODUMP_FL);
		assert_return_code(chmod(workdir_path(*state, "r1/a"), cases[i].mode), errno);
		if (cases[i].flagged)
			set_flag(state, cases[i].flagged, cases[i].flag);
		file_read(state, "kept", before);
		assert_int_equal(
			remove_tree(state, cases[i].removed, &report, &error), cases[i].answer);
		expect_same_file(state, "kept", before);
		assert_int_equal(report.bytes_freed, 0);
		if (cases[i].answer < 0) {
			assert_non_null(strstr(error.text, cases[i].removed));
			assert_non_null(strstr(error.text, "and it has other hard links"));
		}
		clear_flags(state);
		(void)remove_tree(state, "r1", &report, NULL);
		(void)unlink(workdir_path(*state, "link"));
		assert_return_code(unlink(kept), errno);
		assert_false(access(tree, F_OK) == 0);
		free(before);
	}
}

static void must_4_what_has_no_other_link_loses_the_flags_that_hold_it(void **state)
{
	static const char *const flagged[] = { "r1", "r1/a", "r1/a/f", "r1/b", "top" };
	static const int flags[] = { FS_IMMUTABLE_FL, FS_APPEND_FL,
		FS_IMMUTABLE_FL | FS_APPEND_FL };

	for (size_t flag = 0; flag < ARRAY_SIZE(flags); flag++) {
		for (size_t i = 0; i <= ARRAY_SIZE(flagged); i++) {
			workdir_make(*state, "r1");
			workdir_make(*state, "r1/a");
			workdir_fill(*state, "r1/a/f");
			workdir_make(*state, "r1/b");
			workdir_fill(*state, "top");
			for (size_t j = 0; j < ARRAY_SIZE(flagged); j++)
				if (j == i || i == ARRAY_SIZE(flagged))
					set_flag(state, flagged[j], flags[flag]);
			expect_gone(state, "r1");
			expect_gone(state, "top");
		}
	}
}

static void must_4_the_directory_that_the_tree_is_in_keeps_its_flags(void **state)
{
	static const struct {
		int flag;
		const char *what;
	} cases[] = { { FS_IMMUTABLE_FL, "its directory is immutable" },
		{ FS_APPEND_FL, "its directory is append-only" } };

	workdir_make(*state, "r1");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rmtree_report report = { 0 };
		struct error error = { 0 };

		set_flag(state, ".", cases[i].flag);
		assert_int_equal(remove_tree(state, "r1", &report, &error), -EPERM);
		assert_int_equal(flags_of(state, ".") & cases[i].flag, cases[i].flag);
		assert_non_null(strstr(error.text, cases[i].what));
		clear_flags(state);
	}
	expect_gone(state, "r1");
}

/* Everything of the tree to the given user, with modes that lock even the owner out. */
static void close_off(void **state, const char *name, mode_t mode, uid_t uid)
{
	const char *path = workdir_path(*state, name);

	assert_return_code(lchown(path, uid, uid), errno);
	assert_return_code(chmod(path, mode), errno);
}

/* Who removes: another user, or root without some of its capabilities. */
struct remover {
	uid_t uid;
	uint32_t without; /* bits of the first 32 capabilities */
};

static int become(const struct remover *remover)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	data[0].effective &= ~remover->without;
	if (syscall(SYS_capset, &header, data) != 0)
		return -errno;
	if (remover->uid && (setgid(remover->uid) != 0 || setuid(remover->uid) != 0))
		return -errno;
	return 0;
}

static int remove_as(const struct remover *remover, int parent, struct error *error)
{
	struct rmtree_report report = { 0 };

	if (become(remover) < 0)
		return -ENOTRECOVERABLE;
	return rmtree(parent, "r1", WITHIN_MS(LONG_MS), &report, error);
}

/* The answer of rmtree, given to that remover; its text comes through a pipe. */
static int removed_by(const struct remover *remover, void **state, struct error *ret_error)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct error error = { 0 };
	int ends[2], status;
	pid_t pid;

	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	pid = fork();
	if (pid == 0) {
		int r = remove_as(remover, parent, &error);

		(void)!write(ends[1], &error, sizeof(error));
		_exit(r < 0 ? -r : r == 1 ? 200 : 201);
	}
	assert_int_equal(read(ends[0], ret_error, sizeof(*ret_error)), sizeof(*ret_error));
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 200 ? 1 : -WEXITSTATUS(status);
}

static void must_4_closed_directories_open_for_their_owner(void **state)
{
	static const struct remover removers[] = { { .uid = SOMEBODY },
		{ .without = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH } };
	const char *kept = workdir_path(*state, "kept");

	assert_return_code(chmod(workdir_path(*state, "."), 0777), errno);
	workdir_fill(*state, "kept");
	for (size_t i = 0; i < ARRAY_SIZE(removers); i++) {
		const uid_t uid = removers[i].uid;
		struct error error;
		struct stat st;

		workdir_make(*state, "r1");
		workdir_make(*state, "r1/a");
		workdir_make(*state, "r1/a/none");
		workdir_make(*state, "r1/a/none/sub");
		workdir_make(*state, "r1/wo");
		workdir_fill(*state, "r1/wo/f");
		assert_return_code(link(kept, workdir_path(*state, "r1/a/f")), errno);
		close_off(state, "kept", 0400, uid);
		close_off(state, "r1/a/none/sub", 0555, uid);
		close_off(state, "r1/a/none", 0000, uid);
		close_off(state, "r1/wo/f", 0000, uid);
		close_off(state, "r1/wo", 0300, uid);
		close_off(state, "r1/a", 0555, uid);
		close_off(state, "r1", 0000, uid);
		assert_int_equal(removed_by(&removers[i], state, &error), 1);
		assert_false(workdir_has(*state, "r1"));
		assert_return_code(lstat(kept, &st), errno);
		assert_int_equal(st.st_mode, S_IFREG | 0400);
	}
}

static void the_capability_that_is_missing_is_named(void **state)
{
	static const struct {
		const char *flagged;
		mode_t mode; /* of r1, which belongs to somebody */
		unsigned capability;
		const char *said;
		int answer;
	} cases[] = {
		{ "r1/f", 0755, CAP_LINUX_IMMUTABLE, "we lack CAP_LINUX_IMMUTABLE", -EPERM },
		{ "r1", 0755, CAP_LINUX_IMMUTABLE, "we lack CAP_LINUX_IMMUTABLE", -EPERM },
		{ NULL, 01777, CAP_FOWNER, "we are uid 0 without CAP_FOWNER", -EPERM },
		{ NULL, 0755, CAP_DAC_OVERRIDE, "we are uid 0 without CAP_DAC_OVERRIDE", -EACCES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct remover remover = { .without = 1U << cases[i].capability };
		struct error error;

		workdir_make(*state, "r1");
		workdir_fill(*state, "r1/f");
		close_off(state, "r1", cases[i].mode, SOMEBODY);
		close_off(state, "r1/f", 0644, SOMEBODY);
		if (cases[i].flagged)
			set_flag(state, cases[i].flagged, FS_APPEND_FL);
		assert_int_equal(removed_by(&remover, state, &error), cases[i].answer);
		assert_non_null(strstr(error.text, cases[i].said));
		assert_true(workdir_has(*state, "r1/f"));
		expect_gone(state, "r1");
	}
}

static void what_belongs_to_others_is_named_with_their_uid(void **state)
{
	struct error error;

	assert_return_code(chmod(workdir_path(*state, "."), 0777), errno);
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/root");
	workdir_fill(*state, "r1/root/f");
	workdir_fill(*state, "r1/mine");
	close_off(state, "r1", 0755, SOMEBODY);
	assert_int_equal(removed_by(&(struct remover){ .uid = SOMEBODY }, state, &error), -EACCES);
	assert_non_null(strstr(error.text, "r1/root/f"));
	assert_non_null(strstr(error.text, "uid 0"));
	assert_non_null(strstr(error.text, "12345"));
	assert_false(workdir_has(*state, "r1/mine"));
}

static void make_deep(void **state, unsigned depth, const char *name)
{
	int dir CLEANUP(fd_done) = workdir_open(*state);

	assert_return_code(mkdirat(dir, "r1", 0755), errno);
	for (unsigned i = 0; i < depth; i++) {
		int next = openat(dir, i ? name : "r1", O_PATH | O_DIRECTORY | O_CLOEXEC);

		assert_return_code(next, errno);
		assert_return_code(mkdirat(next, name, 0755), errno);
		close(dir);
		dir = next;
	}
}

/* 0 when the tree went within those limits. */
static int remove_within(int parent, rlim_t files, rlim_t stack)
{
	struct rlimit file_limit = { files, files }, stack_limit = { stack, stack };
	struct rmtree_report report = { 0 };

	if (setrlimit(RLIMIT_NOFILE, &file_limit) != 0 ||
		setrlimit(RLIMIT_STACK, &stack_limit) != 0)
		return 2;
	return rmtree(parent, "r1", WITHIN_MS(LONG_MS), &report, NULL) == 1 ? 0 : 1;
}

static void expect_removed_within(void **state, rlim_t files, rlim_t stack)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(remove_within(parent, files, stack));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(workdir_has(*state, "r1"));
}

static void must_5_deeper_than_path_max_with_few_descriptors_and_a_small_stack(void **state)
{
	char name[201];

	memset(name, 'n', 200);
	name[200] = 0;
	workdir_in_memory(*state);
	make_deep(state, 3000, name);
	expect_removed_within(state, 40, 256 << 10);
}

static void must_5_deeper_than_the_walk_remembers(void **state)
{
	struct rmtree_report report = { 0 };

	workdir_in_memory(*state);
	make_deep(state, WALK_DEPTH * 2 + 1, "d");
	unmovable = true;
	assert_int_equal(walk_tree(state, "r1", &report, NULL), 1);
	assert_int_equal(report.entries, WALK_DEPTH * 2 + 2);
}

static void must_5_depth_costs_the_wall_no_more_than_breadth(void **state)
{
	enum { LEVELS = 20000 };
	struct rmtree_report report = { 0 };
	int64_t start_ms;

	workdir_in_memory(*state);
	make_deep(state, LEVELS, "d");
	start_ms = clock_boot_ms();
	assert_int_equal(remove_tree(state, "r1", &report, NULL), 1);
	assert_in_range(clock_boot_ms() - start_ms, 0, 40000);
	assert_int_equal(report.entries, LEVELS + 1);
}

static void what_cannot_go_from_deep_down_is_named_and_the_rest_goes(void **state)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };
	char *deep CLEANUP(mem_done) = NULL;
	struct text text CLEANUP(text_done) = { 0 };

	for (int i = 0; i < 600; i++)
		text_add(&text, "/d");
	make_deep(state, 600, "d");
	deep = mem_printf("r1%s/bound", text.data);
	make_victim(state);
	workdir_make(*state, deep);
	bind_into(state, "victim", deep);
	workdir_fill(*state, "r1/z");
	assert_int_equal(remove_tree(state, "r1", &report, &error), -EXDEV);
	assert_non_null(strstr(error.text, "/bound"));
	check_victim(state);
	assert_false(workdir_has(*state, "r1/z"));
	assert_false(workdir_has(*state, "r1/d"));
}

static void must_5_bushes_whose_branches_are_deeper_than_what_is_held_open(void **state)
{
	workdir_make(*state, "r1");
	for (int i = 0; i < 25; i++) {
		char *branch CLEANUP(mem_done) = mem_printf("r1/%d", i);

		workdir_make(*state, branch);
		for (int level = 0; level < 2 * WALK_OPEN; level++) {
			char *file CLEANUP(mem_done) = mem_printf("%s/f", branch);
			char *deeper = mem_printf("%s/d", branch);

			workdir_fill(*state, file);
			workdir_make(*state, deeper);
			free(branch);
			branch = deeper;
		}
	}
	expect_removed_within(state, 40, 256 << 10);
}

static void must_5_many_entries_in_one_directory(void **state)
{
	int dir CLEANUP(fd_done) = -EBADF;
	struct rmtree_report report = { 0 };

	workdir_in_memory(*state);
	workdir_make(*state, "r1");
	dir = open(workdir_path(*state, "."), O_PATH | O_CLOEXEC);
	for (int i = 0; i < 20000; i++) {
		char *name CLEANUP(mem_done) = mem_printf("r1/%d\xff\n", i);

		assert_return_code(mknodat(dir, name, S_IFREG | 0600, 0), errno);
	}
	assert_int_equal(remove_tree(state, "r1", &report, NULL), 1);
	assert_int_equal(report.entries, 20001);
}

static void vanish_all(void **state, const char *name, int flags)
{
	char *command CLEANUP(mem_done) = mem_printf("rm -rf '%s'", workdir_path(*state, "r1"));

	if (flags || strcmp(name, "f") != 0)
		return;
	hook = NULL;
	assert_int_equal(system(command), 0);
}

static void must_6_what_vanishes_meanwhile_is_done(void **state)
{
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_fill(*state, "r1/a/f");
	hook_state = state;
	hook = vanish_all;
	expect_walked(state, "r1");
}

static void add_one_late(void **state, const char *name, int flags)
{
	if (flags != AT_REMOVEDIR || strcmp(name, "a") != 0)
		return;
	hook = NULL;
	workdir_fill(*state, "r1/a/late");
	workdir_make(*state, "r1/a/later");
}

static void must_6_what_appears_late_is_swept_again(void **state)
{
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	hook_state = state;
	hook = add_one_late;
	expect_walked(state, "r1");
}

static unsigned added;

static void add_always(void **state, const char *name, int flags)
{
	char *late = NULL;

	if (flags != AT_REMOVEDIR || strcmp(name, "a") != 0)
		return;
	late = mem_printf("r1/a/%u", added++);
	workdir_fill(*state, late);
	free(late);
}

static void must_6_what_keeps_appearing_ends_in_bounded_rounds(void **state)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };
	int r;

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_fill(*state, "r1/f");
	added = 0;
	hook_state = state;
	hook = add_always;
	r = walk_tree(state, "r1", &report, &error);
	hook = NULL;
	assert_int_equal(r, -ENOTEMPTY);
	assert_non_null(strstr(error.text, "r1/a"));
	assert_in_range(added, 2, 100);
	assert_false(workdir_has(*state, "r1/f"));
}

/* Where the directory itself is removed, which is done outside of the wall, in this process. */
static void add_at_the_top(void **state, const char *name, int flags)
{
	char *late CLEANUP(mem_done) = mem_printf("r1/%u", added);

	if (flags != AT_REMOVEDIR || strcmp(name, "r1") != 0)
		return;
	if (++added <= 3 || added > 1000)
		workdir_fill(*state, late);
}

static void must_6_what_appears_at_the_top_is_swept_again_in_bounded_rounds(void **state)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };
	int r;

	workdir_make(*state, "r1");
	added = 0;
	hook_state = state;
	hook = add_at_the_top;
	expect_gone(state, "r1");
	assert_int_equal(added, 4);
	workdir_make(*state, "r1");
	added = 1000;
	r = remove_tree(state, "r1", &report, &error);
	hook = NULL;
	assert_int_equal(r, -ENOTEMPTY);
	assert_string_equal(error.text, "delete r1: Directory not empty");
	assert_in_range(added, 1002, 1100);
}

static void move_out(void **state, const char *name, int flags)
{
	const char *from = workdir_path(*state, "r1/d/d/d");
	const char *to = workdir_path(*state, "victim/sub/moved");

	if (flags || strcmp(name, "bottom") != 0)
		return;
	hook = NULL;
	assert_return_code(rename(from, to), errno);
}

static void must_1_a_directory_moved_out_does_not_lead_the_walk_out(void **state)
{
	char *at CLEANUP(mem_done) = mem_dup("r1"), *bottom CLEANUP(mem_done) = NULL;

	make_victim(state);
	workdir_make(*state, "r1");
	for (int i = 0; i < 30; i++) {
		char *deeper = mem_printf("%s/d", at);

		workdir_make(*state, deeper);
		free(at);
		at = deeper;
	}
	bottom = mem_printf("%s/bottom", at);
	workdir_fill(*state, bottom);
	hook_state = state;
	hook = move_out;
	expect_walked(state, "r1");
	check_victim(state);
	assert_true(workdir_has(*state, "victim/sub/moved"));
}

static void errors_name_the_path_escaped_and_bounded(void **state)
{
	char *at CLEANUP(mem_done) = mem_dup("r1"), *held CLEANUP(mem_done) = NULL;
	struct rmtree_report report = { 0 };
	struct error error = { 0 };
	char name[256];

	memset(name, '\xff', 255);
	name[254] = '\n';
	name[255] = 0;
	workdir_make(*state, "r1");
	for (int i = 0; i < 10; i++) {
		char *deeper = mem_printf("%s/%s", at, name);

		workdir_make(*state, deeper);
		free(at);
		at = deeper;
	}
	workdir_fill(*state, "kept");
	held = mem_printf("%s/f", at);
	assert_return_code(link(workdir_path(*state, "kept"), workdir_path(*state, held)), errno);
	set_flag(state, "kept", FS_IMMUTABLE_FL);
	assert_int_equal(remove_tree(state, "r1", &report, &error), -EPERM);
	assert_true(strlen(error.text) < sizeof(error.text) - 1);
	assert_non_null(strstr(error.text, "r1/.../\\xff\\xff"));
	assert_non_null(strstr(error.text, "immutable"));
	assert_non_null(strstr(error.text, strerror(EPERM)));
	assert_null(strchr(error.text, '\n'));
	assert_null(strchr(error.text, 0xff));
}

static void the_deadline_ends_it_and_the_rest_stays(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/f");
	assert_int_equal(
		rmtree(parent, "r1", &(struct rmtree_limits){ .deadline_ms = clock_boot_ms() - 1 },
			&report, &error),
		-ETIME);
	assert_int_equal(error.code, ETIME);
	assert_true(workdir_has(*state, "r1/f"));
}

static void wait_a_little(void **state, const char *name, int flags)
{
	(void)state;
	(void)name;
	(void)flags;
	(void)usleep(10000);
}

static void the_deadline_is_looked_at_on_the_way(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	workdir_make(*state, "r1");
	for (int i = 0; i < 300; i++) {
		char *name CLEANUP(mem_done) = mem_printf("r1/%d", i);

		workdir_fill(*state, name);
	}
	hook = wait_a_little;
	assert_int_equal(rmtree(parent, "r1", WITHIN_MS(1500), &report, &error), -ETIME);
	hook = NULL;
	assert_string_equal(error.text, "delete r1: Timer expired");
	assert_in_range(report.entries, 1, 299);
	assert_in_range(report.bytes_freed, 8192, 299 * 8192);
	expect_gone(state, "r1");
}

static void hang_at_the_third(void **state, const char *name, int flags)
{
	static int calls;

	(void)state;
	(void)name;
	(void)flags;
	if (++calls > 2)
		while (pause() < 0)
			;
}

static void a_walk_that_hangs_is_killed_and_what_it_had_done_is_reported(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/a");
	workdir_fill(*state, "r1/b");
	workdir_fill(*state, "r1/c");
	hook = hang_at_the_third;
	assert_int_equal(rmtree(parent, "r1", WITHIN_MS(2000), &report, &error), -ETIME);
	hook = NULL;
	assert_non_null(strstr(error.text, "delete r1: not done in time; its process"));
	assert_int_equal(report.entries, 2);
	assert_int_equal(report.bytes_freed, 2 * 8192);
	expect_gone(state, "r1");
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, hook_done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(a_tree_goes_and_what_it_freed_is_counted),
		workdir_test(a_single_entry_of_any_kind_goes_without_being_opened),
		workdir_test(names_that_are_no_entries_are_refused),
		workdir_test(must_1_a_directory_moved_out_does_not_lead_the_walk_out),
		workdir_test(must_2_links_are_unlinked_and_never_followed),
		workdir_test(must_2_a_directory_swapped_for_a_link_leads_nowhere),
		workdir_test(must_2_a_link_in_the_place_of_the_directory_being_emptied_goes_alone),
		workdir_test(must_3_no_mount_is_entered_and_the_rest_still_goes),
		workdir_test(must_3_mounted_files_and_mounted_tops_stay),
		workdir_test(must_4_hard_links_elsewhere_stay_as_they_were),
		workdir_test(must_4_what_has_no_other_link_loses_the_flags_that_hold_it),
		workdir_test(must_4_the_directory_that_the_tree_is_in_keeps_its_flags),
		workdir_test(must_4_closed_directories_open_for_their_owner),
		workdir_test(the_capability_that_is_missing_is_named),
		workdir_test(what_belongs_to_others_is_named_with_their_uid),
		workdir_test(must_5_deeper_than_path_max_with_few_descriptors_and_a_small_stack),
		workdir_test(must_5_deeper_than_the_walk_remembers),
		workdir_test(must_5_depth_costs_the_wall_no_more_than_breadth),
		workdir_test(what_cannot_go_from_deep_down_is_named_and_the_rest_goes),
		workdir_test(must_5_bushes_whose_branches_are_deeper_than_what_is_held_open),
		workdir_test(must_5_many_entries_in_one_directory),
		workdir_test(must_6_what_vanishes_meanwhile_is_done),
		workdir_test(must_6_what_appears_late_is_swept_again),
		workdir_test(must_6_what_keeps_appearing_ends_in_bounded_rounds),
		workdir_test(must_6_what_appears_at_the_top_is_swept_again_in_bounded_rounds),
		workdir_test(errors_name_the_path_escaped_and_bounded),
		workdir_test(the_deadline_ends_it_and_the_rest_stays),
		workdir_test(the_deadline_is_looked_at_on_the_way),
		workdir_test(a_walk_that_hangs_is_killed_and_what_it_had_done_is_reported),
	};

	return cmocka_run_group_tests_name("rmtree", tests, workdir_own_mounts, NULL);
}
