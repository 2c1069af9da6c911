/* Who else uses a branch, and what contains it, read once for all branches of a repository. */
#include "git_fixture.h"

#include "backend/worktree_branch_peers.h"

struct asking {
	struct git_fixture *fixture;
	struct branch_peers peers;
	const char *own; /* the run's own tree, below the base */
	const char *other, *held;
};

static bool is_own(void *context, const struct worktree_record *record)
{
	const struct asking *asking = context;
	char *own CLEANUP(mem_done) = mem_printf("%s/%s", asking->fixture->base, asking->own);

	return record->tree && strcmp(record->tree, own) == 0;
}

static int users(struct asking *asking, const char *branch)
{
	struct error error = { 0 };

	asking->other = asking->held = NULL;
	branch_peers_look(&asking->peers, asking->fixture->repo);
	return branch_peers_users(&asking->peers, branch, is_own, asking, &asking->fixture->arena,
		&asking->other, &asking->held, &error);
}

static void asking_done(struct asking *asking)
{
	branch_peers_done(&asking->peers);
}

static void each_branch_has_its_own_users(void **state)
{
	struct asking asking CLEANUP(asking_done) = { .fixture = *state, .own = "ws/r1" };

	git_fixture_sh(*state,
		"git -C repo worktree add -q -b sbx/r2 ../ws/r2 && git -C repo branch free");
	assert_int_equal(users(&asking, "free"), 0);
	assert_null(asking.held);
	assert_int_equal(users(&asking, "main"), 1);
	assert_string_equal(asking.other, "it is the repository's HEAD branch");
	assert_int_equal(users(&asking, "sbx/r1"), 0);
	assert_non_null(strstr(asking.held, "ws/r1"));
	assert_int_equal(users(&asking, "sbx/r2"), 1);
	assert_non_null(strstr(asking.other, "checked out in"));
	assert_non_null(strstr(asking.other, "ws/r2"));
	assert_int_equal(users(&asking, "sbx/r"), 0);
	assert_int_equal(users(&asking, "zzz"), 0);
}

/* What a rebase will return to is in use, also beside another that is checked out. */
static void a_second_tree_that_will_return_to_it_counts_after_the_own_one(void **state)
{
	struct asking asking CLEANUP(asking_done) = { .fixture = *state, .own = "ws/r1" };

	git_fixture_sh(*state,
		"git -C repo worktree add -q -b sbx/r2 ../ws/r2 &&"
		" mkdir repo/.git/worktrees/r2/rebase-merge &&"
		" echo refs/heads/sbx/r1 >repo/.git/worktrees/r2/rebase-merge/head-name");
	assert_int_equal(users(&asking, "sbx/r1"), 1);
	assert_non_null(strstr(asking.other, "ws/r2"));
	assert_int_equal(users(&asking, "sbx/r2"), 1);
}

static void a_record_that_cannot_be_read_may_use_any_branch_but_the_one_it_names(void **state)
{
	struct asking asking CLEANUP(asking_done) = { .fixture = *state, .own = "ws/r1" };

	git_fixture_sh(*state,
		"git -C repo branch free && mkdir repo/.git/worktrees/r1/rebase-merge &&"
		" ln -s r1 repo/.git/worktrees/r1/rebase-merge/head-name");
	assert_int_equal(users(&asking, "free"), 1);
	assert_non_null(strstr(asking.other, "cannot be told"));
	assert_int_equal(users(&asking, "sbx/r1"), 0);
	assert_non_null(strstr(asking.held, "ws/r1"));
	assert_int_equal(users(&asking, "main"), 1);
	assert_string_equal(asking.other, "it is the repository's HEAD branch");
}

static void what_cannot_be_told_of_the_repository_itself_is_told_of_no_branch(void **state)
{
	struct asking asking CLEANUP(asking_done) = { .fixture = *state, .own = "ws/r1" };

	git_fixture_sh(*state,
		"mkdir repo/.git/rebase-merge && ln -s r1 repo/.git/rebase-merge/head-name");
	assert_true(users(&asking, "sbx/r1") < 0);
	assert_int_equal(users(&asking, "main"), 1);
}

static void another_repository_is_read_anew(void **state)
{
	struct asking asking CLEANUP(asking_done) = { .fixture = *state, .own = "ws/r1" };
	char *other CLEANUP(mem_done) = mem_printf("%s/other/.git", asking.fixture->base);

	assert_int_equal(users(&asking, "sbx/r1"), 0);
	assert_non_null(asking.held);
	git_fixture_sh(*state, "git init -q other");
	branch_peers_look(&asking.peers, other);
	assert_int_equal(asking.peers.records.count, 0);
	assert_int_equal(users(&asking, "main"), 1);
}

static int contains(struct asking *asking, git_repository *repository, const char *branch)
{
	struct error error = { 0 };
	git_oid commit;

	assert_int_equal(worktree_branch_commit(repository, branch, &commit, &error), 1);
	branch_peers_look(&asking->peers, asking->fixture->repo);
	return branch_peers_contain(&asking->peers, repository, branch, &commit, &error);
}

static void only_another_ref_contains_a_branch(void **state)
{
	struct asking asking CLEANUP(asking_done) = { .fixture = *state };
	git_repository *repository CLEANUP(repository_done) = NULL;

	git_fixture_sh(*state,
		"cd repo && git commit -q --allow-empty -m below && git branch below &&"
		" git commit -q --allow-empty -m tip && git branch same &&"
		" git checkout -q -b alone && git commit -q --allow-empty -m alone &&"
		" git tag -a -m noted noted sbx/r1");
	assert_int_equal(worktree_git_open(asking.fixture->repo, &repository, NULL), 0);
	assert_int_equal(contains(&asking, repository, "below"), 1);
	assert_int_equal(contains(&asking, repository, "same"), 1);
	assert_int_equal(contains(&asking, repository, "main"), 1);
	assert_int_equal(contains(&asking, repository, "alone"), 0);
	assert_int_equal(contains(&asking, repository, "sbx/r1"), 1);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(each_branch_has_its_own_users),
		case_of(a_second_tree_that_will_return_to_it_counts_after_the_own_one),
		case_of(a_record_that_cannot_be_read_may_use_any_branch_but_the_one_it_names),
		case_of(what_cannot_be_told_of_the_repository_itself_is_told_of_no_branch),
		case_of(another_repository_is_read_anew),
		case_of(only_another_ref_contains_a_branch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
