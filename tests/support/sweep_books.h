/*
 * What the books must say at any instant, whatever was killed or lost: nothing of a run is gone before
 * they say that it is being taken apart, and they do not say that it is gone before it is. Its marker,
 * which proves it when the database is lost, goes after everything else; git's record, without which a
 * tree that has to stay after all is no worktree any more, after the tree.
 */
#pragma once

#include "sweep_world.h"

/* NULL, or what they say that is not so, for the caller to free. They are looked at in a copy. */
char *sweep_books_fault(const struct sweep_world *world);
