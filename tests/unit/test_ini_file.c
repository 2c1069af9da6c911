#include "unit.h"

#include "base/text.h"
#include "os/ini_file.h"

#include <errno.h>

/* Collects "line[section]key=value|". */
static int collect(void *context, const char *section, const char *key, const char *value,
	unsigned line, struct error *error)
{
	struct text *text = context;

	if (text_equal(key, "bad"))
		return error_say(error, ERANGE, "no '%s' here", key);
	text_addf(text, "%u[%s]%s=%s|", line, section, key, value);
	return 0;
}

static int parse(const char *bytes, size_t length, struct text *seen, struct error *error)
{
	text_add(seen, "");
	return ini_file_parse("x.ini", bytes, length, collect, seen, error);
}

static void entries_come_in_order_with_their_lines(void **state)
{
	static const struct {
		const char *text, *seen;
	} good[] = {
		{ "", "" },
		{ "; only a comment\n# another\n\n", "" },
		{ "[a]\nk = v\n", "2[a]k=v|" },
		{ "[a]\nk=v", "2[a]k=v|" },
		{ "[a]\r\nk = v \r\nl=\r\n", "2[a]k=v|3[a]l=|" },
		{ "\xef\xbb\xbf[a]\nk=v\n", "2[a]k=v|" },
		{ "[a]\nk = v ; comment\nl = a;b\nm = a # b\n", "2[a]k=v|3[a]l=a;b|4[a]m=a # b|" },
		{ "[a] ; comment\n\nk=1\nk=2\n[b]\nk=3\n", "3[a]k=1|4[a]k=2|6[b]k=3|" },
		{ "[a]\nk = v\n  l = w\n\tm = x\n", "2[a]k=v|3[a]l=w|4[a]m=x|" },
		{ "k = v = w\n", "1[]k=v = w|" },
		{ "[a]\nk = \xff\xfe\n", "2[a]k=\xff\xfe|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct text seen CLEANUP(text_done) = { 0 };
		struct error error = { 0 };

		assert_int_equal(parse(good[i].text, strlen(good[i].text), &seen, &error), 0);
		assert_string_equal(seen.data, good[i].seen);
	}
}

static void rubbish_is_an_error_that_names_the_line(void **state)
{
#define BYTES(text) text, sizeof(text) - 1
	static const struct {
		const char *text;
		size_t length;
		const char *where;
	} bad[] = {
		{ BYTES("[a]\nrubbish\n"), "x.ini:2: neither" },
		{ BYTES("[a]\nrubbish\nk=v\n"), "x.ini:2: neither" },
		{ BYTES("[a\nk=v\n"), "x.ini:1: ']'" },
		{ BYTES("[a]b\nk=v\n"), "x.ini:1: nothing but a comment" },
		{ BYTES("[a] k = v\n"), "x.ini:1: nothing but a comment" },
		{ BYTES("[a]\n = v\n"), "x.ini:2: the key" },
		{ BYTES("[a]\nk=\0v\n"), "x.ini:2: a NUL" },
		{ BYTES("\0\0\0\0"), "x.ini:1: a NUL" },
		{ BYTES("\x7f"
			"ELF\x02\x01\x01"),
			"x.ini:1: neither" },
		{ BYTES("[a]\nk ; = v\n"), "x.ini:2: neither" },
		{ BYTES("[a]\n\n\nbad = 1\nk=v\n"), "x.ini:4: no 'bad' here" },
		{ BYTES("[a2345678901234567890123456789012345678901234567890]\n"),
			"x.ini:1: the s" },
		{ BYTES("k=1\n\xef\xbb\xbf[a]\n"), "x.ini:2: neither" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct text seen CLEANUP(text_done) = { 0 };
		struct error error = { 0 };
		int r = parse(bad[i].text, bad[i].length, &seen, &error);

		assert_true(r < 0);
		assert_int_equal(r, -error.code);
		if (!text_starts(error.text, bad[i].where))
			fail_msg("%zu: %s", i, error.text);
		assert_null(strstr(seen.data, "k=v"));
	}
}

static void what_the_entry_answers_is_returned(void **state)
{
	struct text seen CLEANUP(text_done) = { 0 };
	struct error error = { 0 };

	(void)state;
	assert_int_equal(parse("bad=1\n", 6, &seen, &error), -ERANGE);
}

/* The longest line that passes is whole, and one byte more is an error, not a cut value. */
static void no_line_is_cut(void **state)
{
	(void)state;
	for (size_t length = INI_LINE_MAX - 3; length <= INI_LINE_MAX + 3; length++) {
		struct text seen CLEANUP(text_done) = { 0 };
		struct error error = { 0 };
		char *bytes CLEANUP(mem_done) = mem_new(length + 1);
		int r;

		memset(bytes, 'x', length);
		memcpy(bytes, "k = ", 4);
		r = parse(bytes, length, &seen, &error);
		if (length > INI_LINE_MAX) {
			assert_int_equal(r, -EINVAL);
			assert_string_equal(
				error.text, "x.ini:1: the line is longer than 4096 bytes");
			assert_string_equal(seen.data, "");
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(seen.length, strlen("1[]k=|") + length - 4);
	}
}

static void a_file_that_is_too_large_is_refused(void **state)
{
	char *bytes CLEANUP(mem_done) = mem_new(INI_FILE_MAX + 2);
	struct text seen CLEANUP(text_done) = { 0 };
	struct error error = { 0 };

	(void)state;
	memset(bytes, '\n', INI_FILE_MAX + 1);
	assert_int_equal(parse(bytes, INI_FILE_MAX, &seen, &error), 0);
	assert_int_equal(parse(bytes, INI_FILE_MAX + 1, &seen, &error), -EINVAL);
}

static void any_bytes_are_an_answer_and_never_a_crash(void **state)
{
	static const char alphabet[] = "[]=;#: \t\r\nab\0\xef\xbb\xbf\xff";
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct text seen CLEANUP(text_done) = { 0 };
		struct error error = { 0 };
		char bytes[41];
		int r;

		for (size_t at = 0; at < 40; at++) {
			seed = seed * 1664525 + 1013904223;
			bytes[at] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		bytes[40] = 0;
		r = parse(bytes, 40, &seen, &error);
		assert_int_equal(r, -error.code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_in_order_with_their_lines),
		cmocka_unit_test(rubbish_is_an_error_that_names_the_line),
		cmocka_unit_test(what_the_entry_answers_is_returned),
		cmocka_unit_test(no_line_is_cut),
		cmocka_unit_test(a_file_that_is_too_large_is_refused),
		cmocka_unit_test(any_bytes_are_an_answer_and_never_a_crash),
	};

	return cmocka_run_group_tests_name("ini_file", tests, NULL, NULL);
}
