/* None of these processes is in the unit, which tests/system/test-probe.sh boots. */
#include "unit.h"

#include "probe_attend.h"
#include "state/history.h"
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

static int attend_booted(void **state, int64_t now_s, int64_t booted_s)
{
	const struct probe_time time = { .now_s = now_s, .booted_s = booted_s };

	return probe_attend(database(state), "p1", &time, NULL);
}

static int attend(void **state, int64_t now_s)
{
	return attend_booted(state, now_s, NOW - 1);
}

static struct hold *held(void **state, struct arena *arena)
{
	struct hold *hold = NULL;

	assert_int_equal(hold_get(database(state), NOW, arena, &hold, NULL), 0);
	return hold;
}

struct last {
	struct history_entry entry;
	struct arena *arena;
};

static void keep_last(void *context, const struct history_entry *entry)
{
	struct last *last = context;

	last->entry = (struct history_entry){
		.action = arena_dup(last->arena, entry->action),
		.reason = arena_dup(last->arena, entry->reason),
		.pass = arena_dup(last->arena, entry->pass),
	};
}

/* run NULL: of all. */
static struct history_entry last_entry(void **state, const char *run, struct arena *arena)
{
	struct last last = { .arena = arena };

	assert_int_equal(history_each(database(state), run, 0, keep_last, &last, NULL), 0);
	return last.entry;
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

static void one_that_went_down_with_its_host_is_given_up(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe;

	ask(state);
	assert_int_equal(attend_booted(state, NOW + PROBE_JUDGED_S - 1, NOW + 60), 0);
	assert_int_equal(probe_get(database(state), &arena, &probe, NULL), 0);
	assert_int_equal(probe->judged_s, 0);
	assert_int_equal(attend_booted(state, NOW + PROBE_JUDGED_S, NOW + 60), 0);
	assert_int_equal(probe_get(database(state), &arena, &probe, NULL), 0);
	assert_int_equal(probe->judged_s, NOW + PROBE_JUDGED_S);
	assert_null(held(state, &arena));
	assert_string_equal(last_entry(state, NULL, &arena).action, "probe");
}

/* What a pass says of one run at its end. */
static struct inventory *inventory_of(
	struct arena *arena, const char *id, enum verdict verdict, enum reason reason)
{
	struct inventory *inventory = arena_new(arena, sizeof(*inventory));
	struct run *run = arena_new(arena, sizeof(*run));
	struct run **runs = arena_new(arena, sizeof(struct run *));

	run->id = id;
	run->decision = (struct decision){ .verdict = verdict, .reason = reason };
	runs[0] = run;
	inventory->runs = runs;
	inventory->run_count = 1;
	return inventory;
}

static const char canary[] = PROBE_PREFIX "due-1";

static const char *noted(
	void **state, const char *id, enum verdict verdict, enum reason reason, struct arena *arena)
{
	struct inventory *inventory = inventory_of(arena, id, verdict, reason);

	assert_int_equal(probe_note_kept(database(state), "p1", inventory, NULL), 0);
	return last_entry(state, id, arena).reason;
}

static void a_canary_that_had_no_turn_is_noted_with_the_reason(void **state)
{
	static const enum reason reasons[] = { REASON_HELD, REASON_BRAKE, REASON_DEFERRED,
		REASON_CLOCK };
	struct arena arena CLEANUP(arena_done) = { 0 };

	ask(state);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		const char *name = reason_name(reasons[i]);

		assert_true(probe_reason_puts_off(name));
		assert_string_equal(noted(state, canary, VERDICT_KEEP, reasons[i], &arena), name);
		assert_string_equal(last_entry(state, canary, &arena).action, "kept");
		assert_string_equal(last_entry(state, canary, &arena).pass, "p1");
	}
}

static void what_a_canary_is_kept_for_itself_puts_nothing_off(void **state)
{
	static const enum reason reasons[] = { REASON_PINNED, REASON_LIVE, REASON_UNKNOWN,
		REASON_REFUSED, REASON_BACKOFF, REASON_UNSAVED_WORK, REASON_RETAINED };
	struct arena arena CLEANUP(arena_done) = { 0 };

	ask(state);
	assert_false(probe_reason_puts_off(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		assert_false(probe_reason_puts_off(reason_name(reasons[i])));
		assert_null(noted(state, canary, VERDICT_KEEP, reasons[i], &arena));
	}
	assert_null(noted(state, canary, VERDICT_REAP, REASON_FINISHED_OK, &arena));
}

static void no_other_run_is_noted_nor_any_once_the_probe_is_judged(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	assert_null(noted(state, canary, VERDICT_KEEP, REASON_BRAKE, &arena));
	ask(state);
	assert_null(noted(state, "r1", VERDICT_KEEP, REASON_BRAKE, &arena));
	assert_int_equal(probe_judge(database(state), token, NOW + 5, NULL), 1);
	assert_null(noted(state, canary, VERDICT_KEEP, REASON_BRAKE, &arena));
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
		TEST(one_that_went_down_with_its_host_is_given_up),
		TEST(a_canary_that_had_no_turn_is_noted_with_the_reason),
		TEST(what_a_canary_is_kept_for_itself_puts_nothing_off),
		TEST(no_other_run_is_noted_nor_any_once_the_probe_is_judged),
	};

	return cmocka_run_group_tests_name("probe_attend", tests, NULL, NULL);
}
