#include "unit.h"

#include "base/runid.h"

#include <errno.h>

static void ordinary_identifiers_are_valid(void **state)
{
	static const char *const good[] = { "r", "r1", "0", "build+42", "a.b-c_d=e@f", "x.keeper",
		"job.sbx.1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(runid_valid(good[i]));
}

static void whatever_could_leave_its_directory_or_mean_something_else_is_refused(void **state)
{
	static const char *const bad[] = { "", ".", "..", "/etc", "a/b", "a/../../b", "*", "r1\n",
		"-rf", "a..b", "a.", "a.lock", "a.sbx", "a.keep", ".hidden", "a b", "\xc3\xa6",
		"a\\b", "_a", "a:b" };

	(void)state;
	assert_false(runid_valid(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = { 0 };

		assert_false(runid_valid(bad[i]));
		assert_int_equal(runid_check(bad[i], &error), -EINVAL);
		assert_int_equal(error.code, EINVAL);
		assert_null(strchr(error.text, '\n'));
	}
}

static void the_longest_has_128_bytes(void **state)
{
	char longest[RUNID_MAX + 2];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[RUNID_MAX + 1] = 0;
	assert_false(runid_valid(longest));
	longest[RUNID_MAX] = 0;
	assert_true(runid_valid(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_identifiers_are_valid),
		cmocka_unit_test(
			whatever_could_leave_its_directory_or_mean_something_else_is_refused),
		cmocka_unit_test(the_longest_has_128_bytes),
	};

	return cmocka_run_group_tests_name("runid", tests, NULL, NULL);
}
