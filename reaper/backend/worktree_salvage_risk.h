/*
 * Whether an archive of a tree may stand for it: its files are in the archive, but commits and what
 * is staged lie in the repository, and go when git's record of the tree goes.
 */
#pragma once

#include "worktree_salvage_commit.h"

/* 0: nothing is lost that the archive does not hold; -ENOTSUP: something may be, named; -errno. */
int salvage_archive_stands(const struct salvage_ask *ask, struct error *error);
