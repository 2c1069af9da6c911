/* The library is asked in a process of its own: one that hangs or dies is an unknown answer. */
#include "fuse.h"
#include "git_fixture.h"
#include "workdir.h"

#include "backend/backend.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { LONG_MS = 60 * 1000, HANGS_MS = 3000, A_SECOND_MS = 1000, A_QUARTER_IS_A_SECOND_MS = 4000 };

/* From here on whoever lists the branches of the repository gets no answer. */
static struct fuse hang_refs(struct git_fixture *fixture)
{
	char *refs CLEANUP(mem_done) = mem_printf("%s/refs/heads", fixture->repo);

	git_fixture_sh(fixture, "git -C repo pack-refs --all && mkdir -p '%s'", refs);
	return fuse_mount(refs);
}

static void let_go(struct git_fixture *fixture, struct fuse *fuse)
{
	char *refs CLEANUP(mem_done) = mem_printf("%s/refs/heads", fixture->repo);

	fuse_kill(fuse);
	assert_return_code(umount2(refs, MNT_DETACH), errno);
}

static void a_repository_that_hangs_is_unknown_at_its_deadline(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource r1 = git_fixture_r1(fixture);
	struct fuse fuse = hang_refs(fixture);
	const char *note = NULL;
	int64_t start_ms = clock_boot_ms();
	enum work work;

	work = worktree_backend.work(
		fixture->state, &r1, deadline_in_ms(A_SECOND_MS), &fixture->arena, &note);
	let_go(fixture, &fuse);
	assert_in_range(clock_boot_ms() - start_ms, 900, LONG_MS);
	assert_int_equal(work, WORK_UNKNOWN);
	assert_non_null(note);
	assert_non_null(strstr(note, "look for unsaved work: not done in time"));
	work = worktree_backend.work(
		fixture->state, &r1, deadline_in_ms(LOOK_MS), &fixture->arena, &note);
	assert_int_equal(work, WORK_CLEAN);
}

static void and_so_is_its_branch(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource branch = {
		.kind = KIND_BRANCH, .run = "r1", .locator = "sbx/r1", .repo = fixture->repo
	};
	struct fuse fuse = hang_refs(fixture);

	fixture->settings.limits.time_budget_ms = A_QUARTER_IS_A_SECOND_MS;
	worktree_backend.probe(fixture->state, &branch, &fixture->arena);
	let_go(fixture, &fuse);
	assert_int_equal(branch.present, TRI_UNKNOWN);
	assert_non_null(strstr(branch.note, "look at its branch: not done in time"));
	fixture->settings.limits.time_budget_ms = LONG_MS;
	worktree_backend.probe(fixture->state, &branch, &fixture->arena);
	assert_int_equal(branch.present, TRI_YES);
}

/* A branch x in a repository of its own, beside the fixture's. */
static struct resource branch_beside(struct git_fixture *fixture, const char *name)
{
	git_fixture_sh(fixture, "git clone -q --bare repo %s && git -C %s branch x", name, name);
	return (struct resource){
		.kind = KIND_BRANCH,
		.run = "r2",
		.locator = "x",
		.repo = arena_printf(&fixture->arena, "%s/%s", fixture->base, name),
	};
}

static void one_that_hangs_among_many_is_the_only_one_that_is_unknown(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource hangs = {
		.kind = KIND_BRANCH, .run = "r1", .locator = "sbx/r1", .repo = fixture->repo
	};
	struct resource before = branch_beside(fixture, "before");
	struct resource after = branch_beside(fixture, "south-of-repo");
	struct resource *const all[] = { &after, &hangs, &before };
	struct fuse fuse = hang_refs(fixture);

	fixture->settings.limits.time_budget_ms = A_QUARTER_IS_A_SECOND_MS;
	worktree_backend.probe_many(fixture->state, all, ARRAY_SIZE(all), &fixture->arena);
	let_go(fixture, &fuse);
	fixture->settings.limits.time_budget_ms = LONG_MS;
	assert_int_equal(hangs.present, TRI_UNKNOWN);
	assert_non_null(strstr(hangs.note, "look at its branch: not done in time"));
	assert_int_equal(before.present, TRI_YES);
	assert_int_equal(after.present, TRI_YES);
}

static void and_so_is_a_tree_that_is_registered(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource r1 = git_fixture_r1(fixture), again;
	struct fuse fuse = hang_refs(fixture);
	struct error error = { 0 };

	r1.base = r1.branch = NULL;
	again = r1;
	fixture->settings.limits.time_budget_ms = A_QUARTER_IS_A_SECOND_MS;
	assert_int_equal(
		worktree_backend.identify(fixture->state, &r1, &fixture->arena, &error), -ETIME);
	let_go(fixture, &fuse);
	assert_non_null(strstr(error.text, "look at the worktree to register: not done in time"));
	assert_null(r1.branch);
	fixture->settings.limits.time_budget_ms = LONG_MS;
	error = (struct error){ 0 };
	assert_int_equal(
		worktree_backend.identify(fixture->state, &again, &fixture->arena, &error), 0);
	assert_string_equal(again.branch, "sbx/r1");
	assert_int_equal(strlen(again.base), 40);
	assert_non_null(again.repo);
	assert_non_null(again.token);
	assert_true(again.ino != 0);
}

/* The child of the parent that is not us; 0: there is none. */
static int sibling_of(const char *children)
{
	FILE *file CLEANUP(file_done) = fopen(children, "re");
	int pid, sibling = 0;

	while (file && fscanf(file, "%d", &pid) == 1)
		sibling = pid != getpid() ? pid : sibling;
	return sibling;
}

/* Kills the child of the parent that hangs: others, which look at something else, end by themselves. */
static void kill_sibling(pid_t parent)
{
	char *children CLEANUP(mem_done) = mem_printf("/proc/%d/task/%d/children", parent, parent);
	int64_t end_ms = deadline_in_ms(LONG_MS), hangs_ms = deadline_in_ms(HANGS_MS);
	int sibling = 0;

	while (deadline_left_ms(end_ms) && deadline_left_ms(hangs_ms)) {
		int now = sibling_of(children);

		if (now != sibling || !now)
			hangs_ms = deadline_in_ms(HANGS_MS);
		sibling = now;
		(void)poll(NULL, 0, 10);
	}
	_exit(sibling && kill(sibling, SIGKILL) == 0 ? 0 : 1);
}

/* A pack that is cut under its mapping, a fault of the library, no memory left: a signal ends it. */
static void one_that_ends_the_library_by_a_signal_is_unknown_with_its_name(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource r1 = git_fixture_r1(fixture);
	struct fuse fuse = hang_refs(fixture);
	pid_t us = getpid(), killer = fork();
	const char *note = NULL;
	enum work work;
	int status = -1;

	if (killer == 0)
		kill_sibling(us);
	work = worktree_backend.work(
		fixture->state, &r1, deadline_in_ms(LOOK_MS), &fixture->arena, &note);
	let_go(fixture, &fuse);
	assert_int_equal(waitpid(killer, &status, 0), killer);
	assert_int_equal(status, 0);
	assert_int_equal(work, WORK_UNKNOWN);
	assert_non_null(strstr(note, "look for unsaved work: its process"));
	assert_non_null(strstr(note, "was ended by signal 9 (SIGKILL)"));
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(a_repository_that_hangs_is_unknown_at_its_deadline),
		case_of(and_so_is_its_branch),
		case_of(one_that_hangs_among_many_is_the_only_one_that_is_unknown),
		case_of(and_so_is_a_tree_that_is_registered),
		case_of(one_that_ends_the_library_by_a_signal_is_unknown_with_its_name),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
