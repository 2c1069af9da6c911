/*
 * Salvage as an archive (worktree_salvage.h says what is in it).
 *
 * MUST 1  An archive that is there is never written to; one that holds the same is taken over.
 * MUST 2  What was written is read back, all of it, and compared with what was looked at before;
 *         and the tree is looked at once more.
 * MUST 3  It stands for commits only where it holds them or they survive elsewhere.
 */
#pragma once

#include "worktree_salvage_commit.h"

enum { SALVAGE_NAME_MAX = 192 };

/* Flat, as struct salvage_committed. */
struct salvage_archived {
	char name[SALVAGE_NAME_MAX]; /* in the directory of the archives */
	int64_t bytes;
};

/* The directory of the archives, made when missing. Open, or -errno. The caller owns *ret_path. */
int salvage_archives_open(const struct settings *settings, char **ret_path, struct error *error);

/* Makes the archive in that directory. 0 or -errno. */
int salvage_archive_make(const struct salvage_ask *ask, int archives,
	struct salvage_archived *archived, struct error *error);
