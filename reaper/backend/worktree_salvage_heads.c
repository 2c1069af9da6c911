#include "worktree_salvage_heads.h"

#include "base/text.h"

#include <errno.h>

static const char branches[] = "ref: refs/heads/";

/* Takes a commit as parent, when its tree can be read. */
static bool parent_take(git_repository *repository, const git_oid *id, struct salvage_heads *heads)
{
	git_commit *commit CLEANUP(commit_done) = NULL;
	git_tree *tree CLEANUP(tree_done) = NULL;

	if (git_commit_lookup(&commit, repository, id) < 0 || git_commit_tree(&tree, commit) < 0)
		return false;
	heads->has_parent = true;
	heads->parent = *id;
	heads->tree = *git_tree_id(tree);
	heads->time_s = git_commit_time(commit);
	return true;
}

/* What HEAD says is a run's word: only a name that a branch can have is repeated. */
static void branch_take(const char *head, struct arena *arena, struct salvage_heads *heads)
{
	int valid = 0;

	if (!text_starts(head, branches) ||
		git_reference_name_is_valid(&valid, head + strlen("ref: ")) < 0 || !valid)
		return;
	heads->branch = arena_dup(arena, head + strlen(branches));
}

static int head_look(const struct sight *sight, git_repository *repository, struct arena *arena,
	struct salvage_heads *heads, bool *ret_read, struct error *error)
{
	const char *head = NULL;
	git_oid id;
	int r = sight->gitdir
			? worktree_gitfile_read(sight->gitdir, "HEAD", arena, &head, NULL, error)
			: 0;

	*ret_read = r > 0;
	if (r <= 0)
		return r;
	branch_take(head, arena, heads);
	r = worktree_head_commit(repository, head, &id, error);
	if (r > 0)
		(void)parent_take(repository, &id, heads);
	return r < 0 ? r : 0;
}

/* 1, 0 there is no such branch, or it has all to do with the parent already; -errno. */
static int tip_look(git_repository *repository, const char *branch, struct salvage_heads *heads,
	struct error *error)
{
	struct worktree_commits parent = { .ids = &heads->parent, .count = 1 };
	git_oid id;
	int r = worktree_branch_commit(repository, branch, &id, error);

	if (r <= 0)
		return r == -EINVAL ? 0 : r;
	if (!heads->has_parent)
		return parent_take(repository, &id, heads);
	r = worktree_commit_contained(repository, &id, &parent, error);
	if (r != 0)
		return r < 0 ? r : 0;
	heads->has_tip = true;
	heads->tip = id;
	return 1;
}

int salvage_heads_find(const struct sight *sight, const struct resource *resource,
	git_repository *repository, struct arena *arena, struct salvage_heads *ret_heads,
	struct error *error)
{
	struct salvage_heads heads = { 0 };
	bool read = false;
	git_oid base;
	int r = head_look(sight, repository, arena, &heads, &read, error);

	if (r >= 0 && !read)
		heads.branch = arena_dup(arena, resource->branch);
	if (r >= 0 && resource->branch)
		r = tip_look(repository, resource->branch, &heads, error);
	if (r < 0)
		return r;
	if (!heads.has_parent && resource->base && git_oid_fromstr(&base, resource->base) == 0)
		(void)parent_take(repository, &base, &heads);
	*ret_heads = heads;
	return 0;
}
