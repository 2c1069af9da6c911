/*
 * What a visit lists of a repository beside the worktrees in its roots: linked worktrees that lie
 * elsewhere, which are foreign, and the branches that agent tools leave behind.
 */
#pragma once

#include "model.h"
#include "worktree_record.h"

/*
 * Lists a worktree that lies in no root, by the last component of its path, with "@2" and so on behind
 * where that name is taken.
 */
void worktree_visit_elsewhere(
	struct inventory *inventory, const char *common, const struct worktree_record *record);

/*
 * Whether what stands directly in a root says (in its .git) that the record is its: a tree that was
 * moved by hand, which git can still repair. 1, with its path in the arena; 0; -errno: a root or what
 * is in it cannot be read.
 */
int worktree_visit_moved(const struct settings *settings, const char *record, struct arena *arena,
	const char **ret_tree, struct error *error);

/*
 * Lists each branch "worktree-…" that no worktree, nor the repository itself, has checked out, as a run
 * "branch@worktree-…". `only`: as backend.h says. 0 or -errno.
 */
int worktree_visit_branches(struct inventory *inventory, const char *common,
	const struct worktree_records *records, const char *only, struct error *error);
