#include "unit.h"

#include "base/text.h"
#include "state/probe.h"

#include "database.h"

static const char token[] = "0123456789abcdef0123456789abcdef";

static void ask(void **state, const char *with)
{
	const struct probe probe = {
		.asked_s = NOW,
		.directory = "/run/sbx-probe",
		.port = 65535,
		.token = with,
	};

	assert_int_equal(probe_ask(database(state), &probe, NULL), 0);
}

static struct probe *get(void **state, struct arena *arena)
{
	struct probe *probe = NULL;

	assert_int_equal(probe_get(database(state), arena, &probe, NULL), 0);
	return probe;
}

static int answer(void **state, const char *with)
{
	const struct probe probe = {
		.token = with,
		.answered_s = NOW + 5,
		.pass = "p1",
		.file = { .step = "open", .code = EROFS },
		.network = { .step = "socket", .note = "its process was ended by signal 31" },
	};

	return probe_answer(database(state), &probe, NULL);
}

static void where_nothing_was_ever_asked_there_is_no_probe(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	assert_null(get(state, &arena));
	assert_int_equal(answer(state, token), 0);
	assert_int_equal(probe_judge(database(state), token, NOW, NULL), 0);
}

static void what_is_asked_waits_for_an_answer(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe;

	ask(state, token);
	probe = get(state, &arena);
	assert_non_null(probe);
	assert_int_equal(probe->asked_s, NOW);
	assert_string_equal(probe->directory, "/run/sbx-probe");
	assert_int_equal(probe->port, 65535);
	assert_string_equal(probe->token, token);
	assert_int_equal(probe->answered_s, 0);
	assert_null(probe->pass);
	assert_int_equal(probe->judged_s, 0);
}

static void an_answer_is_kept_as_it_was_given(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe;

	ask(state, token);
	assert_int_equal(answer(state, token), 1);
	probe = get(state, &arena);
	assert_int_equal(probe->answered_s, NOW + 5);
	assert_string_equal(probe->pass, "p1");
	assert_string_equal(probe->file.step, "open");
	assert_int_equal(probe->file.code, EROFS);
	assert_null(probe->file.note);
	assert_string_equal(probe->network.step, "socket");
	assert_int_equal(probe->network.code, 0);
	assert_string_equal(probe->network.note, "its process was ended by signal 31");
}

static void only_the_first_answer_to_the_probe_that_asks_counts(void **state)
{
	ask(state, token);
	assert_int_equal(answer(state, "another"), 0);
	assert_int_equal(answer(state, token), 1);
	assert_int_equal(answer(state, token), 0);
}

static void what_was_judged_is_not_answered_any_more(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	ask(state, token);
	assert_int_equal(probe_judge(database(state), "another", NOW + 9, NULL), 0);
	assert_int_equal(probe_judge(database(state), token, NOW + 9, NULL), 1);
	assert_int_equal(probe_judge(database(state), token, NOW + 10, NULL), 0);
	assert_int_equal(get(state, &arena)->judged_s, NOW + 9);
	assert_int_equal(answer(state, token), 0);
}

static void a_new_probe_begins_anew(void **state)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe;

	ask(state, token);
	assert_int_equal(answer(state, token), 1);
	assert_int_equal(probe_judge(database(state), token, NOW, NULL), 1);
	ask(state, "next");
	probe = get(state, &arena);
	assert_string_equal(probe->token, "next");
	assert_int_equal(probe->answered_s, 0);
	assert_null(probe->file.step);
	assert_int_equal(probe->judged_s, 0);
}

static void list_result(void *context, const struct probe_result *result)
{
	text_addf(context, "%s %s %lld,", result->check, result->outcome,
		(long long)(result->at_s - NOW));
}

static void assert_results(void **state, const char *wanted)
{
	struct text text CLEANUP(text_done) = { 0 };

	text_add(&text, "");
	assert_int_equal(probe_each_result(database(state), list_result, &text, NULL), 0);
	assert_string_equal(text.data, wanted);
}

static void the_results_are_those_of_the_last_probe_and_the_worse_of_two(void **state)
{
	static const struct probe_result first[] = { { "due", "ok", 0 }, { "pass", "ok", 0 },
		{ "pass", "FAILED", 0 }, { "pass", "ok", 0 } };
	static const struct probe_result second[] = { { "set-up", "cannot run", 0 } };

	assert_results(state, "");
	assert_int_equal(probe_set_results(database(state), first, 4, NOW, NULL), 0);
	assert_results(state, "due ok 0,pass FAILED 0,");
	assert_int_equal(probe_set_results(database(state), second, 1, NOW + 9, NULL), 0);
	assert_results(state, "set-up cannot run 9,");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(where_nothing_was_ever_asked_there_is_no_probe),
		TEST(what_is_asked_waits_for_an_answer),
		TEST(an_answer_is_kept_as_it_was_given),
		TEST(only_the_first_answer_to_the_probe_that_asks_counts),
		TEST(what_was_judged_is_not_answered_any_more),
		TEST(a_new_probe_begins_anew),
		TEST(the_results_are_those_of_the_last_probe_and_the_worse_of_two),
	};

	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
