/* The numbers in the names are those of the MUSTs in rmtree.h. */
#include "unit.h"

#include "base/clock.h"
#include "os/rmtree.h"
#include "os/walk.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
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

enum { SOMEBODY = 12345, LONG_MS = 120000 };

/*
 * The real unlinkat, with somebody else's hand in between: the hook runs before each call that
 * rmtree makes, so that what a race needs luck for happens on cue.
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

static int hook_done(void **state)
{
	hook = NULL;
	return workdir_teardown(state);
}

static int remove_tree(
	void **state, const char *name, struct rmtree_report *report, struct error *error)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);

	return rmtree(parent, name, deadline_in_ms(LONG_MS), report, error);
}

static void expect_gone(void **state, const char *name)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };

	assert_int_equal(remove_tree(state, name, &report, &error), 1);
	assert_int_equal(error.code, 0);
	assert_false(workdir_has(*state, name));
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
			rmtree(victim, names[i], deadline_in_ms(LONG_MS), &report, NULL), -EINVAL);
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
	workdir_in_memory(*state);
	make_victim(state);
	for (int i = 0; i < 300; i++) {
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
	expect_gone(state, "r1");
	assert_null(hook);
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

static void must_4_hard_links_elsewhere_stay_as_they_were(void **state)
{
	const char *kept = workdir_path(*state, "kept");
	const char *linked = workdir_path(*state, "r1/f");
	struct rmtree_report report = { 0 };
	struct stat before, after;

	workdir_make(*state, "r1");
	workdir_fill(*state, "kept");
	assert_return_code(link(kept, linked), errno);
	assert_return_code(chown(kept, SOMEBODY, 7), errno);
	assert_return_code(chmod(kept, 04440), errno);
	assert_return_code(lstat(kept, &before), errno);
	assert_int_equal(remove_tree(state, "r1", &report, NULL), 1);
	assert_return_code(lstat(kept, &after), errno);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_uid, before.st_uid);
	assert_int_equal(after.st_gid, before.st_gid);
	assert_int_equal(after.st_size, before.st_size);
	assert_memory_equal(&after.st_mtim, &before.st_mtim, sizeof(after.st_mtim));
	assert_memory_equal(&after.st_atim, &before.st_atim, sizeof(after.st_atim));
	assert_int_equal(after.st_nlink, 1);
	assert_int_equal(report.bytes_freed, 0);
}

/* Everything of the tree to the given user, with modes that lock even the owner out. */
static void close_off(void **state, const char *name, mode_t mode, uid_t uid)
{
	const char *path = workdir_path(*state, name);

	assert_return_code(lchown(path, uid, uid), errno);
	assert_return_code(chmod(path, mode), errno);
}

static int remove_as(uid_t uid, int parent, struct error *error)
{
	struct rmtree_report report = { 0 };

	if (setgid(uid) != 0 || setuid(uid) != 0)
		return -ENOTRECOVERABLE;
	return rmtree(parent, "r1", deadline_in_ms(LONG_MS), &report, error);
}

/* The answer of rmtree, given to an unprivileged user; its text comes through a pipe. */
static int removed_by(uid_t uid, void **state, struct error *ret_error)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct error error = { 0 };
	int ends[2], status;
	pid_t pid;

	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	pid = fork();
	if (pid == 0) {
		int r = remove_as(uid, parent, &error);

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

static void must_4_closed_directories_open_for_their_unprivileged_owner(void **state)
{
	const char *kept = workdir_path(*state, "kept");
	const char *linked = workdir_path(*state, "r1/a/f");
	struct error error;
	struct stat st;

	assert_return_code(chmod(workdir_path(*state, "."), 0777), errno);
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_make(*state, "r1/a/none");
	workdir_make(*state, "r1/a/none/sub");
	workdir_make(*state, "r1/wo");
	workdir_fill(*state, "r1/wo/f");
	workdir_fill(*state, "kept");
	assert_return_code(link(kept, linked), errno);
	close_off(state, "kept", 0400, SOMEBODY);
	close_off(state, "r1/a/none/sub", 0555, SOMEBODY);
	close_off(state, "r1/a/none", 0000, SOMEBODY);
	close_off(state, "r1/wo/f", 0000, SOMEBODY);
	close_off(state, "r1/wo", 0300, SOMEBODY);
	close_off(state, "r1/a", 0555, SOMEBODY);
	close_off(state, "r1", 0400, SOMEBODY);
	assert_int_equal(removed_by(SOMEBODY, state, &error), 1);
	assert_false(workdir_has(*state, "r1"));
	assert_return_code(lstat(kept, &st), errno);
	assert_int_equal(st.st_mode, S_IFREG | 0400);
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
	assert_int_equal(removed_by(SOMEBODY, state, &error), -EACCES);
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
	return rmtree(parent, "r1", deadline_in_ms(LONG_MS), &report, NULL) == 1 ? 0 : 1;
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
	workdir_in_memory(*state);
	make_deep(state, WALK_DEPTH * 2 + 1, "d");
	expect_removed_within(state, 40, 256 << 10);
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
	expect_gone(state, "r1");
	assert_null(hook);
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
	expect_gone(state, "r1");
	assert_null(hook);
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
	r = remove_tree(state, "r1", &report, &error);
	hook = NULL;
	assert_int_equal(r, -ENOTEMPTY);
	assert_non_null(strstr(error.text, "r1/a"));
	assert_in_range(added, 2, 100);
	assert_false(workdir_has(*state, "r1/f"));
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
	expect_gone(state, "r1");
	assert_null(hook);
	check_victim(state);
	assert_true(workdir_has(*state, "victim/sub/moved"));
}

static void set_flag(void **state, const char *name, int flag)
{
	const char *path = workdir_path(*state, name);
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_CLOEXEC);
	int flags;

	assert_return_code(fd, errno);
	assert_return_code(ioctl(fd, FS_IOC_GETFLAGS, &flags), errno);
	flags |= flag;
	assert_return_code(ioctl(fd, FS_IOC_SETFLAGS, &flags), errno);
}

static void immutable_and_append_only_are_named_and_passed_by(void **state)
{
	static const struct {
		const char *name;
		int flag;
		const char *where, *what;
	} cases[] = {
		{ "r1/a/f", FS_IMMUTABLE_FL, "r1/a/f", "it is immutable" },
		{ "r1/a/f", FS_APPEND_FL, "r1/a/f", "it is append-only" },
		{ "r1/a", FS_APPEND_FL, "r1/a/f", "its directory is append-only" },
		{ "r1/a", FS_IMMUTABLE_FL, "r1/a/f", "its directory is immutable" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *tree = workdir_path(*state, "r1");
		char *clear CLEANUP(mem_done) =
			mem_printf("chattr -R -f -i -a '%s'; rm -rf '%s'", tree, tree);
		struct rmtree_report report = { 0 };
		struct error error = { 0 };

		workdir_make(*state, "r1");
		workdir_make(*state, "r1/a");
		workdir_fill(*state, "r1/a/f");
		workdir_make(*state, "r1/b");
		workdir_fill(*state, "r1/z");
		set_flag(state, cases[i].name, cases[i].flag);
		assert_int_equal(remove_tree(state, "r1", &report, &error), -EPERM);
		assert_non_null(strstr(error.text, cases[i].where));
		assert_non_null(strstr(error.text, cases[i].what));
		assert_false(workdir_has(*state, "r1/z"));
		assert_false(workdir_has(*state, "r1/b"));
		assert_true(workdir_has(*state, "r1/a/f"));
		assert_int_equal(system(clear), 0);
	}
}

static void errors_name_the_path_escaped_and_bounded(void **state)
{
	char *at CLEANUP(mem_done) = mem_dup("r1");
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
	set_flag(state, at, FS_IMMUTABLE_FL);
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
	assert_int_equal(rmtree(parent, "r1", clock_boot_ms() - 1, &report, &error), -ETIME);
	assert_int_equal(error.code, ETIME);
	assert_true(workdir_has(*state, "r1/f"));
}

static void wait_a_little(void **state, const char *name, int flags)
{
	(void)state;
	(void)name;
	(void)flags;
	(void)usleep(3000);
}

static void the_deadline_is_looked_at_on_the_way(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct rmtree_report report = { 0 };

	workdir_make(*state, "r1");
	for (int i = 0; i < 300; i++) {
		char *name CLEANUP(mem_done) = mem_printf("r1/%d", i);

		workdir_fill(*state, name);
	}
	hook = wait_a_little;
	assert_int_equal(rmtree(parent, "r1", deadline_in_ms(100), &report, NULL), -ETIME);
	hook = NULL;
	assert_in_range(report.entries, 1, 100);
	assert_in_range(report.bytes_freed, 8192, 100 * 8192);
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
		workdir_test(must_4_closed_directories_open_for_their_unprivileged_owner),
		workdir_test(what_belongs_to_others_is_named_with_their_uid),
		workdir_test(must_5_deeper_than_path_max_with_few_descriptors_and_a_small_stack),
		workdir_test(must_5_deeper_than_the_walk_remembers),
		workdir_test(must_5_bushes_whose_branches_are_deeper_than_what_is_held_open),
		workdir_test(must_5_many_entries_in_one_directory),
		workdir_test(must_6_what_vanishes_meanwhile_is_done),
		workdir_test(must_6_what_appears_late_is_swept_again),
		workdir_test(must_6_what_keeps_appearing_ends_in_bounded_rounds),
		workdir_test(immutable_and_append_only_are_named_and_passed_by),
		workdir_test(errors_name_the_path_escaped_and_bounded),
		workdir_test(the_deadline_ends_it_and_the_rest_stays),
		workdir_test(the_deadline_is_looked_at_on_the_way),
	};

	return cmocka_run_group_tests_name("rmtree", tests, workdir_own_mounts, NULL);
}
