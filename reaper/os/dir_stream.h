/* Reading an open directory, without renewing its access time where that is allowed. */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static inline void stream_done(DIR **stream)
{
	if (*stream)
		closedir(*stream);
}

/* A stream of its own, from the start: the descriptor stays as it is. NULL and errno when not. */
static inline DIR *stream_open(int dir)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd CLEANUP(fd_done) = openat(dir, ".", flags | O_NOATIME);
	DIR *stream;

	if (fd < 0 && errno == EPERM) /* for owners and CAP_FOWNER only, open(2) */
		fd = openat(dir, ".", flags);
	stream = fd < 0 ? NULL : fdopendir(fd);
	if (stream)
		(void)TAKE_FD(fd);
	return stream;
}

/*
 * DT_* of an entry, asked of the file where the directory does not tell; DT_UNKNOWN: it cannot be, and
 * errno says why (ENOENT: it is gone).
 */
static inline unsigned stream_type(int dir, const struct dirent *entry)
{
	struct stat stat;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(dir, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return DT_UNKNOWN;
	return IFTODT(stat.st_mode);
}

/* The next entry but "." and ".."; NULL with errno 0 at the end. */
static inline const struct dirent *stream_next(DIR *stream)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(stream);
	} while (entry && (text_equal(entry->d_name, ".") || text_equal(entry->d_name, "..")));
	return entry;
}
