#include "unit.h"

#include "text_list.h"

static void an_equal_text_is_added_once(void **state)
{
	struct text_list list CLEANUP(text_list_done) = { 0 };

	(void)state;
	assert_false(text_list_has(&list, "a"));
	text_list_add_new(&list, "a");
	text_list_add_new(&list, "b");
	text_list_add_new(&list, "a");
	assert_int_equal(list.count, 2);
	assert_true(text_list_has(&list, "b"));
	assert_false(text_list_has(&list, "c"));
	text_list_add(&list, "a");
	assert_int_equal(list.count, 3);
}

static void what_is_above_is_the_innermost_directory(void **state)
{
	static const struct {
		const char *path, *above;
	} table[] = {
		{ "/r/a", "/r" },
		{ "/r/in/a", "/r/in" },
		{ "/r/in", "/r" },
		{ "/r/inner/a", "/r" },
		{ "/r", NULL },
		{ "/r2/a", NULL },
		{ "/", NULL },
	};
	struct text_list list CLEANUP(text_list_done) = { 0 };

	(void)state;
	assert_null(text_list_above(&list, "/r/a"));
	text_list_add(&list, "/r/in");
	text_list_add(&list, "/r");
	text_list_add(&list, "/s");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *above = text_list_above(&list, table[i].path);

		if (!text_equal(above, table[i].above))
			fail_msg("%s: %s", table[i].path, above ? above : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_equal_text_is_added_once),
		cmocka_unit_test(what_is_above_is_the_innermost_directory),
	};

	return cmocka_run_group_tests_name("text_list", tests, NULL, NULL);
}
