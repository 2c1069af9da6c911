/* git's records, as git writes them and as damage leaves them. */
#include "git_fixture.h"

#include "backend/worktree_record.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>

static char *resolve(const struct git_fixture *fixture, const char *path, int expected)
{
	char *whole CLEANUP(mem_done) = mem_printf("%s/%s", fixture->base, path);
	char *common = NULL;
	struct error error = { 0 };
	int r = worktree_repo_resolve(whole, &common, &error);

	if (r != expected)
		fail_msg("%s: %d, %s", path, r, error.text);
	return common;
}

static void any_way_to_name_a_repository_leads_to_its_common_directory(void **state)
{
	static const char *const paths[] = { "repo", "repo/.git", "repo/.git/worktrees/r1", "ws/r1",
		"alias" };
	struct git_fixture *fixture = *state;

	git_fixture_sh(fixture, "ln -s repo alias");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *common CLEANUP(mem_done) = resolve(fixture, paths[i], 0);

		assert_string_equal(common, fixture->repo);
	}
}

static void only_what_is_provably_not_there_is_gone(void **state)
{
	struct git_fixture *fixture = *state;

	git_fixture_sh(
		fixture, "mkdir empty junk; echo junk >junk/.git; echo x >file; ln -s loop loop");
	resolve(fixture, "none", -ENOENT);
	resolve(fixture, "none/below", -ENOENT);
	resolve(fixture, "file/below", -ENOENT);
	resolve(fixture, "empty", -ENOENT);
	resolve(fixture, "junk", -EINVAL);
	resolve(fixture, "loop", -ELOOP);
	git_fixture_sh(fixture, "rm -rf repo");
	resolve(fixture, "ws/r1", -ENOENT);
}

static void what_a_tree_says_is_read_but_not_followed(void **state)
{
	static const struct {
		const char *command;
		enum pointer_kind kind;
		const char *target;
	} cases[] = {
		{ "rm -f .git", POINTER_NONE, NULL },
		{ "echo gitdir: /a/../b/./c >.git", POINTER_FILE, "/b/c" },
		{ "printf 'gitdir: /a\\r\\n\\n' >.git", POINTER_FILE, "/a" },
		{ "echo junk >.git", POINTER_JUNK, NULL },
		{ "echo gitdir: >.git", POINTER_JUNK, NULL },
		{ ": >.git", POINTER_JUNK, NULL },
		{ "printf 'gitdir: /a\\0b' >.git", POINTER_JUNK, NULL },
		{ "head -c 1000000 /dev/zero | tr '\\0' x >.git", POINTER_JUNK, NULL },
		{ "rm .git; mkfifo .git", POINTER_JUNK, NULL },
		{ "rm .git; ln -s ../../repo/.git .git", POINTER_JUNK, NULL },
		{ "rm .git; mkdir .git", POINTER_DIRECTORY, NULL },
	};
	struct git_fixture *fixture = *state;
	int tree CLEANUP(fd_done) = open(fixture->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct worktree_pointer pointer;

		git_fixture_sh(fixture, "cd ws/r1; %s", cases[i].command);
		assert_int_equal(
			worktree_pointer_read(tree, fixture->tree, &fixture->arena, &pointer, NULL),
			0);
		if (pointer.kind != cases[i].kind || !text_equal(pointer.target, cases[i].target))
			fail_msg("%s: %d %s", cases[i].command, (int)pointer.kind,
				pointer.target ? pointer.target : "");
	}
}

static void damaged_records_are_listed_too(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_records records;
	size_t silent = 0;

	git_fixture_sh(fixture,
		"cd repo/.git/worktrees; mkdir none junk binary; echo junk >junk/gitdir; "
		"printf 'a\\0/.git' >binary/gitdir; mkdir -p dir/gitdir; ln -s r1 link; echo x "
		">file");
	assert_int_equal(worktree_records_read(fixture->repo, &records, NULL), 0);
	assert_int_equal(records.count, 5);
	for (size_t i = 0; i < records.count; i++)
		silent += records.list[i].tree == NULL;
	assert_int_equal(silent, 4);
	worktree_records_done(&records);
	git_fixture_sh(fixture, "rm -rf repo/.git/worktrees");
	assert_int_equal(worktree_records_read(fixture->repo, &records, NULL), 0);
	assert_int_equal(records.count, 0);
	git_fixture_sh(fixture, "rm -rf repo");
	assert_int_equal(worktree_records_read(fixture->repo, &records, NULL), -ENOENT);
}

static void a_silent_record_is_a_trees_only_when_the_tree_names_it(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_record record;

	git_fixture_sh(fixture, "rm repo/.git/worktrees/r1/gitdir");
	assert_int_equal(worktree_record_find(fixture->repo, fixture->tree, NULL, &fixture->arena,
				 &record, NULL),
		0);
	assert_int_equal(worktree_record_find(fixture->repo, fixture->tree, "r1", &fixture->arena,
				 &record, NULL),
		1);
	git_fixture_sh(fixture, "echo /elsewhere/.git >repo/.git/worktrees/r1/gitdir");
	assert_int_equal(worktree_record_find(fixture->repo, fixture->tree, "r1", &fixture->arena,
				 &record, NULL),
		0);
}

static void a_record_is_dropped_only_while_it_is_the_one_that_was_read(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_record record;
	struct rmtree_report report = { 0 };
	int64_t deadline_ms = deadline_in_ms(60000);

	assert_int_equal(worktree_record_find(fixture->repo, fixture->tree, NULL, &fixture->arena,
				 &record, NULL),
		1);
	git_fixture_sh(fixture, "cd repo/.git/worktrees; cp -a r1 new; mv r1 old; mv new r1");
	assert_int_equal(
		worktree_record_drop(fixture->repo, &record, deadline_ms, &report, NULL), -ESTALE);
	git_fixture_sh(fixture, "cd repo/.git/worktrees; rm -rf r1; mv old r1");
	assert_int_equal(
		worktree_record_drop(fixture->repo, &record, deadline_ms, &report, NULL), 1);
	assert_true(report.bytes_freed > 0 && report.entries > 0);
	assert_int_equal(
		worktree_record_drop(fixture->repo, &record, deadline_ms, &report, NULL), 0);
	git_fixture_sh(fixture, "rm -rf repo");
	assert_int_equal(
		worktree_record_drop(fixture->repo, &record, deadline_ms, &report, NULL), 0);
}

static void paths_are_the_same_by_name_and_directory(void **state)
{
	struct git_fixture *fixture = *state;
	char *alias CLEANUP(mem_done) = mem_printf("%s/alias/r1", fixture->base);
	char *longer CLEANUP(mem_done) = mem_printf("%s0", fixture->tree);

	git_fixture_sh(fixture, "ln -s ws alias");
	assert_true(worktree_path_same(fixture->tree, fixture->tree));
	assert_true(worktree_path_same(alias, fixture->tree));
	assert_false(worktree_path_same(longer, fixture->tree));
	assert_false(worktree_path_same("/none/r1", fixture->tree));
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(any_way_to_name_a_repository_leads_to_its_common_directory),
		case_of(only_what_is_provably_not_there_is_gone),
		case_of(what_a_tree_says_is_read_but_not_followed),
		case_of(damaged_records_are_listed_too),
		case_of(a_silent_record_is_a_trees_only_when_the_tree_names_it),
		case_of(a_record_is_dropped_only_while_it_is_the_one_that_was_read),
		case_of(paths_are_the_same_by_name_and_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
