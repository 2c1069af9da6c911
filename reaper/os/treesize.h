/*
 * How much a tree takes on disk. Apart from rmtree.h, so that who only looks does not include what
 * can remove.
 */
#pragma once

#include "base/error.h"

struct tree_size {
	int64_t bytes, inodes;
};

/*
 * Bytes allocated to, and inodes of, the entry `name` of directory `parent` and all below: symlinks
 * not followed, mounts not entered, a file with several links counted once for each, access times
 * left alone where the kernel lets us (O_NOATIME, open(2)). 0 when it was measured (not there: nothing), -ETIME
 * when the deadline (boot clock, ms) passed: then *ret_size is what was counted by then, and the
 * tree is larger. -ESTALE when directories were moved meanwhile, -errno when a part cannot be read:
 * the error names the path below parent (escaped).
 */
int treesize(int parent, const char *name, int64_t deadline_ms, struct tree_size *ret_size,
	struct error *error);
