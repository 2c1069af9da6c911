/*
 * What git keeps beside HEAD while a merge, rebase, bisect, cherry-pick or revert is in progress,
 * the refs that only this tree has, and the sides of conflicts: all of that goes with git's record.
 */
#pragma once

#include "worktree_salvage_index.h"

enum { SALVAGE_STATE_PARTS = 4 };

struct salvage_state_part {
	int dir; /* open: where its files are; -EBADF: there are none */
	struct salvage_plan plan;
};

struct salvage_state {
	struct arena arena;
	/* Files of what is in progress, and the refs that only this tree has. */
	struct salvage_state_part parts[SALVAGE_STATE_PARTS];
	struct salvage_node root;      /* "state" and "stages"; without entries: there is nothing */
	struct worktree_commits named; /* commits that the files name, and the repository has */
};

/* Looks. `gitdir` may be NULL. 0 or -errno; salvage_state_done() is right in any case. */
int salvage_state_look(struct salvage_state *state, const char *gitdir,
	const struct salvage_scope *scope, struct error *error);
void salvage_state_done(struct salvage_state *state);
