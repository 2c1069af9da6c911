#include "unit.h"

#include "report_view.h"

static void words_become_sets_and_lists(void **state)
{
	struct report_view view = { 0 };

	(void)state;
	assert_int_equal(report_view_take_states(&view, "active,claimed", NULL), 0);
	assert_int_equal(view.states, 1U << STATE_ACTIVE | 1U << STATE_CLAIMED);
	assert_int_equal(report_view_take_reasons(&view, "live,resumed", NULL), 0);
	assert_int_equal(view.reasons, 1U << REASON_LIVE | 1U << REASON_RESUMED);
	assert_int_equal(report_view_take_keys(&view, "-size,run", NULL), 0);
	assert_int_equal(view.key_count, 2);
	assert_int_equal(view.keys[0].column, COLUMN_SIZE);
	assert_true(view.keys[0].reversed);
	assert_int_equal(view.keys[1].column, COLUMN_RUN);
	assert_false(view.keys[1].reversed);
	assert_int_equal(report_view_take_columns(&view, "holder,RUN", NULL), 0);
	assert_int_equal(view.column_count, 2);
	assert_int_equal(view.columns[0], COLUMN_HOLDER);
	assert_int_equal(view.columns[1], COLUMN_RUN);
}

static void every_word_of_an_error_is_one_that_is_taken(void **state)
{
	static int (*const takes[])(
		struct report_view *, const char *, struct error *) = { report_view_take_states,
		report_view_take_reasons, report_view_take_keys, report_view_take_columns };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(takes); i++) {
		struct report_view view = { 0 };
		struct error error = { 0 };
		char *words, *word;

		assert_int_equal(takes[i](&view, "bogus", &error), -EINVAL);
		assert_int_equal(strncmp(error.text, "'bogus': the ", 13), 0);
		words = strstr(error.text, " are ");
		assert_non_null(words);
		words += strlen(" are ");
		while ((word = strsep(&words, ",")))
			assert_int_equal(takes[i](&view, word + strspn(word, " "), NULL), 0);
	}
}

static void what_is_no_word_is_refused(void **state)
{
	struct report_view view = { 0 };
	struct error error = { 0 };

	(void)state;
	assert_int_equal(report_view_take_states(&view, "", NULL), -EINVAL);
	assert_int_equal(report_view_take_states(&view, "active,", NULL), -EINVAL);
	assert_int_equal(report_view_take_states(&view, "-active", NULL), -EINVAL);
	assert_int_equal(report_view_take_keys(&view, "--run", NULL), -EINVAL);
	assert_int_equal(report_view_take_keys(&view, "pin", NULL), -EINVAL);
	assert_int_equal(report_view_take_keys(&view, "run,age,-run", NULL), -EINVAL);
	assert_int_equal(report_view_take_columns(&view, "run,run", NULL), -EINVAL);
	assert_int_equal(report_view_take_columns(&view, "a\x1b[31m", &error), -EINVAL);
	assert_null(strchr(error.text, '\x1b'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_become_sets_and_lists),
		cmocka_unit_test(every_word_of_an_error_is_one_that_is_taken),
		cmocka_unit_test(what_is_no_word_is_refused),
	};

	return cmocka_run_group_tests_name("report_view", tests, NULL, NULL);
}
