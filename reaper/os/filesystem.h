/*
 * How full a filesystem is, and which one it is.
 */
#pragma once

#include "base/error.h"

/*
 * Counts as df(1) has them: `total` is what is used and what is left to users who are not root, so
 * that used and total say the share that df shows; blocks that root alone may take are in neither.
 */
struct filesystem_space {
	/*
	 * Names the filesystem on this host: its device number; of btrfs the identifier of the
	 * whole, since each subvolume has a device number of its own (btrfs(5), "subvolumes").
	 */
	uint64_t id[2];
	int64_t used_bytes, total_bytes;
	int64_t used_inodes, total_inodes; /* total 0: it has no fixed number of them */
};

/* Asks the filesystem that the directory of this absolute path lies on. 0 or -errno. */
int filesystem_ask(const char *path, struct filesystem_space *ret_space, struct error *error);
