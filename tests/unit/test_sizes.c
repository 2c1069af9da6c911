#include "unit.h"

#include "state/sizes.h"

#include "database.h"
#include "state/db.h"

static struct run *add_run(
	struct inventory *inventory, const char *id, uint64_t trees, int64_t bytes)
{
	struct run *run = inventory_run(inventory, id);

	run->trees = trees;
	run->bytes = bytes;
	run->measured = bytes >= 0;
	return run;
}

/* A pass that measured this run (trees 0: it did not), and shows no other. */
static void pass(void **state, const char *run, uint64_t trees, int64_t bytes, enum result result)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };

	add_run(&inventory, run, trees, trees ? bytes : -1)->result = result;
	assert_int_equal(sizes_note(database(state), &inventory, NULL), 0);
}

/* As who looks at that moment finds it, in memory of the inventory. */
static const struct size_note *look(
	void **state, struct inventory *inventory, const char *run, int64_t now_s)
{
	inventory_done(inventory);
	(void)inventory_run(inventory, run);
	assert_int_equal(sizes_load(database(state), inventory, now_s, NULL), 0);
	return inventory_find(inventory, run)->noted;
}

static void what_was_measured_is_known_for_an_hour(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const uint64_t trees = UINT64_C(0xfedcba9876543210); /* no number of SQL's */
	const struct size_note *noted;

	pass(state, "r1", trees, 4096, RESULT_NONE);
	noted = look(state, &inventory, "r1", NOW + SIZES_FRESH_S);
	assert_non_null(noted);
	assert_true(noted->trees == trees);
	assert_int_equal(noted->bytes, 4096);
	assert_int_equal(noted->at_s, NOW);
	assert_null(look(state, &inventory, "r1", NOW + SIZES_FRESH_S + 1));
	assert_null(look(state, &inventory, "r1", NOW - 1)); /* the clock went back */
	assert_null(look(state, &inventory, "r2", NOW));
}

static void a_newer_one_takes_the_place_of_an_older_one(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	pass(state, "r1", 5, 4096, RESULT_NONE);
	pass(state, "r1", 6, 0, RESULT_NONE);
	assert_int_equal(look(state, &inventory, "r1", NOW)->trees, 6);
	assert_int_equal(inventory_find(&inventory, "r1")->noted->bytes, 0);
	pass(state, "r1", 0, 0, RESULT_NONE); /* it did not measure, and that is no news */
	assert_int_equal(look(state, &inventory, "r1", NOW)->trees, 6);
}

static void what_is_measured_anew_is_not_shown_from_before(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	pass(state, "r1", 5, 4096, RESULT_NONE);
	inventory_run(&inventory, "r1")->measured = true; /* in vain */
	assert_int_equal(sizes_load(database(state), &inventory, NOW, NULL), 0);
	assert_null(inventory_find(&inventory, "r1")->noted);
}

static void a_run_that_was_worked_on_has_none(void **state)
{
	static const enum result results[] = { RESULT_REAPED, RESULT_PARTIAL, RESULT_KEPT,
		RESULT_FAILED };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		pass(state, "r1", 5, 4096, RESULT_NONE);
		assert_non_null(look(state, &inventory, "r1", NOW));
		pass(state, "r1", 5, 4096, results[i]);
		assert_null(look(state, &inventory, "r1", NOW));
	}
}

static void what_is_not_shown_any_more_is_forgotten(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	pass(state, "r1", 5, 4096, RESULT_NONE);
	pass(state, "r2", 0, 0, RESULT_NONE); /* it measured nothing, and did not see r1 */
	assert_null(look(state, &inventory, "r1", NOW));
}

static void a_name_that_no_run_may_have_is_not_noted(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	pass(state, "no run", 5, 4096, RESULT_NONE);
	assert_null(look(state, &inventory, "no run", NOW));
}

/* Somebody else writes meanwhile, so that a transaction could not even begin. */
static void where_nothing_is_new_nothing_is_written(void **state)
{
	struct store *other = database_open(*state, STORE_WRITE);
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct transaction transaction = { 0 };

	pass(state, "r1", 5, 4096, RESULT_NONE);
	assert_int_equal(transaction_write(&transaction, other, NULL), 0);
	pass(state, "r1", 0, 0, RESULT_NONE);
	transaction_done(&transaction);
	store_close(other);
	assert_non_null(look(state, &inventory, "r1", NOW));
}

static void books_of_before_have_no_sizes_and_take_them(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct workdir *workdir = *state;

	assert_int_equal(
		db_exec(database(state), "DROP TABLE size; PRAGMA user_version = 9", "", NULL), 0);
	store_close(workdir->more);
	workdir->more = database_open(workdir, STORE_WRITE);
	assert_null(look(state, &inventory, "r1", NOW));
	pass(state, "r1", 5, 4096, RESULT_NONE);
	assert_non_null(look(state, &inventory, "r1", NOW));
	assert_int_equal(store_verify(database(state), NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_measured_is_known_for_an_hour),
		TEST(a_newer_one_takes_the_place_of_an_older_one),
		TEST(what_is_measured_anew_is_not_shown_from_before),
		TEST(a_run_that_was_worked_on_has_none),
		TEST(what_is_not_shown_any_more_is_forgotten),
		TEST(a_name_that_no_run_may_have_is_not_noted),
		TEST(where_nothing_is_new_nothing_is_written),
		TEST(books_of_before_have_no_sizes_and_take_them),
	};

	return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
