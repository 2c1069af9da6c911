#include "unit.h"

#include "base/clock.h"
#include "child.h"
#include "group.h"
#include "os/cgroup_files.h"
#include "os/cgroupfs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CHILDREN = 8, PATIENCE_MS = 10000, HOPPING_MS = 12000 };

struct world {
	struct cgroupfs *cgroupfs;
	pid_t children[CHILDREN];
	size_t count;
};

static int world_set_up(void **state)
{
	struct world *world = mem_new(sizeof(*world));

	*state = world;
	if (groups_set_up() < 0)
		return -1;
	return cgroupfs_open(&world->cgroupfs, NULL);
}

static int world_tear_down(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < world->count; i++)
		child_end(world->children[i]);
	groups_tear_down();
	cgroupfs_close(world->cgroupfs);
	free(world);
	return 0;
}

static pid_t world_child(struct world *world, const char *group)
{
	pid_t pid = child_start(NULL);

	assert_true(world->count < CHILDREN);
	world->children[world->count++] = pid;
	group_put(group, pid);
	return pid;
}

static int kill_group(const char *name, int64_t within_ms, struct error *error)
{
	int group CLEANUP(fd_done) = group_open(name);

	return cgroupfs_kill(group, deadline_in_ms(within_ms), error);
}

static int remove_group(const char *name, struct error *error)
{
	int parent CLEANUP(fd_done) = group_open("");

	return cgroupfs_remove(parent, name, deadline_in_ms(PATIENCE_MS), error);
}

static bool populated(const char *name)
{
	int group CLEANUP(fd_done) = group_open(name);
	bool answer = false;

	assert_int_equal(cgroupfs_populated(group, &answer, NULL), 0);
	return answer;
}

/* Ended or not, its number is the child's until it is waited for. */
static bool child_lives(pid_t pid)
{
	siginfo_t info = { 0 };

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid == 0;
}

static void the_mount_is_found(void **state)
{
	struct world *world = *state;

	assert_string_equal(cgroupfs_mount(world->cgroupfs), groups_mount());
}

static void our_own_group_is_the_kernels_answer(void **state)
{
	struct world *world = *state;
	char *own CLEANUP(mem_done) = NULL;
	int group CLEANUP(fd_done) = -EBADF;

	assert_int_equal(cgroupfs_own(&own, NULL), 0);
	assert_int_equal(own[0], '/');
	group = cgroupfs_open_group(world->cgroupfs, own, NULL);
	assert_true(group >= 0);
}

static void a_group_is_opened_by_its_path(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	int group CLEANUP(fd_done) = -EBADF;

	group_make("a/b");
	group = cgroupfs_open_group(world->cgroupfs, group_path("a/b"), &error);
	assert_true(group >= 0);
	assert_int_equal(cgroupfs_open_group(world->cgroupfs, group_path("a/c"), &error), -ENOENT);
}

static void a_path_never_leads_out_of_the_mount(void **state)
{
	struct world *world = *state;

	assert_true(cgroupfs_open_group(world->cgroupfs, "/../..", NULL) < 0);
	assert_true(cgroupfs_open_group(world->cgroupfs, "/../unified/..", NULL) < 0);
}

/* As a unit has them under ProtectControlGroups= and ReadWritePaths=. 0, or the step that failed. */
static int check_read_only_but_one(void)
{
	struct cgroupfs *cgroupfs;
	char *writable CLEANUP(mem_done) = mem_printf("%s%s", groups_mount(), group_path("a"));
	int a CLEANUP(fd_done) = -EBADF, b CLEANUP(fd_done) = -EBADF, r;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount(writable, writable, NULL, MS_BIND, NULL) < 0 ||
		mount(NULL, groups_mount(), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		return 1;
	if (cgroupfs_open(&cgroupfs, NULL) < 0)
		return 2;
	a = cgroupfs_open_group(cgroupfs, group_path("a"), NULL);
	b = cgroupfs_open_group(cgroupfs, group_path("b"), NULL);
	cgroupfs_close(cgroupfs);
	if (a < 0 || cgroupfs_remove(a, "deep", deadline_in_ms(PATIENCE_MS), NULL) != 1)
		return 3;
	r = b < 0 ? b : cgroupfs_remove(b, "deep", deadline_in_ms(PATIENCE_MS), NULL);
	return r == -EROFS ? 0 : 4;
}

static void a_group_is_opened_through_the_mount_in_which_it_is_writable(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	group_make("a/deep");
	group_make("b/deep");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check_read_only_but_one());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void populated_is_true_for_what_is_deeper_too(void **state)
{
	struct world *world = *state;

	group_make("a/b");
	assert_false(populated("a"));
	(void)world_child(world, "a/b");
	assert_true(populated("a"));
}

static void a_zombie_does_not_populate_a_group(void **state)
{
	struct world *world = *state;
	pid_t pid;

	group_make("a");
	pid = world_child(world, "a");
	assert_int_equal(kill(pid, SIGKILL), 0);
	child_wait_zombie(pid);
	assert_int_equal(kill_group("a", PATIENCE_MS, NULL), 0);
	assert_int_equal(remove_group("a", NULL), 1);
}

static void a_group_that_is_gone_is_empty_and_the_root_is_no_group(void **state)
{
	struct world *world = *state;
	int group CLEANUP(fd_done) = -EBADF, root CLEANUP(fd_done) = -EBADF;
	bool answer = true;

	group_make("a");
	group = group_open("a");
	group_unmake("a");
	assert_int_equal(cgroupfs_populated(group, &answer, NULL), 0);
	assert_false(answer);
	assert_int_equal(cgroupfs_kill(group, deadline_in_ms(PATIENCE_MS), NULL), 0);

	root = cgroupfs_open_group(world->cgroupfs, "/", NULL);
	assert_true(root >= 0);
	/* The root of a cgroup namespace looks like a group; but whoever asks is in it. */
	assert_true(cgroupfs_populated(root, &answer, NULL) == -EINVAL || answer);
	assert_true(cgroupfs_kill(root, deadline_in_ms(PATIENCE_MS), NULL) < 0);
}

/* Someone else may remove it while we wait for it to become empty. */
static void a_group_that_is_removed_while_it_is_watched_is_empty(void **state)
{
	int group CLEANUP(fd_done) = -EBADF, events CLEANUP(fd_done) = -EBADF;

	(void)state;
	group_make("a");
	group = group_open("a");
	events = cgroup_file(group, "cgroup.events", O_RDONLY);
	assert_true(events >= 0);
	group_unmake("a");
	assert_int_equal(cgroup_event_wait(events, "populated", 0, deadline_in_ms(PATIENCE_MS)), 0);
	assert_int_equal(cgroup_event(events, "frozen"), -ENODEV);
}

static void killing_empties_the_group_and_all_below_and_nothing_beside(void **state)
{
	struct world *world = *state;
	pid_t beside;

	group_make("a/b/c");
	group_make("a2");
	(void)world_child(world, "a");
	(void)world_child(world, "a/b/c");
	beside = world_child(world, "a2");
	assert_int_equal(kill_group("a", PATIENCE_MS, NULL), 1);
	assert_false(populated("a"));
	assert_true(child_lives(beside));
	assert_int_equal(kill_group("a", PATIENCE_MS, NULL), 0);
}

static void a_frozen_group_dies(void **state)
{
	struct world *world = *state;

	group_make("a/b");
	(void)world_child(world, "a/b");
	group_write("a/b", "cgroup.freeze", "1");
	assert_int_equal(kill_group("a", PATIENCE_MS, NULL), 1);
	assert_false(populated("a"));
}

/* "t" and "u" are threaded parts of the test's group; cgroup.kill works in neither. */
static void a_threaded_group_dies_and_its_neighbour_lives(void **state)
{
	struct world *world = *state;
	char number[16];
	pid_t inside, outside;

	group_make("t");
	group_make("u");
	inside = world_child(world, "");
	outside = world_child(world, "");
	group_write("t", "cgroup.type", "threaded");
	group_write("u", "cgroup.type", "threaded");
	(void)snprintf(number, sizeof(number), "%d", inside);
	group_write("t", "cgroup.threads", number);
	(void)snprintf(number, sizeof(number), "%d", outside);
	group_write("u", "cgroup.threads", number);
	assert_int_equal(kill_group("t", PATIENCE_MS, NULL), 1);
	assert_false(child_lives(inside));
	assert_true(child_lives(outside));
}

static void without_cgroup_kill_members_die_one_by_one(void **state)
{
	struct world *world = *state;

	group_make("a/b/c");
	(void)world_child(world, "a");
	(void)world_child(world, "a/b/c");
	group_write("a/b", "cgroup.freeze", "1");
	group_break("a", "cgroup.kill");
	assert_int_equal(kill_group("a", PATIENCE_MS, NULL), 1);
	assert_false(populated("a"));
}

/* Puts itself into the group, then is another process at every moment, for a bounded time. */
static void start_hopper(const char *group)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		group_put(group, getpid());
		int64_t end_ms = deadline_in_ms(HOPPING_MS);

		while (deadline_left_ms(end_ms) > 0)
			if (fork() != 0)
				_exit(0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void who_forks_all_the_time_dies_too(void **state)
{
	(void)state;
	group_make("a");
	for (int i = 0; i < 4; i++)
		start_hopper("a");
	assert_int_equal(kill_group("a", PATIENCE_MS / 2, NULL), 1);
	assert_false(populated("a"));
}

static void who_forks_all_the_time_dies_without_cgroup_kill(void **state)
{
	(void)state;
	group_make("a");
	group_break("a", "cgroup.kill");
	for (int i = 0; i < 4; i++)
		start_hopper("a");
	assert_int_equal(kill_group("a", PATIENCE_MS / 2, NULL), 1);
	assert_false(populated("a"));
}

static void two_hundred_processes_die_together(void **state)
{
	pid_t pids[200];

	(void)state;
	group_make("a");
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = child_start(NULL);
		group_put("a", pids[i]);
	}
	group_break("a", "cgroup.kill"); /* the harder way: more than one batch */
	assert_int_equal(kill_group("a", PATIENCE_MS, NULL), 1);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		child_end(pids[i]);
}

static void we_never_kill_the_group_we_are_in(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	group_make("a/b");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		group_put("a/b", getpid());
		_exit(kill_group("a", PATIENCE_MS, NULL) == -EPERM ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/*
 * A process that the old freezer holds stays in state D and does not die, like one on dead disks.
 */
static const char freezer[] = "/sys/fs/cgroup/freezer";

static void freezer_write(const char *directory, const char *file, const char *value)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, value, strlen(value)), (ssize_t)strlen(value));
	(void)close(fd);
}

static void an_unkillable_process_is_named_at_the_deadline(void **state)
{
	struct world *world = *state;
	char directory[128], number[16], expected[64];
	struct error error = { 0 };
	int r;
	pid_t pid;

	(void)snprintf(directory, sizeof(directory), "%s/sbx-test-%d", freezer, getpid());
	if (mkdir(directory, 0755) < 0) {
		print_message("SKIPPED: no cgroup v1 freezer, so no process can be made "
			      "unkillable on cue\n");
		skip();
	}
	group_make("a/b");
	pid = world_child(world, "a/b");
	(void)snprintf(number, sizeof(number), "%d", pid);
	freezer_write(directory, "cgroup.procs", number);
	freezer_write(directory, "freezer.state", "FROZEN");
	r = kill_group("a", 300, &error);
	freezer_write(directory, "freezer.state", "THAWED");
	child_end(pid);
	world->count--;
	(void)rmdir(directory);

	assert_int_equal(r, -ETIME);
	(void)snprintf(expected, sizeof(expected), "pid %d (test_cgroupfs) in state D", pid);
	assert_non_null(strstr(error.text, expected));
}

/* The kernel answers the write before it has stopped them all. */
static void freeze(const char *name)
{
	int group CLEANUP(fd_done) = group_open(name);
	int events CLEANUP(fd_done) = cgroup_file(group, "cgroup.events", O_RDONLY);

	group_write(name, "cgroup.freeze", "1");
	assert_int_equal(cgroup_event_wait(events, "frozen", 1, deadline_in_ms(PATIENCE_MS)), 0);
}

static void who_is_left_is_named_with_what_holds_them(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	char first[64], number[16];
	pid_t inside;

	group_make("a/b");
	inside = world_child(world, "a/b");
	(void)snprintf(
		first, sizeof(first), "still in it: pid %d (test_cgroupfs) in state ", inside);
	assert_int_equal(remove_group("a", &error), -EBUSY);
	assert_non_null(strstr(error.text, first));
	assert_null(strstr(error.text, "frozen"));
	for (int i = 0; i < 5; i++)
		(void)world_child(world, i % 2 ? "a" : "a/b");
	freeze("a/b");
	error = (struct error){ 0 };
	assert_int_equal(remove_group("a", &error), -EBUSY);
	assert_non_null(strstr(error.text, " and 2 more (frozen)"));
	assert_int_equal(kill_group("a", PATIENCE_MS, NULL), 1);

	group_make("t");
	inside = world_child(world, "");
	group_write("t", "cgroup.type", "threaded");
	(void)snprintf(number, sizeof(number), "%d", inside);
	group_write("t", "cgroup.threads", number);
	error = (struct error){ 0 };
	assert_int_equal(remove_group("t", &error), -EBUSY);
	assert_non_null(strstr(error.text, number));
	assert_non_null(strstr(error.text, "(a threaded group)"));
	assert_int_equal(kill_group("t", PATIENCE_MS, NULL), 1);
}

static void groups_are_removed_bottom_up(void **state)
{
	(void)state;
	group_make("a/b/c");
	group_make("a/b/d");
	group_make("a/.e");
	group_make("a2");
	assert_int_equal(remove_group("a", NULL), 1);
	assert_false(group_exists("a"));
	assert_true(group_exists("a2"));
	assert_int_equal(remove_group("a", NULL), 0);
}

/* Longer than any path can be, and deeper than the number of descriptors we may have. */
static void depth_and_breadth_do_not_matter(void **state)
{
	enum { DEPTH = 300, BREADTH = 200 };
	char name[101];
	int at;

	(void)state;
	(void)memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	group_make("a");
	at = group_open("a");
	for (int i = 0; i < BREADTH; i++) {
		char wide[16];

		(void)snprintf(wide, sizeof(wide), "w%d", i);
		assert_int_equal(mkdirat(at, wide, 0755), 0);
	}
	for (int i = 0; i < DEPTH; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0755), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	assert_int_equal(remove_group("a", NULL), 1);
	assert_false(group_exists("a"));
}

static void a_populated_group_stays_whole_and_says_who_is_in_it(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	char expected[32];
	pid_t pid;

	for (char name[] = "a/b"; name[2] <= 'l'; name[2]++)
		group_make(name);
	pid = world_child(world, "a/c");
	assert_int_equal(remove_group("a", &error), -EBUSY);
	(void)snprintf(expected, sizeof(expected), "pid %d (", pid);
	assert_non_null(strstr(error.text, expected));
	for (char name[] = "a/b"; name[2] <= 'l'; name[2]++)
		assert_true(group_exists(name));
}

static int note_child(void *context, const char *name)
{
	size_t *count = context;

	assert_true(text_equal(name, "a") || text_equal(name, "b"));
	++*count;
	return 0;
}

static void children_are_the_groups_directly_below(void **state)
{
	int root CLEANUP(fd_done) = -EBADF;
	size_t count = 0;

	(void)state;
	group_make("a/x");
	group_make("b");
	root = group_open("");
	assert_int_equal(cgroupfs_children(root, note_child, &count, NULL), 0);
	assert_int_equal(count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
		IN_WORLD(the_mount_is_found),
		IN_WORLD(our_own_group_is_the_kernels_answer),
		IN_WORLD(a_group_is_opened_by_its_path),
		IN_WORLD(a_path_never_leads_out_of_the_mount),
		IN_WORLD(a_group_is_opened_through_the_mount_in_which_it_is_writable),
		IN_WORLD(populated_is_true_for_what_is_deeper_too),
		IN_WORLD(a_zombie_does_not_populate_a_group),
		IN_WORLD(a_group_that_is_gone_is_empty_and_the_root_is_no_group),
		IN_WORLD(a_group_that_is_removed_while_it_is_watched_is_empty),
		IN_WORLD(killing_empties_the_group_and_all_below_and_nothing_beside),
		IN_WORLD(a_frozen_group_dies),
		IN_WORLD(a_threaded_group_dies_and_its_neighbour_lives),
		IN_WORLD(without_cgroup_kill_members_die_one_by_one),
		IN_WORLD(who_forks_all_the_time_dies_too),
		IN_WORLD(who_forks_all_the_time_dies_without_cgroup_kill),
		IN_WORLD(two_hundred_processes_die_together),
		IN_WORLD(we_never_kill_the_group_we_are_in),
		IN_WORLD(an_unkillable_process_is_named_at_the_deadline),
		IN_WORLD(who_is_left_is_named_with_what_holds_them),
		IN_WORLD(groups_are_removed_bottom_up),
		IN_WORLD(depth_and_breadth_do_not_matter),
		IN_WORLD(a_populated_group_stays_whole_and_says_who_is_in_it),
		IN_WORLD(children_are_the_groups_directly_below),
	};

	return cmocka_run_group_tests_name("cgroupfs", tests, NULL, NULL);
}
