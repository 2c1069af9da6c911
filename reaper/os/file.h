/*
 * Small files: read whole and bounded, written so that a reader sees the old or the new one and
 * never half of it, and removed.
 */
#pragma once

#include "base/error.h"

#include <sys/stat.h>

/*
 * Reads a regular file `name` (one component) of `dir`: opened without following a link, checked on
 * the descriptor, at most max bytes. *ret_bytes is the caller's, NUL-terminated behind *ret_length.
 * *ret_stat may be NULL. 0, -ENOENT, -ELOOP (a link), -EINVAL (not a regular file), -EFBIG, -errno.
 */
int file_read(int dir, const char *name, size_t max, char **ret_bytes, size_t *ret_length,
	struct stat *ret_stat, struct error *error);

/*
 * Writes the file by a temporary one in the same directory (".<name>.sbx-new-XXXXXX"), synced,
 * renamed over the name; then the directory is synced. A leftover of a killed write is harmless.
 */
int file_write(int dir, const char *name, const void *bytes, size_t length, mode_t mode,
	struct error *error);

/* Writes all of it to an open file, however often it takes. 0 or -errno. */
int file_write_whole(int fd, const void *bytes, size_t length);

/* Unlinks a file (never a directory) and syncs the directory. 1, 0 already gone, -errno. */
int file_remove(int dir, const char *name, struct error *error);
