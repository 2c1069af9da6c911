/*
 * Unsaved work (DESIGN.md, section 6): what a tree, its index, its HEAD, its branch and the refs that
 * are its own hold that no ref contains which survives the run. Of a repository that goes with its
 * tree (a clone, a submodule) all refs are asked, and what its remote-tracking refs contain survives.
 * Not asked is what only a reflog or a pseudo-ref (ORIG_HEAD, FETCH_HEAD) names: git itself drops
 * that in time.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model.h"
#include "worktree_findings.h"
#include "worktree_git.h"

struct mount_view;
struct worktree_census;

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
	const struct settings *settings; /* whose repositories and roots may be borrowed from */
	struct worktree_gits *gits;      /* repositories held open; not for own ones */
	struct mount_view *mounts;       /* NULL: what is mounted in it is unknown */
	struct worktree_census *census;  /* NULL: nobody else can name it */
	int64_t deadline_ms; /* boot clock; 0: none. When it passes the answer is unknown */
	unsigned nesting;    /* of submodules */
};

struct worktree_judgement {
	enum work work;
	const char *note; /* in the arena, or NULL */
	unsigned beyond;  /* why a commit cannot hold it: a set of enum work_beyond */
	/* What could not be looked at beside the work that was seen (in the arena), or NULL. */
	const char *unseen;
	int unseen_code; /* and its errno */
	/* Where the recorded branch stood while it was judged, "" when there is none; and its HEAD. */
	char branch_tip[COMMIT_TEXT], head[COMMIT_TEXT];
};

void worktree_work_judge(const struct worktree_place *place, struct arena *arena,
	struct worktree_judgement *ret_judgement);

/*
 * Whether a populated submodule at `path` below the place's tree, opened as `directory`, holds
 * nothing of its own: 1, with the commit that it is at, or 0.
 */
int worktree_submodule_saved(const struct worktree_place *place, int directory, const char *path,
	struct arena *arena, git_oid *ret_commit);
