#include "git_fixture.h"

#include "backend/worktree_walk.h"

#include <errno.h>

static void patterns_match_as_git_matches_them(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} cases[] = {
		{ "a", "a", true },
		{ "a", "b", false },
		{ "*.o", "x.o", true },
		{ "*.o", ".o", true },
		{ "*.o", "x.oo", false },
		{ "a*b*c", "aXbYbZc", true },
		{ "a*b*c", "aXcYb", false },
		{ "?", "a", true },
		{ "?", "ab", false },
		{ "*", "a/b", false },
		{ "a/*", "a/b", true },
		{ "a/*", "a/b/c", false },
		{ "**/b", "b", true },
		{ "**/b", "x/y/b", true },
		{ "a/**", "a/x/y", true },
		{ "a/**", "a", false },
		{ "a/**/b", "a/b", true },
		{ "a/**/b", "a/x/y/b", true },
		{ "a/**/b", "a/x/y/c", false },
		{ "a**b", "aXb", true },
		{ "a**b", "a/b", false },
		{ "[abc]", "b", true },
		{ "[!abc]", "b", false },
		{ "[^abc]", "d", true },
		{ "[a-c]x", "bx", true },
		{ "[]a]", "]", true },
		{ "[a-]", "-", true },
		{ "[[:digit:]]", "7", true },
		{ "[[:digit:]]", "x", false },
		{ "[[:nonsense:]]", "x", false },
		{ "[abc", "a", false },
		{ "[\\]]", "]", true },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "\\#a", "#a", true },
		{ "x\\", "x", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (ignore_glob(cases[i].pattern, cases[i].path) != cases[i].matches)
			fail_msg("%s against %s", cases[i].pattern, cases[i].path);
}

static bool matches(const char *file, const char *base, const char *path, bool directory)
{
	struct ignore ignore CLEANUP(ignore_done) = { 0 };

	ignore_add(&ignore, base, file, strlen(file));
	return ignore_matches(&ignore, path, directory);
}

static void a_file_of_rules_reads_as_git_reads_it(void **state)
{
	(void)state;
	assert_true(matches("*.o\n", "", "d/x.o", false));
	assert_true(matches("*.o", "", "x.o", false));
	assert_true(matches("*.o\r\n", "", "x.o", false));
	assert_true(matches("\xef\xbb\xbf*.o\n", "", "x.o", false));
	assert_false(matches("# a\n", "", "# a", false));
	assert_true(matches("\\# a\n", "", "# a", false));
	assert_true(matches("a  \n", "", "a", false));
	assert_true(matches("a\\ \n", "", "a ", false));
	assert_false(matches("d/\n", "", "d", false));
	assert_true(matches("d/\n", "", "x/d", true));
	assert_false(matches("/d\n", "", "x/d", true));
	assert_true(matches("/d\n", "", "d", true));
	assert_false(matches("d/e\n", "", "x/d/e", false));
	assert_true(matches("d/e\n", "x", "x/d/e", false));
	assert_true(matches("/e\n", "x", "x/e", false));
	assert_false(matches("*.o\n!x.o\n", "", "x.o", false));
	assert_true(matches("!x.o\n*.o\n", "", "x.o", false));
	assert_false(matches("\n/\n!\n!/\n", "", "x", true));
}

static void the_last_file_on_the_way_down_decides(void **state)
{
	struct ignore ignore CLEANUP(ignore_done) = { 0 };
	size_t outer;

	(void)state;
	ignore_add(&ignore, "", "*.o\n", 4);
	outer = ignore.count;
	ignore_add(&ignore, "d", "!x.o\n", 5);
	assert_false(ignore_matches(&ignore, "d/x.o", false));
	ignore_cut(&ignore, outer);
	assert_true(ignore_matches(&ignore, "d/x.o", false));
}

static void too_many_rules_ignore_nothing(void **state)
{
	struct ignore ignore CLEANUP(ignore_done) = { 0 };

	(void)state;
	ignore_add(&ignore, "", "*\n", 2);
	assert_true(ignore_matches(&ignore, "x", false));
	for (size_t i = 0; i < IGNORE_RULES_MAX; i++)
		ignore_add(&ignore, "", "y\n", 2);
	assert_false(ignore_matches(&ignore, "x", false));
}

/* Backtracking over every star would take longer than the universe has. */
static void rules_that_cannot_be_read_are_not_no_rules(void **state)
{
	struct ignore ignore CLEANUP(ignore_done) = { 0 };

	(void)state;
	assert_int_equal(worktree_ignore_read(&ignore, -1, ""), -EBADF);
	assert_int_equal(worktree_hides_bare(-1), -EBADF);
}

static void a_hostile_pattern_costs_no_more_than_its_length_squared(void **state)
{
	char pattern[400], path[400];

	(void)state;
	for (size_t i = 0; i < sizeof(pattern); i++) {
		pattern[i] = i % 2 ? '*' : 'a';
		path[i] = 'a';
	}
	pattern[sizeof(pattern) - 2] = 'b';
	pattern[sizeof(pattern) - 1] = path[sizeof(path) - 1] = 0;
	assert_false(ignore_glob(pattern, path));
	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? '/' : 'a';
	for (size_t i = 0; i + 5 < sizeof(pattern) - 1; i += 5)
		memcpy(pattern + i, "**/a/", 5);
	assert_false(ignore_glob(pattern, path));
}

/* Whether a walk that enters no ignored directory would find the path ignored. */
static bool ignored_by_walk(const struct ignore *ignore, const char *path)
{
	char *part CLEANUP(mem_done) = mem_dup(path);

	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (ignore_matches(ignore, part, true))
			return true;
		*slash = '/';
	}
	return ignore_matches(ignore, path, false);
}

static void git_itself_agrees(void **state)
{
	static const char *const rules[] = { "a", "/a", "a/", "*", "*.o", "!a", "a/*", "a/**",
		"**/a", "**/a/b", "a/**/b", "/*/b", "b?", "[ab]", "[!a]", "a b", "a\\ ", "a  ",
		"#a", "\\#a", "\\!a", "**", "a**", "/**/b", "a/b/", "*/", "!*/", ".*", "a//b",
		"[[:alpha:]]b", "*\\*", "a/**/", "**/", "***", "a[/]b" };
	static const char *const paths[] = { "a", "b", "a/a", "a/b", "a/b/c", "b/a", "b/b", "b/a/b",
		"x.o", "a/x.o", "bb", "a b", "#a", "!a", ".a", "a/.a", "aa/b", "a/b/a/b", "*",
		"a*" };
	struct git_fixture *fixture = *state;

	git_fixture_sh(fixture, "git init -q corpus");
	for (size_t i = 0; i < ARRAY_SIZE(rules) * ARRAY_SIZE(rules); i += 7) {
		struct ignore ignore CLEANUP(ignore_done) = { 0 };
		char *file CLEANUP(mem_done) = mem_printf(
			"%s\n%s\n", rules[i % ARRAY_SIZE(rules)], rules[i / ARRAY_SIZE(rules)]);
		char *path CLEANUP(mem_done) = mem_printf("%s/corpus/.gitignore", fixture->base);
		char *ours CLEANUP(mem_done) = mem_printf("%s/ours", fixture->base);
		char *list CLEANUP(mem_done) = mem_printf("%s/paths", fixture->base);
		FILE *out = fopen(path, "we");

		assert_non_null(out);
		fputs(file, out);
		assert_int_equal(fclose(out), 0);
		ignore_add(&ignore, "", file, strlen(file));
		out = fopen(ours, "we");
		assert_non_null(out);
		for (size_t k = 0; k < ARRAY_SIZE(paths); k++)
			if (ignored_by_walk(&ignore, paths[k]))
				fprintf(out, "%s\n", paths[k]);
		assert_int_equal(fclose(out), 0);
		out = fopen(list, "we");
		assert_non_null(out);
		for (size_t k = 0; k < ARRAY_SIZE(paths); k++)
			fprintf(out, "%s\n", paths[k]);
		assert_int_equal(fclose(out), 0);
		if (!git_fixture_holds(fixture, "cd corpus; git check-ignore --no-index --stdin "
						"<../paths >../theirs || "
						"test $? = 1; diff ../ours ../theirs"))
			fail_msg("rules: %s", file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_git_matches_them),
		cmocka_unit_test(a_file_of_rules_reads_as_git_reads_it),
		cmocka_unit_test(the_last_file_on_the_way_down_decides),
		cmocka_unit_test(too_many_rules_ignore_nothing),
		cmocka_unit_test(rules_that_cannot_be_read_are_not_no_rules),
		cmocka_unit_test(a_hostile_pattern_costs_no_more_than_its_length_squared),
		cmocka_unit_test_setup_teardown(
			git_itself_agrees, git_fixture_make, git_fixture_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
