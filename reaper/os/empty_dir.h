/* A directory that is removed only while nothing is in it. */
#pragma once

#include "base/error.h"

/*
 * Removes the entry `name` of an open directory when it is an empty directory (rmdir(2), so nothing
 * that appears in it meanwhile is lost). 1, 0 when it is gone already or not empty, -errno.
 */
int empty_dir_remove(int parent, const char *name, struct error *error);
