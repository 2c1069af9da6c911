/* Salvaged work brought back, ended and found again, in real repositories. */
#include "git_fixture.h"
#include "workdir.h"

#include "backend/worktree_restore.h"
#include "backend/worktree_salvage_end.h"
#include "backend/worktree_salvaged.h"
#include "base/pathname.h"
#include "base/text.h"
#include "os/archive.h"
#include "os/confine.h"
#include "os/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define REF "refs/sbx/salvage/r1"

/* What is unsaved in ws/r1, in every way that a status tells apart. */
static const char work[] =
	"cd ws/r1 && echo changed >a.txt && printf 'both\\n' >dir/b.txt && git add dir/b.txt && "
	"printf 'both, and again\\n' >dir/b.txt && rm link && "
	"printf 'new\\r\\n' >'odd\"\\name' && echo x >staged && git add staged && "
	"git rm -q --cached dir/run.sh && ln -s ../../elsewhere away && printf '#!x' >tool && "
	"chmod 755 tool && mkdir -p deep/er && echo d >deep/er/f && : >empty && echo o >x.o && "
	"mv a.txt was.txt && echo again >a.txt";

/* Files as they are, byte for byte: without filters, which is what git itself would not do. */
static const char salvage_script[] =
	"cd ws/r1 && GIT_INDEX_FILE=../../files && export GIT_INDEX_FILE && rm -f ../../files && "
	"{ git ls-files -z --others --exclude-per-directory=.gitignore | "
	"while IFS= read -r -d '' f; do "
	"if [ -L \"$f\" ]; then mode=120000; "
	"id=$(printf %%s \"$(readlink \"$f\")\" | git hash-object -w --stdin); "
	"elif [ -x \"$f\" ]; then mode=100755; id=$(git hash-object -w --no-filters \"$f\"); "
	"else mode=100644; id=$(git hash-object -w --no-filters \"$f\"); fi; "
	"git update-index --add --cacheinfo \"$mode,$id,$f\"; done; } && "
	"files=$(git write-tree) && unset GIT_INDEX_FILE && head=$(git rev-parse HEAD) && "
	"cp $(git rev-parse --git-dir)/index ../../clean && export GIT_INDEX_FILE=../../clean && "
	"git ls-files -u | cut -f2 | sort -u | xargs -r git update-index --force-remove && "
	"staged=$(git commit-tree -p $head -m index $(git write-tree)) && "
	"unset GIT_INDEX_FILE && "
	"%s git update-ref " REF " $(printf 'Salvaged from %s\\n\\nSbx-Run: r1\\n"
	"Sbx-Generation: 1\\nSbx-Tree: %s\\n%%b' \"%s\\nSbx-Index: $staged$more\\n\" | "
	"git commit-tree $files -p $head -p $staged $parents)";

/* The other side of worktree_salvage.h, made with git alone. `more` sets $more and $parents. */
static struct salvage salvage_with(
	struct git_fixture *fixture, const char *branch, const char *more)
{
	char *script CLEANUP(mem_done) = mem_printf(salvage_script, more, fixture->tree,
		fixture->tree, branch ? "Sbx-Branch: sbx/r1" : "Sbx-Other: x");
	char *commit CLEANUP(mem_done) = NULL;

	git_fixture_sh(
		fixture, "cat >salvage.sh <<'END'\nset -e\n%s\nEND\nbash salvage.sh", script);
	commit = git_fixture_ask(fixture, "git -C repo rev-parse " REF);
	return (struct salvage){
		.run = "r1",
		.generation = 1,
		.made_s = 1000,
		.form = SALVAGE_COMMIT,
		.tree = fixture->tree,
		.branch = branch,
		.repo = fixture->repo,
		.ref = REF,
		.commit = arena_dup(&fixture->arena, commit),
	};
}

static struct salvage salvage(struct git_fixture *fixture)
{
	return salvage_with(fixture, "sbx/r1", "more= parents= &&");
}

/* Status and a copy of the files are kept in "before", then the run's worktree goes. */
static void take_away(struct git_fixture *fixture)
{
	git_fixture_sh(fixture,
		"git -C ws/r1 status --porcelain=v2 >before.status && cp -a ws/r1 before && "
		"rm -rf before/.git before/x.o && git -C repo worktree remove --force ../ws/r1");
}

static void restored(struct git_fixture *fixture, const struct salvage *salvaged,
	struct worktree_restored *ret_restored)
{
	char *directory CLEANUP(mem_done) = mem_printf("%s/back", fixture->base);
	struct error error = { 0 };
	int r = worktree_restore(salvaged, directory, &fixture->arena, ret_restored, &error);

	assert_string_equal(error.text, "");
	assert_int_equal(r, 0);
}

static void assert_as_before(struct git_fixture *fixture)
{
	git_fixture_sh(fixture,
		"git -C back status --porcelain=v2 >after.status && "
		"diff before.status after.status && "
		"diff -r --no-dereference -x .git before back && "
		"(cd before && find . ! -name . -printf '%%p %%y %%l %%m\\n' | sort) "
		">before.list && "
		"(cd back && find . -name .git -prune -o ! -name . -printf "
		"'%%p %%y %%l %%m\\n' | sort) >after.list && "
		"diff before.list after.list && git -C repo fsck --no-dangling && "
		"git -C repo worktree list | grep -q /back");
}

static void everything_comes_back_as_it_was(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	restored(fixture, &salvaged, &back);
	assert_string_equal(back.branch, "sbx/r1");
	assert_false(back.branch_made);
	assert_int_equal(back.note_count, 0);
	assert_as_before(fixture);
	assert_true(git_fixture_holds(
		fixture, "[ \"$(git -C back symbolic-ref HEAD)\" = refs/heads/sbx/r1 ]"));
	assert_true(git_fixture_holds(fixture, "[ ! -e repo/.git/worktrees/back/locked ]"));
	/* It works as a worktree. */
	git_fixture_sh(fixture, "cd back && git add -A && git commit -qm more && cd .. && "
				"git -C repo worktree move ../back ../moved && "
				"git -C repo worktree remove --force ../moved");
}

static void a_branch_that_is_gone_is_made_again(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s && git commit -qm tip --allow-empty", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture, "git -C repo branch -qD sbx/r1");
	restored(fixture, &salvaged, &back);
	assert_true(back.branch_made);
	assert_as_before(fixture);
	/* Twice works, only not on the same branch. */
	git_fixture_sh(
		fixture, "mv back first && git -C repo worktree repair ../first 2>/dev/null");
	restored(fixture, &salvaged, &back);
	assert_null(back.branch);
	assert_int_equal(back.note_count, 1);
	assert_non_null(strstr(back.notes[0], "/first"));
	assert_as_before(fixture);
}

static void a_branch_that_went_on_is_left(void **state)
{
	static const char *const cases[] = { /* what happened to it, and what is said */
		"git -C repo branch -qf sbx/r1 $(git -C repo commit-tree -m x -p main main^{tree})",
		"git -C repo worktree add -q ../other sbx/r1", "git -C repo checkout -q sbx/r1",
		"git -C repo worktree add -q --detach ../other && mkdir "
		"repo/.git/worktrees/other/rebase-merge && echo refs/heads/sbx/r1 "
		">repo/.git/worktrees/other/rebase-merge/head-name"
	};
	struct git_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct worktree_restored back;
		struct salvage salvaged;
		char *was CLEANUP(mem_done) = NULL, *is CLEANUP(mem_done) = NULL;

		git_fixture_sh(fixture, "%s", work);
		salvaged = salvage(fixture);
		take_away(fixture);
		git_fixture_sh(fixture, "%s", cases[i]);
		was = git_fixture_ask(fixture, "git -C repo rev-parse sbx/r1");
		restored(fixture, &salvaged, &back);
		assert_null(back.branch);
		assert_string_equal(back.head, fixture->head);
		assert_int_equal(back.note_count, 1);
		assert_non_null(strstr(back.notes[0], "sbx/r1"));
		assert_as_before(fixture);
		is = git_fixture_ask(fixture, "git -C repo rev-parse sbx/r1");
		assert_string_equal(was, is);
		git_fixture_reset(fixture);
	}
}

static void a_head_that_was_detached_stays_so(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "git -C ws/r1 checkout -q --detach && %s", work);
	salvaged = salvage_with(fixture, NULL, "more= parents= &&");
	take_away(fixture);
	restored(fixture, &salvaged, &back);
	assert_null(back.branch);
	assert_string_equal(back.head, fixture->head);
	assert_as_before(fixture);
}

/* The sides of a conflict are in the index alone, and what is merged beside HEAD. */
static const char state_script[] =
	"g=$(git rev-parse --git-dir) && export GIT_INDEX_FILE=../../state && rm -f "
	"$GIT_INDEX_FILE && "
	"m=$(git hash-object -w --no-filters $g/MERGE_HEAD) && "
	"h=$(git hash-object -w --no-filters $g/MERGE_MSG) && "
	"git update-index --add --cacheinfo 100644,$m,state/MERGE_HEAD "
	"--cacheinfo 100644,$h,state/MERGE_MSG && unset GIT_INDEX_FILE && "
	"git ls-files -u | while read -r mode id stage path; do "
	"GIT_INDEX_FILE=../../state git update-index --add "
	"--cacheinfo $mode,$id,stages/$stage/$path; done && "
	"st=$(git commit-tree -m state -p $(cat $g/MERGE_HEAD) "
	"$(GIT_INDEX_FILE=../../state git write-tree)) && "
	"more=\"\\nSbx-State: $st\" parents=\"-p $st\" && ";

static void a_merge_in_progress_goes_on(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture,
		"git -C repo branch other && cd ws/r1 && echo ours >a.txt && git commit -qam ours "
		"&& "
		"git checkout -q other && echo theirs >a.txt && git commit -qam theirs && "
		"git checkout -q sbx/r1 && ! git merge -q other >/dev/null");
	salvaged = salvage_with(fixture, "sbx/r1", state_script);
	take_away(fixture);
	restored(fixture, &salvaged, &back);
	assert_as_before(fixture);
	git_fixture_sh(fixture, "cd back && echo both >a.txt && git commit -qam merged && "
				"git rev-parse HEAD^2 >/dev/null");
}

/* Everything that a configuration can have run, and each would leave a trace. */
static void nothing_that_the_repository_names_is_run(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture,
		"printf '#!/bin/sh\\ntouch \"%s/ran\"\\ncat\\n' >evil && chmod +x evil && "
		"cd repo && git config core.fsmonitor ../evil && git config filter.x.smudge "
		"../evil "
		"&& git config filter.x.clean ../evil && git config filter.x.required true && "
		"git config core.autocrlf true && echo '* filter=x' >.git/info/attributes && "
		"for h in post-checkout reference-transaction post-index-change; do "
		"cp ../evil .git/hooks/$h; done && rm -f ../ran",
		fixture->base);
	restored(fixture, &salvaged, &back);
	assert_true(git_fixture_holds(fixture, "[ ! -e ran ]"));
	assert_true(git_fixture_holds(fixture, "diff -r --no-dereference -x .git before back"));
}

/* Nothing of a failed one is left: no directory, no record, no branch, no byte changed. */
static void assert_fails(struct git_fixture *fixture, const struct salvage *salvaged,
	const char *into, int code, const char *says)
{
	static const char snapshot[] =
		"find . -path ./snap -prune -o ! -path './repo/.git' ! -path . -printf "
		"'%%p %%y %%m %%s %%l\\n' | grep -v snapshot | sort >snapshot.%s";
	char *directory CLEANUP(mem_done) = mem_printf("%s/%s", fixture->base, into);
	struct worktree_restored back;
	struct error error = { 0 };
	int r;

	git_fixture_sh(fixture, snapshot, "a");
	r = worktree_restore(salvaged, directory, &fixture->arena, &back, &error);
	if (r != code || !strstr(error.text, says))
		fail_msg("%d, not %d: %s", r, code, error.text);
	git_fixture_sh(fixture, snapshot, "b");
	git_fixture_sh(fixture, "diff snapshot.a snapshot.b");
}

static void what_cannot_be_brought_back_leaves_nothing(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged, odd;

	git_fixture_sh(fixture, "%s", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture, "git -C repo branch -qD sbx/r1 && mkdir full && echo x >full/x && "
				"ln -s nowhere dangling && ln -s full linked && : >file");
	assert_fails(fixture, &salvaged, "full", -EEXIST, "not empty");
	assert_fails(fixture, &salvaged, "linked", -EEXIST, "linked");
	assert_fails(fixture, &salvaged, "dangling", -EEXIST, "dangling");
	assert_fails(fixture, &salvaged, "file", -EEXIST, "file");
	assert_fails(fixture, &salvaged, "no/where", -ENOENT, "directory above");
	odd = salvaged;
	odd.commit = "0123456789012345678901234567890123456789";
	assert_fails(fixture, &odd, "back", -ENOENT, "salvaged commit");
	odd = salvaged;
	odd.repo = "/nowhere/.git";
	assert_fails(fixture, &odd, "back", -ENOENT, "/nowhere/.git");
	/* A file of it is missing. */
	git_fixture_sh(fixture, "cd repo/.git/objects && id=$(git rev-parse " REF
				":deep/er/f) && rm -f ${id%%%%${id#??}}/${id#??}");
	assert_fails(fixture, &salvaged, "back", -ENOENT, "deep/er/f");
}

/* What is staged is read when git's record is there already. */
static void what_fails_late_leaves_nothing_either(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture,
		"git -C repo branch -qD sbx/r1 && cd repo/.git/objects && "
		"id=$(git rev-parse " REF "^2^{tree}) && rm -f ${id%%%%${id#??}}/${id#??}");
	assert_fails(fixture, &salvaged, "back", -ENOENT, "what was staged");
	git_fixture_sh(fixture, "git -C repo worktree add -q --detach ../other");
	assert_fails(fixture, &salvaged, "back", -ENOENT, "what was staged");
}

static void a_full_disk_leaves_nothing(void **state)
{
	struct git_fixture *fixture = *state;
	char *small CLEANUP(mem_done) = mem_printf("%s/small", fixture->base);
	struct salvage salvaged;

	git_fixture_sh(fixture, "head -c 300000 /dev/urandom >ws/r1/big && mkdir small");
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture, "git -C repo branch -qD sbx/r1");
	assert_int_equal(mount("none", small, "tmpfs", 0, "size=128k,mode=0755"), 0);
	assert_fails(fixture, &salvaged, "small/back", -ENOSPC, "big");
	assert_fails(fixture, &salvaged, "small", -ENOSPC, "big"); /* empty, and stays */
	assert_int_equal(umount2(small, MNT_DETACH), 0);
}

static void an_empty_directory_is_filled(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture, "mkdir back");
	restored(fixture, &salvaged, &back);
	assert_as_before(fixture);
}

static void it_belongs_to_the_owner_of_the_repository(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture, "chown -R 12345:12346 repo");
	restored(fixture, &salvaged, &back);
	assert_true(git_fixture_holds(fixture,
		"[ -z \"$(find back repo/.git/worktrees ! -uid 12345 -o ! -gid 12346)\" ]"));
	assert_true(git_fixture_holds(fixture, "[ \"$(stat -c %%a back)\" = 755 ]"));
}

static void names_of_records_are_never_shared(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture, "git -C repo worktree add -q --detach ../x/back && "
				"cp -a repo/.git/worktrees/back record");
	restored(fixture, &salvaged, &back);
	assert_true(text_ends(back.record, "/worktrees/back1"));
	assert_as_before(fixture);
	git_fixture_sh(fixture, "diff -r record repo/.git/worktrees/back");
}

/* Archives. */

static void archive_add_all(struct git_fixture *fixture, struct archive_writer *writer,
	const char *from, const char *prefix)
{
	char *command CLEANUP(mem_done) =
		mem_printf("cd '%s/%s' && find . ! -name . -printf '%%P\\n' | grep -v '^.git$'",
			fixture->base, from);
	char *base CLEANUP(mem_done) = mem_printf("%s/%s", fixture->base, from);
	int dir CLEANUP(fd_done) = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FILE *list = popen(command, "re");
	char line[4096], target[4096];
	int64_t bytes = 0;

	while (fgets(line, sizeof(line), list)) {
		char *path CLEANUP(mem_done) = NULL;
		int fd CLEANUP(fd_done) = -EBADF;
		struct stat stat;
		ssize_t length = 0;

		line[strcspn(line, "\n")] = 0;
		path = mem_printf("%s/%s", prefix, line);
		assert_int_equal(fstatat(dir, line, &stat, AT_SYMLINK_NOFOLLOW), 0);
		if (S_ISREG(stat.st_mode))
			fd = openat(dir, line, O_RDONLY | O_CLOEXEC);
		if (S_ISLNK(stat.st_mode))
			length = readlinkat(dir, line, target, sizeof(target) - 1);
		target[length] = 0;
		assert_int_equal(
			archive_add(writer, path, &stat, fd, S_ISLNK(stat.st_mode) ? target : NULL,
				INT64_MAX, &bytes, NULL),
			0);
	}
	assert_int_equal(pclose(list), 0);
}

static struct salvage archived(struct git_fixture *fixture, bool with_record)
{
	int dir CLEANUP(fd_done) = -EBADF;
	char *store CLEANUP(mem_done) = mem_printf("%s/store", fixture->base);
	struct archive_writer *writer = NULL;

	git_fixture_sh(fixture, "mkdir -p store && cp -a repo/.git/worktrees/r1 record");
	dir = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(archive_create(dir, "r1,1.tar.zst", &writer, NULL), 0);
	archive_add_all(fixture, writer, "ws/r1", "tree");
	if (with_record)
		archive_add_all(fixture, writer, "record", "record");
	assert_int_equal(archive_finish(writer, NULL), 0);
	archive_abort(&writer);
	return (struct salvage){
		.run = "r1",
		.generation = 1,
		.form = SALVAGE_ARCHIVE,
		.tree = fixture->tree,
		.repo = fixture->repo,
		.path = arena_printf(&fixture->arena, "%s/r1,1.tar.zst", store),
	};
}

static void an_archive_becomes_a_worktree_again(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s && chmod 600 a.txt && git init -q nested", work);
	salvaged = archived(fixture, true);
	take_away(fixture);
	git_fixture_sh(fixture, "cp -a record/index . && rm -rf before/nested");
	restored(fixture, &salvaged, &back);
	assert_string_equal(back.branch, "sbx/r1");
	assert_true(git_fixture_holds(fixture, "git -C back/nested status >/dev/null"));
	git_fixture_sh(fixture, "git -C back status --porcelain=v2 >after.status && "
				"diff before.status after.status");
	git_fixture_sh(fixture,
		"rm -rf back/nested back/x.o && diff -r --no-dereference -x .git before back");
	assert_true(git_fixture_holds(fixture, "[ \"$(stat -c %%a back/a.txt)\" = 600 ]"));
}

static void an_archive_whose_branch_is_gone_finds_head_in_its_log(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = archived(fixture, true);
	take_away(fixture);
	git_fixture_sh(fixture, "git -C repo branch -qD sbx/r1");
	restored(fixture, &salvaged, &back);
	assert_true(back.branch_made);
	git_fixture_sh(fixture, "git -C back status --porcelain=v2 >after.status && "
				"diff before.status after.status");
}

static void without_its_repository_the_record_lies_beside(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = archived(fixture, true);
	git_fixture_sh(fixture, "cp -a ws/r1 before && rm -rf repo ws");
	restored(fixture, &salvaged, &back);
	assert_null(back.record);
	assert_non_null(back.beside);
	assert_int_equal(back.note_count, 1);
	git_fixture_sh(fixture, "diff -r --no-dereference -x .git before back && "
				"diff -r record back.git-record && [ ! -e back/.git ]");
}

static void a_damaged_archive_leaves_nothing(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged;

	git_fixture_sh(fixture, "%s", work);
	salvaged = archived(fixture, true);
	take_away(fixture);
	git_fixture_sh(fixture,
		"printf xxxxxxxx | dd of=store/r1,1.tar.zst bs=1 seek=200 conv=notrunc "
		"2>/dev/null");
	assert_fails(fixture, &salvaged, "back", -EUCLEAN, "damaged");
	git_fixture_sh(fixture, "rm store/r1,1.tar.zst");
	assert_fails(fixture, &salvaged, "back", -ENOENT, "r1,1.tar.zst");
}

/* Where repositories are nested, the commit has HEAD and index, and the archive the files. */
static void an_archive_with_a_commit_beside_it_is_both(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	struct salvage salvaged, commit;

	git_fixture_sh(fixture, "%s", work);
	commit = salvage(fixture);
	git_fixture_sh(fixture, "git init -q ws/r1/build/nested");
	salvaged = archived(fixture, false);
	salvaged.ref = commit.ref;
	salvaged.commit = commit.commit;
	take_away(fixture);
	restored(fixture, &salvaged, &back);
	assert_string_equal(back.branch, "sbx/r1");
	git_fixture_sh(fixture, "git -C back/build/nested status >/dev/null && "
				"git -C back status --porcelain=v2 >after.status && "
				"diff before.status after.status");
}

/* The end, and what is there. */

static enum tri present(struct git_fixture *fixture, const struct salvage *salvaged)
{
	const char *note = NULL;
	enum tri answer = worktree_salvaged_present(salvaged, &fixture->arena, &note);

	assert_int_equal(answer == TRI_YES, note == NULL);
	return answer;
}

static void a_ref_ends_once_and_is_then_gone(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged = salvage(fixture);
	struct error error = { 0 };

	assert_int_equal(present(fixture, &salvaged), TRI_YES);
	git_fixture_sh(fixture, "git -C repo pack-refs --all && chown -R 12345:12346 repo");
	assert_int_equal(worktree_salvage_end(&salvaged, &error), 1);
	assert_true(git_fixture_holds(fixture, "[ -z \"$(find repo ! -uid 12345)\" ]"));
	git_fixture_sh(fixture, "chown -R 0:0 repo");
	assert_int_equal(present(fixture, &salvaged), TRI_NO);
	assert_false(
		git_fixture_holds(fixture, "git -C repo rev-parse -q --verify " REF " >/dev/null"));
	assert_int_equal(worktree_salvage_end(&salvaged, &error), 0);
	git_fixture_sh(fixture, "rm -rf repo");
	assert_int_equal(worktree_salvage_end(&salvaged, &error), 0);
	assert_int_equal(present(fixture, &salvaged), TRI_NO);
}

static void a_ref_that_was_moved_or_is_another_stays(void **state)
{
	static const char *const others[] = { "refs/heads/main", "refs/sbx/salvage/r10",
		"refs/sbx/salvage/../../heads/main", "refs/sbx/salvage/r2" };
	struct git_fixture *fixture = *state;
	struct salvage salvaged = salvage(fixture);
	struct error error = { 0 };

	git_fixture_sh(fixture, "git -C repo update-ref " REF " main");
	assert_int_equal(present(fixture, &salvaged), TRI_NO);
	assert_int_equal(worktree_salvage_end(&salvaged, &error), -ESTALE);
	assert_true(
		git_fixture_holds(fixture, "git -C repo rev-parse -q --verify " REF " >/dev/null"));
	git_fixture_sh(fixture, "git -C repo update-ref refs/sbx/salvage/r10 main && "
				"git -C repo update-ref refs/sbx/salvage/r2 main");
	salvaged.commit = fixture->head;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		salvaged.ref = others[i];
		assert_int_equal(worktree_salvage_end(&salvaged, NULL), -EINVAL);
	}
	assert_true(git_fixture_holds(fixture,
		"git -C repo rev-parse -q --verify main >/dev/null && "
		"git -C repo rev-parse -q --verify refs/sbx/salvage/r10 >/dev/null"));
}

/* MUST 1 of worktree_ref.h: the library follows each of these. */
static void links_of_the_repository_lead_to_nothing_outside(void **state)
{
	static const char *const plants[] = {
		"mkdir -p logs/refs/sbx && ln -s ../../../../../victims logs/refs/sbx/salvage",
		"mv refs/sbx/salvage ../../refs.there && "
		"ln -s ../../../../refs.there refs/sbx/salvage",
		"git pack-refs --all && mv packed-refs ../../packed.there && "
		"ln -s ../../packed.there packed-refs",
	};
	struct git_fixture *fixture = *state;
	struct salvage salvaged = salvage(fixture);

	if (confine_abi(NULL) < 2)
		skip();
	git_fixture_sh(fixture, "mkdir victims && echo precious >victims/r1");
	for (size_t i = 0; i < ARRAY_SIZE(plants); i++) {
		git_fixture_sh(fixture,
			"cp -a repo/.git clean.git && (cd repo/.git && %s) && "
			"ls -lR --time-style=full-iso victims *.there >before.ls 2>/dev/null || :",
			plants[i]);
		(void)worktree_salvage_end(&salvaged, NULL);
		assert_true(git_fixture_holds(fixture,
			"ls -lR --time-style=full-iso victims *.there >after.ls 2>/dev/null || :; "
			"cmp before.ls after.ls"));
		git_fixture_sh(fixture, "rm -rf repo/.git *.there && mv clean.git repo/.git");
	}
}

/* And so what is written for a branch that is made again. */
static void a_branch_is_made_by_the_owner_of_the_repository(void **state)
{
	struct git_fixture *fixture = *state;
	struct worktree_restored back;
	char *directory CLEANUP(mem_done) = mem_printf("%s/back", fixture->base);
	struct salvage salvaged;
	struct error error = { 0 };

	if (geteuid() != 0)
		skip();
	git_fixture_sh(fixture, "%s && git commit -qm tip --allow-empty", work);
	salvaged = salvage(fixture);
	take_away(fixture);
	git_fixture_sh(fixture, "git -C repo branch -D sbx/r1 && mkdir victims && "
				"rm -rf repo/.git/logs/refs/heads/sbx && "
				"ln -s ../../../../../victims repo/.git/logs/refs/heads/sbx && "
				"git -C repo config core.logAllRefUpdates always");
	/* Also where it is root's, and others may write in it. */
	if (confine_abi(NULL) >= 2)
		assert_true(
			worktree_restore(&salvaged, directory, &fixture->arena, &back, NULL) < 0);
	git_fixture_sh(fixture, "chown -Rh 12345:12346 repo");
	assert_true(worktree_restore(&salvaged, directory, &fixture->arena, &back, &error) < 0);
	assert_true(git_fixture_holds(fixture, "[ -z \"$(ls victims)\" ]"));
}

/* Its mode is what it was, so that anybody may have put something there meanwhile. */
static void a_file_with_another_name_is_not_given_away(void **state)
{
	struct git_fixture *fixture = *state;
	char *path CLEANUP(mem_done) = mem_printf("%s/open", fixture->base);
	struct error error = { 0 };
	int dir CLEANUP(fd_done) = -EBADF;

	if (geteuid() != 0)
		skip();
	git_fixture_sh(fixture, "mkdir open && echo precious >theirs && ln theirs open/mine");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(owner_give(dir, "open", 12345, 12346, &error), -EMLINK);
	assert_true(git_fixture_holds(fixture, "[ \"$(stat -c %%u theirs)\" = 0 ]"));
}

static void a_repository_that_cannot_be_used_ends_nothing(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage salvaged = salvage(fixture);
	struct error error = { 0 };

	git_fixture_sh(fixture, "git -C repo config core.repositoryformatversion 99");
	assert_int_equal(worktree_salvage_end(&salvaged, &error), -EIO);
	assert_int_equal(present(fixture, &salvaged), TRI_UNKNOWN);
}

static void an_archive_ends_and_nothing_else_is_unlinked(void **state)
{
	static const char *const others[] = { "store/r2,1.tar.zst", "store/r1",
		"store/r10,1.tar.zst", "store/r1,2.tar.zst" };
	struct git_fixture *fixture = *state;
	struct salvage salvaged = archived(fixture, true), odd = salvaged;

	git_fixture_sh(fixture, "cd store && touch r2,1.tar.zst r1 r10,1.tar.zst && "
				"ln -s r1 r1,2.tar.zst");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		odd.path = arena_printf(&fixture->arena, "%s/%s", fixture->base, others[i]);
		assert_int_equal(worktree_salvage_end(&odd, NULL), -EINVAL);
	}
	assert_int_equal(present(fixture, &salvaged), TRI_YES);
	assert_int_equal(worktree_salvage_end(&salvaged, NULL), 1);
	assert_int_equal(present(fixture, &salvaged), TRI_NO);
	assert_int_equal(worktree_salvage_end(&salvaged, NULL), 0);
	assert_true(git_fixture_holds(fixture, "[ \"$(ls store | wc -l)\" = 4 ]"));
	git_fixture_sh(fixture, "rm -rf store");
	assert_int_equal(worktree_salvage_end(&salvaged, NULL), 0);
}

/* Finding them again. */

static int note_found(void *context, const struct salvage *salvaged)
{
	struct text *text = context;

	text_addf(text, "%s %lld %s %s %s; ", salvaged->run, (long long)salvaged->generation,
		salvaged->tree, salvaged->branch ? salvaged->branch : "-",
		salvaged->ref ? salvaged->ref : pathname_last(salvaged->path));
	return 0;
}

static void note_odd(void *context, const char *where, const char *why)
{
	struct text *text = context;

	(void)why;
	text_addf(text, "odd %s; ", where[0] == '/' ? pathname_last(where) : where);
}

static void what_was_salvaged_is_found_again(void **state)
{
	struct git_fixture *fixture = *state;
	struct text text CLEANUP(text_done) = { 0 }, wanted CLEANUP(text_done) = { 0 };
	const struct salvaged_finder finder = { note_found, note_odd, &text };
	char *store CLEANUP(mem_done) = mem_printf("%s/store", fixture->base);
	int dir CLEANUP(fd_done) = -EBADF;

	(void)salvage(fixture);
	git_fixture_sh(fixture, "git -C repo update-ref refs/sbx/salvage/r3 main && "
				"git -C repo update-ref refs/sbx/salvage/r2 " REF);
	assert_int_equal(worktree_salvaged_refs(fixture->repo, &finder, NULL), 0);
	text_addf(&wanted,
		"r1 1 %s sbx/r1 " REF "; odd refs/sbx/salvage/r2; odd "
		"refs/sbx/salvage/r3; ",
		fixture->tree);
	assert_string_equal(text.data, wanted.data);
	(void)archived(fixture, true);
	git_fixture_sh(fixture, "cd store && echo >nonsense.tar.zst && touch r1,2.tar.zst.tmp");
	dir = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	text.length = wanted.length = 0;
	assert_int_equal(worktree_salvaged_archives(dir, store, &finder, NULL), 0);
	assert_non_null(strstr(text.data, "odd nonsense.tar.zst; "));
	text_addf(&wanted, "r1 1 %s - r1,1.tar.zst; ", fixture->tree);
	assert_non_null(strstr(text.data, wanted.data));
	assert_null(strstr(text.data, ".tmp"));
	assert_int_equal(worktree_salvaged_refs("/nowhere", &finder, NULL), -ENOENT);
}

static void trailers_are_read_with_their_escapes(void **state)
{
	struct git_fixture *fixture = *state;
	struct salvage_trailers trailers;

	worktree_salvage_trailers("Salvaged from x\n\nSbx-Run: r1\nSbx-Generation: 12\n"
				  "Sbx-Tree: /a\\xff\\x5cb\\x\nSbx-Branch: b\nSbx-Branch: c\n",
		&fixture->arena, &trailers);
	assert_string_equal(trailers.run, "r1");
	assert_int_equal(trailers.generation, 12);
	assert_string_equal(trailers.tree, "/a\xff\\b\\x");
	assert_string_equal(trailers.branch, "b");
	assert_null(trailers.index);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, git_fixture_make, git_fixture_drop)
	const struct CMUnitTest tests[] = {
		TEST(everything_comes_back_as_it_was),
		TEST(a_branch_that_is_gone_is_made_again),
		TEST(a_branch_that_went_on_is_left),
		TEST(a_head_that_was_detached_stays_so),
		TEST(a_merge_in_progress_goes_on),
		TEST(nothing_that_the_repository_names_is_run),
		TEST(what_cannot_be_brought_back_leaves_nothing),
		TEST(what_fails_late_leaves_nothing_either),
		TEST(a_full_disk_leaves_nothing),
		TEST(an_empty_directory_is_filled),
		TEST(it_belongs_to_the_owner_of_the_repository),
		TEST(names_of_records_are_never_shared),
		TEST(an_archive_becomes_a_worktree_again),
		TEST(an_archive_whose_branch_is_gone_finds_head_in_its_log),
		TEST(without_its_repository_the_record_lies_beside),
		TEST(a_damaged_archive_leaves_nothing),
		TEST(an_archive_with_a_commit_beside_it_is_both),
		TEST(a_ref_ends_once_and_is_then_gone),
		TEST(a_ref_that_was_moved_or_is_another_stays),
		TEST(links_of_the_repository_lead_to_nothing_outside),
		TEST(a_branch_is_made_by_the_owner_of_the_repository),
		TEST(a_file_with_another_name_is_not_given_away),
		TEST(a_repository_that_cannot_be_used_ends_nothing),
		TEST(an_archive_ends_and_nothing_else_is_unlinked),
		TEST(what_was_salvaged_is_found_again),
		TEST(trailers_are_read_with_their_escapes),
	};

	return cmocka_run_group_tests_name("restore", tests, workdir_own_mounts, NULL);
}
