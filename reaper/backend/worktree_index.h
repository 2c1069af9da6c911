/*
 * git's index, read from bytes (gitformat-index(5), versions 2 to 4). The library opens it by path,
 * refuses sparse ones, and maps it into memory.
 */
#pragma once

#include "base/error.h"

enum { INDEX_ID = 20 };

struct index_entry {
	const char *path; /* relative to the tree; of a sparse directory without its slash */
	unsigned char id[INDEX_ID];
	uint32_t mode;      /* 0100644, 0120000, 0160000, 040000 (a sparse directory) */
	unsigned stage;     /* 0; 1 to 3 in a conflict */
	bool intent_to_add; /* has no content yet */
	bool skip_worktree; /* its file is not to be there: a sparse checkout */
};

/*
 * Calls back for each entry; a negative answer ends the reading and is returned. 0; -EINVAL: this
 * is no index, or it is cut off; -EOPNOTSUPP: a format that is not read (a split index).
 */
int index_each(const void *bytes, size_t length,
	int (*each)(void *context, const struct index_entry *entry), void *context,
	struct error *error);
