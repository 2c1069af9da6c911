/*
 * One look at a worktree and everything that claims to be it: the tree below its root, its .git,
 * the owning repository and the record there, the lock, the trash. Probing, judging and removing
 * start with the same look, so they cannot disagree about what it is.
 */
#pragma once

#include "model.h"
#include "worktree_record.h"

struct sight {
	const char *root;  /* the root it lies below; NULL: none */
	const char *below; /* its path below the root */
	int root_dir;      /* open, or -EBADF */
	int tree;          /* open, or -EBADF */
	uint64_t dev, ino; /* of the tree that is there */

	enum tri present; /* the tree itself */
	bool contradicts;
	const char *note; /* why unknown, what contradicts, or the lock's text */

	const char *common; /* common git directory; NULL: none known, or gone */
	bool common_gone;
	bool own;           /* the repository lies in the tree */
	const char *gitdir; /* what holds HEAD and index; NULL: gone */
	bool recorded;
	bool agreed; /* the tree's .git and the record name each other */
	struct worktree_record record;
	enum lock lock;
	const char *set_aside; /* name of its entry in the trash */
};

/*
 * Looks. Strings are in the arena or the resource's. Never fails: what cannot be told is unknown,
 * with a note. Changes nothing.
 */
void sight_look(const struct settings *settings, const struct resource *resource,
	struct arena *arena, struct sight *ret_sight);
void sight_done(struct sight *sight);
