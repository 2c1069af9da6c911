#include "unit.h"

#include "base/text.h"

#include <errno.h>

static void harmful_bytes_are_escaped_and_others_stay(void **state)
{
	static const struct {
		const char *bytes, *shown;
	} cases[] = {
		{ "", "" }, { "r1 æ€😀", "r1 æ€😀" }, { "a\nb\t\x1b[31m", "a\\x0ab\\x09\\x1b[31m" },
		{ "\\", "\\x5c" }, { "\xff", "\\xff" },
		{ "\xc0\xaf", "\\xc0\\xaf" },          /* overlong '/' */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" }, /* right-to-left override */
		{ "\xe2\x82", "\\xe2\\x82" },          /* cut off */
		{ "\xc2\x85", "\\xc2\\x85" },          /* next line, a C1 control */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *shown CLEANUP(mem_done) = text_escape(cases[i].bytes);

		assert_string_equal(shown, cases[i].shown);
	}
}

static void utf8_is_told_from_rubbish(void **state)
{
	(void)state;
	assert_true(utf8_valid("plain æ€😀"));
	assert_false(utf8_valid("\xf4\x90\x80\x80")); /* beyond U+10FFFF */
	assert_false(utf8_valid("a\x80"));
	assert_int_equal(utf8_length("€x"), 3);
	assert_int_equal(utf8_length(""), 0);
}

static void base64_pads_as_rfc_4648_says(void **state)
{
	static const struct {
		const char *bytes, *digits;
	} cases[] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foobar", "Zm9vYmFy" }, { "\xff\xfe", "//4=" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *digits CLEANUP(mem_done) =
			text_base64(cases[i].bytes, strlen(cases[i].bytes));

		assert_string_equal(digits, cases[i].digits);
	}
}

static void numbers_are_whole_and_in_range_or_refused(void **state)
{
	int64_t value = 5;

	(void)state;
	assert_int_equal(text_to_int64("42", 0, 100, &value), 0);
	assert_int_equal(value, 42);
	assert_int_equal(text_to_int64("-3", -5, 5, &value), 0);
	assert_int_equal(value, -3);
	assert_int_equal(text_to_int64("101", 0, 100, &value), -ERANGE);
	assert_int_equal(text_to_int64("99999999999999999999", 0, INT64_MAX, &value), -ERANGE);
	assert_int_equal(text_to_int64("", 0, 9, &value), -EINVAL);
	assert_int_equal(text_to_int64(" 1", 0, 9, &value), -EINVAL);
	assert_int_equal(text_to_int64("1x", 0, 9, &value), -EINVAL);
	assert_int_equal(text_to_int64("0x1", 0, 9, &value), -EINVAL);
	assert_int_equal(value, -3);
}

static void words_are_split_at_blanks(void **state)
{
	char line[] = "  one\ttwo  ", *at = line;

	(void)state;
	assert_string_equal(text_word(&at), "one");
	assert_string_equal(text_word(&at), "two");
	assert_null(text_word(&at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(harmful_bytes_are_escaped_and_others_stay),
		cmocka_unit_test(utf8_is_told_from_rubbish),
		cmocka_unit_test(base64_pads_as_rfc_4648_says),
		cmocka_unit_test(numbers_are_whole_and_in_range_or_refused),
		cmocka_unit_test(words_are_split_at_blanks),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
