/*
 * Reads back what was written.
 */
#pragma once

#include "worktree_salvage_plan.h"

/*
 * Reads every tree and blob, with their hashes, and compares them with the nodes, in both
 * directions. 0; -EUCLEAN: they are not the same; -ETIME.
 */
int salvage_trees_check(git_repository *repository, const struct salvage_hash *hash,
	const struct salvage_node *root, const git_oid *tree, int64_t deadline_ms,
	struct error *error);
