/* The branch of a run: whether it goes, by policy and by who else uses it, and its deletion. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model.h"

struct branch_peers;
struct worktree_gits;

enum branch_answer {
	BRANCH_ABSENT,
	BRANCH_STAYS, /* on purpose: `why` */
	BRANCH_GOES,  /* `held` while the run's own worktree still has it checked out */
	BRANCH_UNSEEN /* it cannot be told: `why` */
};

struct branch_ask {
	struct worktree_gits *gits; /* repositories held open, while the library is asked */
	struct branch_peers *peers; /* what was read of the repository asked about last */
	const char *repo;           /* a working tree or git directory; NULL: unknown */
	const char *name;           /* short */
	const char *run;
	enum branch_rule rule;
	const char *own_tree; /* the run's worktree, NULL: <root>/<run> */
	const char *proved;   /* commit at which its work was judged; NULL or "": it was not */
};

struct branch_view {
	enum branch_answer answer;
	const char *why;
	const char *held; /* the run's own worktree that still uses it; NULL: none */
	char commit[41];  /* where it stands, 40 hex digits; "" unless it goes */
};

/* Strings are in the arena. Asks the library: a pass does so by worktree_ask_branch(). */
void worktree_branch_look(
	const struct branch_ask *ask, struct arena *arena, struct branch_view *ret_view);

/*
 * Deletes the branch with its reflog when what was just seen says that it goes, and only while it
 * stands where it stood then (the library compares under the ref's lock). 1 deleted, 0 absent or it
 * stays, -EBUSY its own worktree is still there, -ESTALE it moved, -errno.
 */
int worktree_branch_remove(
	const struct branch_ask *ask, const struct branch_view *seen, struct error *error);

/*
 * Which branch a git directory (the common one or a record's) has in use by one of so many files: what
 * is checked out, and what a rebase or a bisect, which detach HEAD, will return to. 1 with its short
 * name (or whatever else stands there, a commit id), in the arena; 0 there is no such file; -errno.
 */
enum { WORKTREE_BRANCH_FILES = 4 };
int worktree_branch_named(const char *gitdir, size_t place, struct arena *arena,
	const char **ret_name, struct error *error);

/*
 * Whether a git directory of the repository, but the record `except` (a path), has the branch checked
 * out, or rebases it: 1, with the place, which may be in the arena; 0; -errno.
 */
int worktree_branch_used(const char *common, const char *branch, const char *except,
	struct arena *arena, const char **ret_where, struct error *error);
