/*
 * Which commits a salvaged tree hangs on: where HEAD is, and where the run's branch stands.
 */
#pragma once

#include "model.h"
#include "worktree_git.h"
#include "worktree_sight.h"

struct salvage_heads {
	const char
		*branch; /* that HEAD is on, short; NULL: detached, or gone with nothing recorded */
	bool has_parent, has_tip;
	git_oid parent; /* HEAD; where it is gone or unborn: the recorded branch, else the base */
	git_oid tree;   /* of the parent */
	git_oid tip;    /* of the run's branch, when the parent has not all of it */
	int64_t time_s; /* of the parent's commit; 0 without one */
};

/* Strings in the arena. 0 or -errno: what is there cannot be read. */
int salvage_heads_find(const struct sight *sight, const struct resource *resource,
	git_repository *repository, struct arena *arena, struct salvage_heads *ret_heads,
	struct error *error);
