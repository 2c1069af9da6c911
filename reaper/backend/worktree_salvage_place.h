/*
 * Where something is salvaged to: whether it may be written there, and whether it fits.
 */
#pragma once

#include "base/error.h"

/*
 * Whether no symlink stands where the library would follow one: "objects", "refs" and "logs" of an
 * open common git directory and what it makes below them. A check, so it can be outrun; what then
 * holds is that it is written as the owner of the repository, and confined. 0; -ELOOP, with the
 * place named; -errno.
 */
int salvage_place_check(int common, const char *run, struct error *error);

/*
 * Whether there is room for so much in so many files, and a reserve: 16 MiB, or 1 % of the file
 * system where that is less. 0; -ENOSPC, saying how much is needed and how much is free; -errno.
 */
int salvage_space_check(int dir, int64_t bytes, uint64_t files, struct error *error);
