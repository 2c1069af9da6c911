#include "unit.h"

#include "base/text.h"
#include "report_metrics.h"
#include "state/db.h"
#include "state/history.h"
#include "state/tally.h"

#include "database.h"

static void add(
	void **state, const char *run, const char *action, const char *reason, int64_t bytes)
{
	assert_int_equal(history_add(database(state),
				 &(struct history_entry){
					 .at_s = NOW,
					 .pass = "p1",
					 .run = run,
					 .generation = 7,
					 .action = action,
					 .reason = reason,
					 .bytes = bytes,
				 },
				 NULL),
		0);
}

static void print_tally(void *context, const struct tally *tally)
{
	text_addf(context, "%s %s %s %lld %lld\n", tally->action, tally->reason, tally->cause,
		(long long)tally->runs, (long long)tally->bytes);
}

static void assert_tally(void **state, const char *wanted)
{
	struct text text CLEANUP(text_done) = { 0 };

	text_add(&text, "");
	assert_int_equal(tally_each(database(state), print_tally, &text, NULL), 0);
	assert_string_equal(text.data, wanted);
}

static void what_acts_is_counted_and_nothing_else(void **state)
{
	assert_tally(state, "");
	add(state, "r1", "claimed", "finished_ok", 0);
	add(state, "r1", "reaped", "finished_ok", 5);
	add(state, "r2", "reaped", "finished_ok", 7);
	add(state, "r3", "failed", "abandoned", 1);
	add(state, "r3", "pinned", NULL, 0);
	add(state, NULL, "pass", NULL, 13);
	assert_tally(
		state, "failed abandoned abandoned 1 1\nreaped finished_ok finished_ok 2 12\n");
}

static void a_resumed_run_counts_for_what_it_was_begun(void **state)
{
	add(state, "r1", "claimed", "abandoned", 0);
	add(state, "r1", "resumed", "resumed", 0);
	add(state, "r1", "reaped", "resumed", 5);
	add(state, "r2", "reaped", "resumed", 0); /* nobody knows */
	assert_tally(state, "reaped resumed abandoned 1 5\nreaped resumed resumed 1 0\n");
}

static void a_run_that_was_stopped_before_counts_for_that(void **state)
{
	add(state, "r1", "stopped", "over_deadline", 0);
	add(state, "r1", "reaped", "finished_failed", 5);
	assert_tally(state, "reaped finished_failed over_deadline 1 5\n"
			    "stopped over_deadline over_deadline 1 0\n");
}

static void a_trimmed_history_lessens_nothing(void **state)
{
	add(state, "r1", "reaped", "orphan", 5);
	assert_int_equal(history_trim(database(state), NOW + 1, NULL), 0);
	assert_tally(state, "reaped orphan orphan 1 5\n");
}

static void what_is_rolled_back_is_not_counted(void **state)
{
	struct transaction transaction = { 0 };

	assert_int_equal(transaction_write(&transaction, database(state), NULL), 0);
	add(state, "r1", "reaped", "orphan", 5);
	transaction_done(&transaction);
	assert_tally(state, "");
}

static void add_at(
	void **state, int64_t at_s, const char *run, const char *action, const char *reason)
{
	assert_int_equal(history_add(database(state),
				 &(struct history_entry){
					 .at_s = at_s,
					 .run = run,
					 .generation = 7,
					 .action = action,
					 .reason = reason,
					 .bytes = 5,
				 },
				 NULL),
		0);
}

static void print_tally_day(void *context, int64_t day, const struct tally *tally)
{
	text_addf(context, "%lld: ", (long long)day);
	print_tally(context, tally);
}

static void assert_tally_since(struct store *store, int64_t day, const char *wanted)
{
	struct text text CLEANUP(text_done) = { 0 };

	text_add(&text, "");
	assert_int_equal(tally_each_day(store, day, print_tally_day, &text, NULL), 0);
	assert_string_equal(text.data, wanted);
}

enum { DAY = 86400 };

/* Two days: the last second of one is told from the first of the next. */
static void add_two_days(void **state)
{
	add_at(state, 10 * DAY, "r1", "registered", NULL);
	add_at(state, 10 * DAY, "r2", "registered", NULL);
	add_at(state, 10 * DAY + 5, "r1", "stopped", "over_deadline");
	add_at(state, 11 * DAY - 1, "r2", "reaped", "orphan");
	add_at(state, 11 * DAY, "r1", "reaped", "finished_failed");
	add_at(state, 11 * DAY, "r3", "claimed", "abandoned");
	add_at(state, 11 * DAY, "r3", "reaped", "resumed");
	add_at(state, 11 * DAY, "r3", "pinned", NULL);
	add_at(state, 11 * DAY, NULL, "pass", NULL);
}

#define SECOND_DAY                                       \
	"11: reaped finished_failed over_deadline 1 5\n" \
	"11: reaped resumed abandoned 1 5\n"
#define BOTH_DAYS                        \
	"10: reaped orphan orphan 1 5\n" \
	"10: registered   2 10\n"        \
	"10: stopped over_deadline over_deadline 1 5\n" SECOND_DAY

static void each_day_has_its_own_counts(void **state)
{
	add_two_days(state);
	assert_tally_since(database(state), 0, BOTH_DAYS);
	assert_tally_since(database(state), 11, SECOND_DAY);
	assert_tally_since(database(state), 12, "");
	assert_int_equal(history_trim(database(state), 12 * DAY, NULL), 0);
	assert_tally_since(database(state), 0, BOTH_DAYS);
}

static void the_history_from_before_is_counted_by_days(void **state)
{
	struct workdir *workdir = *state;
	struct store *store = database(state);

	add_two_days(state);
	assert_int_equal(
		db_exec(store,
			"DROP TABLE size; DROP TRIGGER history_tally_day; DROP TABLE tally_day;"
			"ALTER TABLE duty DROP COLUMN deadline_s;"
			"PRAGMA user_version = 7",
			"go back", NULL),
		0);
	store_close(store);
	workdir->more = store = database_open(workdir, STORE_WRITE);
	assert_tally_since(store, 0, BOTH_DAYS);
	add_at(state, 12 * DAY, "r4", "reaped", "orphan");
	assert_tally_since(store, 12, "12: reaped orphan orphan 1 5\n");
}

static void each_leak_is_counted_once_by_its_cause(void **state)
{
	static const struct {
		const char *action, *reason, *cause;
		enum leak leak;
	} cases[] = {
		{ "reaped", "finished_ok", "finished_ok", LEAK_FINISHED },
		{ "reaped", "finished_failed", "finished_failed", LEAK_FINISHED },
		{ "reaped", "pressure", "pressure", LEAK_FINISHED },
		{ "reaped", "resumed", "finished_ok", LEAK_FINISHED },
		{ "reaped", "abandoned", "abandoned", LEAK_ABANDONED },
		{ "reaped", "orphan", "orphan", LEAK_ORPHAN },
		{ "stopped", "over_deadline", "over_deadline", LEAK_OVER_DEADLINE },
		{ "reaped", "finished_failed", "over_deadline", LEAK_COUNT },
		{ "reaped", "requested", "requested", LEAK_COUNT },
		{ "partial", "finished_ok", "finished_ok", LEAK_COUNT },
		{ "failed", "finished_ok", "finished_ok", LEAK_COUNT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct metrics_totals totals = { 0 };

		metrics_count(&totals, &(struct tally){ .action = cases[i].action,
					       .reason = cases[i].reason,
					       .cause = cases[i].cause,
					       .runs = 3,
					       .bytes = 8 });
		for (enum leak leak = 0; leak < LEAK_COUNT; leak++)
			assert_int_equal(totals.leaks[leak], leak == cases[i].leak ? 3 : 0);
		assert_int_equal(totals.bytes_freed, 8);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_acts_is_counted_and_nothing_else),
		TEST(a_resumed_run_counts_for_what_it_was_begun),
		TEST(a_run_that_was_stopped_before_counts_for_that),
		TEST(a_trimmed_history_lessens_nothing),
		TEST(what_is_rolled_back_is_not_counted),
		TEST(each_day_has_its_own_counts),
		TEST(the_history_from_before_is_counted_by_days),
		cmocka_unit_test(each_leak_is_counted_once_by_its_cause),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
