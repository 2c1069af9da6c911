#include "unit.h"

#include "gathered.h"
#include "state/tally.h"
#include "stats.h"

enum { NOW_S = 1795966380, TODAY = NOW_S / STATS_DAY_S }; /* 2026-11-29 */

static void figures_done(struct stats *stats)
{
	stats_done(stats);
}

static void add(struct stats *stats, int64_t day, const char *action, const char *reason,
	const char *cause, int64_t runs, int64_t bytes)
{
	stats_add(stats, day,
		&(const struct tally){ .action = action,
			.reason = reason,
			.cause = cause,
			.runs = runs,
			.bytes = bytes });
}

static void without_a_wish_it_is_four_weeks_with_today(void **state)
{
	struct stats stats CLEANUP(figures_done) = { 0 };

	(void)state;
	stats_begin(&stats, 0, NOW_S);
	assert_int_equal(stats.days, 28);
	assert_int_equal(stats.day, TODAY - 27);
	assert_int_equal(stats.span_count, 28);
	assert_int_equal(stats_first_day(&stats), TODAY - 55);
	assert_int_equal(stats.spans[27].day, TODAY);
}

static void whole_days_count_from_the_moment_that_is_asked_for(void **state)
{
	static const struct {
		int64_t since_s, days;
	} table[] = {
		{ (int64_t)TODAY * STATS_DAY_S, 1 },
		{ NOW_S, 1 }, /* no whole day is left, so it is today */
		{ NOW_S - 7 * STATS_DAY_S, 7 },
		{ (int64_t)(TODAY - 7) * STATS_DAY_S, 8 },
		{ (int64_t)(TODAY - 7) * STATS_DAY_S + 1, 7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct stats stats CLEANUP(figures_done) = { 0 };

		stats_begin(&stats, table[i].since_s, NOW_S);
		assert_int_equal(stats.days, table[i].days);
		assert_int_equal(stats.day, TODAY + 1 - table[i].days);
	}
}

static void a_long_time_has_bars_of_weeks_months_and_years(void **state)
{
	static const struct {
		int64_t days, length;
		size_t count;
	} table[] = { { 35, 1, 35 }, { 36, 7, 6 }, { 245, 7, 35 }, { 246, 30, 9 }, { 1050, 30, 35 },
		{ 1051, 365, 3 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct stats stats CLEANUP(figures_done) = { 0 };
		const struct stats_span *last;

		stats_begin(&stats, (int64_t)(TODAY + 1 - table[i].days) * STATS_DAY_S, NOW_S);
		last = &stats.spans[stats.span_count - 1];
		assert_int_equal(stats.span_count, table[i].count);
		assert_int_equal(stats.spans[0].days, table[i].length);
		assert_int_equal(last->day + last->days, TODAY + 1);
	}
}

static void rows_go_to_their_day_and_cause(void **state)
{
	struct stats stats CLEANUP(figures_done) = { 0 };
	const struct stats_figures *figures;
	struct stats_cause sum;

	(void)state;
	stats_begin(&stats, NOW_S - 7 * STATS_DAY_S, NOW_S);
	add(&stats, TODAY - 2, "registered", "", "", 40, 0);
	add(&stats, TODAY - 2, "reaped", "finished_ok", "finished_ok", 3, 300);
	add(&stats, TODAY - 2, "reaped", "resumed", "finished_failed", 1, 50);
	add(&stats, TODAY - 2, "stopped", "over_deadline", "over_deadline", 2, 0);
	add(&stats, TODAY - 2, "reaped", "finished_failed", "over_deadline", 1, 70);
	add(&stats, TODAY - 2, "partial", "abandoned", "abandoned", 4, 8);
	add(&stats, TODAY - 2, "failed", "orphan", "orphan", 5, 1);
	add(&stats, TODAY - 2, "reaped", "requested", "requested", 6, 600);
	add(&stats, TODAY, "reaped", "orphan", "orphan", 1, 9);
	figures = &stats.spans[4].figures;
	assert_int_equal(figures->registered, 40);
	assert_int_equal(figures->stopped, 2);
	assert_int_equal(figures->partial, 4);
	assert_int_equal(figures->failed, 5);
	assert_memory_equal(&figures->causes[LEAK_FINISHED],
		(&(struct stats_cause){ .leaks = 4, .reaped = 4, .bytes = 350 }),
		sizeof(struct stats_cause));
	assert_memory_equal(&figures->causes[LEAK_OVER_DEADLINE],
		(&(struct stats_cause){ .leaks = 2, .reaped = 1, .bytes = 70 }),
		sizeof(struct stats_cause));
	assert_memory_equal(&figures->causes[LEAK_ABANDONED],
		(&(struct stats_cause){ .leaks = 0, .reaped = 0, .bytes = 8 }),
		sizeof(struct stats_cause));
	assert_memory_equal(&figures->causes[LEAK_COUNT],
		(&(struct stats_cause){ .leaks = 0, .reaped = 6, .bytes = 600 }),
		sizeof(struct stats_cause));
	sum = stats_sum(&stats.total);
	assert_int_equal(sum.leaks, 7);
	assert_int_equal(sum.reaped, 12);
	assert_int_equal(sum.bytes, 1038);
	assert_int_equal(stats.spans[6].figures.causes[LEAK_ORPHAN].bytes, 9);
	assert_int_equal((int)(10 * stats_leak_percent(&stats.total)), 175);
}

static void the_days_before_are_told_apart_and_what_is_outside_does_not_count(void **state)
{
	struct stats stats CLEANUP(figures_done) = { 0 };

	(void)state;
	stats_begin(&stats, NOW_S - 7 * STATS_DAY_S, NOW_S);
	add(&stats, TODAY + 1, "reaped", "orphan", "orphan", 1, 1);
	add(&stats, TODAY - 14, "reaped", "orphan", "orphan", 1, 2);
	assert_false(stats.before_known);
	add(&stats, TODAY - 13, "reaped", "orphan", "orphan", 1, 4);
	add(&stats, TODAY - 7, "reaped", "orphan", "orphan", 1, 8);
	add(&stats, TODAY - 6, "reaped", "orphan", "orphan", 1, 16);
	assert_true(stats.before_known);
	assert_int_equal(stats_sum(&stats.before).bytes, 12);
	assert_int_equal(stats_sum(&stats.total).bytes, 16);
	assert_true(stats_leak_percent(&stats.total) < 0); /* nothing is on record */
}

static void what_is_there_is_summed_up_by_state_and_the_largest_come_first(void **state)
{
	struct gathered gathered = { 0 };
	struct stats stats CLEANUP(figures_done) = { 0 };

	(void)state;
	gathered_make(&gathered);
	stats_begin(&stats, 0, NOW_S);
	stats_see(&stats, &gathered.inventory);
	assert_int_equal(stats.all.runs, 12);
	assert_int_equal(stats.pinned.runs, 2);
	assert_int_equal(stats.pinned.bytes, INT64_C(40) << 30);
	assert_int_equal(stats.states[STATE_FINISHED].runs, 4);
	assert_int_equal(stats.states[STATE_FINISHED].bytes,
		(INT64_C(40) << 30) + (INT64_C(3) << 29) + (INT64_C(1063) << 20));
	assert_int_equal(stats.states[STATE_CLAIMED].runs, 1);
	assert_int_equal(stats.largest_count, 7);
	assert_string_equal(stats.largest[0]->id, "r4");
	assert_string_equal(stats.largest[2]->id, "r2");
	assert_string_equal(stats.largest[6]->id, "übergröße-日本語");
	for (size_t i = 1; i < stats.largest_count; i++)
		assert_true(stats.largest[i - 1]->bytes >= stats.largest[i]->bytes);
	inventory_done(&gathered.inventory);
}

static void of_many_only_the_largest_are_kept(void **state)
{
	struct inventory inventory = { 0 };
	struct stats stats CLEANUP(figures_done) = { 0 };

	(void)state;
	for (int i = 0; i < 50; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "r%d", i);
		inventory_run(&inventory, id)->bytes = 1 + i * 7 % 50;
	}
	stats_begin(&stats, 0, NOW_S);
	stats_see(&stats, &inventory);
	assert_int_equal(stats.largest_count, STATS_LARGEST);
	for (int i = 0; i < STATS_LARGEST; i++)
		assert_int_equal(stats.largest[i]->bytes, 50 - i);
	inventory_done(&inventory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_wish_it_is_four_weeks_with_today),
		cmocka_unit_test(whole_days_count_from_the_moment_that_is_asked_for),
		cmocka_unit_test(a_long_time_has_bars_of_weeks_months_and_years),
		cmocka_unit_test(rows_go_to_their_day_and_cause),
		cmocka_unit_test(the_days_before_are_told_apart_and_what_is_outside_does_not_count),
		cmocka_unit_test(what_is_there_is_summed_up_by_state_and_the_largest_come_first),
		cmocka_unit_test(of_many_only_the_largest_are_kept),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
