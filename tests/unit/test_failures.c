#include "unit.h"

#include "state/failures.h"

#include "database.h"
#include "state/passes.h"

static const struct resource tree = { .kind = KIND_WORKTREE, .locator = "/srv/ws/r1" };

/* What is on the books of a run, in memory that lasts as long as the inventory. */
static const struct run *look(void **state, const char *run, struct inventory *inventory)
{
	inventory_done(inventory);
	(void)inventory_run(inventory, run);
	assert_int_equal(failures_load(database(state), inventory, NULL), 0);
	return inventory_find(inventory, run);
}

static struct failures add(void **state, const char *run, int64_t now_s, const char *why)
{
	static struct arena arena;
	struct failures failures;

	arena_done(&arena);
	assert_int_equal(
		failures_add(database(state), run, now_s, why, &arena, &failures, NULL), 0);
	return failures;
}

static void assert_none(void **state, const char *run)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct run *found = look(state, run, &inventory);

	assert_null(found->failures);
	assert_int_equal(found->facts.failed_count, 0);
	assert_false(found->facts.unfinished);
}

static void failures_in_a_row_are_counted_from_the_first(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct run *run;
	struct failures failures;

	assert_none(state, "r1");
	failures = add(state, "r1", NOW, "the mount is busy");
	assert_int_equal(failures.count, 1);
	failures = add(state, "r1", NOW + 300, "its cgroup is not empty");
	assert_int_equal(failures.since_s, NOW);
	assert_int_equal(failures.count, 2);
	assert_int_equal(failures.last_s, NOW + 300);
	assert_string_equal(failures.error, "its cgroup is not empty");
	run = look(state, "r1", &inventory);
	assert_int_equal(run->failures->since_s, NOW);
	assert_int_equal(run->failures->count, 2);
	assert_string_equal(run->failures->error, "its cgroup is not empty");
	assert_int_equal(run->facts.failed_count, 2);
	assert_int_equal(run->facts.failed_last_s, NOW + 300);
	assert_none(state, "r2");
}

static void a_failure_before_the_first_one_moves_the_beginning(void **state)
{
	(void)add(state, "r1", NOW, "a");
	assert_int_equal(add(state, "r1", NOW - 5000, "b").since_s, NOW - 5000);
}

static void what_ran_out_of_time_is_no_failure_but_is_remembered(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct run *run;

	assert_int_equal(failures_note_unfinished(database(state), "r1", NOW, NULL), 0);
	assert_int_equal(failures_note_unfinished(database(state), "r1", NOW + 1, NULL), 0);
	run = look(state, "r1", &inventory);
	assert_true(run->facts.unfinished);
	assert_null(run->failures);
	(void)add(state, "r1", NOW, "stuck after all");
	run = look(state, "r1", &inventory);
	assert_false(run->facts.unfinished);
	assert_int_equal(run->facts.failed_count, 1);
	assert_int_equal(failures_note_unfinished(database(state), "r1", NOW + 2, NULL), 0);
	run = look(state, "r1", &inventory);
	assert_int_equal(run->facts.failed_count, 1); /* nor the end of a row of them */
	assert_int_equal(failures_clear(database(state), "r1", NULL), 0);
	assert_none(state, "r1");
}

static void the_end_of_a_run_ends_its_failures(void **state)
{
	struct store *store = database(state);
	struct run run = { .id = (char[]){ "r1" }, .decision = { .reason = REASON_FINISHED_OK } };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	for (int stopped = 0; stopped < 2; stopped++) {
		(void)database_register(store, "r1", &tree, 1, NULL);
		run.row = database_row(store, "r1", &inventory);
		(void)add(state, "r1", NOW, "busy");
		assert_int_equal(failures_note_unfinished(store, "r1", NOW, NULL), 0);
		assert_int_equal(runs_claim(store, "p1", &run, CLAIM_BEGUN_REAP, NOW, NULL), 1);
		assert_int_equal(runs_begin(store, "p1", "r1", CLAIM_BEGUN_REAP, NOW, NULL), 1);
		assert_int_equal(stopped ? runs_stopped(store, "p1", &run, NOW, NULL)
					 : runs_reaped(store, "p1", &run, NOW, NULL),
			0);
		assert_none(state, "r1");
	}
}

static void forgetting_and_a_new_registration_begin_anew(void **state)
{
	struct store *store = database(state);

	(void)add(state, "r1", NOW, "of an earlier run of that name");
	assert_int_equal(database_register(store, "r1", &tree, 1, NULL), 1);
	assert_none(state, "r1");
	(void)add(state, "r1", NOW, "busy");
	assert_int_equal(database_register(store, "r1", &tree, 1, NULL), 0);
	assert_int_equal(add(state, "r1", NOW, "busy").count, 2); /* told again it is no new one */
	assert_int_equal(runs_forget(store, "r1", KIND_WORKTREE, tree.locator, NOW, NULL), 1);
	assert_none(state, "r1");
	(void)add(state, "r1", NOW, "busy");
	assert_int_equal(runs_forget(store, "r1", KIND_WORKTREE, NULL, NOW, NULL), 1);
	assert_none(state, "r1");
}

/* A pass began it, nobody registered it, and its name means another run by now. */
static void a_later_run_of_the_name_does_not_inherit_failures(void **state)
{
	struct store *store = database(state);
	struct run run = { .id = (char[]){ "r1" }, .decision = { .reason = REASON_ORPHAN } };

	assert_int_equal(runs_claim(store, "p1", &run, CLAIM_BEGUN_REAP, NOW, NULL), 1);
	assert_int_equal(runs_begin(store, "p1", "r1", CLAIM_BEGUN_REAP, NOW, NULL), 1);
	(void)add(state, "r1", NOW, "busy");
	assert_int_equal(failures_note_unfinished(store, "r1", NOW, NULL), 0);
	assert_int_equal(runs_drop_claimed(store, "r1", NULL), 1);
	assert_none(state, "r1");
}

static void only_what_is_not_shown_any_more_is_dropped(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	(void)add(state, "r1", NOW, "busy");
	(void)add(state, "r2", NOW, "busy");
	assert_int_equal(failures_note_unfinished(database(state), "r3", NOW, NULL), 0);
	(void)look(state, "r2", &inventory);
	assert_int_equal(failures_drop_gone(database(state), &inventory, NULL), 0);
	assert_none(state, "r1");
	assert_none(state, "r3");
	assert_int_equal(look(state, "r2", &inventory)->facts.failed_count, 1);
}

static void failures_move_with_the_clock_and_are_never_later_than_now(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct pass_clocks clocks = { .wall_s = NOW + 7000, .boot_id = "b", .step_s = 6000 };
	const struct run *run;

	(void)add(state, "r1", NOW, "busy");
	(void)add(state, "r1", NOW + 600, "busy");
	assert_int_equal(pass_begin(database(state), "p1", &clocks, NULL), 0);
	run = look(state, "r1", &inventory);
	assert_int_equal(run->failures->since_s, NOW + 6000);
	assert_int_equal(run->failures->last_s, NOW + 6600);
	clocks.step_s = 0; /* it went back while the host was off: nobody knows by how much */
	clocks.wall_s = NOW - 100;
	assert_int_equal(pass_begin(database(state), "p2", &clocks, NULL), 0);
	run = look(state, "r1", &inventory);
	assert_int_equal(run->failures->since_s, NOW - 100);
	assert_int_equal(run->failures->last_s, NOW - 100);
}

static void a_long_error_is_cut(void **state)
{
	char why[4000];

	memset(why, 'x', sizeof(why) - 1);
	why[sizeof(why) - 1] = 0;
	assert_int_equal(strlen(add(state, "r1", NOW, why).error), 1000);
	(void)add(state, "r1", NOW, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(failures_in_a_row_are_counted_from_the_first),
		TEST(a_failure_before_the_first_one_moves_the_beginning),
		TEST(what_ran_out_of_time_is_no_failure_but_is_remembered),
		TEST(the_end_of_a_run_ends_its_failures),
		TEST(forgetting_and_a_new_registration_begin_anew),
		TEST(a_later_run_of_the_name_does_not_inherit_failures),
		TEST(only_what_is_not_shown_any_more_is_dropped),
		TEST(failures_move_with_the_clock_and_are_never_later_than_now),
		TEST(a_long_error_is_cut),
	};

	return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
