#include "unit.h"

#include "base/pathname.h"

static void paths_are_cleaned_as_text(void **state)
{
	static const struct {
		const char *path, *from, *clean;
	} cases[] = {
		{ "/a//b/./c/", NULL, "/a/b/c" },
		{ "/a/../../b", NULL, "/b" },
		{ "/", NULL, "/" },
		{ "/..", NULL, "/" },
		{ "x/../y", "/cwd", "/cwd/y" },
		{ ".", "/cwd", "/cwd" },
		{ "/a/..b/...", NULL, "/a/..b/..." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *clean CLEANUP(mem_done) = pathname_clean(cases[i].path, cases[i].from);

		assert_string_equal(clean, cases[i].clean);
	}
	assert_null(pathname_clean("relative", NULL));
}

static void below_is_decided_component_by_component(void **state)
{
	(void)state;
	assert_string_equal(pathname_below("/ws/r1/a", "/ws"), "r1/a");
	assert_string_equal(pathname_below("/ws", "/"), "ws");
	assert_null(pathname_below("/ws/r10", "/ws/r1"));
	assert_null(pathname_below("/ws", "/ws"));
	assert_null(pathname_below("/", "/"));
	assert_null(pathname_below("/other", "/ws"));
}

static void a_path_is_a_parent_and_a_last_component(void **state)
{
	char *parent CLEANUP(mem_done) = pathname_parent("/a/b");
	char *root CLEANUP(mem_done) = pathname_parent("/a");

	(void)state;
	assert_string_equal(parent, "/a");
	assert_string_equal(root, "/");
	assert_string_equal(pathname_last("/a/b"), "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_cleaned_as_text),
		cmocka_unit_test(below_is_decided_component_by_component),
		cmocka_unit_test(a_path_is_a_parent_and_a_last_component),
	};

	return cmocka_run_group_tests_name("pathname", tests, NULL, NULL);
}
