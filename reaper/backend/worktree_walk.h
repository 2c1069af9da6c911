/*
 * Looks through a tree for what is saved nowhere: every file, by content; nothing is written, no
 * access time either where the kernel lets us (O_NOATIME).
 */
#pragma once

#include "worktree_findings.h"
#include "worktree_ignore.h"
#include "worktree_saved.h"

enum {
	WALK_DEPTH_MAX = 256,        /* a descriptor is held for each level */
	WALK_ENTRIES_MAX = 10000000, /* more than this and the answer is unknown */
	WALK_UNSAVED_MAX = 100000    /* enough to know that it is dirty */
};

struct worktree_walk {
	struct candidates *candidates; /* none: every file is unsaved */
	struct findings *findings;
	struct ignore ignore;
	struct text path; /* of where the walk is, relative to the tree */
	uint64_t entries;
	int64_t deadline_ms; /* boot clock; 0: none. When it passes, the answer is unknown */

	/* Asked for each populated directory that the run's commits have a submodule at. */
	void (*submodule)(void *context, int directory, const char *path);
	/* Asked for each mount point at which files that count could be. */
	void (*crossing)(void *context, const char *path);
	void *context;
};

/* What could not be looked at is among the findings. */
void worktree_walk(struct worktree_walk *walk, int tree);
void worktree_walk_done(struct worktree_walk *walk);

/* Opens for reading without leaving a trace where that is allowed; as dir_open_below(). */
int open_unnoticed(int dir, const char *name, int flags, struct error *error);

/*
 * Adds the rules of the .gitignore in an open directory, `path` below the tree, when it has one. Of
 * one that is too large, or on another mount, nothing is taken, and then nothing is ignored at all:
 * it might have named what the rules above it ignore. 0; -errno, and nothing may be ignored there.
 */
int worktree_ignore_read(struct ignore *ignore, int dir, const char *path);

/* Whether an open directory looks like a bare repository: 1, 0, -errno. */
int worktree_hides_bare(int dir);
