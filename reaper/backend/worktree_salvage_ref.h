/*
 * The commits of a salvage, and the ref that keeps them.
 */
#pragma once

#include "os/fsuser.h"
#include "worktree_git.h"

enum { SALVAGE_REF_MAX = 192 };

struct salvage_commit {
	git_oid tree;
	const git_oid *parents;
	size_t parent_count;
	const char *message;
	int64_t time_s;
};

/* Writes a commit object. 0 or -errno. */
int salvage_commit_write(git_repository *repository, const struct fsuser *owner,
	const struct salvage_commit *commit, git_oid *ret_id, struct error *error);

/*
 * Makes the first ref of refs/sbx/salvage/<run>, <run>,<generation>, <run>,<generation>.2 … that is
 * free point at the commit. Stops before at one that points at the same (tree, parents, message): it
 * was left by an attempt that was killed, and is *commit then. None that is there is ever changed.
 */
int salvage_ref_make(git_repository *repository, const struct fsuser *owner, const char *run,
	int64_t generation, git_oid *commit, char ret_ref[SALVAGE_REF_MAX], struct error *error);

/* Whether, read anew, the ref leads to this commit. 0 or -EUCLEAN. */
int salvage_ref_check(git_repository *repository, const char *ref, const git_oid *id,
	const struct salvage_commit *commit, struct error *error);
