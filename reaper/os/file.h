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
 * Makes a file that is not there (O_EXCL, without following a link) and opens it with these flags.
 * It belongs to whom the directory belongs to: what root makes in another user's directory must be
 * his to write. By becoming him for that moment, which needs no right to give files away (the unit
 * has none). A descriptor, -EEXIST, -errno; sets no error.
 */
int file_make(int dir, const char *name, int flags, mode_t mode);

/* The same for a directory. 0, -EEXIST, -errno. */
int file_make_directory(int dir, const char *name, mode_t mode);

/*
 * Writes the file by a temporary one in the same directory (".<name>.sbx-new-XXXXXX"), synced,
 * renamed over the name; then the directory is synced. What a killed write leaves is harmless, and
 * file_sweep() removes it. 0; -errno, and the name is what it was; but -EINPROGRESS when only the
 * directory could not be synced, for whatever reason, which the error gives: then it is the new one
 * already, and who makes do in another way would do it twice.
 */
int file_write(int dir, const char *name, const void *bytes, size_t length, mode_t mode,
	struct error *error);

/*
 * Adds to the end of a regular file with one name, in one piece, synced: for a filesystem that has no
 * room for a new file. A reader sees all of it or nothing, but not after a power cut in between. What
 * was written of it when there is no room for that either is cut off again. 0, -EFBIG when it would
 * be larger than max, -errno.
 */
int file_append(int dir, const char *name, const void *bytes, size_t length, size_t max,
	struct error *error);

/* Whether it is a name as file_write() gives to temporary files. */
bool file_is_temporary(const char *name);

/* Writes all of it to an open file, however often it takes. 0 or -errno. */
int file_write_whole(int fd, const void *bytes, size_t length);

/* Unlinks a file (never a directory) and syncs the directory. 1, 0 already gone, -errno. */
int file_remove(int dir, const char *name, struct error *error);
