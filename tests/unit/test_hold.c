#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "state/history.h"
#include "state/hold.h"

#include "database.h"

static int set(void **state, const char *by, const char *reason, int64_t until_s,
	struct arena *arena, struct hold **ret_before)
{
	const struct hold hold = { .by = by, .reason = reason, .since_s = NOW, .until_s = until_s };

	return hold_set(database(state), &hold, arena, ret_before, NULL);
}

static struct hold *held_at(void **state, int64_t now_s, struct arena *arena)
{
	struct hold *hold = NULL;

	assert_int_equal(hold_get(database(state), now_s, arena, &hold, NULL), 0);
	return hold;
}

static void without_a_hold_there_is_none(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	assert_null(held_at(state, NOW, &arena));
	assert_int_equal(hold_drop(database(state), NULL, NULL), 0);
	assert_int_equal(hold_expire(database(state), NOW, NULL), 0);
}

static void a_hold_is_there_until_its_end(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *before, *hold;

	assert_int_equal(set(state, "ada", "the mirror is down", NOW + 60, &arena, &before), 1);
	assert_null(before);
	hold = held_at(state, NOW + 59, &arena);
	assert_non_null(hold);
	assert_string_equal(hold->by, "ada");
	assert_string_equal(hold->reason, "the mirror is down");
	assert_int_equal(hold->since_s, NOW);
	assert_int_equal(hold->until_s, NOW + 60);
	assert_null(held_at(state, NOW + 60, &arena));
}

static void without_an_end_it_lasts_until_somebody_resumes(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *before;

	assert_int_equal(set(state, NULL, NULL, 0, &arena, &before), 1);
	assert_non_null(held_at(state, INT64_MAX, &arena));
	assert_int_equal(hold_expire(database(state), INT64_MAX, NULL), 0);
	assert_int_equal(hold_drop(database(state), "bob", NULL), 1);
	assert_null(held_at(state, NOW, &arena));
	assert_int_equal(hold_drop(database(state), "bob", NULL), 0);
}

static void another_hold_replaces_it_and_the_same_is_no_change(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *before;
	char *history CLEANUP(mem_done) = NULL;

	assert_int_equal(set(state, "ada", NULL, 0, &arena, &before), 1);
	assert_int_equal(set(state, "ada", NULL, 0, &arena, &before), 0);
	assert_string_equal(before->by, "ada");
	assert_int_equal(set(state, "bob", NULL, 0, &arena, &before), 1);
	assert_string_equal(before->by, "ada");
	assert_int_equal(set(state, "bob", "why", 0, &arena, &before), 1);
	assert_int_equal(set(state, "bob", "why", NOW + 5, &arena, &before), 1);
	assert_string_equal(held_at(state, NOW, &arena)->by, "bob");
	history = database_history(database(state), NULL);
	assert_string_equal(history, "held held held held");
}

static void one_that_ended_is_dropped_once_and_stands_in_the_log(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *before;
	char *history CLEANUP(mem_done) = NULL;

	assert_int_equal(set(state, "ada", NULL, NOW + 60, &arena, &before), 1);
	assert_int_equal(hold_expire(database(state), NOW + 59, NULL), 0);
	assert_int_equal(hold_expire(database(state), NOW + 60, NULL), 1);
	assert_int_equal(hold_expire(database(state), NOW + 61, NULL), 0);
	assert_null(held_at(state, NOW, &arena));
	history = database_history(database(state), NULL);
	assert_string_equal(history, "held resumed");
}

static void one_that_ended_is_nothing_that_another_replaces(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *before;

	assert_int_equal(set(state, "ada", NULL, NOW, &arena, &before), 1);
	assert_int_equal(set(state, "ada", NULL, NOW, &arena, &before), 1);
	assert_null(before);
}

static void what_is_no_person_does_not_replace_a_hold(void **state)
{
	const struct hold hold = { .by = "sbx-reap probe", .reason = "it failed", .since_s = NOW };
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *history CLEANUP(mem_done) = NULL;
	struct hold *before;

	assert_int_equal(set(state, "ada", NULL, NOW + 60, &arena, &before), 1);
	assert_int_equal(hold_add(database(state), &hold, NULL), 0);
	assert_string_equal(held_at(state, NOW, &arena)->by, "ada");
	history = database_history(database(state), NULL);
	assert_string_equal(history, "held");
	assert_int_equal(hold_drop(database(state), "ada", NULL), 1);
	assert_int_equal(hold_add(database(state), &hold, NULL), 1);
	assert_string_equal(held_at(state, INT64_MAX, &arena)->by, "sbx-reap probe");
}

static void where_the_hold_has_ended_anybody_may_hold_again(void **state)
{
	const struct hold hold = { .by = "sbx-reap probe", .since_s = NOW };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *before;

	assert_int_equal(set(state, "ada", NULL, NOW, &arena, &before), 1);
	assert_int_equal(hold_add(database(state), &hold, NULL), 1);
}

static void add_detail(void *context, const struct history_entry *entry)
{
	text_addf(context, "%s: %s\n", entry->action, entry->detail);
}

static void the_log_says_who_and_why(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct text text CLEANUP(text_done) = { 0 };
	struct hold *before;

	assert_int_equal(set(state, "ada", "look first", NOW + 60, &arena, &before), 1);
	assert_int_equal(hold_drop(database(state), "bob", NULL), 1);
	assert_int_equal(history_each(database(state), NULL, 0, add_detail, &text, NULL), 0);
	assert_string_equal(text.data,
		"held: until 2026-11-29T15:34:00Z by ada: look first\n"
		"resumed: by bob; it was held until 2026-11-29T15:34:00Z by ada: look first\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(without_a_hold_there_is_none),
		TEST(a_hold_is_there_until_its_end),
		TEST(without_an_end_it_lasts_until_somebody_resumes),
		TEST(another_hold_replaces_it_and_the_same_is_no_change),
		TEST(one_that_ended_is_dropped_once_and_stands_in_the_log),
		TEST(one_that_ended_is_nothing_that_another_replaces),
		TEST(what_is_no_person_does_not_replace_a_hold),
		TEST(where_the_hold_has_ended_anybody_may_hold_again),
		TEST(the_log_says_who_and_why),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
