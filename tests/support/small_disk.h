/*
 * A disk that a test can fill: a tmpfs of a size of its own over the test's directory, gone with it.
 */
#pragma once

#include "workdir.h"

enum { SMALL_DISK = 8 << 20, SMALL_DISK_INODES = 64 };

/* Puts it over the directory. Needs workdir_own_mounts. */
void small_disk(struct workdir *workdir);

/* Takes every byte that is left, or every inode, with files called "full-…". */
void small_disk_fill_bytes(struct workdir *workdir);
void small_disk_fill_inodes(struct workdir *workdir);

/* Gives back what filling took. */
void small_disk_empty(struct workdir *workdir);
