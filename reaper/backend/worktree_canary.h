/*
 * A linked worktree that is there to be removed: of a repository of its own with one commit, in
 * which a .gitignore ignores all that is put into the tree besides, so that nothing is unsaved work.
 */
#pragma once

#include "base/error.h"

struct worktree_canary {
	const char *repo;   /* bare */
	const char *name;   /* of git's record */
	const char *branch; /* made for it, short */
	const char *tree;   /* must not be there */
};

/*
 * Makes the repository where it is not there or was not finished, with its one commit. The caller has
 * the lock of probes, so that nobody else writes what this does. 0 or -errno.
 */
int worktree_canary_repository(const char *repo, struct error *error);

/*
 * Makes the tree, in that repository. The one place where the library writes a working tree: what it checks out is one file of
 * ours, and no configuration is read but that of a repository that we made. 0 or -errno.
 */
int worktree_canary_make(const struct worktree_canary *canary, struct error *error);

/* Whether its branch is there. 1, 0, -errno. */
int worktree_canary_has_branch(const struct worktree_canary *canary, struct error *error);
