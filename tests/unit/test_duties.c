#include "unit.h"

#include "state/duties.h"

#include "database.h"
#include "state/history.h"

static struct duty revocation(int64_t generation)
{
	return (struct duty){
		.run = "r1",
		.generation = generation,
		.kind = DUTY_REVOKE,
		.since_s = NOW,
		.reason = "finished_ok",
		.outcome = OUTCOME_OK,
		.root = "/srv/ws",
	};
}

static void set(void **state, struct duty duty, enum duty_state to, int64_t count, const char *why)
{
	duty.state = to;
	duty.count = count;
	duty.last_s = NOW + 60 * count;
	duty.error = why;
	assert_int_equal(duties_set(database(state), &duty, "p1", NULL), 0);
}

/* What is left to do, in memory of the inventory. */
static void look(void **state, struct inventory *inventory)
{
	inventory_done(inventory);
	*inventory = (struct inventory){ 0 };
	(void)inventory_run(inventory, "r1");
	assert_int_equal(runs_load(database(state), inventory, "r1", NULL), 0);
	assert_int_equal(duties_load(database(state), inventory, NULL), 0);
}

static int64_t registered(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	assert_true(database_register(database(state), "r1", NULL, 0, NULL) >= 0);
	return database_row(database(state), "r1", &inventory)->generation;
}

static void forget_row(void **state)
{
	assert_int_equal(runs_forget(database(state), "r1", KIND_WORKTREE, NULL, NOW + 1, NULL), 1);
}

static void assert_history(void **state, const char *wanted)
{
	char *words CLEANUP(mem_done) = database_history(database(state), "r1");

	assert_string_equal(words, wanted);
}

static void a_failure_is_told_whole_and_of_a_run_that_is_gone(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct duty *duty;

	set(state, revocation(3), DUTY_FAILED, 1, "no vault");
	set(state, revocation(3), DUTY_FAILED, 2, "no vault still");
	look(state, &inventory);
	assert_int_equal(inventory.duty_count, 1);
	duty = &inventory.duties[0];
	assert_string_equal(duty->run, "r1");
	assert_int_equal(duty->generation, 3);
	assert_int_equal(duty->kind, DUTY_REVOKE);
	assert_int_equal(duty->state, DUTY_FAILED);
	assert_true(duty->ripe);
	assert_int_equal(duty->since_s, NOW);
	assert_int_equal(duty->count, 2);
	assert_int_equal(duty->last_s, NOW + 120);
	assert_string_equal(duty->error, "no vault still");
	assert_string_equal(duty->reason, "finished_ok");
	assert_int_equal(duty->outcome, OUTCOME_OK);
	assert_string_equal(duty->root, "/srv/ws");
	assert_null(inventory_find(&inventory, "r1")->revocation);
}

static void a_run_is_told_of_its_own_generation(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	int64_t generation = registered(state);

	set(state, revocation(generation - 1), DUTY_FAILED, 1, "an earlier one");
	look(state, &inventory);
	assert_null(inventory_find(&inventory, "r1")->revocation);
	set(state, revocation(generation), DUTY_FAILED, 1, "this one");
	look(state, &inventory);
	assert_string_equal(inventory_find(&inventory, "r1")->revocation->error, "this one");
	assert_int_equal(inventory.duty_count, 2);
}

static void what_is_done_is_done_also_for_those_before(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	int64_t generation = registered(state);

	set(state, revocation(generation - 1), DUTY_FAILED, 1, "an earlier one");
	set(state, revocation(generation + 1), DUTY_FAILED, 1, "a later one");
	set(state, revocation(generation), DUTY_DONE, 0, NULL);
	set(state, revocation(generation), DUTY_FAILED, 1, "too late");
	look(state, &inventory);
	assert_int_equal(inventory_find(&inventory, "r1")->revocation->state, DUTY_DONE);
	assert_int_equal(inventory.duty_count, 1);
	assert_string_equal(inventory.duties[0].error, "a later one");
}

static void what_is_expected_takes_nothing_back(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct duty duty = revocation(3), other = revocation(4);

	assert_int_equal(duties_expect(database(state), &duty, NULL), 0);
	look(state, &inventory);
	assert_int_equal(inventory.duties[0].state, DUTY_PENDING);
	set(state, duty, DUTY_FAILED, 1, "no vault");
	assert_int_equal(duties_expect(database(state), &duty, NULL), 0);
	assert_int_equal(duties_expect(database(state), &other, NULL), 0);
	look(state, &inventory);
	assert_int_equal(inventory.duty_count, 2);
	assert_int_equal(inventory.duties[0].generation, 4); /* the untried one first */
	assert_int_equal(inventory.duties[1].state, DUTY_FAILED);
}

/* A marker may move it there and back: only more time can have brought a new credential. */
static void only_a_later_deadline_opens_anew_what_is_done(void **state)
{
	static const struct {
		int64_t done, now;
		enum duty_state wanted;
	} cases[] = {
		{ NOW, NOW - 60, DUTY_DONE },
		{ NOW, NOW, DUTY_DONE },
		{ NOW, NOW + 60, DUTY_PENDING },
		{ 0, NOW, DUTY_PENDING },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct duty duty = revocation((int64_t)i + 1);

		duty.deadline_s = cases[i].done;
		set(state, duty, DUTY_DONE, 0, NULL);
		duty.deadline_s = cases[i].now;
		assert_int_equal(duties_expect(database(state), &duty, NULL), 0);
		look(state, &inventory);
		assert_int_equal(inventory.duty_count, cases[i].wanted == DUTY_PENDING);
		assert_int_equal(duties_forget(database(state), &duty, NOW, NULL),
			cases[i].wanted == DUTY_PENDING);
	}
}

static void after_waits_for_the_tombstone_of_its_generation(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct duty duty = revocation(3);
	struct history_entry gone = { .at_s = NOW,
		.run = "r1",
		.generation = 2,
		.action = "reaped",
		.reason = "finished_ok" };

	duty.kind = DUTY_AFTER;
	assert_int_equal(duties_expect(database(state), &duty, NULL), 0);
	assert_int_equal(history_add(database(state), &gone, NULL), 0);
	look(state, &inventory);
	assert_false(inventory.duties[0].ripe);
	gone.generation = 3;
	assert_int_equal(history_add(database(state), &gone, NULL), 0);
	look(state, &inventory);
	assert_true(inventory.duties[0].ripe);
}

/* Its tombstone is what says that it may be run. */
static void what_is_owed_outlives_the_history(void **state)
{
	static const enum duty_state states[] = { DUTY_PENDING, DUTY_FAILED, DUTY_DONE };
	static const size_t left[] = { 1, 1, 0 };
	struct history_entry gone = {
		.at_s = NOW, .run = "r1", .generation = 3, .action = "reaped"
	};
	struct duty duty = revocation(3);

	duty.kind = DUTY_AFTER;
	assert_int_equal(duties_expect(database(state), &duty, NULL), 0);
	assert_int_equal(history_add(database(state), &gone, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };

		if (states[i] != DUTY_PENDING)
			set(state, duty, states[i], 1, "no mail");
		for (int pass = 0; pass < 2; pass++) {
			assert_int_equal(history_trim(database(state), NOW + 600, NULL), 0);
			assert_int_equal(duties_trim(database(state), NOW + 600, NULL), 0);
		}
		look(state, &inventory);
		assert_int_equal(inventory.duty_count, left[i]);
		assert_true(!left[i] || inventory.duties[0].ripe);
	}
	assert_history(state, "");
}

static void each_try_has_its_word_in_the_history(void **state)
{
	struct duty after = revocation(3);
	char *words CLEANUP(mem_done) = NULL;

	after.kind = DUTY_AFTER;
	set(state, revocation(3), DUTY_FAILED, 1, "no vault");
	set(state, revocation(3), DUTY_DONE, 0, NULL);
	set(state, after, DUTY_FAILED, 1, "no mail");
	set(state, after, DUTY_DONE, 0, NULL);
	words = database_history(database(state), "r1");
	assert_non_null(strstr(words, "revoke failed"));
	assert_non_null(strstr(words, "after failed"));
	assert_non_null(strstr(words, "revoked"));
}

static void forgetting_drops_what_is_left_and_says_so(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	int64_t generation = registered(state);
	struct duty earlier = revocation(generation - 1), later = revocation(generation);

	set(state, earlier, DUTY_FAILED, 1, "an earlier one");
	assert_int_equal(duties_forget(database(state), &later, NOW, NULL), 0);
	assert_int_equal(duties_forget(database(state), &earlier, NOW, NULL), 1);
	assert_int_equal(duties_forget(database(state), &earlier, NOW, NULL), 0);
	set(state, revocation(generation), DUTY_DONE, 0, NULL);
	assert_int_equal(duties_forget(database(state), &later, NOW, NULL), 0);
	look(state, &inventory);
	assert_int_equal(inventory.duty_count, 0);
	assert_int_equal(inventory_find(&inventory, "r1")->revocation->state, DUTY_DONE);
}

static void only_what_can_matter_no_more_is_trimmed(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	int64_t generation = registered(state);
	struct duty after = revocation(generation);

	after.kind = DUTY_AFTER;
	set(state, revocation(generation), DUTY_DONE, 0, NULL);
	set(state, revocation(generation + 1), DUTY_FAILED, 1, "of a run that is gone");
	assert_int_equal(duties_expect(database(state), &after, NULL), 0);
	assert_int_equal(duties_trim(database(state), NOW + 1, NULL), 0);
	look(state, &inventory);
	assert_int_equal(inventory.duty_count, 2);
	assert_non_null(inventory_find(&inventory, "r1")->revocation);
	forget_row(state); /* so it never went */
	assert_int_equal(duties_trim(database(state), NOW, NULL), 0);
	look(state, &inventory);
	assert_int_equal(inventory.duty_count, 2);
	assert_int_equal(duties_trim(database(state), NOW + 1, NULL), 0);
	look(state, &inventory);
	assert_int_equal(inventory.duty_count, 1);
	assert_int_equal(inventory.duties[0].generation, generation + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_failure_is_told_whole_and_of_a_run_that_is_gone),
		TEST(a_run_is_told_of_its_own_generation),
		TEST(what_is_done_is_done_also_for_those_before),
		TEST(what_is_expected_takes_nothing_back),
		TEST(only_a_later_deadline_opens_anew_what_is_done),
		TEST(after_waits_for_the_tombstone_of_its_generation),
		TEST(what_is_owed_outlives_the_history),
		TEST(each_try_has_its_word_in_the_history),
		TEST(forgetting_drops_what_is_left_and_says_so),
		TEST(only_what_can_matter_no_more_is_trimmed),
	};

	return cmocka_run_group_tests_name("duties", tests, NULL, NULL);
}
