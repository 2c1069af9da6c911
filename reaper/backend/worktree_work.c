#include "worktree_work.h"

#include "base/pathname.h"
#include "os/dir.h"
#include "os/file.h"
#include "worktree_census.h"
#include "worktree_gitdir.h"
#include "worktree_index.h"
#include "worktree_private.h"
#include "worktree_record.h"
#include "worktree_work_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { INDEX_MAX = 256 << 20 };

static void judge_done(struct judge *judge)
{
	candidates_done(&judge->candidates);
	worktree_commits_done(&judge->surviving);
	findings_done(&judge->findings);
	text_list_done(&judge->modules);
	git_repository_free(judge->opened);
}

static void judge_unknown(struct judge *judge, const struct error *error)
{
	findings_unknown(&judge->findings, error->code, error->text);
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

/* The recorded branch, where it goes. */
static void judge_branch(struct judge *judge)
{
	const struct worktree_place *place = judge->place;
	struct error error = { 0 };
	git_oid commit;
	int r = worktree_branch_commit(judge->repository, place->branch, &commit, &error);

	if (r > 0)
		git_oid_tostr(judge->judgement->branch_tip, COMMIT_TEXT, &commit);
	if (r > 0 && place->rule == BRANCH_DELETE)
		judge_commit(judge, &commit, place->branch);
	if (r < 0 && r != -EINVAL) /* no name that a branch can have */
		judge_unknown(judge, &error);
}

/* A ref that only this worktree has names a commit (or another ref, which counts itself). */
static int judge_private_ref(void *context, const char *name, const char *text, struct error *error)
{
	struct judge *judge = context;
	git_oid commit;

	if (text_starts(text, "ref: "))
		return 0;
	if (git_oid_fromstr(&commit, text) < 0)
		return error_say(error, EINVAL, "%s names no object", name);
	if (!judge_commit(judge, &commit, name))
		judge->findings.beyond |= BEYOND_STATE;
	return 0;
}

static void judge_private_refs(struct judge *judge, int gitdir)
{
	struct error error = { 0 };

	if (worktree_private_refs(gitdir, judge_private_ref, judge, &error) < 0)
		judge_unknown(judge, &error);
}

static void judge_stash(struct judge *judge)
{
	git_reference *stash CLEANUP(reference_done) = NULL;

	if (git_reference_lookup(&stash, judge->repository, "refs/stash") != GIT_ENOTFOUND)
		findings_unsaved(
			&judge->findings, "refs/stash", "a stash goes with its repository");
}

/* All refs of a repository that goes with its tree: branches, tags, notes, whatever a tool keeps. */
static void judge_own_refs(struct judge *judge)
{
	struct worktree_commits own CLEANUP(worktree_commits_done) = { 0 };
	struct error error = { 0 };

	if (worktree_commits_gather(judge->repository, REFS_OWN, NULL, &own, &error) < 0)
		judge_unknown(judge, &error);
	for (size_t i = 0; i < own.count; i++)
		judge_commit(judge, &own.ids[i], "a ref");
	if (own.others > 0)
		findings_unpushed(&judge->findings, "a ref", "it names what is no commit");
}

/* Another worktree of a repository that goes with its tree. */
static void judge_linked(struct judge *judge, const struct worktree_record *record)
{
	const char *head = NULL;
	struct error error = { 0 };
	git_oid commit;
	int r = worktree_gitfile_read(record->path, "HEAD", judge->arena, &head, NULL, &error);

	if (r > 0)
		r = worktree_head_commit(judge->repository, head, &commit, &error);
	if (r > 0)
		judge_commit(judge, &commit, "HEAD of a worktree of it");
	if (r < 0)
		judge_unknown(judge, &error);
}

static void judge_all_linked(struct judge *judge)
{
	struct worktree_records records CLEANUP(worktree_records_done) = { 0 };
	struct error error = { 0 };

	if (worktree_records_read(judge->place->common, &records, &error) < 0)
		judge_unknown(judge, &error);
	for (size_t i = 0; i < records.count; i++)
		judge_linked(judge, &records.list[i]);
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
	git_oid_tostr(judge->judgement->head, COMMIT_TEXT, &commit);
	if (!candidates_add(
		    &judge->candidates, &commit, judge_commit(judge, &commit, "HEAD"), true))
		findings_unknown(&judge->findings, worktree_git_cause(EIO),
			"the commit at HEAD cannot be read");
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
static void judge_index(struct judge *judge, int gitdir)
{
	struct error error = { 0 };
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length = 0;
	int r = file_read(gitdir, "index", INDEX_MAX, &bytes, &length, NULL, &error);

	if (r == -ENOENT)
		return;
	if (r >= 0)
		r = index_each(bytes, length, index_entry_look, judge, &error);
	if (r < 0)
		judge_unknown(judge, &error);
}

static void judge_progress(struct judge *judge, int gitdir)
{
	struct error error = { 0 };
	const char *sign = NULL;
	int r = worktree_private_progress(gitdir, &sign, &error);

	if (r < 0)
		judge_unknown(judge, &error);
	if (r <= 0)
		return;
	findings_unsaved(&judge->findings, sign,
		"a merge, rebase, bisect, cherry-pick or revert is in progress");
	judge->findings.beyond |= BEYOND_STATE;
}

/* What git keeps beside HEAD. */
static void judge_gitdir(struct judge *judge)
{
	struct error error = { 0 };
	int gitdir CLEANUP(fd_done) = dir_open(judge->place->gitdir, &error);

	if (gitdir == -ENOENT)
		return;
	if (gitdir < 0) {
		judge_unknown(judge, &error);
		return;
	}
	if (!judge->findings.unknown) /* else there is nothing to compare it with */
		judge_index(judge, gitdir);
	judge_progress(judge, gitdir);
	if (!judge->place->own)
		judge_private_refs(judge, gitdir);
}

/* Opens the repository and gathers what survives. False: it could not be done, and is noted. */
static bool judge_open(struct judge *judge)
{
	const struct worktree_place *place = judge->place;
	struct error error = { 0 };
	int r = 0;

	if (place->own)
		r = worktree_gitdir_plain(place->common, place->settings, &error);
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

static void judge_repository(struct judge *judge)
{
	if (!judge_open(judge))
		return;
	if (!judge_head(judge))
		judge_other_candidates(judge);
	if (judge->place->own) {
		judge_own_refs(judge);
		judge_stash(judge);
		judge_all_linked(judge);
	} else if (judge->place->branch) {
		judge_branch(judge);
	}
	if (judge->place->gitdir)
		judge_gitdir(judge);
}

/* Others that borrow what is in the tree: whatever it holds of its own, they would lose it. */
static void judge_census(struct judge *judge)
{
	const struct worktree_place *place = judge->place;
	const char *borrower;
	struct error error = { 0 };
	int r = worktree_census_borrower(
		place->census, place->path, judge->arena, &borrower, &error);

	if (r < 0 && place->own)
		judge_unknown(judge, &error);
	if (r <= 0)
		return;
	findings_unsaved(&judge->findings, borrower, "it borrows from a repository in this tree");
	judge->findings.beyond |= BEYOND_LENT;
}

static const char *judge_note(const struct judge *judge, enum work work, const char *note)
{
	if (work != WORK_DIRTY || judge->place->common)
		return note;
	return arena_printf(judge->arena, "%s: %s",
		judge->place->common_gone ? "repository gone" : "no repository is known", note);
}

void worktree_work_judge(const struct worktree_place *place, struct arena *arena,
	struct worktree_judgement *ret_judgement)
{
	struct judge judge CLEANUP(judge_done) = {
		.place = place,
		.arena = arena,
		.judgement = ret_judgement,
	};
	enum work work;

	*ret_judgement = (struct worktree_judgement){ .work = WORK_UNKNOWN };
	if (place->census)
		judge_census(&judge);
	if (place->common)
		judge_repository(&judge);
	/* Without its repository a tree can be compared with nothing: that is known already. */
	if (place->tree >= 0 && !judge.findings.unknown)
		worktree_work_tree(&judge);
	if (place->gitdir && !judge.findings.unknown)
		worktree_work_tree_modules(&judge);
	work = findings_work(&judge.findings, arena, &ret_judgement->note);
	ret_judgement->note = judge_note(&judge, work, ret_judgement->note);
	ret_judgement->beyond = judge.findings.beyond;
	ret_judgement->unseen = arena_dup(arena, judge.findings.unknown);
	ret_judgement->unseen_code = judge.findings.unknown_code;
	ret_judgement->work = work == WORK_CLEAN && place->tree < 0 ? WORK_NONE : work;
}
