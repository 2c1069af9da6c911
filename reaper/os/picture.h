/*
 * What stands at a path, in words that two looks can be compared by: of each entry type, mode, owner,
 * inode, links, size, time of change of its content, the mount that it lies in, and what is in it. For
 * small trees in trusted places; nothing is followed. Reading times are left out: looking changes them.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

/* The path is absolute. Adds a line for each entry; one that says so where nothing is. 0, -E2BIG too much, -errno. */
int picture_add(struct text *picture, const char *path, struct error *error);

/*
 * The path of the first entry whose line differs, escaped, which the caller owns; NULL: both are the
 * same.
 */
char *picture_difference(const char *before, const char *after);
