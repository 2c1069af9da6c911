#include "unit.h"

#include "os/dir.h"
#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { SOMEBODY = 12345 };

static void a_path_with_a_symlink_in_it_opens_nothing(void **state)
{
	const char *real = workdir_path(*state, "d/e");
	const char *link = workdir_path(*state, "link");
	const char *through = workdir_path(*state, "link/e");
	const char *missing = workdir_path(*state, "no\n");
	int fd CLEANUP(fd_done) = -EBADF;
	struct error error = { 0 };

	workdir_make(*state, "d");
	workdir_make(*state, "d/e");
	workdir_fill(*state, "f");
	assert_return_code(symlink("d", link), errno);
	fd = dir_open(real, &error);
	assert_return_code(fd, errno);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(dir_open(link, NULL), -ELOOP);
	assert_int_equal(dir_open(through, NULL), -ELOOP);
	assert_int_equal(dir_open(missing, &error), -ENOENT);
	assert_int_equal(error.code, ENOENT);
	assert_non_null(strstr(error.text, "no\\x0a"));
}

static void looking_leaves_no_trace(void **state)
{
	static const struct timespec old[2] = { { .tv_sec = 1000000000 },
		{ .tv_nsec = UTIME_OMIT } };
	const char *path = workdir_path(*state, "d");
	int root CLEANUP(fd_done) = workdir_open(*state);
	DIR *streams[2];
	struct stat st;

	workdir_make(*state, "d");
	workdir_make(*state, "d/e");
	assert_return_code(utimensat(root, "d", old, 0), errno);
	streams[0] = fdopendir(dir_open(path, NULL));
	streams[1] = fdopendir(dir_open_below(root, "d", O_RDONLY | O_DIRECTORY, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		assert_non_null(streams[i]);
		assert_non_null(readdir(streams[i]));
		assert_int_equal(closedir(streams[i]), 0);
	}
	assert_return_code(fstatat(root, "d", &st, 0), errno);
	assert_int_equal(st.st_atim.tv_sec, old[0].tv_sec);
}

/* Moves a directory out of the one in which it is looked for, and back, until it is killed. */
static int move_for_ever(struct workdir *workdir, void *context)
{
	(void)context;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		(void)renameat(workdir->dir, "in/d", workdir->dir, "out/d");
		(void)renameat(workdir->dir, "out/d", workdir->dir, "in/d");
	}
	return 0;
}

static void what_is_moved_meanwhile_is_not_taken_for_a_mount(void **state)
{
	int in CLEANUP(fd_done) = -EBADF;
	pid_t mover;

	workdir_make(*state, "in");
	workdir_make(*state, "in/d");
	workdir_make(*state, "out");
	in = dir_open(workdir_path(*state, "in"), NULL);
	mover = workdir_fork(move_for_ever, *state, NULL);
	for (unsigned i = 0; i < 200000; i++) {
		int fd CLEANUP(fd_done) = dir_open_below(in, "d", O_PATH | O_DIRECTORY, NULL);

		if (fd < 0 && fd != -ENOENT)
			fail_msg("it answers %d in round %u", fd, i);
	}
	assert_return_code(kill(mover, SIGKILL), errno);
	(void)workdir_wait(mover);
}

static void below_never_leaves_and_never_follows(void **state)
{
	const char *link = workdir_path(*state, "d/out");
	int root CLEANUP(fd_done) = workdir_open(*state);
	int dir CLEANUP(fd_done) = -EBADF, fd CLEANUP(fd_done) = -EBADF;
	struct stat st;

	workdir_make(*state, "d");
	workdir_make(*state, "d/e");
	workdir_fill(*state, "f");
	assert_return_code(symlink("..", link), errno);
	dir = dir_open_below(root, "d", O_RDONLY | O_DIRECTORY, NULL);
	assert_return_code(dir, errno);
	assert_int_equal(dir_open_below(dir, "..", O_RDONLY, NULL), -EXDEV);
	assert_int_equal(dir_open_below(dir, "/", O_RDONLY, NULL), -EXDEV);
	assert_int_equal(dir_open_below(dir, "e/../../f", O_RDONLY, NULL), -EXDEV);
	assert_int_equal(dir_open_below(dir, "out", O_RDONLY, NULL), -ELOOP);
	assert_int_equal(dir_open_below(dir, "out/f", O_RDONLY, NULL), -ELOOP);
	assert_int_equal(dir_open_below(dir, "none", O_RDONLY, NULL), -ENOENT);
	assert_int_equal(dir_open_below(root, "f", O_RDONLY | O_DIRECTORY, NULL), -ENOTDIR);
	fd = dir_open_below(dir, "out", O_PATH | O_NOFOLLOW, NULL);
	assert_return_code(fd, errno);
	assert_return_code(fstat(fd, &st), errno);
	assert_true(S_ISLNK(st.st_mode));
}

static void below_enters_no_mount_not_even_of_the_same_filesystem(void **state)
{
	const char *bound = workdir_path(*state, "d");
	const char *file = workdir_path(*state, "f");
	const char *other = workdir_path(*state, "other");
	int root CLEANUP(fd_done) = workdir_open(*state);
	int inside CLEANUP(fd_done) = -EBADF;

	workdir_make(*state, "d");
	workdir_make(*state, "other");
	workdir_make(*state, "other/x");
	workdir_fill(*state, "f");
	workdir_fill(*state, "g");
	assert_return_code(mount(other, bound, NULL, MS_BIND, NULL), errno);
	assert_return_code(mount(other, bound, NULL, MS_BIND, NULL), errno);
	assert_return_code(mount("/etc/hostname", file, NULL, MS_BIND, NULL), errno);
	assert_int_equal(dir_open_below(root, "d", O_RDONLY, NULL), -EXDEV);
	assert_int_equal(dir_open_below(root, "d/x", O_RDONLY, NULL), -EXDEV);
	assert_int_equal(dir_open_below(root, "d", O_PATH | O_NOFOLLOW, NULL), -EXDEV);
	assert_int_equal(dir_open_below(root, "f", O_PATH | O_NOFOLLOW, NULL), -EXDEV);
	inside = dir_open(bound, NULL);
	assert_return_code(inside, errno);
	assert_int_equal(dir_open_up(inside, O_RDONLY), -EXDEV);
}

static void identity_is_that_of_the_link_itself(void **state)
{
	const char *link = workdir_path(*state, "link");
	const char *missing = workdir_path(*state, "none");
	uint64_t dev = 0, ino = 0;
	struct stat st;

	assert_return_code(symlink("/", link), errno);
	assert_return_code(lstat(link, &st), errno);
	assert_int_equal(dir_identity(link, &dev, &ino, NULL), 0);
	assert_int_equal(dev, st.st_dev);
	assert_int_equal(ino, st.st_ino);
	assert_int_equal(dir_identity(missing, &dev, &ino, NULL), -ENOENT);
	assert_int_equal(ino, st.st_ino);
}

static void names_are_one_component(void **state)
{
	(void)state;
	assert_true(dir_is_name("a"));
	assert_true(dir_is_name("..."));
	assert_true(dir_is_name("\xff\n"));
	assert_false(dir_is_name(""));
	assert_false(dir_is_name("."));
	assert_false(dir_is_name(".."));
	assert_false(dir_is_name("a/b"));
	assert_false(dir_is_name("/"));
}

static void closed_is_what_leads_through_a_directory_of_ours_alone(void **state)
{
	static const struct {
		mode_t mode;
		uid_t owner;
		int closed;
	} cases[] = {
		{ 0700, 0, 1 },
		{ 0500, 0, 1 },
		{ 0755, 0, 0 },
		{ 0710, 0, 0 },
		{ 0701, 0, 0 },
		{ 0700, SOMEBODY, 0 },
	};
	const char *closed = workdir_path(*state, "d"), *below = workdir_path(*state, "d/e");

	workdir_make(*state, "d");
	workdir_make(*state, "d/e");
	assert_return_code(chmod(workdir_path(*state, ""), 0755), errno); /* mkdtemp made it 0700 */
	assert_return_code(chmod(below, 0755), errno);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_return_code(chmod(closed, cases[i].mode), errno);
		assert_return_code(chown(closed, cases[i].owner, 0), errno);
		assert_int_equal(dir_closed(closed), cases[i].closed);
		assert_int_equal(dir_closed(below), cases[i].closed);
	}
	assert_int_equal(dir_closed(workdir_path(*state, "d/none")), -ENOENT);
}

static void expect_untrusted(const char *path, const char *component)
{
	struct error error = { 0 };

	assert_int_equal(dir_trusted(path, NULL, 0, &error), -EPERM);
	assert_non_null(strstr(error.text, component));
}

static void trust_needs_the_whole_way_up(void **state)
{
	static const uid_t owners[] = { 7, SOMEBODY };
	const char *middle = workdir_path(*state, "a");
	const char *path = workdir_path(*state, "a/b");
	struct error error = { 0 };

	workdir_make(*state, "a");
	workdir_make(*state, "a/b");
	assert_int_equal(dir_trusted(path, NULL, 0, &error), 0);
	assert_return_code(chown(middle, SOMEBODY, 0), errno);
	expect_untrusted(path, middle);
	expect_untrusted(path, "12345");
	assert_int_equal(dir_trusted(path, owners, 2, &error), 0);
	assert_return_code(chown(middle, 0, 0), errno);
	assert_return_code(chown(path, SOMEBODY, 0), errno);
	expect_untrusted(path, path);
	assert_int_equal(dir_trusted(path, owners, 2, &error), 0);
	assert_int_equal(dir_trusted("/", NULL, 0, &error), 0);
}

static void trust_ends_where_others_can_write(void **state)
{
	static const struct {
		mode_t mode;
		gid_t gid;
		bool parent, itself;
	} cases[] = {
		{ 0755, 5, true, true },
		{ 0777, 0, false, false },
		{ 01777, 0, true, false },
		{ 0775, 5, false, false },
		{ 01775, 5, true, false },
		{ 0775, 0, true, true },
		{ 0757, 0, false, false },
	};
	const char *middle = workdir_path(*state, "a");
	const char *path = workdir_path(*state, "a/b");

	workdir_make(*state, "a");
	workdir_make(*state, "a/b");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_return_code(chown(middle, 0, cases[i].gid), errno);
		assert_return_code(chmod(middle, cases[i].mode), errno);
		assert_int_equal(dir_trusted(path, NULL, 0, NULL), cases[i].parent ? 0 : -EPERM);
		assert_int_equal(dir_trusted(middle, NULL, 0, NULL), cases[i].itself ? 0 : -EPERM);
	}
}

static void trust_takes_no_symlink_and_no_unclean_path(void **state)
{
	const char *link = workdir_path(*state, "link");
	const char *through = workdir_path(*state, "link/b");
	const char *dots = workdir_path(*state, "a/../a");
	const char *file = workdir_path(*state, "f");
	const char *missing = workdir_path(*state, "none");

	workdir_make(*state, "a");
	workdir_make(*state, "a/b");
	workdir_fill(*state, "f");
	assert_return_code(symlink("a", link), errno);
	expect_untrusted(link, "symlink");
	expect_untrusted(through, "symlink");
	assert_int_equal(dir_trusted(dots, NULL, 0, NULL), -EINVAL);
	assert_int_equal(dir_trusted("a", NULL, 0, NULL), -EINVAL);
	assert_int_equal(dir_trusted(file, NULL, 0, NULL), -ENOTDIR);
	assert_int_equal(dir_trusted(missing, NULL, 0, NULL), -ENOENT);
}

/* What an unprivileged user gets: 0 in the child's exit status when all held. */
static int passable_as_somebody(void **state)
{
	const char *path = workdir_path(*state, "closed");
	int dir CLEANUP(fd_done) = -EBADF;
	struct stat st;

	if (setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0)
		return 1;
	if (open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
		return 2;
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || dir_make_passable(dir) != 0 || fstat(dir, &st) != 0)
		return 3;
	return (st.st_mode & 07777) == 02750 ? 0 : 4;
}

static void a_closed_directory_is_made_passable_through_its_descriptor(void **state)
{
	const char *path = workdir_path(*state, "closed");
	int status;
	pid_t pid;

	workdir_make(*state, "closed");
	assert_return_code(chown(path, SOMEBODY, SOMEBODY), errno);
	assert_return_code(chmod(path, 02050), errno);
	pid = fork();
	if (pid == 0)
		_exit(passable_as_somebody(state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define workdir_test(f) cmocka_unit_test_setup_teardown(f, workdir_setup, workdir_teardown)

static void a_thing_is_known_by_inode_and_birth_when_its_device_got_another_number(void **state)
{
	static const struct {
		struct dir_known told, seen;
		const char *why;
	} cases[] = {
		{ { 1, 2, "3.4" }, { 1, 2, "3.4" }, NULL },
		{ { 1, 2, "3.4" }, { 9, 2, "3.4" }, NULL }, /* after a boot */
		{ { 1, 2, "3.4" }, { 1, 2, "3.5" }, "younger" },
		{ { 1, 2, "3.4" }, { 1, 9, "3.4" }, "another" },
		{ { 1, 2, NULL }, { 1, 2, "3.4" }, NULL },
		{ { 1, 2, NULL }, { 9, 2, "3.4" }, "another" },
		{ { 1, 2, "3.4" }, { 9, 2, "" }, "another" },
		{ { 0, 0, NULL }, { 9, 2, "3.4" }, NULL }, /* nothing was registered */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = dir_differs(&cases[i].told, &cases[i].seen);

		if (!why != !cases[i].why || (why && !strstr(why, cases[i].why)))
			fail_msg("case %zu: %s", i, why ? why : "it is the same");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		workdir_test(closed_is_what_leads_through_a_directory_of_ours_alone),
		workdir_test(a_path_with_a_symlink_in_it_opens_nothing),
		workdir_test(looking_leaves_no_trace),
		workdir_test(what_is_moved_meanwhile_is_not_taken_for_a_mount),
		workdir_test(below_never_leaves_and_never_follows),
		workdir_test(below_enters_no_mount_not_even_of_the_same_filesystem),
		workdir_test(identity_is_that_of_the_link_itself),
		cmocka_unit_test(names_are_one_component),
		cmocka_unit_test(
			a_thing_is_known_by_inode_and_birth_when_its_device_got_another_number),
		workdir_test(trust_needs_the_whole_way_up),
		workdir_test(trust_ends_where_others_can_write),
		workdir_test(trust_takes_no_symlink_and_no_unclean_path),
		workdir_test(a_closed_directory_is_made_passable_through_its_descriptor),
	};

	return cmocka_run_group_tests_name("dir", tests, workdir_own_mounts, NULL);
}
