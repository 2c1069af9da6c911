/* Which tree stands in a place, as a number: what tells a tree from another one that came after it. */
#pragma once

#include "base/base.h"

/*
 * A sum (base/fnv.h) of the absolute path and of device, inode and time of birth of what it names. 0:
 * nothing is there, something is mounted on it, or the filesystem does not tell when things came to be.
 */
uint64_t tree_sum(const char *path);
