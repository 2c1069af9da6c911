#include "unit.h"

#include "base/count.h"

static void one_is_one_and_all_others_are_many(void **state)
{
	static const struct {
		int64_t count;
		const char *noun, *text;
	} cases[] = {
		{ 0, "run", "0 runs" },
		{ 1, "run", "1 run" },
		{ 2, "due run", "2 due runs" },
		{ 1, "entry", "1 entry" },
		{ 3, "entry", "3 entries" },
		{ 3, "day", "3 days" },
		{ 1, "pass", "1 pass" },
		{ 2, "pass", "2 passes" },
		{ -1, "byte", "-1 bytes" },
		{ INT64_MAX, "repository", "9223372036854775807 repositories" },
	};
	char buffer[COUNT_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(
			count_format(buffer, cases[i].count, cases[i].noun), cases[i].text);
}

/* A noun that is too long is cut, not more than the buffer written. */
static void a_long_noun_stays_in_the_buffer(void **state)
{
	char noun[2 * COUNT_TEXT], buffer[COUNT_TEXT];

	(void)state;
	memset(noun, 'n', sizeof(noun) - 1);
	noun[sizeof(noun) - 1] = 0;
	assert_int_equal(strlen(count_format(buffer, 2, noun)), COUNT_TEXT - 1);
	assert_int_equal(strlen(count_format(buffer, 1, noun)), COUNT_TEXT - 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_is_one_and_all_others_are_many),
		cmocka_unit_test(a_long_noun_stays_in_the_buffer),
	};

	return cmocka_run_group_tests_name("count", tests, NULL, NULL);
}
