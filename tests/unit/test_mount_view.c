#include "unit.h"

#include "os/mount_view.h"
#include "workdir.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

/*
 * In children that are PID 1 of a namespace of their own, since the one of this machine is in
 * another mount namespace than the test. Answers are numbers of the step that went wrong.
 */
static int with_first_process(int (*child)(struct workdir *, void *), void **state)
{
	struct workdir *workdir = *state;
	int pids = unshare(CLONE_NEWPID);

	assert_return_code(pids, errno);
	return workdir_wait(workdir_fork(child, workdir, NULL));
}

/* A setup and teardown of its own: unshare(CLONE_NEWPID) cannot be taken back by the test program. */
static int in_child(int (*child)(struct workdir *, void *), void **state)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(with_first_process(child, state));
	return workdir_wait(pid);
}

static bool own_proc(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("proc", "/proc", "proc", 0, NULL) == 0;
}

static bool put(struct workdir *workdir)
{
	return mount("t", workdir_path(workdir, "d"), "tmpfs", 0, "size=64k") == 0;
}

static int see_changes(struct workdir *workdir, void *context)
{
	struct mount_view view CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;
	const char *point = workdir_path(workdir, "d");
	const struct mount *same;

	(void)context;
	if (!own_proc() || mount_view_now(&view, NULL) != 0)
		return 1;
	if (view.apart || view.there.count || mounts_at(&view.here, point))
		return 2;
	same = view.here.mounts;
	if (mount_view_now(&view, NULL) != 0 || view.here.mounts != same)
		return 3; /* nothing changed, nothing is read */
	if (!put(workdir) || mount_view_now(&view, NULL) != 0 || !mounts_at(&view.here, point))
		return 4;
	if (umount(point) != 0 || mount_view_now(&view, NULL) != 0 || mounts_at(&view.here, point))
		return 5;
	return 0;
}

static void the_table_is_read_again_when_it_has_changed(void **state)
{
	workdir_make(*state, "d");
	assert_int_equal(in_child(see_changes, state), 0);
}

/* The parent is PID 1 and has the mount; we do not. */
static int look_from_apart(struct workdir *workdir, void *context)
{
	struct mount_view view CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;
	const char *point = workdir_path(workdir, "d");

	(void)context;
	if (unshare(CLONE_NEWNS) != 0 || umount(point) != 0 || mount_view_now(&view, NULL) != 0)
		return 10;
	if (!view.apart || mounts_at(&view.here, point))
		return 11;
	return mounts_at(&view.there, point) ? 0 : 12;
}

/* PID 1 takes the mount away while the child looks. */
static int look_from_apart_twice(struct workdir *workdir, void *context)
{
	struct mount_view view CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;
	const char *point = workdir_path(workdir, "d");
	const int *pipes = context;
	char byte = 'x';

	if (unshare(CLONE_NEWNS) != 0 || mount_view_now(&view, NULL) != 0)
		return 20;
	if (!mounts_at(&view.there, point))
		return 21;
	if (write(pipes[1], &byte, 1) != 1 || read(pipes[2], &byte, 1) != 1)
		return 22;
	if (mount_view_now(&view, NULL) != 0 || mounts_at(&view.there, point))
		return 23;
	return mounts_at(&view.here, point) ? 0 : 24;
}

static int be_first_with_a_mount(struct workdir *workdir, void *context)
{
	int pipes[4], r;
	char byte;
	pid_t pid;

	(void)context;
	if (!own_proc() || !put(workdir) || pipe(pipes) != 0 || pipe(pipes + 2) != 0)
		return 1;
	r = workdir_wait(workdir_fork(look_from_apart, workdir, NULL));
	if (r != 0)
		return r;
	pid = workdir_fork(look_from_apart_twice, workdir, pipes);
	if (read(pipes[0], &byte, 1) != 1 || umount(workdir_path(workdir, "d")) != 0 ||
		write(pipes[3], "x", 1) != 1)
		return 2;
	return workdir_wait(pid);
}

static void what_only_pid_1_has_is_seen_there(void **state)
{
	workdir_make(*state, "d");
	assert_int_equal(in_child(be_first_with_a_mount, state), 0);
}

static int hide_pid_1(struct workdir *workdir, void *context)
{
	struct mount_view view CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;

	(void)context;
	if (!own_proc() || !put(workdir) ||
		mount("proc", "/proc", "proc", 0, "hidepid=invisible") != 0)
		return 1;
	if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
		setresuid(65534, 65534, 65534) != 0)
		return 2;
	if (mount_view_now(&view, NULL) != 0 || view.apart)
		return 3;
	return mounts_at(&view.here, workdir_path(workdir, "d")) ? 0 : 4;
}

static int be_first_and_hidden(struct workdir *workdir, void *context)
{
	(void)context;
	return workdir_wait(workdir_fork(hide_pid_1, workdir, NULL));
}

static void where_pid_1_cannot_be_seen_it_counts_as_being_here(void **state)
{
	workdir_make(*state, "d");
	assert_int_equal(in_child(be_first_and_hidden, state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define workdir_test(test) cmocka_unit_test_setup_teardown(test, workdir_setup, workdir_teardown)
		workdir_test(the_table_is_read_again_when_it_has_changed),
		workdir_test(what_only_pid_1_has_is_seen_there),
		workdir_test(where_pid_1_cannot_be_seen_it_counts_as_being_here),
	};

	return cmocka_run_group_tests_name("mount view", tests, workdir_own_mounts, NULL);
}
