/*
 * Deletes a tree that somebody hostile may have made and may still be changing.
 *
 * MUST 1  Everything is reached by descriptor from `parent`; no path is ever built and opened.
 * MUST 2  No symlink is followed, at any level, at any moment: links are unlinked.
 * MUST 3  No mount is entered, also not a bind mount of the same filesystem (RESOLVE_NO_XDEV).
 * MUST 4  Regular files are only unlinked: mode, owner, times, content and flags stay, for the sake
 *         of their other hard links. What has no other may lose its immutable or append-only flag.
 *         Directories may be made passable (mode, those flags, a btrfs subvolume's read-only),
 *         through their descriptor, never the one that `name` is in.
 * MUST 5  Depth, number of entries and length of names cost neither stack nor descriptors.
 * MUST 6  What vanishes meanwhile is done; what appears meanwhile is swept again, a bounded number
 *         of times.
 * MUST 7  All runs in a child process that can remove nothing but what lies beneath the tree's
 *         top, where the kernel has Landlock (rmtree_wall.c); where that fails nothing is deleted.
 */
#pragma once

#include "base/error.h"
#include "rmtree_report.h"

struct rmtree_limits {
	int64_t deadline_ms; /* boot clock */
	unsigned threads;    /* that remove side by side; 0: as many as suit the filesystem */
};

/*
 * Deletes the entry `name` of directory `parent`, a file or a whole tree. Returns 1 when it is gone
 * now, 0 when it was gone already, -ETIME when the deadline passed, -EINTR when we are asked to stop
 * (os/signals.h), -ENOTEMPTY when entries kept appearing, -EBUSY or -EXDEV at a mount, else -errno;
 * the error names the path below parent (escaped). Goes on past an entry that
 * cannot be removed and reports the first such error. *report is added to in any case.
 */
int rmtree(int parent, const char *name, const struct rmtree_limits *limits,
	struct rmtree_report *report, struct error *error);

struct rmtree_opened {
	const char *name;
	int thing;
	const char *spare; /* entry of the directory that stays, and so does itself; NULL: none */
	struct rmtree_limits limits;
};

/*
 * The same for an entry that the caller has proved on the descriptor `thing` (O_PATH): what is in the
 * directory is reached through that alone, whatever has taken its name meanwhile. -ESTALE: it does not
 * have its name any more. That is looked at before a directory is cleared and again before it, or a
 * file, is removed. The races that remain: between that look and the removal, which takes no directory
 * that has anything in it; and what is moved away while it is being cleared is cleared all the same.
 */
int rmtree_opened(int parent, const struct rmtree_opened *opened, struct rmtree_report *report,
	struct error *error);

/* The same, and it is finished also when we are asked to stop: for who undoes what was begun. */
int rmtree_steadfast(int parent, const char *name, int64_t deadline_ms,
	struct rmtree_report *report, struct error *error);
