/* Repositories that are damaged, hostile, or of a form that is not read: unknown, and no hang. */
#include "changes.h"
#include "workdir.h"

#define RECORD "repo/.git/worktrees/r1"

static void what_cannot_be_read_is_unknown(void **state)
{
	static const struct change changes[] = {
		{ "git -C repo config core.repositoryformatversion 1; "
		  "git -C repo config extensions.objectFormat sha256",
			WORK_UNKNOWN, "repo" },
		{ "git -C repo config core.repositoryformatversion 1; "
		  "git -C repo config extensions.refStorage reftable",
			WORK_UNKNOWN, "repo" },
		{ "echo junk >" RECORD "/index", WORK_UNKNOWN, "index" },
		{ "echo junk >" RECORD "/HEAD", WORK_UNKNOWN, "HEAD names neither" },
		{ "truncate -s 20 " RECORD "/HEAD; truncate -s 0 " RECORD "/HEAD", WORK_UNKNOWN,
			"HEAD names neither" },
		{ "echo 'ref: refs/heads/.invalid' >" RECORD "/HEAD", WORK_UNKNOWN, NULL },
		{ "for f in HEAD config packed-refs shallow; do mv repo/.git/$f repo/.git/$f- || "
		  ":; "
		  "mkfifo repo/.git/$f; done 2>/dev/null",
			WORK_UNKNOWN, "not a regular file" },
		{ "mkfifo repo/.git/packed-refs", WORK_UNKNOWN, "packed-refs" },
		{ "mkfifo repo/.git/objects/info/alternates", WORK_UNKNOWN, "alternates" },
		{ "mkdir repo/.git/packed-refs", WORK_UNKNOWN, "packed-refs" },
		{ "rm repo/.git/config; mkdir repo/.git/config", WORK_UNKNOWN, "config" },
		{ "truncate -s 2G repo/.git/config", WORK_UNKNOWN, "config" },
		{ "truncate -s 2G repo/.git/packed-refs", WORK_UNKNOWN, "packed-refs" },
		{ "git -C repo config include.path /dev/zero", WORK_UNKNOWN, "includes" },
		{ "head -c 4096 /dev/urandom >repo/.git/packed-refs", WORK_UNKNOWN, NULL },
		{ "git -C repo config core.repositoryformatversion 2", WORK_UNKNOWN, NULL },
		{ "git -C repo config core.repositoryformatversion 1; "
		  "git -C repo config extensions.neverHeardOf 1",
			WORK_UNKNOWN, NULL },
		{ "rm -rf repo/.git/objects; mkdir repo/.git/objects", WORK_UNKNOWN, NULL },
		{ "rm -rf repo/.git/objects", WORK_UNKNOWN, NULL },
		{ "find repo/.git/objects -type f -exec sh -c 'chmod u+w $0; echo x >$0' {} \\;",
			WORK_UNKNOWN, NULL },
		{ "cd repo; a=refs/heads/a; b=refs/heads/b; git symbolic-ref $a $b; "
		  "git symbolic-ref $b $a; echo \"ref: $a\" >../" RECORD "/HEAD",
			WORK_UNKNOWN, NULL },
		{ "rm " RECORD "/index; mkfifo " RECORD "/index", WORK_UNKNOWN, "index" },
		{ "rm " RECORD "/HEAD; mkfifo " RECORD "/HEAD", WORK_UNKNOWN, "HEAD" },
		{ "cd ws/r1; git update-index --split-index", WORK_UNKNOWN, "split" },
		{ "echo [junk >repo/.git/config", WORK_UNKNOWN, NULL },
		{ "echo junk >ws/r1/.git", WORK_UNKNOWN, "its .git" },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(what_cannot_be_read_is_unknown),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
