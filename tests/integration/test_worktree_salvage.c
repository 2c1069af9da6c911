/*
 * Unsaved work kept before its tree goes (worktree_salvage.h). After each salvage the tree, git's
 * record and branch are removed by other hands, the repository is pruned, and then real git must
 * find everything.
 */
#include "git_fixture.h"
#include "place.h"
#include "workdir.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/archive.h"
#include "os/dir.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define RECORD "repo/.git/worktrees/r1"
#define SALVAGE_LOCK "repo/.git/refs/sbx/salvage/r1.lock"

static int salvage(struct git_fixture *fixture, const struct resource *resource,
	struct salvage *ret_salvage, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };

	*ret_salvage = (struct salvage){ 0 };
	*error = (struct error){ 0 };
	return worktree_backend.effects->salvage(
		fixture->state, resource, &effort, &fixture->arena, ret_salvage, error);
}

/* Salvages r1, which must work. */
static struct salvage salvage_r1(struct git_fixture *fixture)
{
	struct resource resource = git_fixture_r1(fixture);
	struct salvage salvaged;
	struct error error;
	int r = salvage(fixture, &resource, &salvaged, &error);

	if (r != 1)
		fail_msg("salvage answers %d: %s", r, error.text);
	return salvaged;
}

static int salvage_fails(struct git_fixture *fixture, struct error *ret_error)
{
	struct resource resource = git_fixture_r1(fixture);
	struct salvage salvaged;

	return salvage(fixture, &resource, &salvaged, ret_error);
}

/* What a copy of the tree and a checkout of the commit must have in common: all but ignored files. */
static void take_copy(struct git_fixture *fixture)
{
	git_fixture_sh(fixture,
		"rm -rf copy; cp -a ws/r1 copy; rm -rf copy/.git copy/build; "
		"find copy -name '*.o' -delete; find copy -type p -delete; "
		"find copy -type s -delete; find copy -mindepth 1 -type d -empty -delete");
}

static void remove_run(struct git_fixture *fixture)
{
	git_fixture_sh(fixture,
		"rm -rf ws/r1 " RECORD "; git -C repo update-ref -d refs/heads/sbx/r1; "
		"git -C repo reflog expire --expire=now --all; git -C repo prune --expire=now; "
		"test -z \"$(git -C repo fsck --no-dangling 2>&1)\"");
}

static void check_out(struct git_fixture *fixture, const struct salvage *salvaged)
{
	git_fixture_sh(fixture,
		"test \"$(git -C repo rev-parse %s)\" = %s; rm -rf out; mkdir out; "
		"export GIT_INDEX_FILE=\"$PWD/index.out\"; rm -f index.out; "
		"git -C repo --work-tree=../out read-tree %s; "
		"git -C repo -c core.autocrlf=false --work-tree=../out checkout-index -a; "
		"diff -r --no-dereference copy out; "
		"(cd copy; find . -type f -perm -u+x | sort) >x1; "
		"(cd out; find . -type f -perm -u+x | sort) >x2; cmp x1 x2",
		salvaged->ref, salvaged->commit, salvaged->commit);
}

/* Each change is made to a world of its own, salvaged, removed, and found again. */
static void check_kept(void **state, const char *command)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	print_message("# %s\n", command);
	git_fixture_sh(fixture, "%s", command);
	take_copy(fixture);
	salvaged = salvage_r1(fixture);
	assert_int_equal(salvaged.form, SALVAGE_COMMIT);
	assert_string_equal(salvaged.repo, fixture->repo);
	assert_string_equal(salvaged.tree, fixture->tree);
	remove_run(fixture);
	check_out(fixture, &salvaged);
}

static void files_are_kept_byte_for_byte(void **state)
{
	static const char *const changes[] = {
		"echo x >>ws/r1/a.txt",
		"echo x >ws/r1/new; mkdir -p ws/r1/d/e; echo y >ws/r1/d/e/f",
		"rm ws/r1/a.txt; echo x >ws/r1/new",
		"cd ws/r1; git mv a.txt b.txt; echo x >new",
		"cd ws/r1; chmod +x a.txt; chmod -x dir/run.sh; echo x >new",
		"ln -sfn dir ws/r1/link; ln -s /etc/passwd ws/r1/out; ln -s none ws/r1/gone",
		"rm ws/r1/link; echo a >ws/r1/link",
		"rm ws/r1/a.txt; mkdir ws/r1/a.txt; echo x >ws/r1/a.txt/y",
		"head -c 3000000 /dev/urandom >ws/r1/random; head -c 9000000 /dev/zero >ws/r1/zero",
		": >ws/r1/empty; mkdir -p ws/r1/nothing/in; mkfifo ws/r1/pipe",
		("printf x >\"ws/r1/$(printf 'n\\nw')\"; "
		 "printf y >\"ws/r1/$(printf '\\377\\376')\"; "
		 "printf z >'ws/r1/ \"*?'"),
		"printf 'a\\r\\nb\\n' >ws/r1/crlf; git -C repo config core.autocrlf true",
		"echo x >ws/r1/f.o; mkdir ws/r1/build; echo x >ws/r1/build/y; echo z >ws/r1/new",
		"cd ws/r1; git checkout -q --detach; echo x >n; git add n; git commit -qm two",
		"cd ws/r1; git commit -qm two --allow-empty; echo x >new",
		"cd ws/r1; echo x >s; git add s; rm s",
		"cd ws/r1; echo x >a.txt; git add -N a.txt; echo y >t; git add -N t",
		"cd ws/r1; git update-index --assume-unchanged a.txt; echo x >a.txt",
		("rm -rf " RECORD "; echo x >>ws/r1/a.txt"),
		("rm " RECORD "/HEAD; echo x >>ws/r1/a.txt"),
		"rm ws/r1/.git; echo x >>ws/r1/a.txt",
		("git -C repo update-ref -d refs/heads/sbx/r1; rm -rf " RECORD
		 "; echo x >ws/r1/new"),
		"git -C repo gc -q; echo x >ws/r1/new",
		("git -C repo config core.repositoryformatversion 1; "
		 "git -C repo config extensions.partialClone origin; echo x >ws/r1/new"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		check_kept(state, changes[i]);
		git_fixture_reset(*state);
	}
}

static void what_is_tracked_is_kept_although_ignored(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture,
		"cd ws/r1; mkdir build; echo 1 >build/in; echo 1 >head.o; git add -f head.o build; "
		"git commit -qm tracked; echo 2 >head.o; echo 2 >build/in; echo 1 >staged.o; "
		"git add -f staged.o; echo 2 >staged.o; echo 3 >not.o; echo 3 >build/not");
	salvaged = salvage_r1(fixture);
	git_fixture_sh(fixture,
		"cd repo; for f in head.o build/in staged.o; do "
		"test \"$(git cat-file blob %s:$f)\" = 2; done; "
		"! git ls-tree -r --name-only %s | grep not",
		salvaged.commit, salvaged.commit);
}

static void neither_attributes_nor_filters_change_what_is_kept(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture,
		"printf '#!/bin/sh\\ntouch %s/ran\\n' >prog; chmod +x prog; for k in "
		"core.fsmonitor filter.x.clean filter.x.smudge filter.x.process; "
		"do git -C repo config $k \"$PWD/prog\"; done; mkdir -p repo/.git/hooks; "
		"for h in reference-transaction pre-commit post-commit; do "
		"cp prog repo/.git/hooks/$h; done; cd ws/r1; "
		"echo '* filter=x text eol=crlf ident working-tree-encoding=UTF-16' "
		">.gitattributes; printf 'a\\r\\n$Id$\\n' >new; chmod 0 new",
		fixture->base);
	salvaged = salvage_r1(fixture);
	assert_false(git_fixture_holds(fixture, "test -e ran"));
	git_fixture_sh(fixture,
		"rm -rf repo/.git/hooks; cp ws/r1/new want; git -C repo cat-file blob "
		"%s:new | cmp - want",
		salvaged.commit);
}

static void nothing_unsaved_is_nothing_to_do(void **state)
{
	struct git_fixture *fixture = *state;
	struct error error;

	assert_int_equal(salvage_fails(fixture, &error), 0);
	git_fixture_sh(fixture, "rm -rf ws/r1 " RECORD);
	assert_int_equal(salvage_fails(fixture, &error), 0);
	assert_false(git_fixture_holds(fixture, "git -C repo show-ref | grep sbx/salvage"));
}

static void the_workspace_is_left_as_it_was(void **state)
{
	struct git_fixture *fixture = *state;
	const char *look = "xargs -d '\\n' stat -c '%n %X %Y %Z %s' <list | sha256sum";
	char *before CLEANUP(mem_done) = NULL, *after CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture,
		"cd ws/r1; echo x >new; echo y >s; git add s; cd ../..; "
		"find repo/.git/worktrees ws ! -type l >list; xargs -d '\\n' touch -a -d "
		"2001-01-01 <list");
	before = git_fixture_ask(fixture, "%s", look);
	(void)salvage_r1(fixture);
	after = git_fixture_ask(fixture, "%s", look);
	assert_string_equal(before, after);
}

static void the_message_says_whose_it_was(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture, "echo x >ws/r1/new");
	salvaged = salvage_r1(fixture);
	assert_string_equal(salvaged.ref, "refs/sbx/salvage/r1");
	assert_string_equal(salvaged.branch, "sbx/r1");
	assert_string_equal(salvaged.run, "r1");
	assert_int_equal(salvaged.generation, 1);
	git_fixture_sh(fixture,
		"git -C repo log -1 --format=%%B %s >message; printf 'Salvaged from %s\\n\\n"
		"Sbx-Run: r1\\nSbx-Generation: 1\\nSbx-Tree: %s\\nSbx-Branch: sbx/r1\\n\\n' | "
		"cmp - message; test \"$(git -C repo rev-parse %s^)\" = %s",
		salvaged.commit, fixture->tree, fixture->tree, salvaged.commit, fixture->head);
}

/* Nor does it become a line of the message: it could name commits that are not there. */
static void a_head_that_lies_is_not_salvaged(void **state)
{
	struct git_fixture *fixture = *state;
	struct error error;

	git_fixture_sh(fixture,
		"printf 'ref: refs/heads/x\\nSbx-Tip: y\\n' >" RECORD "/HEAD; echo x >ws/r1/new");
	/* It names nothing that could be. */
	assert_int_equal(salvage_fails(fixture, &error), -EINVAL);
	assert_false(git_fixture_holds(fixture, "git -C repo for-each-ref | grep sbx/salvage"));
}

/* The commit that a line of the message names, or "". */
static char *named(struct git_fixture *fixture, const struct salvage *salvaged, const char *line)
{
	return git_fixture_ask(fixture,
		"git -C repo log -1 --format=%%B %s | sed -n 's/^%s: //p' | grep . || echo",
		salvaged->commit, line);
}

static void what_is_only_staged_is_kept_beside(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;
	char *index CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture,
		"cd ws/r1; echo staged >a.txt; echo s >s; echo f >f.o; git add a.txt s; "
		"git add -f f.o; git rm -q --cached dir/b.txt; echo file >a.txt; rm s f.o; "
		"echo >t; git add -N t");
	salvaged = salvage_r1(fixture);
	index = named(fixture, &salvaged, "Sbx-Index");
	remove_run(fixture);
	git_fixture_sh(fixture,
		"cd repo; test \"$(git rev-parse %s^2)\" = %s; test \"$(git rev-parse %s^)\" = %s; "
		"test \"$(git cat-file blob %s:a.txt)\" = staged; "
		"test \"$(git cat-file blob %s:s)\" = s; test \"$(git cat-file blob %s:f.o)\" = f; "
		"! git cat-file -e %s:t; ! git cat-file -e %s:dir/b.txt; "
		"test \"$(git cat-file blob %s:a.txt)\" = file; git cat-file -e %s:dir/b.txt",
		salvaged.commit, index, index, fixture->head, index, index, index, index, index,
		salvaged.commit, salvaged.commit);
}

static void an_index_like_head_is_no_parent(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture, "echo x >ws/r1/new");
	salvaged = salvage_r1(fixture);
	assert_true(git_fixture_holds(fixture,
		"test \"$(git -C repo rev-list --parents -1 %s | wc -w)\" = 2", salvaged.commit));
}

static void commits_in_no_surviving_ref_are_kept(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;
	char *head CLEANUP(mem_done) = NULL, *tip CLEANUP(mem_done) = NULL;

	fixture->settings.policy.branch = BRANCH_DELETE;
	git_fixture_sh(fixture,
		"cd ws/r1; git commit -qm tip --allow-empty; git checkout -q --detach main; "
		"echo x >n; git add n; git commit -qm head");
	head = git_fixture_ask(fixture, "git -C ws/r1 rev-parse HEAD");
	tip = git_fixture_ask(fixture, "git -C repo rev-parse sbx/r1");
	salvaged = salvage_r1(fixture);
	assert_null(salvaged.branch);
	remove_run(fixture);
	git_fixture_sh(fixture,
		"cd repo; test \"$(git rev-parse %s^)\" = %s; test \"$(git rev-parse %s^2)\" = %s; "
		"git diff --quiet %s %s",
		salvaged.commit, head, salvaged.commit, tip, salvaged.commit, head);
}

static void commits_of_a_tree_that_is_gone_are_kept(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;
	char *head CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture,
		"cd ws/r1; git checkout -q --detach; echo x >n; git add n; git commit -qm head; "
		"git rev-parse HEAD >../../head; cd ..; rm -rf r1");
	head = git_fixture_ask(fixture, "cat head");
	salvaged = salvage_r1(fixture);
	remove_run(fixture);
	git_fixture_sh(fixture,
		"cd repo; test \"$(git rev-parse %s^)\" = %s; git diff --quiet %s %s",
		salvaged.commit, head, salvaged.commit, head);
}

static void a_repository_without_commits_gets_its_first(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	fixture->head[0] = 0; /* no base either */
	git_fixture_sh(fixture,
		"rm -rf repo ws/r1; git init -q -b main repo; mkdir -p " RECORD " ws/r1; "
		"echo ../.. >" RECORD "/commondir; echo \"$PWD/ws/r1/.git\" >" RECORD "/gitdir; "
		"echo 'ref: refs/heads/sbx/r1' >" RECORD "/HEAD; "
		"echo \"gitdir: $PWD/" RECORD "\" >ws/r1/.git; cd ws/r1; echo x >f; "
		"echo y >s; git add s; echo z >s");
	take_copy(fixture);
	salvaged = salvage_r1(fixture);
	assert_string_equal(salvaged.branch, "sbx/r1");
	git_fixture_sh(fixture,
		"rm -rf ws/r1 " RECORD "; git -C repo gc -q --prune=now; "
		"test -z \"$(git -C repo fsck --no-dangling 2>&1 | grep -v HEAD)\"; "
		"test \"$(git -C repo rev-list --count %s)\" = 2",
		salvaged.commit);
	check_out(fixture, &salvaged);
}

#define CONFLICT                                                                \
	"cd ws/r1; git checkout -qb x main; echo x >a.txt; git commit -qam x; " \
	"git checkout -q sbx/r1; echo y >a.txt; git commit -qam y; "

static void both_sides_of_a_conflict_are_kept(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;
	char *kept CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture,
		CONFLICT "git merge -q x >/dev/null 2>&1 || true; git branch -qD x; "
			 "echo mine >>a.txt");
	take_copy(fixture);
	salvaged = salvage_r1(fixture);
	kept = named(fixture, &salvaged, "Sbx-State");
	remove_run(fixture);
	check_out(fixture, &salvaged);
	git_fixture_sh(fixture,
		"cd repo; test \"$(git cat-file blob %s:stages/2/a.txt)\" = y; "
		"test \"$(git cat-file blob %s:stages/3/a.txt)\" = x; "
		"test \"$(git cat-file blob %s:stages/1/a.txt)\" = a; "
		"test \"$(git cat-file blob %s:state/MERGE_HEAD)\" = \"$(git rev-parse %s^)\"; "
		"git cat-file -e %s:state/MERGE_MSG",
		kept, kept, kept, kept, kept, kept);
}

static void a_rebase_with_its_autostash_is_kept(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;
	char *kept CLEANUP(mem_done) = NULL, *stash CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture,
		CONFLICT "echo stashed >dir/b.txt; git rebase -q --autostash x >/dev/null 2>&1 "
			 "|| true; test -e ../../" RECORD "/rebase-merge/autostash");
	stash = git_fixture_ask(fixture, "cat " RECORD "/rebase-merge/autostash");
	salvaged = salvage_r1(fixture);
	kept = named(fixture, &salvaged, "Sbx-State");
	remove_run(fixture);
	git_fixture_sh(fixture,
		"cd repo; git cat-file -e %s:state/rebase-merge/git-rebase-todo; "
		"git merge-base --is-ancestor %s %s; "
		"test \"$(git cat-file blob %s:dir/b.txt)\" = stashed",
		kept, stash, salvaged.commit, stash);
}

static void refs_of_the_tree_alone_are_kept(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;
	char *kept CLEANUP(mem_done) = NULL, *own CLEANUP(mem_done) = NULL;

	git_fixture_sh(fixture,
		"cd ws/r1; git commit -qm own --allow-empty; git update-ref refs/worktree/x HEAD; "
		"git reset -q --hard HEAD~1");
	own = git_fixture_ask(fixture, "git -C ws/r1 rev-parse refs/worktree/x");
	salvaged = salvage_r1(fixture);
	kept = named(fixture, &salvaged, "Sbx-State");
	remove_run(fixture);
	git_fixture_sh(fixture,
		"cd repo; test \"$(git cat-file blob %s:state/refs/worktree/x)\" = %s; "
		"git merge-base --is-ancestor %s %s",
		kept, own, own, salvaged.commit);
}

static void a_tree_that_others_borrow_from_is_not_salvaged_but_stays(void **state)
{
	struct git_fixture *fixture = *state;
	char *path CLEANUP(mem_done) = mem_printf("%s/c1", fixture->root);
	char *repo CLEANUP(mem_done) = mem_printf("%s/c1/.git", fixture->root);
	struct resource resource = {
		.run = "c1", .kind = KIND_WORKTREE, .locator = path, .repo = repo
	};
	struct salvage salvaged;
	struct error error;

	git_fixture_sh(fixture,
		"git clone -q repo ws/c1; git clone -q --shared ws/c1 ws/c2; echo x >ws/c1/new");
	assert_int_equal(salvage(fixture, &resource, &salvaged, &error), -EBUSY);
}

static void what_a_sparse_checkout_leaves_out_is_no_deletion(void **state)
{
	static const char *const changes[] = {
		"cd ws/r1; git status -s; git sparse-checkout set --no-cone '/a.txt'; "
		"test ! -e dir; echo x >new",
		"cd ws/r1; git status -s; git sparse-checkout set --cone --sparse-index none; "
		"test ! -e dir; echo x >new",
		"cd ws/r1; git status -s; git sparse-checkout set --cone --sparse-index none; "
		"mkdir dir; echo x >dir/new; echo b >dir/b.txt",
	};
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		git_fixture_sh(fixture, "%s", changes[i]);
		salvaged = salvage_r1(fixture);
		assert_true(git_fixture_holds(fixture,
			"cd repo; test \"$(git diff --name-status main %s | cut -c1 | sort -u)\" = "
			"A",
			salvaged.commit));
		git_fixture_reset(fixture);
	}
}

static void missing_objects_never_get_into_a_commit(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture,
		"cd ws/r1; for m in 100644 120000; do git update-index --add --cacheinfo "
		"$m,1234567890123456789012345678901234567890,gone$m; done; "
		"git update-index --add --cacheinfo 100644,$(git rev-parse HEAD^{tree}),tree; "
		"echo x >new");
	salvaged = salvage_r1(fixture);
	assert_non_null(salvaged.commit);
	remove_run(fixture);
}

static void a_ref_that_is_taken_stays(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage first, second, third;

	git_fixture_sh(fixture, "git -C repo update-ref refs/sbx/salvage/r1 main; echo x >ws/r1/n");
	first = salvage_r1(fixture);
	assert_string_equal(first.ref, "refs/sbx/salvage/r1,1");
	git_fixture_sh(fixture, "echo y >ws/r1/n");
	second = salvage_r1(fixture);
	assert_string_equal(second.ref, "refs/sbx/salvage/r1,1.2");
	git_fixture_sh(fixture, "echo z >ws/r1/n");
	third = salvage_r1(fixture);
	assert_string_equal(third.ref, "refs/sbx/salvage/r1,1.3");
	git_fixture_sh(fixture,
		"cd repo; test \"$(git rev-parse refs/sbx/salvage/r1)\" = %s; "
		"test \"$(git cat-file blob %s:n)\" = x; test \"$(git cat-file blob %s:n)\" = y",
		fixture->head, first.ref, second.ref);
}

static void a_lock_that_a_dead_process_left_on_a_salvage_ref_goes(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture, "echo x >>ws/r1/a.txt; mkdir -p repo/.git/refs/sbx/salvage; "
				": >" SALVAGE_LOCK "; touch -d '-2 minutes' " SALVAGE_LOCK);
	salvaged = salvage_r1(fixture);
	assert_string_equal(salvaged.ref, "refs/sbx/salvage/r1");
	assert_false(git_fixture_holds(fixture, "test -e " SALVAGE_LOCK));
}

static void what_a_killed_attempt_left_is_taken_over(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage first, second;

	git_fixture_sh(fixture,
		CONFLICT "git merge -q x >/dev/null 2>&1 || true; git branch -qD x; "
			 "echo s >s; git add s; echo t >s");
	first = salvage_r1(fixture);
	/* Another second, so that a time would tell them apart. */
	git_fixture_sh(fixture, "sleep 1.1");
	second = salvage_r1(fixture);
	assert_string_equal(first.ref, second.ref);
	assert_string_equal(first.commit, second.commit);
}

/* Whenever it is killed: the next attempt makes it whole, and there is one ref, not two. */
static void an_attempt_may_be_killed_anywhere(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
				"head -c 100000 /dev/urandom >ws/r1/f$i; done");
	take_copy(fixture);
	for (int i = 0; i < 12; i++) {
		const struct timespec moment = { .tv_nsec = 12000000L * i };
		pid_t pid = fork();

		if (pid == 0) {
			struct error error;

			(void)salvage_fails(fixture, &error);
			_exit(0);
		}
		(void)nanosleep(&moment, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	salvaged = salvage_r1(fixture);
	assert_true(git_fixture_holds(
		fixture, "test $(git -C repo for-each-ref refs/sbx | wc -l) = 1"));
	remove_run(fixture);
	check_out(fixture, &salvaged);
}

static void what_is_mounted_in_the_tree_is_left_or_refused(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;
	struct error error;

	/* A bind has its content elsewhere. */
	git_fixture_sh(fixture, "echo x >ws/r1/new; mkdir ws/r1/m; mount --bind repo ws/r1/m");
	salvaged = salvage_r1(fixture);
	assert_true(git_fixture_holds(fixture,
		"cd repo; test \"$(git diff --name-only main %s)\" = new", salvaged.commit));
	git_fixture_sh(fixture, "umount ws/r1/m; mount -t tmpfs none ws/r1/m; echo y >ws/r1/m/f");
	assert_int_equal(salvage_fails(fixture, &error), -EXDEV);
	assert_non_null(strstr(error.text, "m: "));
}

static void the_owner_of_a_repository_owns_what_is_written(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	/* The base is only root's, and mode 0700: the owner could not even get there. */
	git_fixture_sh(fixture,
		"git -C repo gc -q; git -C repo config core.sharedRepository group; "
		"chown -R 65534:65533 repo; chmod -R g+ws repo/.git/objects; echo x >ws/r1/new; "
		"mkdir ws/r1/d; echo y >ws/r1/d/f; chmod 0 ws/r1/new ws/r1/d");
	salvaged = salvage_r1(fixture);
	git_fixture_sh(fixture,
		"test -z \"$(find repo ! -user 65534 -o ! -group 65533)\"; "
		"test -z \"$(find repo/.git/objects -type d ! -perm -2775)\"; chmod 755 .; cd "
		"repo; "
		"setpriv --reuid 65534 --regid 65533 --clear-groups sh -ec 'git -c "
		"safe.directory=* commit -qm more --allow-empty; git -c safe.directory=* gc -q "
		"--prune=now; git -c safe.directory=* cat-file -e %s:d/f'",
		salvaged.commit);
}

static void a_repository_of_ours_stays_ours(void **state)
{
	struct git_fixture *fixture = *state;

	/* A new object may land in a directory that was there, and that one keeps its mode. */
	git_fixture_sh(fixture,
		"chmod 700 repo/.git/objects; echo x >ws/r1/new; "
		"find repo/.git/objects -mindepth 1 -perm /077 -type d | sort >open");
	(void)salvage_r1(fixture);
	git_fixture_sh(fixture,
		"find repo/.git/objects -mindepth 1 -perm /077 -type d | sort | cmp - open");
}

static void nothing_is_written_through_a_planted_link(void **state)
{
	static const char *const plants[] = {
		("for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do "
		 "for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do "
		 "d=repo/.git/objects/$i$j; test -e $d || ln -s ../../../away $d; done; done"),
		"mkdir -p repo/.git/refs/sbx; ln -s ../../../../away repo/.git/refs/sbx/salvage",
		"ln -s ../../../away repo/.git/refs/sbx",
		("rm -rf repo/.git/logs; ln -s ../../away repo/.git/logs; "
		 "git -C repo config core.logAllRefUpdates always"),
		"mv repo/.git/objects away/objects; ln -s ../../away/objects repo/.git/objects",
	};
	struct git_fixture *fixture = *state;
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(plants); i++) {
		struct resource resource = git_fixture_r1(fixture);
		struct salvage salvaged;

		git_fixture_sh(fixture,
			"mkdir away; cd ws/r1; git checkout -q --detach; git commit -qm 2 "
			"--allow-empty; echo x >new; cd ../..; %s; find away | sort >before",
			plants[i]);
		(void)salvage(fixture, &resource, &salvaged, &error);
		assert_null(salvaged.commit);
		git_fixture_sh(fixture, "find away | sort | cmp - before; test -e ws/r1/new");
		git_fixture_reset(fixture);
	}
}

static void a_file_or_a_tree_beyond_the_caps_is_refused_by_name(void **state)
{
	struct git_fixture *fixture = *state;
	struct error error;

	git_fixture_sh(fixture, "truncate -s 1073741825 ws/r1/huge");
	assert_int_equal(salvage_fails(fixture, &error), -EFBIG);
	assert_non_null(strstr(error.text, "huge: 1073741825 bytes"));
}

static void a_full_disk_is_refused_before_anything_is_written(void **state)
{
	struct git_fixture *fixture = *state;
	struct error error;

	git_fixture_sh(fixture, "mv repo kept; mkdir repo; mount -t tmpfs -o size=4m none repo; "
				"cp -a kept/. repo; head -c 6000000 /dev/urandom >ws/r1/big");
	assert_int_equal(salvage_fails(fixture, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "bytes are needed"));
	assert_false(git_fixture_holds(fixture, "git -C repo show-ref | grep salvage"));
	git_fixture_sh(fixture, "test -z \"$(find repo/.git -newer ws/r1/big -type f)\"");
	/* What fits is salvaged on the same disk. */
	git_fixture_sh(fixture, "echo x >ws/r1/big");
	(void)salvage_r1(fixture);
}

static void an_expired_deadline_ends_it(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct effort effort = { .deadline_ms = 0 };
	struct salvage salvaged;
	struct error error = { 0 };

	git_fixture_sh(fixture, "echo x >ws/r1/new");
	assert_int_equal(worktree_backend.effects->salvage(fixture->state, &resource, &effort,
				 &fixture->arena, &salvaged, &error),
		-ETIME);
}

static void another_tree_than_the_registered_one_is_refused(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct salvage salvaged;
	struct error error;

	git_fixture_sh(fixture, "cp -a ws/r1 ws/r2; rm -rf ws/r1; mv ws/r2 ws/r1; echo x >ws/r1/n");
	assert_int_equal(salvage(fixture, &resource, &salvaged, &error), -ESTALE);
}

/* What is left is saved: the tree may go, then nothing is left to judge, and the branch goes. */
static void after_salvage_nothing_keeps_tree_and_branch(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource tree = git_fixture_r1(fixture);
	struct resource branch = {
		.run = "r1",
		.kind = KIND_BRANCH,
		.proof = PROOF_ROW,
		.locator = "sbx/r1",
		.repo = fixture->repo,
	};
	struct effort effort = { .deadline_ms = deadline_in_ms(60000) };
	struct error error = { 0 };
	const char *note = NULL;

	fixture->settings.policy.branch = BRANCH_MERGED;
	git_fixture_sh(fixture, "cd ws/r1; git commit -qm 2 --allow-empty; echo x >new");
	(void)salvage_r1(fixture);
	assert_int_equal(worktree_backend.work(fixture->state, &tree, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_DIRTY);
	worktree_backend.probe(fixture->state, &branch, &fixture->arena);
	assert_int_equal(
		worktree_backend.effects->remove(fixture->state, &tree, &effort, &error), 1);
	assert_int_equal(worktree_backend.work(fixture->state, &tree, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_NONE);
	assert_int_equal(
		worktree_backend.effects->remove(fixture->state, &branch, &effort, &error), 1);
	assert_true(git_fixture_holds(fixture, "git -C repo cat-file -e refs/sbx/salvage/r1:new; "
					       "! git -C repo rev-parse -q --verify sbx/r1"));
}

static void unpushed_commits_are_judged_saved_after_salvage(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource tree = git_fixture_r1(fixture);
	const char *note = NULL;

	git_fixture_sh(fixture, "cd ws/r1; git commit -qm 2 --allow-empty");
	(void)salvage_r1(fixture);
	assert_int_equal(worktree_backend.work(fixture->state, &tree, deadline_in_ms(LOOK_MS),
				 &fixture->arena, &note),
		WORK_CLEAN);
}

/* The archive's two halves, unpacked as out/ and record/. */
static void unpack(struct git_fixture *fixture, const struct salvage *salvaged)
{
	static const char *const parts[][2] = { { "tree/", "out" }, { "record/", "record" } };
	char *above CLEANUP(mem_done) = pathname_parent(salvaged->path);
	int dir CLEANUP(fd_done) = dir_open(above, NULL);
	struct error error = { 0 };

	assert_int_equal(salvaged->form, SALVAGE_ARCHIVE);
	git_fixture_sh(fixture, "rm -rf out record; mkdir out record");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char *path CLEANUP(mem_done) = mem_printf("%s/%s", fixture->base, parts[i][1]);
		int target CLEANUP(fd_done) = dir_open(path, NULL);

		if (archive_extract(
			    dir, pathname_last(salvaged->path), parts[i][0], target, &error) != 0)
			fail_msg("%s", error.text);
	}
}

static struct salvage archive_of(
	struct git_fixture *fixture, const struct resource *resource, const char *command)
{
	struct salvage salvaged;
	struct error error;
	int r;

	print_message("# %s\n", command);
	git_fixture_sh(fixture, "%s", command);
	r = salvage(fixture, resource, &salvaged, &error);
	if (r != 1)
		fail_msg("%s: salvage answers %d: %s", command, r, error.text);
	unpack(fixture, &salvaged);
	return salvaged;
}

#define SAME_FILES                                                                              \
	"diff -r --no-dereference copy out; (cd copy; find . -type f -printf '%p %m %T@\\n' | " \
	"sort) >x1; (cd out; find . -type f -printf '%p %m %T@\\n' | sort) >x2; cmp x1 x2"

static void without_a_repository_the_files_become_an_archive(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct salvage salvaged = archive_of(fixture, &resource,
		"rm -rf repo; echo x >ws/r1/new; echo i >ws/r1/i.o; : >ws/r1/empty; mkfifo "
		"ws/r1/p; chmod 640 ws/r1/a.txt; printf y >\"ws/r1/$(printf '\\377\\n')\"");

	assert_null(salvaged.repo);
	assert_null(salvaged.ref);
	assert_string_equal(pathname_last(salvaged.path), "r1,1.tar.zst");
	take_copy(fixture);
	git_fixture_sh(fixture, "%s", SAME_FILES);
	git_fixture_sh(fixture, "test \"$(stat -c %%a state/salvage)\" = 700; "
				"test \"$(stat -c %%a state/salvage/*)\" = 600");
}

static void a_plain_directory_becomes_an_archive(void **state)
{
	struct git_fixture *fixture = *state;
	char *path CLEANUP(mem_done) = mem_printf("%s/plain", fixture->root);
	struct resource resource = { .run = "plain", .kind = KIND_WORKTREE, .locator = path };

	(void)archive_of(fixture, &resource, "mkdir -p ws/plain/a/b; echo x >ws/plain/a/x");
	git_fixture_sh(fixture, "diff -r ws/plain out");
}

static void what_a_killed_attempt_archived_is_taken_over(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct salvage first = archive_of(fixture, &resource, "rm -rf repo; echo x >ws/r1/new");
	struct salvage second = archive_of(fixture, &resource, "true"), third;

	assert_string_equal(first.path, second.path);
	third = archive_of(fixture, &resource, "echo y >ws/r1/new");
	assert_string_equal(pathname_last(third.path), "r1,1.2.tar.zst");
	git_fixture_sh(
		fixture, "test \"$(cat out/new)\" = y; test $(ls state/salvage | wc -l) = 2");
}

/* With the commit, since HEAD and the index are in the repository. */
static void nested_repositories_go_along(void **state)
{
	static const char *const changes[] = {
		"git init -q ws/r1/inner; cd ws/r1/inner; echo x >f; git add f; git commit -qm x; "
		"echo y >g",
		"mkdir -p ws/r1/build/deep; cd ws/r1; git init -q build/deep/inner; cd "
		"build/deep/inner; echo x >f.o; git add f.o; git commit -qm x; echo y >g.o",
		"mkdir ws/r1/inner; echo junk >ws/r1/inner/.git; echo x >ws/r1/inner/f",
		"git -C repo worktree add -q ../ws/r1/inner -b inner; echo x >ws/r1/inner/f",
		"mkdir ws/r1/build; git init -q --bare ws/r1/build/bare; "
		"git -C ws/r1/build/bare fetch -q ../../../../repo main",
		"mkdir ws/r1/git~1; echo x >ws/r1/git~1/f",
		"ln -s a.txt ws/r1/.gitmodules",
	};
	struct git_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct resource resource = git_fixture_r1(fixture);
		struct salvage salvaged;

		git_fixture_sh(fixture,
			"cd ws/r1; git checkout -q --detach; git commit -qm 2 --allow-empty; "
			"git rev-parse HEAD >../../head; echo o >o.o; echo new >new");
		salvaged = archive_of(fixture, &resource, changes[i]);
		assert_string_equal(salvaged.repo, fixture->repo);
		git_fixture_sh(fixture,
			"rm -rf copy; cp -a ws/r1 copy; rm copy/.git copy/o.o; %s; "
			"git -C repo merge-base --is-ancestor $(cat head) %s; "
			"test \"$(git -C repo cat-file blob %s:new)\" = new; "
			"test -e record/HEAD; cmp record/index " RECORD "/index",
			SAME_FILES, salvaged.ref, salvaged.commit);
		git_fixture_reset(fixture);
	}
}

#define SUBMODULE                                                                            \
	"git clone -q repo sub.git 2>/dev/null; git -C ws/r1 -c protocol.file.allow=always " \
	"submodule --quiet add ../../sub.git sub; git -C ws/r1 commit -qm sub; "

static void a_submodule_without_own_work_stays_a_link(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture, SUBMODULE "echo x >ws/r1/new");
	salvaged = salvage_r1(fixture);
	assert_int_equal(salvaged.form, SALVAGE_COMMIT);
	git_fixture_sh(fixture,
		"test \"$(git -C repo ls-tree %s sub | cut -d' ' -f1,2)\" = '160000 commit'; "
		"test \"$(git -C repo rev-parse %s:sub)\" = \"$(git -C ws/r1/sub rev-parse HEAD)\"",
		salvaged.commit, salvaged.commit);
}

static void a_submodule_with_own_work_goes_along(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct salvage salvaged = archive_of(fixture, &resource,
		SUBMODULE "cd ws/r1/sub; git commit -qm own --allow-empty; echo x >new");

	git_fixture_sh(fixture,
		"head=$(git -C ws/r1/sub rev-parse HEAD); test \"$(cat out/sub/new)\" = x; "
		"rm -rf ws/r1 " RECORD
		"; git --git-dir=record/modules/sub --work-tree=. cat-file -e "
		"$head; git --git-dir=record/modules/sub --work-tree=. fsck; test \"$(git -C repo "
		"ls-tree %s sub | cut -d' ' -f1,2)\" = '160000 commit'",
		salvaged.commit);
}

/* Its repository is in git's record, and no directory shows it. */
static void a_submodule_that_is_checked_out_no_more_goes_along(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct salvage salvaged = archive_of(fixture, &resource,
		SUBMODULE "cd ws/r1/sub; git commit -qm own --allow-empty; git rev-parse HEAD "
			  ">../../../head; cd ..; git submodule --quiet deinit -f sub");

	assert_non_null(salvaged.ref);
	git_fixture_sh(
		fixture, "git --git-dir=record/modules/sub --work-tree=. cat-file -e $(cat head)");
}

static void a_self_contained_clone_is_archived_whole(void **state)
{
	struct git_fixture *fixture = *state;
	char *path CLEANUP(mem_done) = mem_printf("%s/c1", fixture->root);
	char *repo CLEANUP(mem_done) = mem_printf("%s/c1/.git", fixture->root);
	struct resource resource = {
		.run = "c1", .kind = KIND_WORKTREE, .locator = path, .repo = repo
	};
	struct salvage salvaged = archive_of(fixture, &resource,
		"git clone -q repo ws/c1; cd ws/c1; git commit -qm x --allow-empty; echo x >new; "
		"echo s >s; git add s; echo i >i.o; echo t >t.o; git add -f t.o; echo u >t.o");

	assert_null(salvaged.ref);
	git_fixture_sh(fixture,
		"rm ws/c1/i.o; diff -r --no-dereference ws/c1 out; rm -rf ws/c1; cd out; "
		"git fsck --full; test \"$(git cat-file blob :t.o)\" = t; git log -1 | grep -q x");
}

/* Read-only is not enough: root writes anyway. A link where objects go is. */
static void an_archive_stands_in_for_a_commit_that_cannot_be_written(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	struct salvage salvaged = archive_of(fixture, &resource,
		"mv repo/.git/objects elsewhere; ln -s ../../elsewhere repo/.git/objects; "
		"echo x >ws/r1/new");

	assert_null(salvaged.ref);
	assert_string_equal(salvaged.repo, fixture->repo);
	take_copy(fixture);
	git_fixture_sh(fixture, "%s; test -e record/HEAD", SAME_FILES);
}

static void an_archive_never_stands_for_what_it_does_not_hold(void **state)
{
#define UNWRITABLE "mv repo/.git/objects elsewhere; ln -s ../../elsewhere repo/.git/objects; "
#define UNREADABLE                                            \
	"git -C repo config core.repositoryformatversion 1; " \
	"git -C repo config extensions.refStorage reftable; "
	static const char *const changes[] = {
		"git -C ws/r1 checkout -q --detach; git -C ws/r1 commit -qm 2 "
		"--allow-empty; " UNWRITABLE,
		"git -C ws/r1 commit -qm 2 --allow-empty; " UNWRITABLE,
		"cd ws/r1; echo s >s; git add s; echo t >s; cd ../..; " UNWRITABLE,
		"cd ws/r1; git bisect start >/dev/null; cd ../..; " UNWRITABLE,
	};
	struct git_fixture *fixture = *state;
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		print_message("# %s\n", changes[i]);
		git_fixture_sh(fixture, "%s", changes[i]);
		assert_int_equal(salvage_fails(fixture, &error), -ENOTSUP);
		assert_non_null(strstr(error.text, "an archive would not hold that"));
		git_fixture_sh(fixture, "test -z \"$(ls -A state/salvage 2>/dev/null)\"");
		git_fixture_reset(fixture);
	}
}

static void a_tree_whose_work_cannot_be_told_stays(void **state)
{
	struct git_fixture *fixture = *state;
	struct error error;

	git_fixture_sh(fixture, "echo x >ws/r1/new; " UNREADABLE);
	assert_int_equal(salvage_fails(fixture, &error), -EIO);
	git_fixture_sh(fixture, "test -z \"$(ls -A state/salvage 2>/dev/null)\"");
}

/* A commit of what is seen would say "saved" of all, and the mount would be taken down next. */
static void work_beside_what_cannot_be_seen_is_not_salvaged_alone(void **state)
{
	struct git_fixture *fixture = *state;
	char *point CLEANUP(mem_done) = mem_printf("%s/m", fixture->tree);
	struct error error;

	git_fixture_sh(fixture, "echo x >ws/r1/new; mkdir -p ws/r1/m out; "
				"mount -t tmpfs none ws/r1/m; echo y >ws/r1/m/f; mount --bind out "
				"ws/r1/m");
	assert_int_equal(salvage_fails(fixture, &error), -EIO);
	assert_non_null(strstr(error.text, "m: tmpfs is mounted there: what it holds"));
	git_fixture_sh(fixture, "test -z \"$(git -C repo for-each-ref refs/sbx)\"");
	assert_int_equal(umount2(point, MNT_DETACH), 0);
	assert_int_equal(umount2(point, MNT_DETACH), 0);
}

/* A salvage of which one call fails: the first that is made from a place that none was made from before. */
struct shortage {
	struct git_fixture *fixture;
	uint64_t tried[512];
	size_t count;
	bool came;
};

enum { SHORTAGE_SALVAGED, SHORTAGE_PASSES, SHORTAGE_STAYS };

static int fail_once(void *context, const struct tracer_call *call)
{
	const unsigned ours = call->number == SYS_openat2 ? 3 : 1; /* see survey_place() */
	struct shortage *shortage = context;
	uint64_t place = place_of(call, ours).number;

	for (size_t i = 0; i < shortage->count; i++)
		if (shortage->came || shortage->tried[i] == place)
			return TRACER_GO_ON;
	assert_true(shortage->count < ARRAY_SIZE(shortage->tried));
	shortage->tried[shortage->count++] = place;
	shortage->came = true;
	return -EMFILE;
}

static int salvage_short(void *context)
{
	struct shortage *shortage = context;
	struct error error;
	int r = salvage_fails(shortage->fixture, &error);

	if (r == 1)
		return SHORTAGE_SALVAGED;
	if (error_may_pass(r))
		return SHORTAGE_PASSES;
	(void)fprintf(stderr, "# it answers %d: %s\n", r, error.text);
	return SHORTAGE_STAYS;
}

static void change_r1(struct git_fixture *fixture)
{
	git_fixture_sh(fixture, "echo x >ws/r1/new; echo y >ws/r1/dir/b.txt");
}

/* In a commit or, where the library takes HEAD for missing, in the archive that stands in for it. */
static void expect_change_kept(struct git_fixture *fixture)
{
	git_fixture_sh(fixture,
		"mkdir out; if git -C repo rev-parse -q --verify refs/sbx/salvage/r1 >/dev/null; "
		"then git -C repo archive refs/sbx/salvage/r1 | tar -x -C out; "
		"else tar --zstd --warning=no-unknown-keyword -xf state/salvage/r1,1.tar.zst -C "
		"out; fi; "
		"cd out; find . -name new -type f | xargs grep -qx x; "
		"find . -path '*/dir/b.txt' | xargs grep -qx y");
}

/* Whatever is short at any one call, in any process of it: that passes, or nothing is lost by it. */
static void what_is_short_once_is_said_to_pass(void **state)
{
	static const long calls[] = { SYS_open, SYS_openat, SYS_openat2 };
	struct git_fixture *fixture = *state;
	struct shortage shortage = { .fixture = fixture };
	const struct trace trace = {
		.calls = calls,
		.call_count = ARRAY_SIZE(calls),
		.on_call = fail_once,
		.context = &shortage,
		.program = salvage_short,
		.program_context = &shortage,
	};
	size_t passed = 0;

	change_r1(fixture);
	do {
		int status;

		shortage.came = false;
		status = tracer_run(&trace);
		assert_true(WIFEXITED(status));
		assert_int_not_equal(WEXITSTATUS(status), SHORTAGE_STAYS);
		passed += WEXITSTATUS(status) == SHORTAGE_PASSES;
		if (WEXITSTATUS(status) != SHORTAGE_SALVAGED)
			continue;
		expect_change_kept(fixture);
		git_fixture_reset(fixture);
		change_r1(fixture);
	} while (shortage.came);
	assert_true(passed > 0);
}

static void archives_go_only_where_nobody_else_writes(void **state)
{
	static const char *const plants[] = {
		"mkdir state/salvage; chmod 777 state/salvage",
		"mkdir state/salvage; chown 65534 state/salvage",
		"mkdir away; ln -s ../away state/salvage",
		"echo x >state/salvage",
	};
	struct git_fixture *fixture = *state;
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(plants); i++) {
		git_fixture_sh(fixture, "rm -rf repo; echo x >ws/r1/new; %s", plants[i]);
		assert_true(salvage_fails(fixture, &error) < 0);
		git_fixture_sh(fixture, "! ls -A away state/salvage/ 2>/dev/null | grep r1");
		git_fixture_reset(fixture);
	}
}

/* Each object is synced, which a disk makes slow: the fixtures are in memory. */
static char memory[] = "/tmp/sbx-test-XXXXXX";

static int begin_in_memory(void **state)
{
	if (workdir_own_mounts(state) < 0 || !mkdtemp(memory) ||
		mount("none", memory, "tmpfs", 0, NULL) < 0)
		return -1;
	return setenv("TMPDIR", memory, 1);
}

static int end_in_memory(void **state)
{
	(void)state;
	return umount(memory) < 0 ? -1 : rmdir(memory);
}

static int make(void **state)
{
	struct git_fixture *fixture;
	int r = git_fixture_make(state);

	fixture = *state;
	fixture->settings.database = mem_printf("%s/state/db", fixture->base);
	git_fixture_sh(fixture, "mkdir state '%s.made/state'", fixture->base);
	return r;
}

static int drop(void **state)
{
	struct git_fixture *fixture = *state;

	free(fixture->settings.database);
	return git_fixture_drop(state);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(files_are_kept_byte_for_byte),
		case_of(what_is_tracked_is_kept_although_ignored),
		case_of(neither_attributes_nor_filters_change_what_is_kept),
		case_of(nothing_unsaved_is_nothing_to_do),
		case_of(the_workspace_is_left_as_it_was),
		case_of(the_message_says_whose_it_was),
		case_of(a_head_that_lies_is_not_salvaged),
		case_of(what_is_only_staged_is_kept_beside),
		case_of(an_index_like_head_is_no_parent),
		case_of(commits_in_no_surviving_ref_are_kept),
		case_of(commits_of_a_tree_that_is_gone_are_kept),
		case_of(a_repository_without_commits_gets_its_first),
		case_of(both_sides_of_a_conflict_are_kept),
		case_of(a_rebase_with_its_autostash_is_kept),
		case_of(refs_of_the_tree_alone_are_kept),
		case_of(a_tree_that_others_borrow_from_is_not_salvaged_but_stays),
		case_of(what_a_sparse_checkout_leaves_out_is_no_deletion),
		case_of(missing_objects_never_get_into_a_commit),
		case_of(a_ref_that_is_taken_stays),
		case_of(a_lock_that_a_dead_process_left_on_a_salvage_ref_goes),
		case_of(what_a_killed_attempt_left_is_taken_over),
		case_of(an_attempt_may_be_killed_anywhere),
		case_of(what_is_mounted_in_the_tree_is_left_or_refused),
		case_of(the_owner_of_a_repository_owns_what_is_written),
		case_of(a_repository_of_ours_stays_ours),
		case_of(nothing_is_written_through_a_planted_link),
		case_of(a_file_or_a_tree_beyond_the_caps_is_refused_by_name),
		case_of(a_full_disk_is_refused_before_anything_is_written),
		case_of(an_expired_deadline_ends_it),
		case_of(another_tree_than_the_registered_one_is_refused),
		case_of(after_salvage_nothing_keeps_tree_and_branch),
		case_of(unpushed_commits_are_judged_saved_after_salvage),
		case_of(without_a_repository_the_files_become_an_archive),
		case_of(a_plain_directory_becomes_an_archive),
		case_of(what_a_killed_attempt_archived_is_taken_over),
		case_of(nested_repositories_go_along),
		case_of(a_submodule_without_own_work_stays_a_link),
		case_of(a_submodule_with_own_work_goes_along),
		case_of(a_submodule_that_is_checked_out_no_more_goes_along),
		case_of(a_self_contained_clone_is_archived_whole),
		case_of(an_archive_stands_in_for_a_commit_that_cannot_be_written),
		case_of(an_archive_never_stands_for_what_it_does_not_hold),
		case_of(a_tree_whose_work_cannot_be_told_stays),
		case_of(work_beside_what_cannot_be_seen_is_not_salvaged_alone),
		case_of(what_is_short_once_is_said_to_pass),
		case_of(archives_go_only_where_nobody_else_writes),
	};

	return cmocka_run_group_tests(tests, begin_in_memory, end_in_memory);
}
