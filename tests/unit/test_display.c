#include "unit.h"

#include "base/display.h"

static void width_is_counted_in_columns_not_bytes(void **state)
{
	static const struct {
		const char *text;
		size_t width;
	} table[] = {
		{ "", 0 },
		{ "r1", 2 },
		{ "über", 4 },
		{ "日本", 4 },
		{ "e\xcc\x81t", 2 }, /* a combining accent */
		{ "\xff\xfe", 2 },   /* no characters at all */
		{ "…", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(display_width(table[i].text), table[i].width);
}

static void a_name_is_cut_in_the_middle(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		const char *gap, *cut;
	} table[] = {
		{ "short", 5, "…", "short" },
		{ "abcdefgh", 7, "…", "abc…fgh" },
		{ "abcdefgh", 6, "…", "abc…gh" },
		{ "abcdefgh", 6, "..", "ab..gh" },
		{ "日本語日本語", 7, "…", "日…本語" },
		{ "日本語日本語", 12, "…", "日本語日本語" },
		{ "abc", 1, "…", "a" },
		{ "abc", 0, "…", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char *cut CLEANUP(mem_done) =
			display_cut(table[i].text, table[i].width, table[i].gap);

		assert_string_equal(cut, table[i].cut);
	}
}

static void what_is_cut_never_is_wider_than_asked(void **state)
{
	static const char text[] = "a日e\xcc\x81\xff本…語z";

	(void)state;
	for (size_t width = 0; width < 16; width++) {
		char *cut CLEANUP(mem_done) = display_cut(text, width, "…");

		assert_true(display_width(cut) <= width);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(width_is_counted_in_columns_not_bytes),
		cmocka_unit_test(a_name_is_cut_in_the_middle),
		cmocka_unit_test(what_is_cut_never_is_wider_than_asked),
	};

	return cmocka_run_group_tests_name("display", tests, NULL, NULL);
}
