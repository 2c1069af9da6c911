/*
 * The second wall: a process that deletes or writes confines itself first, so that a fault in our
 * own code cannot reach outside (Landlock, landlock(7), Linux 5.13 and newer, where the kernel was
 * built and started with it). Only ever called in an errand's child: it cannot be undone.
 */
#pragma once

#include "base/error.h"

enum confine_right {
	CONFINE_REMOVE, /* may unlink and rmdir beneath the directories, and change nothing else */
	/* May also create, write, rename and truncate beneath them; needs ABI 2 (Linux 5.19) */
	CONFINE_WRITE
};

/* Whether this kernel can confine: the ABI version of Landlock, or 0. */
int confine_abi(void);

/*
 * Confines the calling process, its threads to come and its children: from now on nothing in the
 * file system can be changed except beneath the open directories. Reading stays as it was, and so
 * does what is open already. 1 confined, 0 this kernel cannot (the caller goes on without), -errno:
 * it can and it failed, so nothing may be deleted.
 */
int confine_to(const int *dirs, size_t count, enum confine_right right, struct error *error);
