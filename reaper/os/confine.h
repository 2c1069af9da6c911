/*
 * The second wall: a process that deletes or writes confines itself first, so that a fault in our
 * own code cannot reach outside (Landlock, landlock(7), Linux 5.13 and newer, where the kernel was
 * built and started with it). Only ever called in an errand's child: it cannot be undone.
 *
 * What it does not cover: what is open already, and modes, owners, times, attributes and flags of
 * files (chmod(2), chown(2), utimensat(2), setxattr(2)); before ABI 3 (Linux 6.2) also truncation by
 * whoever does not open for writing. Besides, it forbids mounting, and tracing (so reading
 * /proc/PID/cwd and the like of) processes outside.
 */
#pragma once

#include "base/error.h"

enum confine_right {
	/*
	 * May unlink and rmdir beneath the directories, make directories and (from ABI 2 on) move
	 * them about there, and change nothing else.
	 */
	CONFINE_REMOVE,
	/*
	 * May also create files, directories and symlinks, write, truncate, and rename and link
	 * beneath them; needs ABI 2 (Linux 5.19).
	 */
	CONFINE_WRITE
};

/*
 * Whether this kernel can confine: the ABI version of Landlock, or 0. -errno: it does not say (a
 * filter of system calls that forbids the question).
 */
int confine_abi(struct error *error);

/*
 * Confines the calling thread and its children: from now on nothing in the file system can be
 * changed except beneath the open directories (their own entry belongs to what they are in), and no
 * program be run. Reading stays as it was, and so does what is open already. 1 confined, 0 this
 * kernel cannot (the caller goes on without), -errno: it can and it failed, so nothing may be
 * deleted.
 */
int confine_to(const int *dirs, size_t count, enum confine_right right, struct error *error);
