#include "base/pathname.h"
#include "os/dir.h"
#include "worktree_crossing.h"
#include "worktree_private.h"
#include "worktree_repo.h"
#include "worktree_walk.h"
#include "worktree_work_parts.h"

#include <errno.h>

enum { NESTING_MAX = 4 };

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

static void submodule_findings(struct judge *judge, const char *path,
	const struct worktree_judgement *judgement, const char *otherwise)
{
	char *words CLEANUP(mem_done) =
		mem_printf("submodule: %s", judgement->note ? judgement->note : otherwise);

	if (judgement->work == WORK_CLEAN || judgement->work == WORK_NONE)
		return;
	findings_unsaved(&judge->findings, path, words);
	judge->findings.beyond |= judgement->beyond | BEYOND_NESTED;
}

/* A submodule is a repository that goes with the tree: all of it must be on its remotes. */
static void submodule_judge(struct judge *judge, const char *gitdir, const char *path, int tree,
	struct worktree_judgement *ret_judgement)
{
	struct worktree_place sub = {
		.tree = tree,
		.path = path,
		.common = gitdir,
		.gitdir = gitdir,
		.own = true,
		.settings = judge->place->settings,
		.mounts = judge->place->mounts,
		.deadline_ms = judge->place->deadline_ms,
		.nesting = judge->place->nesting + 1,
	};

	*ret_judgement = (struct worktree_judgement){ .work = WORK_UNKNOWN };
	if (gitdir && sub.nesting <= NESTING_MAX)
		worktree_work_judge(&sub, judge->arena, ret_judgement);
}

/* Another commit than the one that is committed here, which the submodule's remotes have. */
static void judge_drift(struct judge *judge, const char *path, const char *head)
{
	char *directory CLEANUP(mem_done) = mem_dup(path);
	char *slash = strrchr(directory, '/'), *words CLEANUP(mem_done) = NULL;
	git_oid commit;

	*(slash ? slash : directory) = 0;
	if (git_oid_fromstr(&commit, head) < 0 ||
		candidates_compare_id(&judge->candidates, directory, pathname_last(path),
			commit.id) != SAVED_NOWHERE)
		return;
	words = mem_printf("submodule: it is at %.12s, which is not committed here", head);
	findings_unsaved(&judge->findings, path, words);
}

static void judge_submodule(void *context, int directory, const char *path)
{
	struct judge *judge = context;
	const char *whole = arena_printf(judge->arena, "%s/%s", judge->place->path, path);
	const char *gitdir = submodule_gitdir(judge, directory, whole);
	struct worktree_judgement judgement;

	submodule_judge(judge, gitdir, whole, directory, &judgement);
	if (gitdir)
		text_list_add(&judge->modules, gitdir);
	submodule_findings(judge, path, &judgement,
		"its repository is not where git puts it, so it cannot be compared");
	if (judgement.work == WORK_CLEAN && *judgement.head)
		judge_drift(judge, path, judgement.head);
}

/* The repository of a submodule that is not checked out any more. */
static void judge_module(void *context, const char *path)
{
	struct judge *judge = context;
	struct worktree_judgement judgement;

	if (text_list_has(&judge->modules, path))
		return;
	submodule_judge(
		judge, arena_dup(judge->arena, path), judge->place->path, -EBADF, &judgement);
	submodule_findings(judge, pathname_below(path, judge->place->gitdir), &judgement,
		"nested too deep to be looked at");
}

void worktree_work_tree_modules(struct judge *judge)
{
	struct error error = { 0 };
	int gitdir CLEANUP(fd_done) = dir_open(judge->place->gitdir, &error);
	int r = gitdir;

	if (gitdir >= 0)
		r = worktree_private_modules(
			gitdir, judge->place->gitdir, judge_module, judge, &error);
	if (r < 0 && r != -ENOENT)
		findings_unknown(&judge->findings, -r, error.text);
}

int worktree_submodule_saved(const struct worktree_place *place, int directory, const char *path,
	struct arena *arena, git_oid *ret_commit)
{
	struct judge judge = { .place = place, .arena = arena };
	const char *whole = arena_printf(arena, "%s/%s", place->path, path);
	struct worktree_judgement judgement;

	submodule_judge(
		&judge, submodule_gitdir(&judge, directory, whole), whole, directory, &judgement);
	return judgement.work == WORK_CLEAN && git_oid_fromstr(ret_commit, judgement.head) == 0;
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
	struct crossing_finding found;

	switch (worktree_crossing(&tree, path, judge->arena, &found)) {
	case CROSSING_ELSEWHERE:
		return;
	case CROSSING_HOLDS:
		findings_unsaved(&judge->findings, path, found.note);
		return;
	case CROSSING_UNKNOWN:
		words = mem_printf("%s: %s", escaped, found.note);
		findings_unknown(&judge->findings, found.code, words);
		return;
	}
}

static void judge_unseen_mounts(struct judge *judge)
{
	const struct crossing_tree tree = crossing_tree_of(judge);
	struct crossing_finding found;

	if (worktree_crossing_unseen(&tree, judge->arena, &found) == CROSSING_UNKNOWN)
		findings_unknown(&judge->findings, found.code, found.note);
}

void worktree_work_tree(struct judge *judge)
{
	struct worktree_walk walk CLEANUP(worktree_walk_done) = {
		.candidates = &judge->candidates,
		.findings = &judge->findings,
		.deadline_ms = judge->place->deadline_ms,
		.submodule = judge_submodule,
		.crossing = judge_crossing,
		.context = judge,
	};

	worktree_walk(&walk, judge->place->tree);
	judge_unseen_mounts(judge);
}
