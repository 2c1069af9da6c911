/*
 * Archives of what was salvaged: tar (pax) compressed with zstd, written and read with libarchive
 * (archive_parts.h: the only place that includes its headers). Modification times, modes (the
 * permission bits), sizes, contents, directories and symlinks; no owners, no devices, no extended
 * attributes, and a hard link is a file of its own. Names are bytes.
 */
#pragma once

#include "base/error.h"

#include <sys/stat.h>

#define ARCHIVE_SUFFIX ".tar.zst"

struct archive_writer;

/*
 * Begins <dir>/<name>, mode 0600, as <name>.tmp until it is whole; what a killed writer left there
 * is removed. dir is an open directory, in which nobody else writes (the lock of the pass), and is
 * not needed any more afterwards. 0 or -errno (-EEXIST: that name is taken). archive_abort() is right
 * in any case.
 */
int archive_create(
	int dir, const char *name, struct archive_writer **ret_writer, struct error *error);

/*
 * Adds one entry. `path` is relative, without "." and "..", its parents need not have been added.
 * Regular file: `file` is open for reading at its start, and as many bytes as there are until the
 * end are taken (at most limit; more is -EFBIG; -ESTALE when it grows or shrinks meanwhile). Symlink:
 * `link` is its target. Directory: neither. *bytes is added to. 0, -EINVAL for what is none of those,
 * -ENOSPC, -errno. After -EFBIG and -EINVAL the archive can go on without the entry.
 */
int archive_add(struct archive_writer *writer, const char *path, const struct stat *stat, int file,
	const char *link, int64_t limit, int64_t *bytes, struct error *error);

/* Ends it: synced, renamed to its name, the directory synced. 0 or -errno, then nothing is left. */
int archive_finish(struct archive_writer *writer, struct error *error);
void archive_abort(struct archive_writer **writer);

/* Removes what killed writers left in a directory in which nobody writes now. 0 or -errno. */
int archive_sweep(int dir, struct error *error);

/*
 * What stands in an archive, while it is read: a regular file, a directory or a symlink, whatever
 * the archive says.
 */
struct archive_entry_seen {
	const char *path; /* relative, without "." and "..", no slash at its end */
	struct stat stat; /* type and permission bits, size, mtime */
	const char *link; /* symlink: its target */
	void *content;    /* for archive_content() */
};

/*
 * Reads <dir>/<name> from start to end, its sum before anything else, and calls back for each entry;
 * a negative answer ends it and is returned. 0, -ENOENT, -EUCLEAN damaged (or not one of ours),
 * -errno.
 */
int archive_each(int dir, const char *name,
	int (*each)(void *context, const struct archive_entry_seen *entry, struct error *error),
	void *context, struct error *error);

/* The next piece of a regular file's content, within the callback. Its length, 0 at the end, or
 * -errno. */
ssize_t archive_content(
	const struct archive_entry_seen *entry, void *buffer, size_t size, struct error *error);

/*
 * Unpacks what stands below `prefix` ("tree/") into an open, empty directory: nothing lands outside
 * of it whatever the archive says, no symlink is followed, no set-id bit is set, nothing that is there
 * already is written to. Long runs of zeros become holes. 0 or -errno (-EUCLEAN also when two entries
 * want one place); what was unpacked by then is left.
 */
int archive_extract(int dir, const char *name, const char *prefix, int target, struct error *error);
