#include "unit.h"

#include "base/text.h"
#include "os/unit_name.h"

/* As systemd-escape --path --suffix=mount has them. */
static void mount_points_are_escaped_as_systemd_does(void **state)
{
	static const char *const names[][2] = {
		{ "/", "-.mount" },
		{ "/srv", "srv.mount" },
		{ "/srv/a-b", "srv-a\\x2db.mount" },
		{ "/srv/of the run", "srv-of\\x20the\\x20run.mount" },
		{ "/.hidden/.x", "\\x2ehidden-.x.mount" },
		{ "/a_b:c.d/\\x", "a_b:c.d-\\x5cx.mount" },
		{ "/\xc3\xa4\n", "\\xc3\\xa4\\x0a.mount" },
		{ "/r@1+2", "r\\x401\\x2b2.mount" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *name CLEANUP(mem_done) = unit_name_of_mount(names[i][0]);

		assert_string_equal(name, names[i][1]);
	}
}

static void a_name_that_no_unit_can_have_is_none(void **state)
{
	struct text point CLEANUP(text_done) = { 0 };
	char *name;

	(void)state;
	text_add(&point, "/");
	while (point.length < 250)
		text_add(&point, "x");
	name = unit_name_of_mount(point.data);
	assert_int_equal(strlen(name), 255);
	free(name);
	text_add(&point, "x");
	assert_null(unit_name_of_mount(point.data));
}

/* tests/system/test-unit.sh has systemd itself read such a word. */
static void a_path_is_one_word_of_a_setting(void **state)
{
	static const char *const words[][2] = {
		{ "/srv/a-b_c.d", "/srv/a-b_c.d" },
		{ "/srv/of the run", "\"/srv/of the run\"" },
		{ "/100%/%n", "\"/100%%/%%n\"" },
		{ "/a\"b\\c", "\"/a\\\"b\\\\c\"" },
		{ "/\xc3\xa4", "\"/\xc3\xa4\"" },
		{ "/\n\x7f", "\"/\\x0a\\x7f\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		char *word CLEANUP(mem_done) = unit_setting_path(words[i][0]);

		assert_string_equal(word, words[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mount_points_are_escaped_as_systemd_does),
		cmocka_unit_test(a_name_that_no_unit_can_have_is_none),
		cmocka_unit_test(a_path_is_one_word_of_a_setting),
	};

	return cmocka_run_group_tests_name("unit name", tests, NULL, NULL);
}
