/*
 * Room that is put by for the moment when a filesystem is full: a file whose blocks, and at last
 * whose inode, are given back so that the books can be written all the same.
 */
#pragma once

#include "base/error.h"

enum { RESERVE_SIZE = 1 << 20, RESERVE_PIECE = 256 << 10 };

/*
 * Makes the file `name` of the directory, or makes it whole again, where the filesystem has several
 * times as much left, so that it is not this that fills it. 1, 0 it is whole or there is no room
 * now, -errno. It belongs to the directory's owner (file_make).
 */
int reserve_fill(int dir, const char *name);

/*
 * Gives a piece of it back, and behind the last piece the file itself: in pieces, since others who
 * wait for room get some of it. 1, 0 nothing is left of it, -errno.
 */
int reserve_give(int dir, const char *name);
