/*
 * Giving a tree away that was made here.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

/*
 * Gives all that is below an open directory, and then the directory itself, to a user and group;
 * symlinks are given, not followed. What is inside a directory goes before it, so that nobody but us
 * can change a directory that is still being read. `name`: for messages. Nothing when it would be
 * ours anyway. 0 or -errno.
 */
int owner_give(int dir, const char *name, uid_t uid, gid_t gid, struct error *error);
