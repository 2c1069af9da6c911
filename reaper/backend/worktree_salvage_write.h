/*
 * Writes what was planned into a repository's object database, as its owner.
 */
#pragma once

#include "os/fsuser.h"
#include "worktree_salvage_plan.h"

struct salvage_writer {
	git_repository *repository;
	git_odb *odb;
	struct fsuser owner;
	int64_t deadline_ms;
};

/* How many directories have something new below them: as many trees will be written. */
uint64_t salvage_new_trees(const struct salvage_node *node);

/* Writes every blob of a plan that the repository has not. -EBUSY: a file is not what was planned. */
int salvage_blobs_write(const struct salvage_writer *writer, const struct salvage_plan *plan,
	int tree, struct error *error);

/* Writes the trees. Directories without anything in them are left out, as git does. */
int salvage_trees_write(const struct salvage_writer *writer, const struct salvage_node *root,
	git_oid *ret_tree, struct error *error);
