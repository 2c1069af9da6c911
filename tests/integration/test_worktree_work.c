/* Unsaved work (DESIGN.md, section 6), asked of real repositories. */
#include "changes.h"
#include "fuse.h"
#include "workdir.h"

#include "backend/backend.h"

#include <sys/mount.h>
#include <sys/stat.h>

#define RECORD "repo/.git/worktrees/r1"

static const struct change half_deleted[] = {
	{ "true", WORK_CLEAN, NULL },
	{ "rm -rf " RECORD, WORK_CLEAN, NULL },
	{ "rm ws/r1/.git", WORK_CLEAN, NULL },
	{ "rm -rf " RECORD " ws/r1/.git", WORK_CLEAN, NULL },
	{ "git -C repo update-ref -d refs/heads/sbx/r1", WORK_CLEAN, NULL },
	{ "git -C repo update-ref -d refs/heads/sbx/r1; rm -rf " RECORD, WORK_CLEAN, NULL },
	{ "git -C repo update-ref -d refs/heads/sbx/r1; rm -rf " RECORD " ws/r1/.git", WORK_CLEAN,
		NULL },
	{ "rm " RECORD "/index", WORK_CLEAN, NULL },
	{ "rm " RECORD "/HEAD", WORK_CLEAN, NULL },
	{ "rm " RECORD "/commondir", WORK_CLEAN, NULL },
	{ "rm " RECORD "/gitdir", WORK_CLEAN, NULL },
	{ "rm " RECORD "/HEAD " RECORD "/gitdir " RECORD "/index", WORK_CLEAN, NULL },
	{ "rm -rf ws/r1/dir", WORK_CLEAN, NULL },
	{ "rm ws/r1/a.txt ws/r1/.gitignore", WORK_CLEAN, NULL },
	{ "rm -rf ws/r1/* ws/r1/.git*", WORK_CLEAN, NULL },
	{ "rm -rf ws/r1", WORK_NONE, NULL },
	{ "rm -rf ws/r1 " RECORD, WORK_NONE, NULL },
	{ "rm -rf ws/r1 repo", WORK_NONE, NULL },
};

static void half_deleted_trees_whose_rest_is_saved_are_clean(void **state)
{
	check_changes(state, half_deleted, ARRAY_SIZE(half_deleted), BRANCH_DELETE, false);
}

static void a_run_of_which_only_a_marker_is_left_can_be_proven_saved(void **state)
{
	check_changes(state, half_deleted, ARRAY_SIZE(half_deleted), BRANCH_DELETE, true);
}

static void what_is_saved_nowhere_is_found(void **state)
{
	static const struct change changes[] = {
		{ "echo x >>ws/r1/a.txt", WORK_DIRTY, "a.txt: " },
		{ "echo x >ws/r1/new", WORK_DIRTY, "new: " },
		{ "echo x >ws/r1/dir/new", WORK_DIRTY, "dir/new: " },
		{ "printf x >\"ws/r1/$(printf 'n\\nw')\"", WORK_DIRTY, "n\\x0aw: " },
		{ "echo 1 >ws/r1/1; echo 2 >ws/r1/2; echo 3 >ws/r1/3", WORK_DIRTY, "and 2 more" },
		{ "cd ws/r1; echo x >s; git add s; rm s", WORK_DIRTY, "s: staged" },
		{ "cd ws/r1; echo x >a.txt; git add a.txt; git cat-file -p HEAD:a.txt >a.txt",
			WORK_DIRTY, "a.txt: staged" },
		{ "cd ws/r1; echo x >f.o; git add -f f.o; rm f.o", WORK_DIRTY, "f.o: staged" },
		{ "ln -sfn dir ws/r1/link", WORK_DIRTY, "link: " },
		{ "rm ws/r1/link; echo a >ws/r1/link", WORK_DIRTY, "link: " },
		{ "rm ws/r1/a.txt; ln -s dir ws/r1/a.txt", WORK_DIRTY, "a.txt: " },
		{ "rm ws/r1/a.txt; mkdir ws/r1/a.txt; echo x >ws/r1/a.txt/y", WORK_DIRTY,
			"a.txt/y: " },
		{ "rm -rf " RECORD "; echo x >>ws/r1/a.txt", WORK_DIRTY, "a.txt: " },
		{ "rm ws/r1/.git; echo x >>ws/r1/a.txt", WORK_DIRTY, "a.txt: " },
		{ "cd ws/r1; echo x >n; git add n; git commit -qm two", WORK_UNPUSHED, "HEAD: " },
		{ "cd ws/r1; git checkout -q --detach; git commit -qm two --allow-empty",
			WORK_UNPUSHED, "HEAD: " },
		{ "cd ws/r1; git commit -qm two --allow-empty; git checkout -q --detach main",
			WORK_UNPUSHED, "sbx/r1: " },
		{ "cd ws/r1; echo x >n; git add n; git commit -qm two; rm -rf ../../" RECORD,
			WORK_UNPUSHED, NULL },
		{ "cd ws/r1; git checkout -q --detach; git commit -qm two --allow-empty; cd ..; "
		  "rm -rf r1",
			WORK_UNPUSHED, "HEAD: " },
		{ "cd ws/r1; git checkout -qb x main; echo x >a.txt; git commit -qam x; "
		  "git checkout -q sbx/r1; echo y >a.txt; git commit -qam y; "
		  "git update-ref refs/tags/t sbx/r1; ! git merge -q x >/dev/null; "
		  "git checkout -qf sbx/r1 -- a.txt",
			WORK_DIRTY, "in progress" },
		{ "cd ws/r1; git bisect start >/dev/null", WORK_DIRTY, "BISECT_LOG" },
		{ "git init -q ws/r1/inner", WORK_DIRTY, "inner: a repository within" },
		{ "git init -q ws/r1/build/inner", WORK_DIRTY, "build/inner: a repository" },
		{ "git init -q --bare ws/r1/build/bare.git", WORK_DIRTY,
			"build/bare.git: a repos" },
		{ "git init -q --bare ws/r1/bare.git", WORK_DIRTY, "bare.git/" },
		{ "git -C repo worktree add -q ../ws/r1/build/linked", WORK_DIRTY,
			"build/linked: a repository" },
		{ "mkdir ws/r1/inner; echo junk >ws/r1/inner/.git", WORK_DIRTY, "inner: " },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

/* What is ignored is given up, so whatever cannot be told counts as not ignored. */
static void what_cannot_be_read_ignores_nothing(void **state)
{
	static const struct change changes[] = {
#define TRACKED                                                                               \
	"cd ws/r1; echo 1 >dir/f.o; git add -f dir/f.o; git commit -qm o; git branch other; " \
	"echo 2 >dir/f.o; rm dir/b.txt dir/run.sh; "
		{ TRACKED, WORK_DIRTY, "dir/f.o: " },
		{ TRACKED "rm ../../" RECORD "/index; "
			  "o=$(git rev-parse HEAD:dir); rm "
			  "../../repo/.git/objects/${o%${o#??}}/${o#??}",
			WORK_DIRTY, "dir/f.o: " },
#undef TRACKED
#define RULES "cd ws/r1; mkdir s; echo '!k.o' >s/.gitignore; "
#define KEPT "git add s; git commit -qm s; git branch other; echo x >s/k.o"
		{ RULES KEPT, WORK_DIRTY, "s/k.o: " },
		{ RULES "head -c 1100000 /dev/zero | tr '\\0' '#' >>s/.gitignore; " KEPT,
			WORK_DIRTY, "s/k.o: " },
#undef KEPT
#undef RULES
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

/* What git keeps for the worktree alone goes with its record. */
static void work_that_only_the_git_record_knows_is_found(void **state)
{
#define CONFLICT                                                                             \
	"cd ws/r1; echo x >a.txt; git commit -qam x; git tag x; git reset -q --hard HEAD~; " \
	"echo y >a.txt; git commit -qam y; git tag y; "
	static const struct change changes[] = {
		{ CONFLICT "! git merge x >o 2>&1; git checkout -qf HEAD -- .; rm o", WORK_DIRTY,
			"MERGE_HEAD" },
		{ CONFLICT "! git rebase x >o 2>&1; git checkout -qf HEAD -- .; rm o", WORK_DIRTY,
			"rebase-merge" },
		{ CONFLICT "! git rebase --apply x >o 2>&1; git checkout -qf HEAD -- .; rm o",
			WORK_DIRTY, "rebase-apply" },
		{ CONFLICT "! git cherry-pick x >o 2>&1; git checkout -qf HEAD -- .; rm o",
			WORK_DIRTY, "CHERRY_PICK_HEAD" },
		{ CONFLICT "! git revert HEAD~ >o 2>&1; git checkout -qf HEAD -- .; rm -f o; "
			   "git update-ref REVERT_HEAD HEAD",
			WORK_DIRTY, "REVERT_HEAD" },
		{ CONFLICT "git format-patch -q -1 x -o ../../; ! git am ../../0001* >o 2>&1; rm o",
			WORK_DIRTY, "rebase-apply" },
		{ CONFLICT "git bisect start -q x y >o; rm o", WORK_DIRTY, "BISECT_LOG" },
		{ "cd ws/r1; c=$(git commit-tree -m x HEAD^{tree}); git update-ref "
		  "refs/worktree/keep/it $c",
			WORK_UNPUSHED, "refs/worktree/keep/it: commit" },
		{ "cd ws/r1; git update-ref refs/worktree/x HEAD; git update-ref refs/bisect/x "
		  "HEAD",
			WORK_CLEAN, NULL },
		{ "mkdir -p " RECORD "/refs/worktree; echo junk >" RECORD "/refs/worktree/x",
			WORK_UNKNOWN, "refs/worktree/x names no object" },
		{ "mkdir -p " RECORD "/refs; ln -s /etc " RECORD "/refs/worktree", WORK_UNKNOWN,
			"refs/worktree" },
		/* Not asked, as the manual says: git itself drops what only a reflog names. */
		{ "cd ws/r1; git commit -qm x --allow-empty; git reset -q --hard HEAD~", WORK_CLEAN,
			NULL },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

static void what_is_saved_or_scratch_is_clean(void **state)
{
	static const struct change changes[] = {
		{ "chmod -x ws/r1/dir/run.sh; touch -d 2001-01-01 ws/r1/a.txt", WORK_CLEAN, NULL },
		{ "printf 'a\\r\\n' >ws/r1/a.txt", WORK_CLEAN, NULL },
		{ "echo x >ws/r1/f.o; mkdir ws/r1/build; echo x >ws/r1/build/y", WORK_CLEAN, NULL },
		{ "mkdir -p ws/r1/empty/er; mkfifo ws/r1/pipe", WORK_CLEAN, NULL },
		{ "cd ws/r1; git rm -q a.txt", WORK_CLEAN, NULL },
		{ "cd ws/r1; echo >t; git add -N t; rm t", WORK_CLEAN, NULL },
		{ "cd ws/r1; echo x >a.txt; git stash -q", WORK_CLEAN, NULL },
		{ "cd ws/r1; git commit -qm two --allow-empty; git tag t", WORK_CLEAN, NULL },
		{ "cd ws/r1; git commit -qm two --allow-empty; git tag -am t t", WORK_CLEAN, NULL },
		{ "cd ws/r1; git commit -qm two --allow-empty; git branch other", WORK_CLEAN,
			NULL },
		{ "cd ws/r1; git commit -qm two --allow-empty; "
		  "git update-ref refs/remotes/origin/x HEAD",
			WORK_CLEAN, NULL },
		{ "cd ws/r1; git commit -qm two --allow-empty; "
		  "git update-ref refs/sbx/salvage/r1 HEAD",
			WORK_CLEAN, NULL },
		{ "cd ws/r1; git checkout -q --detach; git commit -qm 2 --allow-empty; "
		  "git branch other; git commit -qm 3 --allow-empty; git branch -f other",
			WORK_CLEAN, NULL },
		{ "cd ws/r1; git config feature.manyFiles true; git update-index --index-version 4",
			WORK_CLEAN, NULL },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

static void refs_that_do_not_survive_save_nothing(void **state)
{
	static const struct change changes[] = {
		{ "cd ws/r1; git commit -qm two --allow-empty; git update-ref refs/bisect/x HEAD; "
		  "git update-ref refs/worktree/x HEAD; git update-ref refs/notes/x HEAD; "
		  "git symbolic-ref refs/heads/alias refs/heads/sbx/r1",
			WORK_UNPUSHED, NULL },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

static void the_runs_own_branch_saves_where_policy_keeps_it(void **state)
{
	static const struct change changes[] = {
		{ "cd ws/r1; echo x >n; git add n; git commit -qm two", WORK_CLEAN, NULL },
		{ "cd ws/r1; echo x >n; git add n; git commit -qm two; rm -rf ../../" RECORD,
			WORK_CLEAN, NULL },
		{ "cd ws/r1; git checkout -q --detach; git commit -qm two --allow-empty",
			WORK_UNPUSHED, NULL },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_KEEP, false);
	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_MERGED, false);
}

static void only_the_trees_own_gitignore_is_asked(void **state)
{
	static const struct change changes[] = {
		{ "echo '*.x' >repo/.git/info/exclude; echo 1 >ws/r1/f.x", WORK_DIRTY, "f.x: " },
		{ "echo '*.x' >ex; git -C repo config core.excludesFile \"$PWD/ex\"; "
		  "echo 1 >ws/r1/f.x",
			WORK_DIRTY, "f.x: " },
		{ "cd ws/r1; echo x >t.o; git add -f t.o; git commit -qm t; git branch other; "
		  "echo y >t.o",
			WORK_DIRTY, "t.o: " },
		{ "echo /etc/passwd >ex; ln -sf \"$PWD/ex\" ws/r1/dir/.gitignore", WORK_DIRTY,
			"dir/.gitignore: " },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

static void any_form_of_repository_that_git_makes_is_read(void **state)
{
	static const struct change changes[] = {
		{ "f=repo/.git/config; git config -f $f core.repositoryformatversion 1; "
		  "for e in worktreeConfig:true partialClone:origin relativeWorktrees:true "
		  "preciousObjects:true noop:1; do "
		  "git config -f $f extensions.${e%:*} ${e#*:}; done",
			WORK_CLEAN, NULL },
		{ "cd ws/r1; git status -s; git sparse-checkout set --cone --sparse-index dir",
			WORK_CLEAN, NULL },
		{ "cd ws/r1; git status -s; git sparse-checkout set --cone --sparse-index none",
			WORK_CLEAN, NULL },
		{ "git -C repo pack-refs --all; git -C repo gc -q", WORK_CLEAN, NULL },
		/* A ref that cannot be read contains nothing; it hides nothing of this run either. */
		{ "mkfifo repo/.git/refs/heads/pipe; ln -s /dev/zero repo/.git/refs/heads/zero",
			WORK_CLEAN, NULL },
		{ "chown -R 12345:12345 repo ws/r1", WORK_CLEAN, NULL },
		{ "echo ../../../../ws/r1/.git >" RECORD "/gitdir; "
		  "echo gitdir: ../../repo/.git/worktrees/r1 >ws/r1/.git",
			WORK_CLEAN, NULL },
		{ "cd repo; git commit -qm two --allow-empty; git commit -qm 3 --allow-empty; "
		  "git -C ../ws/r1 checkout -q --detach main~1; gone=$(git rev-parse main~2); "
		  "git update-ref refs/heads/sbx/r1 main; git rev-parse main~1 >.git/shallow; "
		  "rm .git/objects/$(echo $gone | sed 's,..,&/,')",
			WORK_CLEAN, NULL },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

#define MEMORY "mount -t tmpfs none "
#define OVERLAY(upper)                                                                          \
	"mkdir -p " upper "/u " upper                                                           \
	"/w; mount -t overlay -o \"lowerdir=repo,upperdir=$PWD/" upper "/u,workdir=$PWD/" upper \
	"/w\" none ws/r1/dir; "

/* What a mount covers cannot be seen: that is asked again when it is gone. */
static void what_is_mounted_is_work_only_where_it_vanishes_with_the_mount(void **state)
{
	static const struct change changes[] = {
		{ MEMORY "ws/r1/dir", WORK_CLEAN, NULL },
		{ MEMORY "ws/r1/dir; mkdir -p ws/r1/dir/a/b; mkfifo ws/r1/dir/a/f", WORK_CLEAN,
			NULL },
		{ MEMORY "ws/r1/dir; mkdir ws/r1/dir/a; echo x >ws/r1/dir/a/f", WORK_DIRTY,
			"dir: tmpfs is mounted there, and its files vanish" },
		{ MEMORY "ws/r1/dir; ln -s x ws/r1/dir/l", WORK_DIRTY, "dir: tmpfs" },
		{ "mkdir ws/r1/n; " MEMORY "ws/r1/n; echo x >ws/r1/n/f", WORK_DIRTY, "n: tmpfs" },
		{ "mkdir ws/r1/build; " MEMORY "ws/r1/build; echo x >ws/r1/build/f", WORK_CLEAN,
			NULL },
		{ "mkdir out; echo x >out/f; mount --bind out ws/r1/dir", WORK_CLEAN, NULL },
		{ "echo x >f; mount --bind f ws/r1/a.txt", WORK_CLEAN, NULL },
		{ "echo x >f; mount --bind f ws/r1/a.txt; rm f", WORK_DIRTY, "a.txt: " },
		{ "mkdir ram; " MEMORY "ram; echo x >ram/f; mount --bind ram ws/r1/dir", WORK_CLEAN,
			NULL },
		{ "mkdir ram other; " MEMORY "ram; mkdir ram/a ram/b; echo x >ram/b/f; "
		  "mount --bind ram/b ws/r1/dir; mount --bind ram/a other; umount ram",
			WORK_DIRTY, "dir: tmpfs" },
		{ "mkdir -p out/x; mount --bind out ws/r1/dir; " MEMORY
		  "ws/r1/dir/x; echo x >ws/r1/dir/x/f",
			WORK_DIRTY, "dir: tmpfs" },
		{ "mkdir out; " MEMORY "ws/r1/dir; echo x >ws/r1/dir/f; mount --bind out ws/r1/dir",
			WORK_UNKNOWN, "dir: tmpfs is mounted there: what it holds" },
		{ "mkdir out; " MEMORY "ws/r1/dir; mkdir ws/r1/dir/x; mount --bind out ws/r1/dir/x",
			WORK_UNKNOWN, "dir: tmpfs" },
		{ OVERLAY("ws/r1/build") "true", WORK_CLEAN, NULL },
		{ OVERLAY("ws/r1/build") "echo x >ws/r1/dir/f", WORK_DIRTY, "dir: overlay" },
		{ OVERLAY("out") "echo x >ws/r1/dir/f", WORK_CLEAN, NULL },
		{ "mount -t proc none ws/r1/dir", WORK_CLEAN, NULL },
		{ MEMORY "ws/r1/dir; echo x >>ws/r1/a.txt", WORK_DIRTY, "a.txt: " },
		{ "echo x >f; mount --bind f ws/r1/.git", WORK_UNKNOWN, ".git" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		check_change(state, &changes[i], BRANCH_DELETE, false);
		git_fixture_sh(*state, "tac /proc/self/mountinfo | awk -v base=\"$PWD/\" "
				       "'index($5, base) == 1 { print $5 }' | xargs -r umount -l");
		git_fixture_reset(*state);
	}
}

/* A question to one that does not answer would never come back. */
static void a_mount_that_does_not_answer_is_not_asked(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	char *point CLEANUP(mem_done) = mem_printf("%s/dir", fixture->tree);
	struct fuse fuse = fuse_mount(point);
	const char *note;

	assert_int_equal(judge(fixture, &resource, &note), WORK_CLEAN);
	git_fixture_sh(fixture, MEMORY "ws/r1/dir");
	assert_int_equal(judge(fixture, &resource, &note), WORK_UNKNOWN);
	assert_non_null(strstr(note, "cannot be seen"));
	assert_int_equal(umount2(point, MNT_DETACH), 0);
	assert_int_equal(umount2(point, MNT_DETACH), 0);
	fuse_kill(&fuse);
}

static void a_tree_without_its_repository_is_dirty_while_it_holds_files(void **state)
{
	static const struct change changes[] = {
		{ "rm -rf repo", WORK_DIRTY, "repository gone" },
		{ "rm -rf repo ws/r1/* ws/r1/.gitignore", WORK_CLEAN, NULL },
		{ "rm -rf repo; chmod 0 ws; chmod 755 ws", WORK_DIRTY, "repository gone" },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

static void a_plain_directory_is_dirty_while_it_holds_files(void **state)
{
	struct git_fixture *fixture = *state;
	char *path CLEANUP(mem_done) = mem_printf("%s/plain", fixture->root);
	struct resource resource = { .run = "plain", .kind = KIND_WORKTREE, .locator = path };
	const char *note;

	git_fixture_sh(fixture, "mkdir -p ws/plain/a/b");
	assert_int_equal(judge(fixture, &resource, &note), WORK_CLEAN);
	git_fixture_sh(fixture, "echo x >ws/plain/a/x; echo y >ws/plain/a/y");
	assert_int_equal(judge(fixture, &resource, &note), WORK_DIRTY);
	assert_non_null(strstr(note, "no repository is known"));
	assert_non_null(strstr(note, "and 1 more"));
}

static void check_clone(void **state, const char *command, enum work expected, const char *said)
{
	struct git_fixture *fixture = *state;
	char *path CLEANUP(mem_done) = mem_printf("%s/c1", fixture->root);
	char *repo CLEANUP(mem_done) = mem_printf("%s/c1/.git", fixture->root);
	struct resource resource = {
		.run = "c1", .kind = KIND_WORKTREE, .locator = path, .repo = repo
	};
	const char *note;
	enum work work;

	git_fixture_sh(fixture, "rm -rf ws/c1; git clone -q repo ws/c1");
	git_fixture_sh(fixture, "%s", command);
	work = judge(fixture, &resource, &note);
	if (work != expected || (said && !strstr(note, said)))
		fail_msg("%s: %s (%s)", command, work_name(work), note);
}

static void of_a_self_contained_clone_only_what_its_remotes_have_survives(void **state)
{
	check_clone(state, "true", WORK_CLEAN, NULL);
	check_clone(state, "cd ws/c1; git commit -qm x --allow-empty", WORK_UNPUSHED, "HEAD");
	check_clone(state,
		"cd ws/c1; git checkout -qb x; git commit -qm x --allow-empty; git checkout -q "
		"main",
		WORK_UNPUSHED, "a ref");
	check_clone(state, "cd ws/c1; git commit -qm x --allow-empty; git tag t", WORK_UNPUSHED,
		"HEAD");
	check_clone(state,
		"cd ws/c1; git commit -qm x --allow-empty; git tag t; git reset -q --hard @{u}",
		WORK_UNPUSHED, "a ref");
	check_clone(state, "cd ws/c1; git notes add -m note HEAD", WORK_UNPUSHED, "a ref");
	check_clone(state, "cd ws/c1; git tag blob $(git rev-parse HEAD:a.txt)", WORK_UNPUSHED,
		"no commit");
	check_clone(state,
		"cd ws/c1; git commit -qm x --allow-empty; git update-ref "
		"refs/tool/x HEAD; git reset -q --hard @{u}",
		WORK_UNPUSHED, "a ref");
	check_clone(state, "cd ws/c1; git tag there @{u}", WORK_CLEAN, NULL);
	check_clone(state,
		"git -C ws/c1 worktree add -q --detach ../other; git -C ws/other commit -qm x "
		"--allow-empty; rm -rf ws/other",
		WORK_UNPUSHED, "HEAD of a worktree of it");
	check_clone(state, "cd ws/c1; echo x >a.txt; git stash -q", WORK_DIRTY, "stash");
	check_clone(state, "cd ws/c1; echo x >a.txt", WORK_DIRTY, "a.txt");
	check_clone(state, "rm -rf ws/c1/.git", WORK_DIRTY, "repository gone");
	check_clone(state, "rm -rf ws/c1; git clone -q --shared repo ws/c1", WORK_CLEAN, NULL);
	check_clone(state, "rm -rf ws/c1; git init -q ws/c1", WORK_CLEAN, NULL);
	check_clone(state, "rm -rf ws/c1; git init -q ws/c1; echo x >ws/c1/x", WORK_DIRTY, "x: ");
}

static void a_hostile_git_directory_neither_hangs_nor_leads_away(void **state)
{
	check_clone(state, "mkfifo ws/c1/.git/refs/heads/pipe", WORK_UNKNOWN, "fifo");
	check_clone(state, "ln -s /dev/zero ws/c1/.git/packed-refs2", WORK_UNKNOWN, "a link");
	check_clone(state, "git -C ws/c1 config include.path /dev/zero", WORK_UNKNOWN, "includes");
	check_clone(
		state, "echo \"$PWD/repo/.git\" >ws/c1/.git/commondir", WORK_UNKNOWN, "commondir");
	check_clone(state, "echo /srv/other/objects >ws/c1/.git/objects/info/alternates",
		WORK_UNKNOWN, "borrows");
}

#define SUBMODULE                                                                            \
	"git clone -q repo sub.git 2>/dev/null; git -C ws/r1 -c protocol.file.allow=always " \
	"submodule --quiet add ../../sub.git sub; git -C ws/r1 commit -qm sub; "             \
	"git -C ws/r1 branch other; "

static void submodules_are_judged_by_their_own_remotes(void **state)
{
	static const struct change changes[] = {
		{ SUBMODULE, WORK_CLEAN, NULL },
		{ SUBMODULE "rm -rf ws/r1/sub; mkdir ws/r1/sub", WORK_CLEAN, NULL },
		{ SUBMODULE "rm -rf ws/r1/sub", WORK_CLEAN, NULL },
		{ SUBMODULE "echo x >ws/r1/sub/new", WORK_DIRTY, "sub: submodule: new" },
		{ SUBMODULE "git -C ws/r1/sub checkout -q --detach; "
			    "git -C ws/r1/sub commit -qm x --allow-empty",
			WORK_DIRTY, "sub: submodule: HEAD" },
		{ SUBMODULE "git -C sub.git commit -qm x --allow-empty; "
			    "git -C ws/r1/sub pull -q",
			WORK_DIRTY, "sub: submodule: it is at" },
		{ SUBMODULE "git -C ws/r1/sub commit -qm x --allow-empty; rm -rf ws/r1/sub",
			WORK_DIRTY, "modules/sub: submodule: HEAD: commit" },
		{ SUBMODULE "git -C ws/r1/sub commit -qm x --allow-empty; "
			    "git -C ws/r1 rm -qf sub; git -C ws/r1 commit -qm gone; "
			    "git -C ws/r1 branch -f other",
			WORK_DIRTY, "modules/sub: submodule: HEAD: commit" },
		{ SUBMODULE "git -C ws/r1/sub commit -qm x --allow-empty; "
			    "git -C ws/r1 submodule --quiet deinit -f sub",
			WORK_DIRTY, "modules/sub: submodule: HEAD: commit" },
		{ SUBMODULE "mkdir -p " RECORD "/modules/deep; mv " RECORD "/modules/sub " RECORD
			    "/modules/deep/sub; rm -rf ws/r1/sub",
			WORK_CLEAN, NULL },
		{ "mkdir -p " RECORD "/modules/a; mkfifo " RECORD "/modules/a/HEAD", WORK_DIRTY,
			"modules/a: submodule: " },
		{ "ln -s / " RECORD "/modules", WORK_UNKNOWN, "modules" },
		{ SUBMODULE "rm -rf ws/r1/sub/.git", WORK_DIRTY, "sub: submodule" },
		{ SUBMODULE "echo gitdir: /srv/x >ws/r1/sub/.git", WORK_DIRTY, "sub: submodule" },
	};

	check_changes(state, changes, ARRAY_SIZE(changes), BRANCH_DELETE, false);
}

static void judging_leaves_no_trace_and_runs_nothing(void **state)
{
	struct git_fixture *fixture = *state;
	struct resource resource = git_fixture_r1(fixture);
	/* Listed before the times are set: a listing renews those of directories. */
	const char *look = "xargs -d '\\n' stat -c '%n %X %Y %Z %s' <list | sha256sum";
	char *before CLEANUP(mem_done) = NULL, *after CLEANUP(mem_done) = NULL;
	const char *note;

	/* Access times so old that any read would renew them (relatime, mount(8)). */
	git_fixture_sh(fixture,
		"printf '#!/bin/sh\\ntouch %s/ran\\n' >prog; chmod +x prog; for k in "
		"core.fsmonitor core.pager filter.x.clean filter.x.smudge; "
		"do git -C repo config $k \"$PWD/prog\"; done; echo '* filter=x' >ws/r1/dir/x; "
		"find repo/.git/worktrees ws ! -type l >list; xargs -d '\\n' touch -a -d "
		"2001-01-01 <list",
		fixture->base);
	before = git_fixture_ask(fixture, "%s", look);
	assert_int_equal(judge(fixture, &resource, &note), WORK_DIRTY);
	worktree_backend.probe(fixture->state, &resource, &fixture->arena);
	after = git_fixture_ask(fixture, "%s", look);
	assert_false(git_fixture_holds(fixture, "test -e ran"));
	assert_string_equal(before, after);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(half_deleted_trees_whose_rest_is_saved_are_clean),
		case_of(a_run_of_which_only_a_marker_is_left_can_be_proven_saved),
		case_of(what_is_saved_nowhere_is_found),
		case_of(what_cannot_be_read_ignores_nothing),
		case_of(work_that_only_the_git_record_knows_is_found),
		case_of(what_is_saved_or_scratch_is_clean),
		case_of(refs_that_do_not_survive_save_nothing),
		case_of(the_runs_own_branch_saves_where_policy_keeps_it),
		case_of(only_the_trees_own_gitignore_is_asked),
		case_of(any_form_of_repository_that_git_makes_is_read),
		case_of(what_is_mounted_is_work_only_where_it_vanishes_with_the_mount),
		case_of(a_mount_that_does_not_answer_is_not_asked),
		case_of(a_tree_without_its_repository_is_dirty_while_it_holds_files),
		case_of(a_plain_directory_is_dirty_while_it_holds_files),
		case_of(of_a_self_contained_clone_only_what_its_remotes_have_survives),
		case_of(a_hostile_git_directory_neither_hangs_nor_leads_away),
		case_of(submodules_are_judged_by_their_own_remotes),
		case_of(judging_leaves_no_trace_and_runs_nothing),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
