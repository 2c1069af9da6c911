/*
 * Writing as somebody else: for what must belong to the owner of the place it is written to, and
 * must reach no further than that owner could (setfsuid(2), setfsgid(2): per thread, and only for
 * the file system).
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

struct fsuser {
	uid_t uid;
	gid_t gid;
	bool other; /* not ourselves, and we may become it */
};

/* The owner of an open directory. 0 or -errno. */
int fsuser_of(int dir, struct fsuser *ret_user, struct error *error);

/*
 * Becomes that user for the calling thread, with the right to search directories where we have it,
 * so that a place below one that only root may enter is reached; nothing when it is ourselves.
 * 0 or -EPERM. Back again with fsuser_end(), which is right in any case.
 */
int fsuser_begin(const struct fsuser *user, struct error *error);
void fsuser_end(const struct fsuser *user);
