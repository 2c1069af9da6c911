#include "unit.h"

#include "base/clock.h"
#include "os/treesize.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SOMEBODY = 12345 };

static int measure(void **state, const char *name, struct tree_size *ret_size, struct error *error)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);

	return treesize(parent, name, deadline_in_ms(60000), ret_size, error);
}

static int64_t blocks_of(void **state, const char *name)
{
	const char *path = workdir_path(*state, name);
	struct stat st;

	assert_return_code(lstat(path, &st), errno);
	return (int64_t)st.st_blocks * 512;
}

static void what_is_allocated_is_added_up(void **state)
{
	const char *file = workdir_path(*state, "r1/a/f");
	const char *same = workdir_path(*state, "r1/g");
	struct tree_size size = { -1, -1 };
	int64_t expected;

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/a");
	workdir_fill(*state, "r1/a/f");
	assert_return_code(link(file, same), errno);
	expected =
		blocks_of(state, "r1") + blocks_of(state, "r1/a") + 2 * blocks_of(state, "r1/a/f");
	assert_int_equal(measure(state, "r1", &size, NULL), 0);
	assert_int_equal(size.bytes, expected);
	assert_int_equal(size.inodes, 4);
	assert_int_equal(measure(state, "none", &size, NULL), 0);
	assert_int_equal(size.bytes, 0);
	assert_int_equal(size.inodes, 0);
}

static void links_and_mounts_are_not_followed(void **state)
{
	const char *link = workdir_path(*state, "r1/link");
	const char *bound = workdir_path(*state, "r1/bound");
	const char *big = workdir_path(*state, "big");
	struct tree_size size = { -1, -1 };
	int64_t expected;

	workdir_make(*state, "big");
	workdir_fill(*state, "big/f");
	workdir_make(*state, "r1");
	workdir_make(*state, "r1/bound");
	expected = blocks_of(state, "r1");
	assert_return_code(symlink("../big", link), errno);
	assert_return_code(mount(big, bound, NULL, MS_BIND, NULL), errno);
	assert_int_equal(measure(state, "r1", &size, NULL), 0);
	assert_int_equal(size.bytes, expected + blocks_of(state, "r1/link"));
}

static void looking_changes_no_access_time(void **state)
{
	static const struct timespec old[2] = { { 1000, 0 }, { 2000, 0 } };
	const char *dir = workdir_path(*state, "r1");
	struct stat st;
	struct tree_size size;

	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/f");
	assert_return_code(utimensat(AT_FDCWD, dir, old, 0), errno);
	assert_int_equal(measure(state, "r1", &size, NULL), 0);
	assert_return_code(lstat(dir, &st), errno);
	assert_int_equal(st.st_atim.tv_sec, 1000);
}

/* 0 when an unprivileged user was told which directory cannot be read. */
static int measure_as_somebody(int parent)
{
	struct error error = { 0 };
	struct tree_size size = { -1, -1 };

	if (setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0)
		return 1;
	if (treesize(parent, "r1", deadline_in_ms(60000), &size, &error) != -EACCES ||
		size.bytes != -1)
		return 2;
	if (!strstr(error.text, "r1/closed"))
		return 3;
	return treesize(parent, "r2", deadline_in_ms(60000), &size, NULL) == 0 ? 0 : 4;
}

static void a_part_that_cannot_be_read_is_an_error_and_no_smaller_size(void **state)
{
	const char *closed = workdir_path(*state, "r1/closed");
	int parent CLEANUP(fd_done) = workdir_open(*state);
	int status;
	pid_t pid;

	workdir_make(*state, "r1");
	workdir_make(*state, "r1/closed");
	workdir_make(*state, "r2");
	assert_return_code(chmod(closed, 0700), errno);
	pid = fork();
	if (pid == 0)
		_exit(measure_as_somebody(parent));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void after_a_deadline_the_size_is_what_was_counted_by_then(void **state)
{
	int parent CLEANUP(fd_done) = workdir_open(*state);
	struct tree_size size = { 7, 7 };

	workdir_make(*state, "r1");
	workdir_fill(*state, "r1/f");
	assert_int_equal(treesize(parent, "r1", clock_boot_ms() - 1, &size, NULL), -ETIME);
	assert_int_equal(size.inodes, 1);
	assert_int_equal(size.bytes, blocks_of(state, "r1"));
}

static void a_bad_name_is_an_error(void **state)
{
	struct tree_size size = { 7, 7 };

	assert_int_equal(measure(state, "..", &size, NULL), -EINVAL);
	assert_int_equal(size.bytes, 7);
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(what_is_allocated_is_added_up),
		workdir_test(links_and_mounts_are_not_followed),
		workdir_test(looking_changes_no_access_time),
		workdir_test(a_part_that_cannot_be_read_is_an_error_and_no_smaller_size),
		workdir_test(after_a_deadline_the_size_is_what_was_counted_by_then),
		workdir_test(a_bad_name_is_an_error),
	};

	return cmocka_run_group_tests_name("treesize", tests, workdir_own_mounts, NULL);
}
