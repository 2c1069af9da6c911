/*
 * Unsaved work (DESIGN.md, section 6): what a tree, its index, its HEAD and its branch hold that no
 * ref contains which survives the run.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model.h"

struct mount_view;
struct worktree_gits;

enum { COMMIT_TEXT = 41 }; /* 40 hex digits */

struct worktree_place {
	int tree;           /* open; -EBADF: there is no tree */
	const char *path;   /* absolute */
	const char *common; /* common git directory; NULL: none is known, or it is gone */
	bool common_gone;   /* one is known, and provably not there */
	const char *gitdir; /* what holds its HEAD and index; NULL: gone */
	bool own;           /* the repository lies in the tree, and goes with it */
	const char *branch; /* the recorded one; NULL */
	const char *base;   /* the recorded commit; NULL */
	enum branch_rule rule;
	const struct text_list *lenders; /* repositories a self-contained one may borrow from */
	struct worktree_gits *gits;      /* repositories held open; not for own ones */
	struct mount_view *mounts;       /* NULL: what is mounted in it is unknown */
	unsigned nesting;                /* of submodules */
};

/*
 * Judges the place. *ret_note is in the arena, or NULL. *ret_branch_tip is the commit at which the
 * recorded branch stood while it was judged, "" when there is none.
 */
enum work worktree_work_judge(const struct worktree_place *place, struct arena *arena,
	const char **ret_note, char ret_branch_tip[COMMIT_TEXT]);
