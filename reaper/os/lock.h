/*
 * One pass at a time: an flock(2) on a file beside the database. It lives in the open file
 * description, so the descriptor is close-on-exec and no child may be forked that keeps it; a
 * killed holder loses it at once, so it can never be stale.
 */
#pragma once

#include "base/error.h"

/*
 * Takes the lock, making the file (0600, the directory's owner's, never removed) when it is
 * missing; never waits. Returns a descriptor to close when done; -EBUSY when another holds it, with
 * an error that names its pid and since when (read from the file, a hint only); -EUCLEAN: the file
 * has another name, which may be somebody else's; -errno: then the lock is not held.
 */
int lock_take(const char *path, int64_t now_s, struct error *error);

enum { LOCK_HOLDER = 400 };

/*
 * What can be seen of the holder: "pid 12 (sbx-reap --json), stopped by a signal (…)", escaped. False,
 * and an empty text, when the process that wrote itself into the file is not there any more (compared
 * by its start), or has not written.
 */
bool lock_describe_holder(const char *path, char ret_text[LOCK_HOLDER]);

/* Whether lock_take could use what is there, without taking it. 0, also when it is missing; -errno. */
int lock_check(const char *path, struct error *error);
