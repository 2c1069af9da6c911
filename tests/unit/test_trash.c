#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "child.h"
#include "os/trash.h"
#include "small_disk.h"
#include "within.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { SOMEBODY = 12345 };

/*
 * The real renameat2, with somebody else's hand just before the first call that trash_take makes:
 * the race between proof and rename, on cue.
 */
static void (*hook)(void **state);
static void **hook_state;

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's names */
int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags)
{
	void (*now)(void **state) = hook;

	hook = NULL;
	if (now)
		now(hook_state);
	return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

/* The same before the trash is made. */
static void (*before_mkdir)(void **state);

int mkdirat(int dir, const char *path, mode_t mode)
{
	void (*now)(void **state) = before_mkdir;

	before_mkdir = NULL;
	if (now)
		now(hook_state);
	return (int)syscall(SYS_mkdirat, dir, path, mode);
}

static void (*before_rmdir)(void **state);

/* The same before the second look at an entry of the root, which is when it was cleared. */
static void (*before_second_look)(void **state);
static int looks;

int fstatat(int dir, const char *restrict name, struct stat *restrict st, int flags)
{
	if (before_second_look && strcmp(name, "r1") == 0 && ++looks == 2)
		before_second_look(hook_state);
	return (int)syscall(SYS_newfstatat, dir, name, st, flags);
}

/* The real fsync, or a filesystem that has no room for it. */
static int sync_code, syncs;

int fsync(int fd)
{
	syncs++;
	errno = sync_code;
	return sync_code ? -1 : (int)syscall(SYS_fsync, fd);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static int put_at(int root, const char *path, const char *run, int64_t generation, uint64_t dev,
	uint64_t ino, struct error *error)
{
	const struct trash_thing thing = { path, run, generation, dev, ino, *WITHIN_MS(60000),
		NULL };
	struct rmtree_report report = { 0 };
	int r = trash_take(root, &thing, &report, error);

	assert_int_equal(report.entries, 0); /* nothing is deleted in place */
	return r;
}

static int put(void **state, const char *path, uint64_t dev, uint64_t ino, struct error *error)
{
	int root CLEANUP(fd_done) = workdir_open(*state);

	return put_at(root, path, "r1", 3, dev, ino, error);
}

static int put_as_found(void **state, const char *path, struct error *error)
{
	return put(state, path, 0, 0, error);
}

static int purge(void **state, const char *run, int64_t generation, int64_t *bytes_freed,
	struct error *error)
{
	int root CLEANUP(fd_done) = workdir_open(*state);
	struct rmtree_report report = { .bytes_freed = *bytes_freed };
	int r = trash_purge(root, run, generation, WITHIN_MS(60000), &report, error);

	*bytes_freed = report.bytes_freed;
	return r;
}

static struct stat stat_of(void **state, const char *name)
{
	const char *path = workdir_path(*state, name);
	struct stat st;

	assert_return_code(lstat(path, &st), errno);
	return st;
}

static int append(void *context, const struct trash_entry *entry)
{
	char *list = context;

	(void)snprintf(list + strlen(list), 400 - strlen(list), "%s=%s/%lld ", entry->name,
		entry->run, (long long)entry->generation);
	return 0;
}

static void what_is_set_aside_carries_whose_it_was(void **state)
{
	int root CLEANUP(fd_done) = workdir_open(*state);
	char list[400] = "";
	struct stat st;

	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/f");
	st = stat_of(state, "r1");
	assert_int_equal(put(state, "r1", st.st_dev, st.st_ino, NULL), 1);
	assert_false(workdir_has(*state, "r1"));
	assert_true(workdir_has(*state, ".sbx-trash/r1:3:0/f"));
	assert_int_equal(stat_of(state, ".sbx-trash").st_mode, S_IFDIR | 0700);
	assert_int_equal(put_as_found(state, "r1", NULL), 0);
	assert_int_equal(trash_each(root, append, list, NULL), 0);
	assert_string_equal(list, "r1:3:0=r1/3 ");
}

static void several_things_of_one_run_get_their_own_names(void **state)
{
	workdir_make(*state, "a");
	workdir_make(*state, "a/b");
	workdir_make(*state, "a/b/r1");
	workdir_fill(*state, "file");
	assert_int_equal(put_as_found(state, "a/b/r1", NULL), 1);
	assert_int_equal(put_as_found(state, "file", NULL), 1);
	assert_true(workdir_has(*state, ".sbx-trash/r1:3:0"));
	assert_true(workdir_has(*state, ".sbx-trash/r1:3:1"));
	assert_true(workdir_has(*state, "a/b"));
}

static void sockets_are_set_aside_and_symlinks_never(void **state)
{
	const char *link = workdir_path(*state, "link");
	const char *sock = workdir_path(*state, "sock");
	struct error error = { 0 };
	struct stat st;

	assert_return_code(mknod(sock, S_IFSOCK | 0600, 0), errno);
	assert_int_equal(put_as_found(state, "sock", NULL), 1);
	workdir_make(*state, "other");
	workdir_fill(*state, "other/f");
	assert_return_code(symlink("other", link), errno);
	st = stat_of(state, "link");
	assert_int_equal(put(state, "link", st.st_dev, st.st_ino, &error), -ESTALE);
	assert_non_null(strstr(error.text, "symlink"));
	assert_int_equal(put_as_found(state, "link", NULL), -ESTALE);
	assert_int_equal(put_as_found(state, "link/f", NULL), -ELOOP);
	assert_true(workdir_has(*state, "link"));
}

static void another_inode_than_given_stays_where_it_is(void **state)
{
	struct error error = { 0 };
	struct stat st;

	workdir_make(*state, "r1");
	st = stat_of(state, "r1");
	assert_int_equal(put(state, "r1", st.st_dev, st.st_ino + 1, &error), -ESTALE);
	assert_non_null(strstr(error.text, "r1"));
	assert_int_equal(put(state, "r1", st.st_dev + 1, st.st_ino, NULL), -ESTALE);
	assert_int_equal(put(state, "r1", 0, st.st_ino + 1, NULL), -ESTALE);
	assert_true(workdir_has(*state, "r1"));
	assert_false(workdir_has(*state, ".sbx-trash"));
}

static void replace_r1(void **state)
{
	const char *from = workdir_path(*state, "r1");
	const char *to = workdir_path(*state, "old");

	assert_return_code(rename(from, to), errno);
	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/precious");
}

static void what_won_the_place_in_the_last_moment_is_put_back(void **state)
{
	struct error error = { 0 };
	struct stat st;

	workdir_make(*state, "r1");
	st = stat_of(state, "r1");
	hook_state = state;
	hook = replace_r1;
	assert_int_equal(put(state, "r1", st.st_dev, st.st_ino, &error), -ESTALE);
	assert_non_null(strstr(error.text, "put back"));
	assert_true(workdir_has(*state, "r1/precious"));
	assert_false(workdir_has(*state, ".sbx-trash/r1:3:0"));
	assert_true(workdir_has(*state, "old"));
}

static void take_the_place(void **state)
{
	workdir_make(*state, "r1");
}

static void replace_r1_and_take_its_place(void **state)
{
	replace_r1(state);
	hook = take_the_place;
}

static void what_cannot_be_put_back_stays_where_no_purge_finds_it(void **state)
{
	struct error error = { 0 };
	int64_t bytes = 0;
	struct stat st;

	workdir_make(*state, "r1");
	st = stat_of(state, "r1");
	hook_state = state;
	hook = replace_r1_and_take_its_place;
	assert_int_equal(put(state, "r1", st.st_dev, st.st_ino, &error), -ESTALE);
	assert_non_null(strstr(error.text, ".sbx-trash/.stray:r1:3:0"));
	assert_int_equal(purge(state, "r1", 3, &bytes, NULL), 0);
	assert_true(workdir_has(*state, ".sbx-trash/.stray:r1:3:0/precious"));
}

static void set_flag(void **state, const char *name, int flag)
{
	const char *path = workdir_path(*state, name);
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_CLOEXEC), flags = 0;

	assert_return_code(fd, errno);
	assert_return_code(ioctl(fd, FS_IOC_GETFLAGS, &flags), errno);
	flags |= flag;
	assert_return_code(ioctl(fd, FS_IOC_SETFLAGS, &flags), errno);
}

static void clear_flags(void **state)
{
	char *command CLEANUP(mem_done) =
		mem_printf("chattr -R -f -i -a '%s'", workdir_path(*state, "."));

	(void)system(command); /* also when nothing had any */
}

static void immutable_and_append_only_things_are_set_aside_unless_they_have_other_links(
	void **state)
{
	const char *file = workdir_path(*state, "file");
	struct error error = { 0 };

	for (int flag = FS_IMMUTABLE_FL; flag; flag = flag == FS_APPEND_FL ? 0 : FS_APPEND_FL) {
		workdir_make(*state, "dir");
		workdir_fill(*state, "file");
		set_flag(state, "dir", flag);
		set_flag(state, "file", flag);
		assert_int_equal(put_as_found(state, "dir", NULL), 1);
		assert_int_equal(put_as_found(state, "file", NULL), 1);
	}
	workdir_fill(*state, "file");
	assert_return_code(link(file, workdir_path(*state, "link")), errno);
	set_flag(state, "file", FS_IMMUTABLE_FL);
	assert_int_equal(put_as_found(state, "file", &error), -EPERM);
	assert_non_null(strstr(error.text, "it is immutable, and it has other hard links"));
	assert_true(workdir_has(*state, "file"));
	assert_int_equal(unlink(workdir_path(*state, "link")), -1); /* it still has the flag */
}

static void what_a_thing_is_in_and_the_trash_keep_their_flags(void **state)
{
	static const struct {
		const char *flagged, *thing, *said;
	} cases[] = {
		{ "a", "a/r1", "its directory is immutable" },
		{ ".sbx-trash", "a/r1", ".sbx-trash is immutable" },
		{ ".", "r1", "its directory is immutable" },
	};

	workdir_make(*state, "a");
	workdir_make(*state, "a/r1");
	workdir_make(*state, "r1");
	workdir_make(*state, ".sbx-trash");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *inside CLEANUP(mem_done) = mem_printf("%s/new", cases[i].flagged);
		struct error error = { 0 };

		set_flag(state, cases[i].flagged, FS_IMMUTABLE_FL);
		assert_int_equal(put_as_found(state, cases[i].thing, &error), -EPERM);
		assert_non_null(strstr(error.text, cases[i].said));
		assert_int_equal(mkdir(workdir_path(*state, inside), 0700), -1);
		assert_int_equal(errno, EPERM);
		clear_flags(state);
		assert_true(workdir_has(*state, cases[i].thing));
	}
}

static void a_trash_that_cannot_be_made_says_why(void **state)
{
	struct error error = { 0 };

	workdir_make(*state, "r1");
	set_flag(state, ".", FS_IMMUTABLE_FL);
	assert_int_equal(put_as_found(state, "r1", &error), -EPERM);
	assert_non_null(strstr(error.text, "make .sbx-trash (its directory is immutable"));
}

static void mount_here(void **state, const char *source, const char *name)
{
	const char *from = workdir_path(*state, source);
	const char *to = workdir_path(*state, name);

	assert_return_code(mount(from, to, NULL, MS_BIND, NULL), errno);
}

static void mounts_are_not_set_aside(void **state)
{
	workdir_make(*state, "other");
	workdir_make(*state, "other/x");
	workdir_make(*state, "r1");
	workdir_fill(*state, "f");
	mount_here(state, "other", "r1");
	mount_here(state, "other/x", "other/x");
	assert_int_equal(put_as_found(state, "r1", NULL), -EXDEV);
	assert_int_equal(put_as_found(state, "r1/x", NULL), -EXDEV);
	assert_int_equal(put_as_found(state, "f", NULL), 1);
}

static void paths_that_leave_the_root_are_refused(void **state)
{
	static const char *const bad[] = { "", "/", "/none", "..", "../r1", "a/../r1", "./r1",
		"r1/", "a//b", ".sbx-trash", ".sbx-trash/r1:3:0" };
	int root CLEANUP(fd_done) = workdir_open(*state);

	workdir_make(*state, "r1");
	workdir_make(*state, "a");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(put_as_found(state, bad[i], NULL), -EINVAL);
	assert_int_equal(put_at(root, "r1", "../x", 1, 0, 0, NULL), -EINVAL);
	assert_int_equal(put_at(root, "r1", "x", -1, 0, 0, NULL), -EINVAL);
	assert_int_equal(put_as_found(state, "none/r1", NULL), 0);
	assert_true(workdir_has(*state, "r1"));
}

static void expect_refused(void **state, const char *word)
{
	int root CLEANUP(fd_done) = workdir_open(*state);
	struct error error = { 0 };
	char list[400] = "";
	int64_t bytes = 0;

	assert_int_equal(put_as_found(state, "r1", &error), -EPERM);
	assert_non_null(strstr(error.text, word));
	assert_int_equal(trash_each(root, append, list, NULL), -EPERM);
	assert_int_equal(purge(state, "r1", 9, &bytes, NULL), -EPERM);
	assert_true(workdir_has(*state, "r1"));
}

static void a_trash_that_is_not_ours_is_refused(void **state)
{
	const char *trash = workdir_path(*state, ".sbx-trash");

	workdir_make(*state, "r1");
	workdir_make(*state, "elsewhere");
	workdir_make(*state, "elsewhere/r1:3:0");
	assert_return_code(symlink("elsewhere", trash), errno);
	expect_refused(state, "link");
	assert_return_code(unlink(trash), errno);
	workdir_fill(*state, ".sbx-trash");
	expect_refused(state, "file");
	assert_return_code(unlink(trash), errno);
	workdir_make(*state, ".sbx-trash");
	assert_return_code(chown(trash, SOMEBODY, 0), errno);
	expect_refused(state, "12345");
	assert_return_code(chown(trash, 0, 0), errno);
	assert_return_code(chmod(trash, 0770), errno);
	expect_refused(state, "written by others");
	assert_return_code(chmod(trash, 0700), errno);
	mount_here(state, "elsewhere", ".sbx-trash");
	expect_refused(state, "mount");
	assert_true(workdir_has(*state, "elsewhere/r1:3:0"));
}

static void only_our_own_names_are_entries(void **state)
{
	static const char *const foreign[] = { "r1", "r1:3", "r1:3:0:0", "r1:03:0", "r1:3:00",
		"r1:+3:0", "r1:-3:0", "r1:3:x", ":3:0", ".r1:3:0", "r1.lock:3:0",
		"r1:: ", "a b:1:0", "r1:99999999999999999999:0", "\xff:1:0" };
	int root CLEANUP(fd_done) = workdir_open(*state);
	char list[400] = "";
	int64_t bytes = 0;

	assert_int_equal(trash_each(root, append, list, NULL), 0);
	workdir_make(*state, ".sbx-trash");
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		char *name CLEANUP(mem_done) = mem_printf(".sbx-trash/%s", foreign[i]);

		workdir_make(*state, name);
	}
	workdir_make(*state, ".sbx-trash/r-2:7:1");
	assert_int_equal(trash_each(root, append, list, NULL), 0);
	assert_string_equal(list, "r-2:7:1=r-2/7 ");
	assert_int_equal(purge(state, "r1", INT64_MAX, &bytes, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		char *name CLEANUP(mem_done) = mem_printf(".sbx-trash/%s", foreign[i]);

		assert_true(workdir_has(*state, name));
	}
}

static int stop_at_once(void *context, const struct trash_entry *entry)
{
	(void)entry;
	++*(int *)context;
	return -ECANCELED;
}

static void a_negative_answer_ends_the_iteration(void **state)
{
	int root CLEANUP(fd_done) = workdir_open(*state);
	int calls = 0;

	workdir_make(*state, ".sbx-trash");
	workdir_make(*state, ".sbx-trash/r1:0:0");
	workdir_make(*state, ".sbx-trash/r1:0:1");
	assert_int_equal(trash_each(root, stop_at_once, &calls, NULL), -ECANCELED);
	assert_int_equal(calls, 1);
}

static void purge_takes_the_run_up_to_its_generation(void **state)
{
	int64_t bytes = 1;

	assert_int_equal(purge(state, "r1", 3, &bytes, NULL), 0);
	workdir_make(*state, ".sbx-trash");
	workdir_make(*state, ".sbx-trash/r1:2:0");
	workdir_make(*state, ".sbx-trash/r1:3:0");
	workdir_fill(*state, ".sbx-trash/r1:3:0/f");
	workdir_fill(*state, ".sbx-trash/r1:3:1");
	workdir_make(*state, ".sbx-trash/r1:4:0");
	workdir_make(*state, ".sbx-trash/r10:3:0");
	assert_int_equal(purge(state, "r1", 3, &bytes, NULL), 1);
	assert_int_equal(bytes, 1 + 2 * 8192);
	assert_false(workdir_has(*state, ".sbx-trash/r1:2:0"));
	assert_false(workdir_has(*state, ".sbx-trash/r1:3:0"));
	assert_false(workdir_has(*state, ".sbx-trash/r1:3:1"));
	assert_true(workdir_has(*state, ".sbx-trash/r1:4:0"));
	assert_true(workdir_has(*state, ".sbx-trash/r10:3:0"));
	assert_int_equal(purge(state, "r1", 3, &bytes, NULL), 0);
}

static void purge_goes_on_past_what_cannot_be_deleted(void **state)
{
	struct error error = { 0 };
	int64_t bytes = 0;

	workdir_make(*state, "other");
	workdir_fill(*state, "other/f");
	workdir_make(*state, ".sbx-trash");
	for (int i = 0; i < 8; i++) {
		char *name CLEANUP(mem_done) = mem_printf(".sbx-trash/r1:3:%d", i);

		workdir_make(*state, name);
	}
	workdir_make(*state, ".sbx-trash/r1:3:4/m");
	mount_here(state, "other", ".sbx-trash/r1:3:4/m");
	assert_int_equal(purge(state, "r1", 3, &bytes, &error), -EXDEV);
	assert_non_null(strstr(error.text, "r1:3:4/m"));
	for (int i = 0; i < 8; i++) {
		char *name CLEANUP(mem_done) = mem_printf(".sbx-trash/r1:3:%d", i);

		assert_int_equal(workdir_has(*state, name), i == 4);
	}
	assert_true(workdir_has(*state, "other/f"));
}

static unsigned late;

static void add_late(void **state)
{
	char *name CLEANUP(mem_done) = mem_printf(".sbx-trash/r1:3:0/late%u", late++);

	workdir_fill(*state, name);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names */
int unlinkat(int dir, const char *name, int flags)
{
	/* Of the entry itself, which is removed in this process; in it nobody's hand but the walk's. */
	if (before_rmdir && flags == AT_REMOVEDIR && strcmp(name, "r1:3:0") == 0)
		before_rmdir(hook_state);
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

static void who_can_still_make_entries_in_it_is_named(void **state)
{
	struct error error = { 0 };
	char *said CLEANUP(mem_done) = NULL;
	int64_t bytes = 0;
	pid_t child;

	workdir_make(*state, ".sbx-trash");
	workdir_make(*state, ".sbx-trash/r1:3:0");
	workdir_make(*state, ".sbx-trash/r1:3:0/a");
	child = child_start(workdir_path(*state, ".sbx-trash/r1:3:0/a"));
	hook_state = state;
	before_rmdir = add_late;
	assert_int_equal(purge(state, "r1", 3, &bytes, &error), -ENOTEMPTY);
	before_rmdir = NULL;
	child_end(child);
	said = mem_printf("process %d (test_trash) has its working directory in it: "
			  "delete r1:3:0: Directory not empty",
		child);
	assert_string_equal(error.text, said);
	assert_int_equal(purge(state, "r1", 3, &bytes, NULL), 1);
}

static int take(void **state, const char *path, const struct stat *known, int64_t deadline_ms,
	struct error *error)
{
	int root CLEANUP(fd_done) = workdir_open(*state);
	struct rmtree_report report = { 0 };
	int r = trash_take(root,
		&(struct trash_thing){ path, "r1", 3, known->st_dev, known->st_ino,
			{ .deadline_ms = deadline_ms }, NULL },
		&report, error);

	if (r > 0 && !workdir_has(*state, TRASH_NAME)) {
		assert_in_range(report.bytes_freed, 8192, 1 << 20);
		assert_in_range(report.entries, 1, 3);
	}
	return r;
}

/* On a disk without an inode for a trash. */
static struct stat make_full(void **state)
{
	small_disk(*state);
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_fill(*state, "r1/a/f");
	workdir_fill(*state, "file");
	small_disk_fill_inodes(*state);
	hook_state = state;
	return stat_of(state, "r1");
}

static void where_no_trash_can_be_made_a_thing_is_deleted_where_it_stands(void **state)
{
	struct stat st = make_full(state), file = stat_of(state, "file");

	syncs = 0;
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), NULL), 1);
	assert_false(workdir_has(*state, "r1"));
	assert_int_equal(syncs, 1);
	small_disk_fill_inodes(*state);
	assert_int_equal(take(state, "file", &file, deadline_in_ms(60000), NULL), 1);
	assert_false(workdir_has(*state, "file"));
	assert_false(workdir_has(*state, TRASH_NAME));
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), NULL), 0);
}

static void where_there_is_a_trash_it_is_set_aside_on_a_full_disk_too(void **state)
{
	int root CLEANUP(fd_done) = -EBADF;
	struct stat st;

	small_disk(*state);
	root = workdir_open(*state);
	assert_int_equal(trash_prepare(root, NULL), 0);
	workdir_make(*state, "r1");
	st = stat_of(state, "r1");
	small_disk_fill_bytes(*state);
	small_disk_fill_inodes(*state);
	assert_int_equal(trash_prepare(root, NULL), 0);
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), NULL), 1);
	assert_true(workdir_has(*state, ".sbx-trash/r1:3:0"));
}

static void deleting_where_it_stands_ends_in_time_and_goes_on(void **state)
{
	struct stat st = make_full(state);
	struct error error = { 0 };

	assert_int_equal(take(state, "r1", &st, 1, &error), -ETIME);
	assert_non_null(strstr(error.text, "no room to set it aside"));
	assert_int_equal(stat_of(state, "r1").st_ino, st.st_ino);
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), NULL), 1);
	assert_false(workdir_has(*state, "r1"));
}

static void another_thing_than_given_is_not_deleted_where_it_stands(void **state)
{
	struct stat st = make_full(state), file = stat_of(state, "file");

	assert_int_equal(take(state, "file", &st, deadline_in_ms(60000), NULL), -ESTALE);
	assert_int_equal(take(state, "r1", &file, deadline_in_ms(60000), NULL), -ESTALE);
	assert_true(workdir_has(*state, "file"));
	assert_true(workdir_has(*state, "r1/a/f"));
}

static int take_whole(void **state, const char *whole, int64_t deadline_ms, struct error *error)
{
	int root CLEANUP(fd_done) = workdir_open(*state);
	struct stat st = stat_of(state, "r1");
	struct rmtree_report report = { 0 };

	return trash_take(root,
		&(struct trash_thing){ "r1", "r1", 3, st.st_dev, st.st_ino,
			{ .deadline_ms = deadline_ms }, whole },
		&report, error);
}

static void what_must_stay_whole_is_set_aside_when_the_rest_has_made_room(void **state)
{
	struct error error = { 0 };

	small_disk(*state);
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/.git");
	workdir_fill(*state, "r1/.git/HEAD");
	small_disk_fill_inodes(*state);
	assert_int_equal(take_whole(state, ".git", deadline_in_ms(60000), &error), -ENOSPC);
	assert_true(workdir_has(*state, "r1/.git/HEAD"));

	small_disk_empty(*state);
	workdir_make(*state, "r1/a");
	workdir_make(*state, "r1/a/.git");
	workdir_fill(*state, "r1/a/f");
	small_disk_fill_inodes(*state);
	assert_int_equal(take_whole(state, ".git", 1, NULL), -ETIME);
	assert_true(workdir_has(*state, "r1/.git/HEAD"));
	assert_int_equal(take_whole(state, ".git", deadline_in_ms(60000), NULL), 1);
	assert_false(workdir_has(*state, "r1"));
	assert_false(workdir_has(*state, ".sbx-trash/r1:3:0/a"));
	assert_true(workdir_has(*state, ".sbx-trash/r1:3:0/.git/HEAD"));
}

static void exchange(void **state, const char *name)
{
	assert_return_code(
		rename(workdir_path(*state, name), workdir_path(*state, "moved")), errno);
	assert_return_code(
		rename(workdir_path(*state, "other"), workdir_path(*state, name)), errno);
}

static void exchange_tree(void **state)
{
	exchange(state, "r1");
}

static void exchange_file(void **state)
{
	exchange(state, "file");
}

static void what_took_its_place_in_the_last_moment_is_not_deleted(void **state)
{
	struct stat st, file;

	small_disk(*state);
	workdir_make(*state, "other");
	workdir_fill(*state, "other/precious");
	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/f");
	small_disk_fill_inodes(*state);
	st = stat_of(state, "r1");
	hook_state = state;
	before_mkdir = exchange_tree;
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), NULL), -ESTALE);
	assert_true(workdir_has(*state, "r1/precious"));
	assert_true(workdir_has(*state, "moved/f"));

	small_disk_empty(*state);
	assert_return_code(unlink(workdir_path(*state, "moved/f")), errno);
	assert_return_code(rmdir(workdir_path(*state, "moved")), errno);
	workdir_fill(*state, "other");
	workdir_fill(*state, "file");
	small_disk_fill_inodes(*state);
	file = stat_of(state, "file");
	before_mkdir = exchange_file;
	assert_int_equal(take(state, "file", &file, deadline_in_ms(60000), NULL), -ESTALE);
	assert_true(workdir_has(*state, "file"));
	assert_true(workdir_has(*state, "moved"));
}

static void move_and_make_anew(void **state)
{
	assert_return_code(
		rename(workdir_path(*state, "r1"), workdir_path(*state, "moved")), errno);
	small_disk_empty(*state);
	workdir_make(*state, "r1");
}

static void an_empty_directory_that_was_made_under_its_name_stays(void **state)
{
	struct stat st = make_full(state);
	struct error error = { 0 };

	looks = 0;
	before_second_look = move_and_make_anew;
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), &error), -ESTALE);
	before_second_look = NULL;
	assert_true(workdir_has(*state, "r1"));
	assert_non_null(strstr(error.text, "moved away"));
}

static void remove_r1(void **state)
{
	assert_return_code(rmdir(workdir_path(*state, "r1")), errno);
}

static void what_somebody_else_removed_when_it_was_cleared_is_gone(void **state)
{
	struct stat st = make_full(state);

	looks = 0;
	before_second_look = remove_r1;
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), NULL), 0);
	before_second_look = NULL;
}

static void what_was_moved_is_not_deleted_for_want_of_room_to_sync(void **state)
{
	struct stat st;

	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/f");
	st = stat_of(state, "r1");
	sync_code = ENOSPC;
	assert_int_equal(take(state, "r1", &st, deadline_in_ms(60000), NULL), -ENOSPC);
	sync_code = 0;
	assert_true(workdir_has(*state, ".sbx-trash/r1:3:0/f"));
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(what_is_set_aside_carries_whose_it_was),
		workdir_test(several_things_of_one_run_get_their_own_names),
		workdir_test(sockets_are_set_aside_and_symlinks_never),
		workdir_test(another_inode_than_given_stays_where_it_is),
		workdir_test(what_won_the_place_in_the_last_moment_is_put_back),
		workdir_test(what_cannot_be_put_back_stays_where_no_purge_finds_it),
		workdir_test(
			immutable_and_append_only_things_are_set_aside_unless_they_have_other_links),
		workdir_test(what_a_thing_is_in_and_the_trash_keep_their_flags),
		workdir_test(a_trash_that_cannot_be_made_says_why),
		workdir_test(mounts_are_not_set_aside),
		workdir_test(paths_that_leave_the_root_are_refused),
		workdir_test(a_trash_that_is_not_ours_is_refused),
		workdir_test(only_our_own_names_are_entries),
		workdir_test(a_negative_answer_ends_the_iteration),
		workdir_test(purge_takes_the_run_up_to_its_generation),
		workdir_test(where_no_trash_can_be_made_a_thing_is_deleted_where_it_stands),
		workdir_test(where_there_is_a_trash_it_is_set_aside_on_a_full_disk_too),
		workdir_test(deleting_where_it_stands_ends_in_time_and_goes_on),
		workdir_test(another_thing_than_given_is_not_deleted_where_it_stands),
		workdir_test(what_must_stay_whole_is_set_aside_when_the_rest_has_made_room),
		workdir_test(what_took_its_place_in_the_last_moment_is_not_deleted),
		workdir_test(an_empty_directory_that_was_made_under_its_name_stays),
		workdir_test(what_somebody_else_removed_when_it_was_cleared_is_gone),
		workdir_test(what_was_moved_is_not_deleted_for_want_of_room_to_sync),
		workdir_test(who_can_still_make_entries_in_it_is_named),
		workdir_test(purge_goes_on_past_what_cannot_be_deleted),
	};

	return cmocka_run_group_tests_name("trash", tests, workdir_own_mounts, NULL);
}
