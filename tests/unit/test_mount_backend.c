#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "fuse.h"
#include "os/dir.h"
#include "os/mounts.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/*
 * The backend on a root with the tree of r1, in which things are mounted, and a directory outside
 * that they come from.
 */
struct fixture {
	char *root;
	struct settings settings;
	struct inventory inventory;
	struct run *run;
	void *state;
	struct workdir *workdir;
};

static struct run *add_run(struct fixture *fixture, const char *id, const char *place)
{
	struct run *run = inventory_run(&fixture->inventory, id);
	struct resource tree = {
		.generation = 3,
		.kind = KIND_WORKTREE,
		.proof = PROOF_ROW,
		.locator = workdir_path(fixture->workdir, place),
	};
	char birth[DIR_BIRTH];
	int fd CLEANUP(fd_done) = dir_open(tree.locator, NULL);

	if (dir_identity(tree.locator, &tree.dev, &tree.ino, NULL) == 0 && dir_birth(fd, birth))
		tree.token = birth;
	(void)run_add_resource(&fixture->inventory, run, &tree);
	return run;
}

static void fixture_open(struct fixture *fixture, void **state)
{
	*fixture = (struct fixture){ .workdir = *state };
	workdir_make(*state, "ws");
	workdir_make(*state, "ws/r1");
	workdir_make(*state, "ws/r1/m");
	workdir_make(*state, "ws/r1/m/n");
	workdir_make(*state, "out");
	workdir_fill(*state, "out/file");
	fixture->root = mem_dup(workdir_path(*state, "ws"));
	fixture->settings.roots = (struct text_list){ &fixture->root, 1 };
	fixture->settings.limits.kill_timeout_ms = 20000;
	assert_int_equal(mount_backend.open(&fixture->settings, &fixture->state, NULL), 0);
	fixture->run = add_run(fixture, "r1", "ws/r1");
}

static void fixture_done(struct fixture *fixture)
{
	mount_backend.close(fixture->state);
	inventory_done(&fixture->inventory);
	free(fixture->root);
}

static const char *place(struct fixture *fixture, const char *name)
{
	return workdir_path(fixture->workdir, name);
}

static void put(struct fixture *fixture, const char *from, const char *at)
{
	assert_return_code(
		mount(place(fixture, from), place(fixture, at), NULL, MS_BIND, NULL), errno);
}

static void put_tmpfs(struct fixture *fixture, const char *at)
{
	assert_return_code(mount("t", place(fixture, at), "tmpfs", 0, "size=64k"), errno);
}

static void discover(struct fixture *fixture)
{
	mount_backend.discover(fixture->state, &fixture->inventory, NULL);
}

static struct resource *found_of(struct fixture *fixture, struct run *run, const char *name)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].kind == KIND_MOUNT &&
			text_equal(run->resources[i].locator, place(fixture, name)))
			return &run->resources[i];
	return NULL;
}

static struct resource *found(struct fixture *fixture, const char *name)
{
	return found_of(fixture, fixture->run, name);
}

static size_t mount_count(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->resource_count; i++)
		count += run->resources[i].kind == KIND_MOUNT;
	return count;
}

static int take(struct fixture *fixture, const struct resource *resource, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };

	return mount_backend.effects->remove(fixture->state, resource, &effort, error);
}

static bool mounted(struct fixture *fixture, const char *name)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	assert_int_equal(mounts_read(&table, NULL), 0);
	return mounts_at(&table, place(fixture, name));
}

/* Discovers, takes down what stands at the name, and looks whether it is gone. */
static void goes(struct fixture *fixture, const char *name)
{
	struct error error = { 0 };
	struct resource *resource;

	discover(fixture);
	resource = found(fixture, name);
	assert_non_null(resource);
	if (take(fixture, resource, &error) != 1)
		fail_msg("%s", error.text);
	assert_false(mounted(fixture, name));
	assert_int_equal(take(fixture, resource, &error), 0);
	mount_backend.probe(fixture->state, resource, &fixture->inventory.arena);
	assert_int_equal(resource->present, TRI_NO);
}

static void a_mount_in_the_tree_is_the_runs_and_what_is_behind_it_stays(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct resource *resource;

	fixture_open(&fixture, state);
	put(&fixture, "out", "ws/r1/m");
	discover(&fixture);
	resource = found(&fixture, "ws/r1/m");
	assert_non_null(resource);
	assert_int_equal(resource->proof, PROOF_ROW);
	assert_int_equal(resource->present, TRI_YES);
	assert_int_equal(resource->generation, 3);
	assert_string_equal(resource->at, place(&fixture, "ws/r1"));
	mount_backend.probe(fixture.state, resource, &fixture.inventory.arena);
	assert_int_equal(resource->present, TRI_YES);
	assert_non_null(resource->note);
	goes(&fixture, "ws/r1/m");
	assert_true(workdir_has(*state, "out/file"));
	assert_true(workdir_has(*state, "ws/r1/m/n"));
}

static void names_that_only_begin_alike_are_not_below(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct run *other;

	fixture_open(&fixture, state);
	workdir_make(*state, "ws/r10");
	workdir_make(*state, "ws/r10/m");
	workdir_make(*state, "ws/r1-x");
	other = add_run(&fixture, "r10", "ws/r10");
	put_tmpfs(&fixture, "ws/r10/m");
	put_tmpfs(&fixture, "ws/r1-x");
	put_tmpfs(&fixture, "out");
	discover(&fixture);
	assert_int_equal(mount_count(fixture.run), 0);
	assert_int_equal(mount_count(other), 1);
	assert_non_null(found_of(&fixture, other, "ws/r10/m"));
}

static void what_lies_in_the_trees_of_two_runs_is_neithers(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct run *inner;

	fixture_open(&fixture, state);
	inner = add_run(&fixture, "r2", "ws/r1/m");
	put_tmpfs(&fixture, "ws/r1/m/n");
	discover(&fixture);
	assert_int_equal(found(&fixture, "ws/r1/m/n")->proof, PROOF_NONE);
	assert_int_equal(found_of(&fixture, inner, "ws/r1/m/n")->proof, PROOF_NONE);
}

static void what_is_mounted_on_the_tree_or_above_it_is_shown_and_nobodys(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct run *deep;

	fixture_open(&fixture, state);
	workdir_make(*state, "ws/sub");
	workdir_make(*state, "ws/sub/r2");
	deep = add_run(&fixture, "r2", "ws/sub/r2");
	put(&fixture, "ws/r1", "ws/r1");
	put(&fixture, "ws/sub", "ws/sub");
	put(&fixture, "ws", "ws");
	discover(&fixture);
	assert_int_equal(mount_count(fixture.run), 1);
	assert_int_equal(found(&fixture, "ws/r1")->proof, PROOF_NONE);
	assert_int_equal(mount_count(deep), 1);
	assert_int_equal(found_of(&fixture, deep, "ws/sub")->proof, PROOF_NONE);
}

static void a_tree_without_a_root_above_has_no_mounts(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct run *stray;

	fixture_open(&fixture, state);
	stray = add_run(&fixture, "r2", "out");
	workdir_make(*state, "out/d");
	put_tmpfs(&fixture, "out/d");
	discover(&fixture);
	assert_int_equal(mount_count(stray), 0);
}

static void only_the_run_that_matters_is_searched(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	put_tmpfs(&fixture, "ws/r1/m");
	mount_backend.discover(fixture.state, &fixture.inventory, "another");
	assert_int_equal(mount_count(fixture.run), 0);
}

/* Every kind that can be made here; what is behind a bind is looked at afterwards. */
static void every_kind_of_mount_goes(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	char *overlay CLEANUP(mem_done) = NULL;

	fixture_open(&fixture, state);
	workdir_make(*state, "upper");
	workdir_make(*state, "work");
	workdir_fill(*state, "ws/r1/file");
	put_tmpfs(&fixture, "ws/r1/m");
	goes(&fixture, "ws/r1/m");
	assert_return_code(mount("p", place(&fixture, "ws/r1/m"), "proc", 0, NULL), errno);
	goes(&fixture, "ws/r1/m");
	assert_return_code(mount("s", place(&fixture, "ws/r1/m"), "sysfs", 0, NULL), errno);
	goes(&fixture, "ws/r1/m");
	put(&fixture, "out/file", "ws/r1/file");
	goes(&fixture, "ws/r1/file");
	put(&fixture, "out", "ws/r1/m");
	assert_return_code(mount(NULL, place(&fixture, "ws/r1/m"), NULL,
				   MS_REMOUNT | MS_BIND | MS_RDONLY, NULL),
		errno);
	goes(&fixture, "ws/r1/m");
	put(&fixture, "ws/r1", "ws/r1/m/n");
	goes(&fixture, "ws/r1/m/n");
	overlay = mem_printf("lowerdir=%s,upperdir=%s,workdir=%s", place(&fixture, "out"),
		place(&fixture, "upper"), place(&fixture, "work"));
	assert_return_code(mount("o", place(&fixture, "ws/r1/m"), "overlay", 0, overlay), errno);
	goes(&fixture, "ws/r1/m");
	put(&fixture, "out", "ws/r1/m");
	assert_return_code(mount(NULL, place(&fixture, "ws/r1/m"), NULL, MS_SHARED, NULL), errno);
	goes(&fixture, "ws/r1/m");
	assert_true(workdir_has(*state, "out/file"));
	assert_true(workdir_has(*state, "ws/r1/m/n"));
	assert_true(workdir_has(*state, "ws/r1/file"));
}

static void mounts_on_and_in_each_other_go_from_the_inside(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	put_tmpfs(&fixture, "ws/r1/m");
	workdir_make(*state, "ws/r1/m/n");
	put_tmpfs(&fixture, "ws/r1/m/n");
	put_tmpfs(&fixture, "ws/r1/m"); /* hides the one before */
	put(&fixture, "out", "ws/r1/m");
	workdir_make(*state, "ws/r1/m/n");
	put_tmpfs(&fixture, "ws/r1/m/n");
	put_tmpfs(&fixture, "ws/r1/m/n");
	discover(&fixture);
	assert_int_equal(mount_count(fixture.run), 2);
	goes(&fixture, "ws/r1/m");
	assert_false(mounted(&fixture, "ws/r1/m/n"));
	assert_true(workdir_has(*state, "out/file"));
	assert_true(workdir_has(*state, "out/n"));
}

static void any_bytes_may_stand_in_a_mount_point(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	workdir_make(*state, "ws/r1/a b\n\t\\040#\xff..");
	put_tmpfs(&fixture, "ws/r1/a b\n\t\\040#\xff..");
	goes(&fixture, "ws/r1/a b\n\t\\040#\xff..");
}

static void expect_stays(struct fixture *fixture, const char *name, int code, const char *why)
{
	struct error error = { 0 };

	discover(fixture);
	assert_non_null(found(fixture, name));
	assert_int_equal(take(fixture, found(fixture, name), &error), code);
	if (!strstr(error.text, why) || !strstr(error.text, pathname_last(name)))
		fail_msg("not in \"%s\": %s, %s", error.text, why, name);
	assert_true(mounted(fixture, name));
}

/* A use of a mount that a child makes: 0 when it is in place. */
typedef int use_fn(const char *path);

struct holder {
	use_fn *use;
	const char *path;
	int ready[2];
};

static int sit_in(const char *path)
{
	return chdir(path);
}

static int open_in(const char *path)
{
	return open(path, O_RDONLY) < 0;
}

static int map_in(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	(void)close(fd);
	return map == MAP_FAILED;
}

static int hold_in_child(struct workdir *workdir, void *context)
{
	struct holder *hold = context;

	(void)workdir;
	if (hold->use(hold->path) != 0 || write(hold->ready[1], "x", 1) != 1)
		return 1;
	return pause();
}

static pid_t hold(struct fixture *fixture, use_fn *use, const char *name)
{
	struct holder hold = { .use = use, .path = place(fixture, name) };
	char byte;
	pid_t pid;

	assert_return_code(pipe2(hold.ready, O_CLOEXEC), errno);
	pid = workdir_fork(hold_in_child, fixture->workdir, &hold);
	(void)close(hold.ready[1]);
	assert_int_equal(read(hold.ready[0], &byte, 1), 1);
	(void)close(hold.ready[0]);
	return pid;
}

static void let_go(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)workdir_wait(pid);
}

static void a_mount_in_use_stays_and_its_user_is_named(void **state)
{
	static const struct {
		use_fn *use;
		const char *name, *why;
	} uses[] = {
		{ sit_in, "ws/r1/m", "working directory" },
		{ open_in, "ws/r1/m/file", "an open file" },
		{ map_in, "ws/r1/m/file", "a mapped file" },
	};
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	put(&fixture, "out", "ws/r1/m");
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		pid_t pid = hold(&fixture, uses[i].use, uses[i].name);
		char *whom CLEANUP(mem_done) = mem_printf("pid %d (", pid);

		expect_stays(&fixture, "ws/r1/m", -EBUSY, whom);
		expect_stays(&fixture, "ws/r1/m", -EBUSY, uses[i].why);
		let_go(pid);
	}
	goes(&fixture, "ws/r1/m");
}

static void the_others_go_when_one_is_in_use(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct error error = { 0 };
	pid_t pid;

	fixture_open(&fixture, state);
	put_tmpfs(&fixture, "ws/r1/m");
	workdir_make(*state, "ws/r1/m/a");
	workdir_make(*state, "ws/r1/m/b");
	workdir_make(*state, "ws/r1/m/c");
	put_tmpfs(&fixture, "ws/r1/m/a");
	put(&fixture, "out", "ws/r1/m/b");
	put_tmpfs(&fixture, "ws/r1/m/c");
	pid = hold(&fixture, open_in, "ws/r1/m/b/file");
	discover(&fixture);
	assert_int_equal(take(&fixture, found(&fixture, "ws/r1/m"), &error), -EBUSY);
	assert_non_null(strstr(error.text, "ws/r1/m/b"));
	assert_false(mounted(&fixture, "ws/r1/m/a"));
	assert_true(mounted(&fixture, "ws/r1/m/b"));
	assert_false(mounted(&fixture, "ws/r1/m/c"));
	let_go(pid);
	goes(&fixture, "ws/r1/m");
}

static void a_tree_that_is_not_the_registered_one_keeps_its_mounts(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);

	fixture_open(&fixture, state);
	put_tmpfs(&fixture, "ws/r1/m");
	fixture.run->resources[0].ino++;
	expect_stays(&fixture, "ws/r1/m", -ESTALE, "another one");
	fixture.run->resources[0].ino--;
	found(&fixture, "ws/r1/m")->ino--;
	found(&fixture, "ws/r1/m")->token = "1.000000001";
	expect_stays(&fixture, "ws/r1/m", -ESTALE, "younger one");
}

/* A rename above a mount moves it, and is no change that the kernel tells. */
static void a_mount_that_moved_with_its_directory_is_found_where_it_is(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct error error = { 0 };

	fixture_open(&fixture, state);
	workdir_make(*state, "other");
	workdir_make(*state, "other/n");
	put_tmpfs(&fixture, "ws/r1/m/n");
	put_tmpfs(&fixture, "other/n");
	discover(&fixture);
	assert_return_code(rename(place(&fixture, "ws/r1/m"), place(&fixture, "ws/r1/x")), errno);
	assert_return_code(symlink("../../other", place(&fixture, "ws/r1/m")), errno);
	assert_int_equal(take(&fixture, found(&fixture, "ws/r1/m/n"), &error), 0);
	assert_true(mounted(&fixture, "other/n"));
	goes(&fixture, "ws/r1/x/n");
}

/* ---------------------------------------------------------------------------------------- FUSE */

static void a_fuse_mount_that_answers_goes_like_any_other(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct fuse fuse;
	pid_t pid;

	fixture_open(&fixture, state);
	fuse = fuse_mount(place(&fixture, "ws/r1/m"));
	fuse_serve(&fuse);
	goes(&fixture, "ws/r1/m");
	fuse_kill(&fuse);
	fuse = fuse_mount(place(&fixture, "ws/r1/m"));
	fuse_serve(&fuse);
	pid = hold(&fixture, open_in, "ws/r1/m");
	expect_stays(&fixture, "ws/r1/m", -EBUSY, "an open file");
	let_go(pid);
	goes(&fixture, "ws/r1/m");
	fuse_kill(&fuse);
}

static void a_fuse_mount_whose_server_died_goes_also_while_it_is_in_use(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	int held CLEANUP(fd_done) = -EBADF;
	struct fuse fuse;

	fixture_open(&fixture, state);
	fuse = fuse_mount(place(&fixture, "ws/r1/m"));
	fuse_serve(&fuse);
	held = open(place(&fixture, "ws/r1/m"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(held, errno);
	fuse_kill(&fuse);
	goes(&fixture, "ws/r1/m");
}

static void a_fuse_mount_whose_server_sleeps_goes_also_while_it_is_in_use(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	int held CLEANUP(fd_done) = -EBADF;
	struct fuse fuse;

	fixture_open(&fixture, state);
	fuse = fuse_mount(place(&fixture, "ws/r1/m"));
	fuse_serve(&fuse);
	held = open(place(&fixture, "ws/r1/m"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(held, errno);
	(void)kill(fuse.server, SIGSTOP);
	goes(&fixture, "ws/r1/m");
	fuse_kill(&fuse);
}

static void what_is_mounted_in_a_fuse_mount_that_never_answered_goes_with_it(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	struct fuse fuse;

	fixture_open(&fixture, state);
	fuse = fuse_mount(place(&fixture, "ws/r1/m"));
	put(&fixture, "out", "ws/r1/m");
	goes(&fixture, "ws/r1/m");
	assert_true(workdir_has(*state, "out/file"));
	fuse_kill(&fuse);
}

/* Of the processor: so much that the time of others on the machine does not count. */
static void a_run_with_thousands_of_mounts_around_it_is_searched_at_once(void **state)
{
	struct fixture fixture CLEANUP(fixture_done);
	clock_t begin;

	fixture_open(&fixture, state);
	put_tmpfs(&fixture, "out");
	workdir_make(*state, "out/d");
	for (int i = 0; i < 2000; i++)
		put(&fixture, "out/d", "out/d");
	for (int i = 0; i < 1000; i++) {
		char id[16], name[32];

		(void)snprintf(id, sizeof(id), "x%d", i);
		(void)snprintf(name, sizeof(name), "ws/x%d", i);
		(void)add_run(&fixture, id, name);
	}
	put_tmpfs(&fixture, "ws/r1/m");
	begin = clock();
	discover(&fixture);
	for (int i = 0; i < 1000; i++)
		mount_backend.probe(
			fixture.state, found(&fixture, "ws/r1/m"), &fixture.inventory.arena);
	assert_in_range(clock() - begin, 0, 4 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define workdir_test(test) cmocka_unit_test_setup_teardown(test, workdir_setup, workdir_teardown)
		workdir_test(a_mount_in_the_tree_is_the_runs_and_what_is_behind_it_stays),
		workdir_test(names_that_only_begin_alike_are_not_below),
		workdir_test(what_lies_in_the_trees_of_two_runs_is_neithers),
		workdir_test(what_is_mounted_on_the_tree_or_above_it_is_shown_and_nobodys),
		workdir_test(a_tree_without_a_root_above_has_no_mounts),
		workdir_test(only_the_run_that_matters_is_searched),
		workdir_test(every_kind_of_mount_goes),
		workdir_test(mounts_on_and_in_each_other_go_from_the_inside),
		workdir_test(any_bytes_may_stand_in_a_mount_point),
		workdir_test(a_mount_in_use_stays_and_its_user_is_named),
		workdir_test(the_others_go_when_one_is_in_use),
		workdir_test(a_tree_that_is_not_the_registered_one_keeps_its_mounts),
		workdir_test(a_mount_that_moved_with_its_directory_is_found_where_it_is),
		workdir_test(a_fuse_mount_that_answers_goes_like_any_other),
		workdir_test(a_fuse_mount_whose_server_died_goes_also_while_it_is_in_use),
		workdir_test(a_fuse_mount_whose_server_sleeps_goes_also_while_it_is_in_use),
		workdir_test(what_is_mounted_in_a_fuse_mount_that_never_answered_goes_with_it),
		workdir_test(a_run_with_thousands_of_mounts_around_it_is_searched_at_once),
	};

	return cmocka_run_group_tests_name("mount backend", tests, workdir_own_mounts, NULL);
}
