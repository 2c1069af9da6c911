#include "worktree_work.h"

#include "base/pathname.h"
#include "os/dir.h"
#include "os/file.h"
#include "worktree_crossing.h"
#include "worktree_gitdir.h"
#include "worktree_index.h"
#include "worktree_record.h"
#include "worktree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { INDEX_MAX = 1 << 30, NESTING_MAX = 4 };

struct judge {
	const struct worktree_place *place;
	struct arena *arena;
	struct findings findings;
	git_repository *repository;
	git_repository *opened; /* the same, where it is ours to close */
	struct worktree_commits surviving;
	struct candidates candidates;
	git_oid lost;     /* the last commit found in no ref that survives */
	char *branch_tip; /* COMMIT_TEXT bytes, the caller's */
};

static void judge_done(struct judge *judge)
{
	candidates_done(&judge->candidates);
	worktree_commits_done(&judge->surviving);
	findings_done(&judge->findings);
	git_repository_free(judge->opened);
}

static void judge_unknown(struct judge *judge, const struct error *error)
{
	findings_unknown(&judge->findings, error->text);
}

static bool judge_contained(struct judge *judge, const git_oid *commit)
{
	struct error error = { 0 };
	int r = worktree_commit_contained(judge->repository, commit, &judge->surviving, &error);

	if (r < 0)
		judge_unknown(judge, &error);
	return r > 0;
}

/* A commit that must survive: notes it when it would not. Returns whether it does. */
static bool judge_commit(struct judge *judge, const git_oid *commit, const char *what)
{
	char id[COMMIT_TEXT];
	bool contained = judge_contained(judge, commit);
	char *words CLEANUP(mem_done) = NULL;

	if (contained || git_oid_equal(commit, &judge->lost))
		return contained;
	judge->lost = *commit;
	words = mem_printf(
		"commit %.12s is in no ref that survives", git_oid_tostr(id, sizeof(id), commit));
	findings_unpushed(&judge->findings, what, words);
	return false;
}

/* What else must survive: the recorded branch where it goes, all branches where the whole
 * repository goes. */
static void judge_branches(struct judge *judge)
{
	const struct worktree_place *place = judge->place;
	struct worktree_commits local CLEANUP(worktree_commits_done) = { 0 };
	struct error error = { 0 };
	git_oid commit;
	int r;

	if (place->own) {
		r = worktree_commits_gather(judge->repository, REFS_LOCAL, NULL, &local, &error);
		for (size_t i = 0; i < local.count; i++)
			judge_commit(judge, &local.ids[i], "a branch");
	} else if (place->branch) {
		r = worktree_branch_commit(judge->repository, place->branch, &commit, &error);
		if (r > 0)
			git_oid_tostr(judge->branch_tip, COMMIT_TEXT, &commit);
		if (r > 0 && place->rule == BRANCH_DELETE)
			judge_commit(judge, &commit, place->branch);
		if (r == -EINVAL)
			r = 0; /* no name a branch can have */
	} else {
		r = 0;
	}
	if (r < 0)
		judge_unknown(judge, &error);
}

static void judge_stash(struct judge *judge)
{
	git_reference *stash CLEANUP(reference_done) = NULL;

	if (judge->place->own &&
		git_reference_lookup(&stash, judge->repository, "refs/stash") != GIT_ENOTFOUND)
		findings_unsaved(
			&judge->findings, "refs/stash", "a stash goes with its repository");
}

/* 1: HEAD is known, and is the one candidate; 0: git's record or what it names is gone. */
static int judge_head(struct judge *judge)
{
	const char *head = NULL;
	struct error error = { 0 };
	git_oid commit;
	int r = 0;

	if (judge->place->gitdir)
		r = worktree_gitfile_read(
			judge->place->gitdir, "HEAD", judge->arena, &head, NULL, &error);
	if (r > 0)
		r = worktree_head_commit(judge->repository, head, &commit, &error);
	if (r < 0)
		judge_unknown(judge, &error);
	if (r <= 0)
		return 0;
	if (!candidates_add(
		    &judge->candidates, &commit, judge_commit(judge, &commit, "HEAD"), true))
		findings_unknown(&judge->findings, "the commit at HEAD cannot be read");
	return 1;
}

static void judge_candidate(struct judge *judge, const git_oid *commit, bool tracks)
{
	if (judge->candidates.count < CANDIDATES_MAX)
		candidates_add(&judge->candidates, commit, judge_contained(judge, commit), tracks);
}

/*
 * Without HEAD: the recorded branch, the recorded base, and then what the repository has checked
 * out and where its branches stand, so that a run of which only a marker is left can be proven
 * saved.
 */
static void judge_other_candidates(struct judge *judge)
{
	const struct worktree_place *place = judge->place;
	struct worktree_commits tips CLEANUP(worktree_commits_done) = { 0 };
	git_oid commit;

	if (place->branch &&
		worktree_branch_commit(judge->repository, place->branch, &commit, NULL) > 0)
		judge_candidate(judge, &commit, true);
	if (place->base && git_oid_fromstr(&commit, place->base) == 0)
		judge_candidate(judge, &commit, true);
	if (git_reference_name_to_id(&commit, judge->repository, "HEAD") == 0)
		judge_candidate(judge, &commit, false);
	if (worktree_commits_gather(judge->repository, place->own ? REFS_REMOTE : REFS_BRANCHES,
		    place->rule == BRANCH_DELETE ? place->branch : NULL, &tips, NULL) < 0)
		return;
	for (size_t i = 0; i < tips.count; i++)
		judge_candidate(judge, &tips.ids[i], false);
}

static int index_entry_look(void *context, const struct index_entry *entry)
{
	struct judge *judge = context;
	char *directory CLEANUP(mem_done) = mem_dup(entry->path);
	char *slash = strrchr(directory, '/');
	const char *name = pathname_last(entry->path);
	enum saved saved;

	if (entry->intent_to_add)
		return 0;
	*(slash ? slash : directory) = 0;
	saved = candidates_compare_id(&judge->candidates, directory, name, entry->id);
	if (saved == SAVED_NOWHERE)
		findings_unsaved(&judge->findings, entry->path, "staged and not committed");
	return 0;
}

/* Content that is only in the index. What is missing there is a deletion, which is no work. */
static void judge_index(struct judge *judge)
{
	struct error error = { 0 };
	int dir CLEANUP(fd_done) = dir_open(judge->place->gitdir, &error);
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length = 0;
	int r = dir;

	if (dir >= 0)
		r = file_read(dir, "index", INDEX_MAX, &bytes, &length, NULL, &error);
	if (r == -ENOENT)
		return;
	error = r < 0 ? error : (struct error){ 0 };
	if (r >= 0)
		r = index_each(bytes, length, index_entry_look, judge, &error);
	if (r < 0)
		judge_unknown(judge, &error);
}

/* Things that git does in several steps keep their state beside HEAD (gitrepository-layout(5)). */
static void judge_progress(struct judge *judge)
{
	static const char *const signs[] = { "MERGE_HEAD", "rebase-merge", "rebase-apply",
		"BISECT_LOG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer" };
	int dir CLEANUP(fd_done) = dir_open(judge->place->gitdir, NULL);
	struct stat stat;

	for (size_t i = 0; i < ARRAY_SIZE(signs) && dir >= 0; i++)
		if (fstatat(dir, signs[i], &stat, AT_SYMLINK_NOFOLLOW) == 0)
			findings_unsaved(&judge->findings, signs[i],
				"a merge, rebase, bisect, cherry-pick or revert is in progress");
}

/* Opens the repository and gathers what survives. False: it could not be done, and is noted. */
static bool judge_open(struct judge *judge)
{
	const struct worktree_place *place = judge->place;
	struct error error = { 0 };
	int r = 0;

	if (place->own)
		r = worktree_gitdir_plain(place->common, place->lenders, &error);
	if (r >= 0 && place->own) {
		r = worktree_git_open(place->common, &judge->opened, &error);
		judge->repository = judge->opened;
	} else if (r >= 0) {
		r = worktree_gits_get(place->gits, place->common, &judge->repository, &error);
	}
	if (r >= 0)
		r = worktree_commits_gather(judge->repository,
			place->own ? REFS_REMOTE : REFS_SURVIVING,
			place->rule == BRANCH_DELETE ? place->branch : NULL, &judge->surviving,
			&error);
	if (r < 0)
		judge_unknown(judge, &error);
	judge->candidates.repository = judge->repository;
	return r >= 0;
}

/* The git directory of a populated submodule, when it is where git puts it. NULL: it is not. */
static const char *submodule_gitdir(struct judge *judge, int directory, const char *whole)
{
	const struct worktree_place *place = judge->place;
	struct worktree_pointer pointer;

	if (worktree_pointer_read(directory, whole, judge->arena, &pointer, NULL) < 0)
		return NULL;
	switch (pointer.kind) {
	case POINTER_DIRECTORY:
		return arena_printf(judge->arena, "%s/.git", whole);
	case POINTER_FILE:
		if ((place->gitdir && pathname_below(pointer.target, place->gitdir)) ||
			(place->common && pathname_below(pointer.target, place->common)))
			return pointer.target;
		return NULL;
	case POINTER_NONE:
	case POINTER_JUNK:
		return NULL;
	}
	return NULL;
}

/* A submodule is a repository that goes with the tree: all of it must be on its remotes. */
static void judge_submodule(void *context, int directory, const char *path)
{
	struct judge *judge = context;
	char tip[COMMIT_TEXT];
	struct worktree_place sub = { .own = true, .nesting = judge->place->nesting + 1 };
	const char *note = NULL;
	enum work work = WORK_UNKNOWN;
	char *words CLEANUP(mem_done) = NULL;

	sub.path = arena_printf(judge->arena, "%s/%s", judge->place->path, path);
	sub.common = sub.gitdir = submodule_gitdir(judge, directory, sub.path);
	sub.tree = directory;
	sub.lenders = judge->place->lenders;
	sub.mounts = judge->place->mounts;
	if (sub.common && sub.nesting <= NESTING_MAX)
		work = worktree_work_judge(&sub, judge->arena, &note, tip);
	if (work == WORK_CLEAN)
		return;
	words = mem_printf("submodule: %s",
		note ? note : "its repository is not where git puts it, so it cannot be compared");
	findings_unsaved(&judge->findings, path, words);
}

static struct crossing_tree crossing_tree_of(const struct judge *judge)
{
	return (struct crossing_tree){
		.view = judge->place->mounts,
		.tree = judge->place->tree,
		.path = judge->place->path,
	};
}

static void judge_crossing(void *context, const char *path)
{
	struct judge *judge = context;
	const struct crossing_tree tree = crossing_tree_of(judge);
	char *escaped CLEANUP(mem_done) = text_escape(path), *words CLEANUP(mem_done) = NULL;
	const char *note;

	switch (worktree_crossing(&tree, path, judge->arena, &note)) {
	case CROSSING_ELSEWHERE:
		return;
	case CROSSING_HOLDS:
		findings_unsaved(&judge->findings, path, note);
		return;
	case CROSSING_UNKNOWN:
		words = mem_printf("%s: %s", escaped, note);
		findings_unknown(&judge->findings, words);
		return;
	}
}

static void judge_unseen_mounts(struct judge *judge)
{
	const struct crossing_tree tree = crossing_tree_of(judge);
	const char *note;

	if (worktree_crossing_unseen(&tree, judge->arena, &note) == CROSSING_UNKNOWN)
		findings_unknown(&judge->findings, note);
}

static void judge_tree(struct judge *judge)
{
	struct worktree_walk walk CLEANUP(worktree_walk_done) = {
		.candidates = &judge->candidates,
		.findings = &judge->findings,
		.submodule = judge_submodule,
		.crossing = judge_crossing,
		.context = judge,
	};

	worktree_walk(&walk, judge->place->tree);
	judge_unseen_mounts(judge);
}

static void judge_repository(struct judge *judge)
{
	if (!judge_open(judge))
		return;
	if (!judge_head(judge))
		judge_other_candidates(judge);
	judge_branches(judge);
	judge_stash(judge);
	if (judge->place->gitdir) {
		judge_index(judge);
		judge_progress(judge);
	}
}

static const char *judge_note(const struct judge *judge, enum work work, const char *note)
{
	if (work != WORK_DIRTY || judge->place->common)
		return note;
	return arena_printf(judge->arena, "%s: %s",
		judge->place->common_gone ? "repository gone" : "no repository is known", note);
}

enum work worktree_work_judge(const struct worktree_place *place, struct arena *arena,
	const char **ret_note, char ret_branch_tip[COMMIT_TEXT])
{
	struct judge judge CLEANUP(judge_done) = {
		.place = place,
		.arena = arena,
		.branch_tip = ret_branch_tip,
	};
	enum work work;

	*ret_branch_tip = 0;
	if (place->common)
		judge_repository(&judge);
	/* Without its repository a tree can be compared with nothing: that is known already. */
	if (place->tree >= 0 && !judge.findings.unknown)
		judge_tree(&judge);
	work = findings_work(&judge.findings, arena, ret_note);
	*ret_note = judge_note(&judge, work, *ret_note);
	return work == WORK_CLEAN && place->tree < 0 ? WORK_NONE : work;
}
