#include "worktree_salvage_risk.h"

#include "base/text.h"
#include "os/mount_view.h"
#include "worktree_findings.h"
#include "worktree_salvage_heads.h"
#include "worktree_salvage_index.h"

#include <errno.h>

static int lost(struct error *error, const char *what)
{
	return error_say(error, ENOTSUP, "%s, and an archive would not hold that", what);
}

static bool branch_goes(const struct salvage_ask *ask)
{
	return ask->resource->branch && ask->settings->policy.branch == BRANCH_DELETE;
}

/*
 * A repository that the library cannot open: HEAD on a branch that stays is the one proof that its
 * commits stay, and only where each staged file is the file that is there is nothing but staged.
 */
static int judge_unseen(const struct salvage_ask *ask, struct arena *arena, struct error *error)
{
	static const char prefix[] = "ref: refs/heads/";
	const char *gitdir = ask->sight->gitdir, *head = NULL;
	int r = gitdir ? worktree_gitfile_read(gitdir, "HEAD", arena, &head, NULL, error) : 0;

	if (r < 0)
		return r;
	if (branch_goes(ask) || (gitdir && (r == 0 || !text_starts(head, prefix))))
		return lost(error,
			"the repository cannot be read, so commits may be in no ref that survives");
	return 0;
}

static int contained(git_repository *repository, const git_oid *id,
	const struct worktree_commits *surviving, struct error *error)
{
	int r = worktree_commit_contained(repository, id, surviving, error);

	return r != 0 ? (r < 0 ? r : 0) : lost(error, "a commit is in no ref that survives");
}

static int judge_seen(const struct salvage_ask *ask, git_repository *repository,
	struct arena *arena, struct error *error)
{
	struct worktree_commits surviving CLEANUP(worktree_commits_done) = { 0 };
	struct salvage_heads heads;
	int r = salvage_heads_find(ask->sight, ask->resource, repository, arena, &heads, error);

	if (r == 0)
		r = worktree_commits_gather(repository, REFS_SURVIVING,
			branch_goes(ask) ? ask->resource->branch : NULL, &surviving, error);
	if (r == 0 && heads.has_parent)
		r = contained(repository, &heads.parent, &surviving, error);
	if (r == 0 && heads.has_tip)
		r = contained(repository, &heads.tip, &surviving, error);
	return r;
}

static int judge_commits(const struct salvage_ask *ask, git_repository **ret_repository,
	struct arena *arena, struct error *error)
{
	if (worktree_git_open(ask->sight->common, ret_repository, NULL) < 0)
		return judge_unseen(ask, arena, error);
	return judge_seen(ask, *ret_repository, arena, error);
}

/* Staged content that no file has at its path would be in no archive. */
static int judge_staged(const struct salvage_ask *ask, git_repository *repository,
	const struct salvage_plan *plan, struct arena *arena, struct error *error)
{
	struct salvage_index index CLEANUP(salvage_index_done) = { 0 };
	struct candidates head CLEANUP(candidates_done) = { .repository = repository };
	struct salvage_heads heads = { 0 };
	int r = salvage_index_read(&index, ask->sight->gitdir, error);

	if (r == 0 && repository)
		r = salvage_heads_find(ask->sight, ask->resource, repository, arena, &heads, error);
	if (r < 0)
		return lost(error, "git's index cannot be read");
	if (heads.has_parent)
		(void)candidates_add(&head, &heads.parent, true, true);
	for (size_t i = 0; i < index.count; i++) {
		const struct salvage_staged *staged = &index.list[i];
		const struct salvage_node *node =
			plan->root ? salvage_node_below(plan->root, staged->path) : NULL;

		if (staged->intent_to_add || staged->mode == GIT_FILEMODE_COMMIT ||
			(node && git_oid_equal(&node->id, &staged->id)) ||
			candidates_have(&head, staged->path, staged->id.id))
			continue;
		return lost(error, "something is staged that is not in the files");
	}
	return 0;
}

static int judge_rest(const struct salvage_ask *ask, git_repository *repository,
	struct arena *arena, struct error *error)
{
	struct salvage_hash hash CLEANUP(salvage_hash_done) = { 0 };
	struct salvage_plan plan CLEANUP(salvage_plan_done) = { 0 };
	struct mount_view mounts CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;
	const struct salvage_scope scope = {
		.hash = &hash,
		.path = ask->resource->locator,
		.mounts = &mounts,
		.file_max = ask->file_max,
		.total_max = ask->total_max,
		.deadline_ms = ask->deadline_ms,
	};
	int r = salvage_hash_open(&hash, error);

	if (r == 0 && ask->beyond & BEYOND_STATE)
		return lost(error,
			"git is in the middle of something, or the tree has refs of its own");
	if (r == 0 && ask->sight->tree >= 0)
		r = salvage_plan_tree(&plan, ask->sight->tree, &scope, error);
	return r < 0 ? r : judge_staged(ask, repository, &plan, arena, error);
}

int salvage_archive_stands(const struct salvage_ask *ask, struct error *error)
{
	const struct sight *sight = ask->sight;
	struct arena arena CLEANUP(arena_done) = { 0 };
	git_repository *repository CLEANUP(repository_done) = NULL;
	int r;

	if (sight->own || !sight->common) /* it goes along, or is gone */
		return 0;
	r = judge_commits(ask, &repository, &arena, error);
	if (r < 0 || !sight->gitdir || text_equal(sight->gitdir, sight->common))
		return r; /* there is no record that would go */
	return judge_rest(ask, repository, &arena, error);
}
