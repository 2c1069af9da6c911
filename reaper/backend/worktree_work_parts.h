/*
 * Private to worktree_work*.c: one judgement while it is made, and the part of it that is about the
 * files of the tree.
 */
#pragma once

#include "text_list.h"
#include "worktree_saved.h"
#include "worktree_work.h"

struct judge {
	const struct worktree_place *place;
	struct arena *arena;
	struct findings findings;
	git_repository *repository;
	git_repository *opened; /* the same, where it is ours to close */
	struct worktree_commits surviving;
	struct candidates candidates;
	git_oid lost;             /* the last commit found in no ref that survives */
	struct text_list modules; /* repositories of submodules that were judged with their trees */
	struct worktree_judgement *judgement; /* the caller's */
};

/*
 * Compares every file of an open tree with the candidates, goes into submodules, and looks at what
 * is mounted in it. What is found, and what could not be looked at, is in the findings then.
 */
void worktree_work_tree(struct judge *judge);

/* The repositories of submodules which lie in the git directory, but those that it went into. */
void worktree_work_tree_modules(struct judge *judge);
