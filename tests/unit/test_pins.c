#include "unit.h"

#include "base/text.h"
#include "state/pins.h"
#include "state/runs.h"

#include "database.h"

#include <errno.h>

static int set(struct store *store, const char *run, const char *reason, int64_t until_s)
{
	bool known;

	return pins_set(store,
		&(struct pin){ .run = run,
			.by = "anna",
			.reason = reason,
			.since_s = NOW,
			.until_s = until_s },
		&known, NULL);
}

static void add_run_name(void *context, const struct pin *pin)
{
	struct text *text = context;

	text_addf(text, "%s ", pin->run);
}

static void a_pin_is_loaded_until_it_ends(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
	const struct pin *pin;

	assert_int_equal(set(database(state), "r1", "look; \"here\"", NOW + 1), 1);
	assert_int_equal(set(database(state), "r2", NULL, 0), 1);
	assert_int_equal(set(database(state), "r3", NULL, NOW), 1);
	assert_int_equal(pins_load(database(state), &inventory, NULL), 0);
	assert_int_equal(inventory.run_count, 2);
	pin = inventory_find(&inventory, "r1")->pin;
	assert_string_equal(pin->run, "r1");
	assert_string_equal(pin->by, "anna");
	assert_string_equal(pin->reason, "look; \"here\"");
	assert_int_equal(pin->since_s, NOW);
	assert_int_equal(pin->until_s, NOW + 1);
	assert_int_equal(inventory_find(&inventory, "r2")->pin->until_s, 0);
}

static void pinning_says_whether_the_run_is_known(void **state)
{
	bool known = true;

	assert_int_equal(pins_set(database(state), &(struct pin){ .run = "r1" }, &known, NULL), 1);
	assert_false(known);
	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), 1);
	assert_int_equal(pins_set(database(state), &(struct pin){ .run = "r1" }, &known, NULL), 0);
	assert_true(known);
}

static void begin_claim(struct store *store, const char *run)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };

	assert_int_equal(runs_load(store, &inventory, run, NULL), 0);
	assert_int_equal(runs_claim(store, "p1", inventory_find(&inventory, run), CLAIM_BEGUN_REAP,
				 NOW, NULL),
		1);
	assert_int_equal(runs_begin(store, "p1", run, CLAIM_BEGUN_REAP, NOW, NULL), 1);
}

/* The second of them is already being taken apart. */
static void of_several_all_are_pinned_or_none(void **state)
{
	const struct pin pins[] = { { .run = "r1" }, { .run = "r2" }, { .run = "r3" } };
	struct error error = { 0 };
	struct text names CLEANUP(text_done) = { 0 };
	bool known[ARRAY_SIZE(pins)];

	assert_int_equal(database_register(database(state), "r2", NULL, 0, NULL), 1);
	assert_int_equal(pins_set_all(database(state), pins, 3, known, NULL), 3);
	assert_false(known[0]);
	assert_true(known[1]);
	for (size_t i = 0; i < ARRAY_SIZE(pins); i++)
		assert_int_equal(pins_drop(database(state), pins[i].run, NULL), 1);
	begin_claim(database(state), "r2");
	assert_int_equal(pins_set_all(database(state), pins, 3, known, &error), -EBUSY);
	assert_non_null(strstr(error.text, "run 'r2'"));
	assert_int_equal(pins_each(database(state), add_run_name, &names, NULL), 0);
	assert_null(names.data);
}

static void the_same_pin_is_no_change_and_another_replaces_it(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
	char *history CLEANUP(mem_done) = NULL;

	assert_int_equal(set(database(state), "r1", "a", NOW + 5), 1);
	assert_int_equal(set(database(state), "r1", "a", NOW + 5), 0);
	assert_int_equal(set(database(state), "r1", "b", NOW + 5), 1);
	assert_int_equal(set(database(state), "r1", "b", 0), 1);
	assert_int_equal(pins_load(database(state), &inventory, NULL), 0);
	assert_int_equal(inventory_find(&inventory, "r1")->pin->until_s, 0);
	history = database_history(database(state), "r1");
	assert_string_equal(history, "pinned pinned pinned");
}

static void dropping_is_idempotent(void **state)
{
	char *history CLEANUP(mem_done) = NULL;

	assert_int_equal(pins_drop(database(state), "r1", NULL), 0);
	assert_int_equal(set(database(state), "r1", "a", 0), 1);
	assert_int_equal(pins_drop(database(state), "r1", NULL), 1);
	assert_int_equal(pins_drop(database(state), "r1", NULL), 0);
	history = database_history(database(state), "r1");
	assert_string_equal(history, "pinned unpinned");
}

static void ended_pins_go_and_are_named(void **state)
{
	struct text ended CLEANUP(text_done) = { 0 }, left CLEANUP(text_done) = { 0 };

	assert_int_equal(set(database(state), "r1", "a", NOW - 1), 1);
	assert_int_equal(set(database(state), "r2", "a", NOW + 1), 1);
	assert_int_equal(set(database(state), "r3", "a", 0), 1);
	assert_int_equal(set(database(state), "r4", "a", NOW), 1);
	assert_int_equal(pins_expire(database(state), NOW, add_run_name, &ended, NULL), 0);
	assert_string_equal(ended.data, "r1 r4 ");
	assert_int_equal(pins_each(database(state), add_run_name, &left, NULL), 0);
	assert_string_equal(left.data, "r2 r3 ");
}

static void a_pin_outlives_the_row(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };

	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), 1);
	assert_int_equal(set(database(state), "r1", "a", 0), 1);
	assert_int_equal(runs_forget(database(state), "r1", 0, NULL, NOW, NULL), 1);
	assert_int_equal(pins_load(database(state), &inventory, NULL), 0);
	assert_non_null(inventory_find(&inventory, "r1")->pin);
}

static void no_pin_without_an_identifier(void **state)
{
	bool known;

	assert_int_equal(
		pins_set(database(state), &(struct pin){ .run = "../x" }, &known, NULL), -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_pin_is_loaded_until_it_ends),
		TEST(pinning_says_whether_the_run_is_known),
		TEST(of_several_all_are_pinned_or_none),
		TEST(the_same_pin_is_no_change_and_another_replaces_it),
		TEST(dropping_is_idempotent),
		TEST(ended_pins_go_and_are_named),
		TEST(a_pin_outlives_the_row),
		TEST(no_pin_without_an_identifier),
	};

	return cmocka_run_group_tests_name("pins", tests, NULL, NULL);
}
