/* What a pass learned about the branches of runs through their worktrees. */
#pragma once

#include "model.h"
#include "worktree_work.h"

struct branch_memory {
	const char *run, *branch, *own_tree;
	char proved[COMMIT_TEXT]; /* where its work was judged; "": it was not */
};

struct worktree_memory {
	struct arena arena;
	void *index; /* of tsearch(3), by run and branch */
};

/* NULL: nothing. */
const struct branch_memory *worktree_memory_of(
	const struct worktree_memory *memory, const char *run, const char *branch);

/* That of a worktree which has a branch on record, made when there is none. */
struct branch_memory *worktree_remember(
	struct worktree_memory *memory, const struct resource *resource);

void worktree_memory_done(struct worktree_memory *memory);
