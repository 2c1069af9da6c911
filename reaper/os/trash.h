/*
 * The trash of a root, <root>/.sbx-trash: what was set aside by rename to be deleted. The rename
 * frees the name at once, and a delete that is killed can go on later. An entry is named
 * "<run>:<generation>:<n>" (a colon cannot stand in a run identifier), so it carries whose it was.
 */
#pragma once

#include "rmtree.h"

#define TRASH_NAME ".sbx-trash"

struct trash_entry {
	const char *name; /* within the trash; points to the caller's iteration */
	char run[129];
	int64_t generation;
};

/*
 * Makes it where it is missing, so that it is there when the disk is full. 0, -EPERM when what has
 * its name is refused, -errno.
 */
int trash_prepare(int root, struct error *error);

/* Removes it when nothing is in it. 1, 0 it is not there, or something is in it; -errno. */
int trash_leave(int root, struct error *error);

/* What is to go, and how long that may take. */
struct trash_thing {
	const char *path, *run; /* path: below the root */
	int64_t generation;
	uint64_t dev, ino; /* 0, 0: whatever it is, but never a symlink */
	struct rmtree_limits limits;
	const char *whole; /* entry of the directory that is never deleted in place; NULL: none */
};

/*
 * Moves the thing into the trash of the root, atomically, when it is still what it is said to be. The
 * trash is made when missing, mode 0700; one that is a symlink, a mount, or not owned by us is refused.
 * Parent and trash are synced. The thing that was proved is made movable: a directory's mode, and what
 * os/protection.h lifts; never what it is in, nor the trash.
 *
 * Where there is no room to make the trash or to move (ENOSPC, EDQUOT: a trash needs an inode, a longer
 * directory needs a block), since a full disk is what it is for, deletes it in place, proved by
 * descriptor in the same way (rmtree_opened, its answers), and syncs its parent. Half deleted it is
 * still the same thing to whoever goes on. What would not be names the entry that makes it so: the rest
 * is deleted in place, and where that gave no room for setting it aside either, it stays: -ENOSPC.
 *
 * Returns 1 it has left its place, 0 when there is nothing at path, -ESTALE when it is something else
 * than given (named in the error), -EXDEV when the path crosses a mount or is itself one, or the
 * filesystem does not move between the two places, -errno; *report is added to in any case.
 */
int trash_take(int root, const struct trash_thing *thing, struct rmtree_report *report,
	struct error *error);

/*
 * Calls back for each entry; a negative answer ends the iteration and is returned. Entries whose
 * name is not ours are passed by. 0 when there is no trash. -EPERM: the trash is not ours.
 */
int trash_each(int root, int (*each)(void *context, const struct trash_entry *entry), void *context,
	struct error *error);

/*
 * Deletes all entries of the run whose generation is at most the given one (rmtree, its answers).
 * 1, 0 when there was none, -errno. *report is added to in any case.
 */
int trash_purge(int root, const char *run, int64_t generation, const struct rmtree_limits *limits,
	struct rmtree_report *report, struct error *error);
