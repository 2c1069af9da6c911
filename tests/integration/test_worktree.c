/* The worktree backend on real repositories: what it sees, and what it removes. */
#include "git_fixture.h"
#include "workdir.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define RECORD "repo/.git/worktrees/r1"

static struct resource probe(struct git_fixture *fixture, struct resource resource)
{
	worktree_backend.probe(fixture->state, &resource, &fixture->arena);
	return resource;
}

static int remove_one(
	struct git_fixture *fixture, const struct resource *resource, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };

	return worktree_backend.effects->remove(fixture->state, resource, &effort, error);
}

static int purge_one(
	struct git_fixture *fixture, const struct resource *resource, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };

	return worktree_backend.effects->purge(fixture->state, resource, &effort, error);
}

static struct resource branch_of(struct git_fixture *fixture)
{
	return (struct resource){ .run = "r1",
		.generation = 1,
		.kind = KIND_BRANCH,
		.locator = "sbx/r1",
		.repo = fixture->repo };
}

static void check_gone(struct git_fixture *fixture, const char *after)
{
	struct resource resource = git_fixture_r1(fixture);
	struct resource seen = probe(fixture, resource);

	if (seen.present != TRI_NO || seen.record || seen.set_aside || seen.contradicts)
		fail_msg("after %s: present %s, record %s, trash %s, %s", after,
			tri_name(seen.present), seen.record ? seen.record : "none",
			seen.set_aside ? seen.set_aside : "none", seen.note ? seen.note : "");
	assert_false(git_fixture_holds(fixture, "test -e ws/r1 || test -e " RECORD));
}

static void check_removed(struct git_fixture *fixture, const char *before)
{
	struct resource resource = git_fixture_r1(fixture);
	struct error error = { 0 };
	int removed, purged;

	git_fixture_sh(fixture, "%s", before);
	removed = remove_one(fixture, &resource, &error);
	purged = removed < 0 ? removed : purge_one(fixture, &resource, &error);
	if (removed < 0 || purged < 0)
		fail_msg("%s: %s", before, error.text);
	check_gone(fixture, before);
	assert_int_equal(remove_one(fixture, &resource, &error), 0);
	assert_int_equal(purge_one(fixture, &resource, &error), 0);
}

static void a_worktree_goes_in_whatever_state_it_was_left(void **state)
{
	static const char *const states[] = {
		"true",
		"rm -rf " RECORD,
		"rm ws/r1/.git",
		"rm -rf " RECORD " ws/r1/.git",
		"rm -rf ws/r1",
		"rm -rf ws/r1 " RECORD,
		"rm " RECORD "/gitdir",
		"rm " RECORD "/HEAD",
		"rm " RECORD "/commondir",
		"rm -r " RECORD "/*",
		"rm -rf repo",
		"rm -rf repo ws/r1",
		"git -C repo update-ref -d refs/heads/sbx/r1",
		"f=repo/.git/config; git config -f $f core.repositoryformatversion 1; "
		"git config -f $f extensions.relativeWorktrees true; "
		"echo ../../../../ws/r1/.git >" RECORD "/gitdir; "
		"echo gitdir: ../../repo/.git/worktrees/r1 >ws/r1/.git",
		"f=repo/.git/config; git config -f $f core.repositoryformatversion 1; "
		"git config -f $f extensions.objectFormat sha256",
		"echo junk >" RECORD "/gitdir",
		"mkdir -p ws/.sbx-trash; chmod 700 ws/.sbx-trash; mv ws/r1 ws/.sbx-trash/r1:1:0",
		"mkdir -p ws/.sbx-trash; chmod 700 ws/.sbx-trash; mv ws/r1 ws/.sbx-trash/r1:1:0; "
		"rm " RECORD "/gitdir",
	};
	struct git_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		check_removed(fixture, states[i]);
		git_fixture_reset(fixture);
	}
}

static void the_last_record_takes_the_empty_directory_with_it(void **state)
{
	struct git_fixture *fixture = *state;

	check_removed(fixture, "true");
	assert_false(git_fixture_holds(fixture, "test -e repo/.git/worktrees"));
}

static void a_worktree_of_a_bare_repository_goes(void **state)
{
	struct git_fixture *fixture = *state;
	char *repo CLEANUP(mem_done) = mem_printf("%s/bare.git", fixture->base);
	char *tree CLEANUP(mem_done) = mem_printf("%s/b1", fixture->root);
	struct resource resource = {
		.run = "b1", .generation = 1, .kind = KIND_WORKTREE, .locator = tree, .repo = repo
	};
	struct error error = { 0 };

	git_fixture_sh(fixture, "git clone -q --bare repo bare.git; "
				"git -C bare.git worktree add -q ../ws/b1 main");
	assert_string_equal(probe(fixture, resource).record + strlen(repo), "/worktrees/b1");
	assert_int_equal(remove_one(fixture, &resource, &error), 1);
	assert_false(git_fixture_holds(fixture, "test -e ws/b1 || test -e bare.git/worktrees"));
}

static void no_other_record_is_ever_dropped(void **state)
{
	struct git_fixture *fixture = *state;

	git_fixture_sh(fixture,
		"mkdir -p ws/x elsewhere; git -C repo worktree add -q ../ws/r10; "
		"git -C repo worktree add -q ../ws/x/r1 -b x1; "
		"git -C repo worktree add -q ../elsewhere/r1 -b x2; "
		"git -C repo worktree add -q ../elsewhere/lost -b x3; rm -rf elsewhere/lost; "
		"mkdir repo/.git/worktrees/silent; ls repo/.git/worktrees | grep -v '^r1$' "
		">before");
	check_removed(fixture, "true");
	git_fixture_sh(fixture, "ls repo/.git/worktrees | cmp - before; "
				"git -C ws/r10 status >out; git -C ws/x/r1 status >out; "
				"git -C elsewhere/r1 status >out");
}

static void the_record_is_found_by_its_path_whatever_its_name(void **state)
{
	struct git_fixture *fixture = *state;
	char *tree CLEANUP(mem_done) = mem_printf("%s/x/r1", fixture->root);
	struct resource resource = { .run = "r1x",
		.generation = 1,
		.kind = KIND_WORKTREE,
		.locator = tree,
		.repo = fixture->repo };
	struct error error = { 0 };

	git_fixture_sh(fixture, "mkdir ws/x; git -C repo worktree add -q ../ws/x/r1 -b x1");
	assert_string_equal(pathname_last(probe(fixture, resource).record), "r11");
	git_fixture_sh(fixture, "rm -rf ws/x/r1");
	assert_int_equal(remove_one(fixture, &resource, &error), 1);
	assert_true(git_fixture_holds(fixture, "test -e " RECORD));
	assert_false(git_fixture_holds(fixture, "test -e repo/.git/worktrees/r11"));
}

static void what_was_set_aside_is_progress_although_its_record_stays(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct effort effort = { .deadline_ms = 1 }; /* is over */
	struct error error = { 0 };

	assert_int_equal(
		worktree_backend.effects->remove(fixture->state, &resource, &effort, &error),
		-ETIME);
	assert_false(git_fixture_holds(fixture, "test -e ws/r1"));
	assert_true(git_fixture_holds(fixture, "test -e " RECORD));
	assert_int_equal(effort.steps, 1);
	assert_int_equal(remove_one(fixture, &resource, &error), 1);
	assert_false(git_fixture_holds(fixture, "test -e " RECORD));
}

static void a_symlinked_prefix_in_gits_record_is_the_same_tree(void **state)
{
	struct git_fixture *fixture = *state;

	check_removed(fixture, "ln -s ws alias; echo \"$PWD/alias/r1/.git\" >" RECORD "/gitdir");
}

static void what_contradicts_its_record_is_never_removed(void **state)
{
	static const struct {
		const char *command, *note;
	} cases[] = {
		{ "mv ws/r1 ws/real; ln -s real ws/r1", "symlink" },
		{ "rm -rf ws/r1; echo x >ws/r1", "not a directory" },
		{ "mv ws/r1 ws/was; mkdir ws/r1; echo x >ws/r1/x", "another one" },
		{ "echo junk >ws/r1/.git", "neither a git link" },
		{ "rm ws/r1/.git; ln -s ../r1 ws/r1/.git", "neither a git link" },
		{ "rm ws/r1/.git; git init -q ws/r1", "a repository of its own" },
		{ "git clone -q repo o; git -C o worktree add -q ../ws/o1; "
		  "cp ws/o1/.git ws/r1/.git",
			"another repository" },
		{ "git -C repo worktree add -q ../ws/r2; cp ws/r2/.git ws/r1/.git",
			"record of another tree" },
		{ "git -C repo worktree move ../ws/r1 ../ws/moved; cp -a ws/moved ws/r1",
			"another one" },
	};
	struct git_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct resource resource = git_fixture_r1(fixture), seen;
		struct error error = { 0 };
		char *before CLEANUP(mem_done) = NULL, *after CLEANUP(mem_done) = NULL;
		static const char list[] = "find ws repo/.git/worktrees | sort | sha256sum";

		git_fixture_sh(fixture, "%s", cases[i].command);
		before = git_fixture_ask(fixture, list);
		seen = probe(fixture, resource);
		if (!seen.contradicts || !strstr(seen.note, cases[i].note))
			fail_msg("%s: %s", cases[i].command, seen.note ? seen.note : "fine");
		assert_int_equal(remove_one(fixture, &resource, &error), -ESTALE);
		after = git_fixture_ask(fixture, list);
		assert_string_equal(before, after);
		git_fixture_reset(fixture);
	}
}

static void a_used_again_inode_is_not_the_registered_tree(void **state)
{
	struct resource resource = git_fixture_r1(*state), seen;
	struct error error = { 0 };

	resource.token = "1.000000000";
	seen = probe(*state, resource);
	assert_true(seen.contradicts);
	assert_non_null(strstr(seen.note, "younger"));
	assert_int_equal(remove_one(*state, &resource, &error), -ESTALE);
}

static void what_lies_outside_every_root_is_refused(void **state)
{
	struct git_fixture *fixture = *state;
	const char *const paths[] = { fixture->base, fixture->root, "/", "/etc" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct resource resource = {
			.run = "r1", .kind = KIND_WORKTREE, .locator = paths[i]
		};
		struct error error = { 0 };

		assert_true(probe(fixture, resource).contradicts);
		assert_int_equal(remove_one(fixture, &resource, &error), -ESTALE);
		assert_non_null(strstr(error.text, "outside every configured root"));
	}
}

static void a_lost_root_makes_its_runs_unknown(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct error error = { 0 };

	fixture->settings.lost_roots = fixture->settings.roots;
	fixture->settings.roots = (struct text_list){ 0 };
	assert_int_equal(probe(fixture, resource).present, TRI_UNKNOWN);
	assert_false(probe(fixture, resource).contradicts);
	assert_int_equal(remove_one(fixture, &resource, &error), -EIO);
}

static void a_mount_within_stops_the_removal_before_its_first_change(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct error error = { 0 };
	int removed;

	git_fixture_sh(fixture, "mkdir out; echo x >out/x; mount --bind out ws/r1/dir");
	removed = remove_one(fixture, &resource, &error);
	git_fixture_sh(fixture, "umount ws/r1/dir");
	assert_int_equal(removed, -EBUSY);
	assert_true(git_fixture_holds(
		fixture, "test -e out/x && test -e ws/r1/a.txt && test -e " RECORD));
}

static void a_lock_counts_unless_its_process_is_provably_gone(void **state)
{
	static const struct {
		const char *text;
		enum lock lock;
	} cases[] = {
		{ "", LOCK_HELD },
		{ "do not touch", LOCK_HELD },
		{ "held by pid $$$", LOCK_HELD },
		{ "run r1 pid 4194399", LOCK_STALE },
		{ "agent (PID 4194399 start 12)", LOCK_STALE },
		{ "agent (pid 1 start 9999999999)", LOCK_STALE },
		{ "pid 1", LOCK_HELD },
		{ "stupid 4194399", LOCK_HELD },
		{ "pid 99999999999999999999999", LOCK_HELD },
		{ "tool pid=4194399", LOCK_STALE },
		{ "tool PID: 4194399.", LOCK_STALE },
		{ "agent (pid 4194399 start Fri Jun 19 21:37:40 2026)", LOCK_STALE },
		{ "agent (pid 1 start Fri Jun 19 21:37:40 2026)", LOCK_HELD },
		{ "agent (pid 1 start 2026-06-19)", LOCK_HELD },
		{ "agent (pid 4194399), of (pid 1)", LOCK_HELD },
		{ "agent (pid 1), of (pid 4194399)", LOCK_HELD },
		{ "agent (pid 4194399), of (pid 4194398)", LOCK_STALE },
		{ "keep until pid 4194399 has been looked at", LOCK_HELD },
		{ "pid 4194399-controller", LOCK_HELD },
		{ "initializing", LOCK_HELD },
	};
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture), seen;
	struct error error = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		git_fixture_sh(fixture, "printf '%%s\\n' '%s' >" RECORD "/locked", cases[i].text);
		seen = probe(fixture, resource);
		if (seen.lock != cases[i].lock ||
			!text_starts(seen.note ? seen.note : "", cases[i].text))
			fail_msg("%s: %d, %s", cases[i].text, (int)seen.lock,
				seen.note ? seen.note : "no text");
		if (seen.lock == LOCK_HELD)
			assert_int_equal(remove_one(fixture, &resource, NULL), -EBUSY);
	}
	git_fixture_sh(fixture, "touch -d '-1 hour' " RECORD "/locked");
	assert_int_equal(probe(fixture, resource).lock, LOCK_STALE);
	assert_int_equal(remove_one(fixture, &resource, &error), 1);
	assert_int_equal(purge_one(fixture, &resource, &error), 1);
	check_gone(fixture, "a stale lock");
}

/* Ourselves in the place of whoever got the number. */
static void a_process_that_began_after_the_lock_did_not_write_it(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture), seen;
	int pid = (int)getpid();

	git_fixture_sh(fixture, "printf 'agent (pid %d)' >" RECORD "/locked", pid);
	seen = probe(fixture, resource);
	assert_int_equal(seen.lock, LOCK_HELD);
	assert_non_null(strstr(seen.note, "is alive"));
	git_fixture_sh(fixture, "touch -d '-4 minutes' " RECORD "/locked");
	assert_int_equal(probe(fixture, resource).lock, LOCK_HELD);
	git_fixture_sh(fixture, "touch -d '-2 days' " RECORD "/locked");
	seen = probe(fixture, resource);
	assert_int_equal(seen.lock, LOCK_STALE);
	assert_non_null(strstr(seen.note, "began after it was locked"));
	git_fixture_sh(fixture, "printf 'agent (pid %d start 1)' >" RECORD "/locked", pid);
	seen = probe(fixture, resource);
	assert_int_equal(seen.lock, LOCK_STALE);
	assert_non_null(strstr(seen.note, "another one has its number"));
}

static void an_older_generation_does_not_reach_a_newer_ones_trash(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct error error = { 0 };

	git_fixture_sh(fixture, "mkdir -m 700 ws/.sbx-trash; mkdir ws/.sbx-trash/r1:2:0 "
				"ws/.sbx-trash/r1:1:0 ws/.sbx-trash/r10:1:0");
	assert_int_equal(purge_one(fixture, &resource, &error), 1);
	assert_true(git_fixture_holds(fixture, "test -e ws/.sbx-trash/r1:2:0 && "
					       "test -e ws/.sbx-trash/r10:1:0 && "
					       "! test -e ws/.sbx-trash/r1:1:0"));
	assert_null(probe(fixture, resource).set_aside);
	resource.generation = 2;
	assert_string_equal(pathname_last(probe(fixture, resource).set_aside), "r1:2:0");
}

/* Branches */

static void check_branch(
	struct git_fixture *fixture, enum branch_rule rule, const char *command, const char *kept)
{
	struct resource branch = branch_of(fixture), seen;
	struct error error = { 0 };
	int expected = kept ? 0 : 1;

	git_fixture_reset(fixture);
	fixture->settings.policy.branch = rule;
	git_fixture_sh(fixture, "git -C repo worktree remove --force ../ws/r1; %s", command);
	seen = probe(fixture, branch);
	if (seen.present != TRI_YES || (kept && (!seen.note || !strstr(seen.note, kept))) ||
		(!kept && seen.note))
		fail_msg("%s: %s, %s", command, tri_name(seen.present),
			seen.note ? seen.note : "goes");
	if (kept)
		assert_true(seen.note && strncmp(seen.note, "kept: ", 6) == 0);
	if (remove_one(fixture, &branch, &error) != expected)
		fail_msg("%s: %s", command, error.text);
	assert_int_equal(
		git_fixture_holds(fixture, "git -C repo rev-parse -q --verify sbx/r1 >out"),
		kept != NULL);
}

static void branches_go_by_policy(void **state)
{
	struct git_fixture *fixture = *state;
	const char *commit = "cd repo; git checkout -q sbx/r1; git commit -qm x --allow-empty; "
			     "git checkout -q main; ";
	char *tagged CLEANUP(mem_done) = mem_printf("%s git tag -am t t sbx/r1", commit);
	char *packed CLEANUP(mem_done) = mem_printf("%s git pack-refs --all", commit);
	char *aliased CLEANUP(mem_done) =
		mem_printf("%s git symbolic-ref refs/heads/a refs/heads/sbx/r1", commit);

	check_branch(fixture, BRANCH_KEEP, "true", "branch = keep");
	check_branch(fixture, BRANCH_MERGED, "true", NULL);
	check_branch(fixture, BRANCH_MERGED, commit, "no other ref contains it");
	check_branch(fixture, BRANCH_MERGED, aliased, "no other ref contains it");
	check_branch(fixture, BRANCH_MERGED, tagged, NULL);
	check_branch(fixture, BRANCH_DELETE, commit, NULL);
	check_branch(fixture, BRANCH_DELETE, packed, NULL);
	assert_false(git_fixture_holds(fixture, "test -e repo/.git/logs/refs/heads/sbx/r1"));
}

static void a_branch_that_is_in_use_is_never_deleted(void **state)
{
	struct git_fixture *fixture = *state;

	check_branch(fixture, BRANCH_DELETE, "git -C repo checkout -q sbx/r1", "HEAD branch");
	check_branch(fixture, BRANCH_DELETE, "git -C repo worktree add -q ../ws/r2 sbx/r1",
		"checked out in");
	check_branch(fixture, BRANCH_DELETE,
		"git -C repo worktree add -q ../ws/r2 sbx/r1; rm repo/.git/worktrees/r2/gitdir",
		"checked out in");
	check_branch(fixture, BRANCH_DELETE,
		"git -C repo worktree add -q ../ws/r2 sbx/r1; cd ws/r2; "
		"git commit -qm x --allow-empty; ! git rebase -q -x false HEAD~1 2>/dev/null",
		"checked out in");
}

static void anothers_unreadable_record_keeps_the_branch_and_not_the_run(void **state)
{
	struct git_fixture *fixture = *state;

	check_branch(fixture, BRANCH_DELETE,
		"git -C repo worktree add -q ../ws/r2; rm repo/.git/worktrees/r2/HEAD; "
		"mkfifo repo/.git/worktrees/r2/HEAD",
		"cannot be told");
	check_branch(fixture, BRANCH_DELETE,
		"git -C repo worktree add -q ../ws/r2; ln -s /dev/zero "
		"repo/.git/worktrees/r2/rebase-merge",
		"cannot be told");
}

static void a_branch_waits_for_its_own_worktree_to_go(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource branch = branch_of(fixture), tree = git_fixture_r1(fixture), seen;
	struct error error = { 0 };

	seen = probe(fixture, branch);
	assert_int_equal(seen.present, TRI_YES);
	assert_null(seen.note);
	assert_int_equal(remove_one(fixture, &branch, &error), -EBUSY);
	assert_int_equal(remove_one(fixture, &tree, &error), 1);
	error = (struct error){ 0 };
	assert_int_equal(remove_one(fixture, &branch, &error), 1);
	assert_int_equal(remove_one(fixture, &branch, &error), 0);
	assert_int_equal(probe(fixture, branch).present, TRI_NO);
}

static void a_branch_that_moved_since_its_work_was_judged_stays(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource branch = branch_of(fixture), tree = git_fixture_r1(fixture);
	struct error error = { 0 };
	const char *note;

	assert_int_equal(worktree_backend.work(fixture->state, &tree, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_CLEAN);
	assert_int_equal(remove_one(fixture, &tree, &error), 1);
	git_fixture_sh(fixture, "cd repo; git checkout -q sbx/r1; git commit -qm x --allow-empty; "
				"git checkout -q main");
	assert_string_equal(
		probe(fixture, branch).note, "kept: it moved since its work was judged");
	assert_int_equal(remove_one(fixture, &branch, &error), 0);
	git_fixture_sh(fixture, "git -C repo rev-parse -q --verify sbx/r1 >out");
}

#define LOCK "repo/.git/refs/heads/sbx/r1.lock"

static void a_lock_that_a_dead_process_left_does_not_keep_a_branch(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource branch = branch_of(fixture);
	struct error error = { 0 };

	git_fixture_sh(fixture, "git -C repo worktree remove --force ../ws/r1 && : >" LOCK);
	assert_true(remove_one(fixture, &branch, &error) < 0); /* somebody may be about to use it */
	assert_true(git_fixture_holds(fixture, "test -e " LOCK));
	git_fixture_sh(fixture, "touch -d '-2 minutes' " LOCK);
	assert_int_equal(remove_one(fixture, &branch, &error), 1);
	assert_false(git_fixture_holds(fixture, "test -e " LOCK));
	assert_false(git_fixture_holds(fixture, "git -C repo rev-parse -q --verify sbx/r1"));
}

#define PACKED_LOCK "repo/.git/packed-refs.lock"

/* Whose it is nothing tells, and all refs are behind it: somebody has to look. */
static void a_lock_on_all_packed_refs_stays_and_is_named(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource branch = branch_of(fixture);
	struct error error = { 0 };

	git_fixture_sh(fixture,
		"cd repo; git worktree remove --force ../ws/r1; git pack-refs --all; "
		"cd ..; : >" PACKED_LOCK "; touch -d '-2 days' " PACKED_LOCK);
	assert_true(remove_one(fixture, &branch, &error) < 0);
	assert_non_null(strstr(error.text, "packed-refs.lock"));
	assert_true(git_fixture_holds(fixture, "test -e " PACKED_LOCK));
	assert_true(git_fixture_holds(fixture, "git -C repo rev-parse -q --verify sbx/r1"));
	git_fixture_sh(fixture, "rm " PACKED_LOCK);
	assert_int_equal(remove_one(fixture, &branch, &error), 1);
	assert_false(git_fixture_holds(fixture, "git -C repo rev-parse -q --verify sbx/r1"));
}

static void a_lock_whose_branch_is_gone_goes_too(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource branch = branch_of(fixture);
	struct error error = { 0 };

	git_fixture_sh(fixture,
		"git -C repo worktree remove --force ../ws/r1 && git -C repo branch -q -D sbx/r1 "
		"&& "
		"mkdir -p repo/.git/refs/heads/sbx && : >" LOCK " && touch -d '-2 minutes' " LOCK);
	assert_int_equal(remove_one(fixture, &branch, &error), 0);
	assert_false(git_fixture_holds(fixture, "test -e " LOCK));
	git_fixture_sh(fixture, "git -C repo branch sbx/r1 main");
}

static void a_branch_whose_repository_is_gone_is_gone(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource branch = branch_of(fixture);

	git_fixture_sh(fixture, "echo [junk >repo/.git/config");
	assert_int_equal(probe(fixture, branch).present, TRI_UNKNOWN);
	assert_int_equal(remove_one(fixture, &branch, NULL), -EIO);
	git_fixture_sh(fixture, "rm -rf repo");
	assert_int_equal(probe(fixture, branch).present, TRI_NO);
	assert_int_equal(remove_one(fixture, &branch, NULL), 0);
}

/* Registration */

static int identify(struct git_fixture *fixture, struct resource *resource, struct error *error)
{
	*error = (struct error){ 0 };
	return worktree_backend.identify(fixture->state, resource, &fixture->arena, error);
}

static void registration_records_what_identifies_a_worktree(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource told = git_fixture_r1(fixture);
	char *working CLEANUP(mem_done) = mem_printf("%s/repo", fixture->base);
	const char *const repos[] = { NULL, working, fixture->repo, fixture->tree };
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(repos); i++) {
		struct resource resource = {
			.kind = KIND_WORKTREE, .locator = fixture->tree, .repo = repos[i]
		};

		if (identify(fixture, &resource, &error) < 0)
			fail_msg("%s", error.text);
		assert_string_equal(resource.repo, fixture->repo);
		assert_string_equal(resource.branch, "sbx/r1");
		assert_string_equal(resource.base, fixture->head);
		assert_int_equal(resource.dev, told.dev);
		assert_int_equal(resource.ino, told.ino);
	}
}

static void registration_knows_clones_plain_directories_and_what_is_not_there(void **state)
{
	struct git_fixture *fixture = *state;
	char *clone CLEANUP(mem_done) = mem_printf("%s/c1", fixture->root);
	char *plain CLEANUP(mem_done) = mem_printf("%s/p1", fixture->root);
	char *later CLEANUP(mem_done) = mem_printf("%s/later", fixture->root);
	struct resource resource = { .kind = KIND_WORKTREE, .locator = clone };
	struct error error;

	git_fixture_sh(fixture, "git clone -q repo ws/c1; git -C ws/c1 checkout -q --detach; "
				"mkdir ws/p1");
	assert_int_equal(identify(fixture, &resource, &error), 0);
	assert_string_equal(resource.repo + strlen(clone), "/.git");
	assert_string_equal(resource.base, fixture->head);
	assert_null(resource.branch);

	resource = (struct resource){ .kind = KIND_WORKTREE, .locator = plain };
	assert_int_equal(identify(fixture, &resource, &error), 0);
	assert_null(resource.repo);
	assert_true(resource.ino);

	resource = (struct resource){
		.kind = KIND_WORKTREE, .locator = later, .repo = fixture->repo, .branch = "b"
	};
	assert_int_equal(identify(fixture, &resource, &error), 0);
	assert_false(resource.ino);
	assert_string_equal(resource.branch, "b");
}

static void registration_refuses_what_is_not_the_runs(void **state)
{
	struct git_fixture *fixture = *state;
	static const struct {
		const char *locator, *repo, *said;
	} cases[] = {
		{ "/elsewhere", NULL, "root" },
		{ "/ws", NULL, "root" },
		{ "/ws/../repo", NULL, "clean" },
		{ "/ws/.sbx-trash/x", NULL, "root" },
		{ "/ws/alias", NULL, "not a link" },
		{ "/ws/file", NULL, "not a link" },
		{ "/ws/r1", "/other", "belongs to" },
		{ "/ws/r1", "/none", "would be right" },
		{ "/ws/junk", NULL, "neither a git link" },
		{ "/ws/copy", NULL, "is not its own" },
	};

	git_fixture_sh(fixture, "mkdir elsewhere ws/junk; echo x >ws/junk/.git; ln -s r1 ws/alias; "
				"echo x >ws/file; git init -q other; cp -a ws/r1 ws/copy");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct resource resource = { .kind = KIND_WORKTREE };
		struct error error;

		resource.locator =
			arena_printf(&fixture->arena, "%s%s", fixture->base, cases[i].locator);
		if (cases[i].repo)
			resource.repo =
				arena_printf(&fixture->arena, "%s%s", fixture->base, cases[i].repo);
		if (identify(fixture, &resource, &error) != -EINVAL ||
			!strstr(error.text, cases[i].said))
			fail_msg("%s: %s", cases[i].locator, error.text);
	}
}

/* Discovery */

static struct resource found(struct inventory *inventory, const char *run)
{
	const struct run *owner = inventory_find(inventory, run);

	if (owner && owner->resource_count)
		return owner->resources[0];
	fail_msg("nothing was found of %s", run);
	return (struct resource){ 0 };
}

static void entries_that_nobody_told_are_listed_as_foreign(void **state)
{
	struct git_fixture *fixture = *state;
	struct inventory inventory = { 0 };
	struct resource told = git_fixture_r1(fixture);

	git_fixture_sh(fixture,
		"mkdir ws/f1 ws/.hid ws/deep ws/\"$(printf 'n\\nw')\" ws/deep/told; "
		"touch ws/r1.sbx ws/r1.keep ws/file; ln -s r1 ws/alias");
	run_add_resource(&inventory, inventory_run(&inventory, "r1"), &told);
	told.locator = arena_printf(&inventory.arena, "%s/deep/told", fixture->root);
	run_add_resource(&inventory, inventory_run(&inventory, "t1"), &told);
	worktree_backend.discover(fixture->state, &inventory, NULL);
	assert_int_equal(inventory.run_count, 4);
	assert_int_equal(found(&inventory, "f1").proof, PROOF_NONE);
	assert_int_equal(found(&inventory, "f1").present, TRI_YES);
	assert_string_equal(inventory_find(&inventory, "f1")->root, fixture->root);
	assert_int_equal(found(&inventory, "n\nw").present, TRI_YES);
	assert_int_equal(inventory_find(&inventory, "r1")->resource_count, 1);
	assert_int_equal(inventory.source_count, 2);
	assert_int_equal(inventory.sources[0].ok, TRI_YES);
	assert_int_equal(inventory.sources[1].ok, TRI_YES);
	inventory_done(&inventory);
}

static void linked_worktrees_are_adopted_where_the_settings_say_so(void **state)
{
	struct git_fixture *fixture = *state;

	git_fixture_sh(fixture,
		"git -C repo worktree add -q ../ws/r2; git -C repo worktree add -q ../ws/lost; "
		"rm -rf ws/lost; git -C repo worktree add -q ../ws/half; rm ws/half/.git; "
		"git -C repo worktree add -q ../ws/bad; echo junk >ws/bad/.git; mkdir ws/plain; "
		"git -C repo worktree add -q ../elsewhere");
	for (enum adopt adopt = ADOPT_NONE; adopt <= ADOPT_WORKTREES; adopt++) {
		unsigned proof = adopt == ADOPT_WORKTREES ? PROOF_ADOPTED : PROOF_NONE;
		struct inventory inventory = { 0 };

		fixture->settings.adopt = adopt;
		worktree_backend.discover(fixture->state, &inventory, NULL);
		assert_int_equal(found(&inventory, "r1").proof, proof);
		assert_int_equal(found(&inventory, "r2").proof, proof);
		assert_int_equal(found(&inventory, "half").proof, PROOF_NONE);
		assert_int_equal(found(&inventory, "bad").proof, PROOF_NONE);
		assert_int_equal(found(&inventory, "plain").proof, PROOF_NONE);
		assert_int_equal(found(&inventory, "lost").proof, PROOF_NONE);
		assert_int_equal(found(&inventory, "lost").present, TRI_NO);
		assert_string_equal(found(&inventory, "r2").repo, fixture->repo);
		assert_null(found(&inventory, "r2").branch);
		assert_null(inventory_find(&inventory, "elsewhere"));
		inventory_done(&inventory);
	}
}

static void discovery_of_one_run_sees_that_run_only(void **state)
{
	struct git_fixture *fixture = *state;
	struct inventory inventory = { 0 };

	git_fixture_sh(fixture, "mkdir ws/r10 ws/r");
	worktree_backend.discover(fixture->state, &inventory, "r1");
	assert_int_equal(inventory.run_count, 1);
	assert_string_equal(inventory.runs[0]->id, "r1");
	inventory_done(&inventory);
}

static void a_source_that_cannot_be_read_is_noted(void **state)
{
	struct git_fixture *fixture = *state;
	struct inventory inventory = { 0 };
	struct settings none = { 0 };
	void *other = NULL;

	git_fixture_sh(fixture, "rm -rf repo");
	worktree_backend.discover(fixture->state, &inventory, NULL);
	assert_int_equal(inventory.sources[0].ok, TRI_NO);
	assert_non_null(inventory.sources[0].error);
	inventory_done(&inventory);

	assert_int_equal(worktree_backend.open(&none, &other, NULL), 0);
	worktree_backend.discover(other, &inventory, NULL);
	worktree_backend.close(other);
	assert_int_equal(inventory.source_count, 1);
	assert_int_equal(inventory.sources[0].ok, TRI_UNKNOWN);
	inventory_done(&inventory);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(a_worktree_goes_in_whatever_state_it_was_left),
		case_of(the_last_record_takes_the_empty_directory_with_it),
		case_of(a_worktree_of_a_bare_repository_goes),
		case_of(no_other_record_is_ever_dropped),
		case_of(the_record_is_found_by_its_path_whatever_its_name),
		case_of(what_was_set_aside_is_progress_although_its_record_stays),
		case_of(a_symlinked_prefix_in_gits_record_is_the_same_tree),
		case_of(what_contradicts_its_record_is_never_removed),
		case_of(a_used_again_inode_is_not_the_registered_tree),
		case_of(what_lies_outside_every_root_is_refused),
		case_of(a_lost_root_makes_its_runs_unknown),
		case_of(a_mount_within_stops_the_removal_before_its_first_change),
		case_of(a_lock_counts_unless_its_process_is_provably_gone),
		case_of(a_process_that_began_after_the_lock_did_not_write_it),
		case_of(an_older_generation_does_not_reach_a_newer_ones_trash),
		case_of(branches_go_by_policy),
		case_of(a_branch_that_is_in_use_is_never_deleted),
		case_of(anothers_unreadable_record_keeps_the_branch_and_not_the_run),
		case_of(a_branch_waits_for_its_own_worktree_to_go),
		case_of(a_branch_that_moved_since_its_work_was_judged_stays),
		case_of(a_lock_that_a_dead_process_left_does_not_keep_a_branch),
		case_of(a_lock_on_all_packed_refs_stays_and_is_named),
		case_of(a_lock_whose_branch_is_gone_goes_too),
		case_of(a_branch_whose_repository_is_gone_is_gone),
		case_of(registration_records_what_identifies_a_worktree),
		case_of(registration_knows_clones_plain_directories_and_what_is_not_there),
		case_of(registration_refuses_what_is_not_the_runs),
		case_of(entries_that_nobody_told_are_listed_as_foreign),
		case_of(linked_worktrees_are_adopted_where_the_settings_say_so),
		case_of(discovery_of_one_run_sees_that_run_only),
		case_of(a_source_that_cannot_be_read_is_noted),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
