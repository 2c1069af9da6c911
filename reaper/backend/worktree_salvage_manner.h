/*
 * Private to worktree_salvage_plan.c: how a directory is looked at, and what no commit can hold.
 */
#pragma once

#include "worktree_ignore.h"
#include "worktree_salvage_plan.h"

/* How a directory is looked at. */
struct manner {
	bool ignored; /* only what is tracked counts, and repositories within */
	bool apart;   /* everything counts, and no commit can hold it */
};

struct planner {
	struct salvage_plan *plan;
	int tree; /* borrowed */
	const struct salvage_scope *scope;
	struct ignore ignore;
	struct text path;
	git_treebuilder *names; /* for asking whether a tree can have a name */
	struct error *error;
};

/* Notes that something at planner->path is apart; the first one is named in the plan. */
void salvage_manner_apart(struct planner *planner, const char *what);

/* Whether git refuses a tree with this name, or to check it out. */
bool salvage_manner_refuses(struct planner *planner, const char *name, bool is_link);

/*
 * How to go on in a directory that was entered; planner->path is its own, `directory` its parent's,
 * *manner its parent's manner at first. 0; 1: not at all; -errno. Sets also what that makes of the
 * node: a submodule, apart.
 */
int salvage_manner_find(struct planner *planner, int dir, const char *directory,
	struct salvage_node *node, struct manner *manner);
