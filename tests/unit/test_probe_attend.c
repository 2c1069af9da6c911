/* None of these processes is in the unit, which tests/system/test-probe.sh boots. */
#include "unit.h"

#include "probe_attend.h"
#include "state/hold.h"

#include "database.h"

static const char token[] = "0123456789abcdef";

static void ask(void **state)
{
	const struct probe probe = {
		.asked_s = NOW,
		.directory = "/proc/self",
		.port = 1,
		.token = token,
	};

	assert_int_equal(probe_ask(database(state), &probe, NULL), 0);
}

static int attend(void **state, int64_t now_s)
{
	return probe_attend(database(state), "p1", now_s, NULL);
}

static struct hold *held(void **state, struct arena *arena)
{
	struct hold *hold = NULL;

	assert_int_equal(hold_get(database(state), NOW, arena, &hold, NULL), 0);
	return hold;
}

static void a_pass_that_nobody_asks_does_nothing(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	assert_int_equal(attend(state, NOW), 0);
	assert_null(held(state, &arena));
}

static void a_pass_outside_of_the_unit_leaves_the_answer_to_one_inside(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe;

	ask(state);
	assert_int_equal(attend(state, NOW + 1), 0);
	assert_int_equal(probe_get(database(state), &arena, &probe, NULL), 0);
	assert_int_equal(probe->answered_s, 0);
	assert_null(held(state, &arena));
}

static void a_probe_that_was_not_judged_in_an_hour_holds_all_passes_once(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *hold;

	ask(state);
	assert_int_equal(attend(state, NOW + PROBE_JUDGED_S - 1), 0);
	assert_int_equal(attend(state, NOW + PROBE_JUDGED_S), 1);
	hold = held(state, &arena);
	assert_non_null(hold);
	assert_string_equal(hold->by, "sbx-reap probe");
	assert_int_equal(hold->until_s, 0);
	assert_int_equal(hold_drop(database(state), "ada", NULL), 1);
	assert_int_equal(attend(state, NOW + PROBE_JUDGED_S + 300), 0);
	assert_null(held(state, &arena));
}

static void one_from_the_future_holds_them_too(void **state)
{
	ask(state);
	assert_int_equal(attend(state, NOW - PROBE_JUDGED_S + 1), 0);
	assert_int_equal(attend(state, NOW - PROBE_JUDGED_S), 1);
}

static void what_was_judged_holds_nothing(void **state)
{
	ask(state);
	assert_int_equal(probe_judge(database(state), token, NOW + 5, NULL), 1);
	assert_int_equal(attend(state, NOW + PROBE_JUDGED_S), 0);
}

static void a_persons_hold_stays_and_the_probes_follows_it(void **state)
{
	const struct hold ada = { .by = "ada", .since_s = NOW, .until_s = NOW + 7200 };
	struct arena arena CLEANUP(arena_done) = { 0 };

	ask(state);
	assert_int_equal(hold_add(database(state), &ada, NULL), 1);
	assert_int_equal(attend(state, NOW + PROBE_JUDGED_S), 0);
	assert_string_equal(held(state, &arena)->by, "ada");
	assert_int_equal(attend(state, NOW + 7200), 1);
	assert_string_equal(held(state, &arena)->by, "sbx-reap probe");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_pass_that_nobody_asks_does_nothing),
		TEST(a_pass_outside_of_the_unit_leaves_the_answer_to_one_inside),
		TEST(a_probe_that_was_not_judged_in_an_hour_holds_all_passes_once),
		TEST(one_from_the_future_holds_them_too),
		TEST(what_was_judged_holds_nothing),
		TEST(a_persons_hold_stays_and_the_probes_follows_it),
	};

	return cmocka_run_group_tests_name("probe_attend", tests, NULL, NULL);
}
