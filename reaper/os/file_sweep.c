#include "file_sweep.h"

#include "base/text.h"
#include "dir_stream.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static int sweep_fail(struct error *error, int code, const char *name)
{
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_set(error, code, "remove '%.200s', which a killed process left", shown);
}

/* Locked by us, whoever made it is gone: it cannot get the lock any more without making it anew. */
static int sweep_one(int dir, uid_t owner, const char *name, struct error *error)
{
	int fd CLEANUP(fd_done) =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat opened, named;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO
			       ? 0
			       : sweep_fail(error, errno, name);
	if (fstat(fd, &opened) < 0)
		return sweep_fail(error, errno, name);
	if (!S_ISREG(opened.st_mode) || (opened.st_uid != geteuid() && opened.st_uid != owner))
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : sweep_fail(error, errno, name);
	if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : sweep_fail(error, errno, name);
	if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return 0;
	if (unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0 : sweep_fail(error, errno, name);
	return 1;
}

int file_sweep(int dir, struct error *error)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry;
	int count = 0, failed = 0;
	struct stat stat;

	if (!stream || fstat(dir, &stat) < 0)
		return error_set(error, errno, "look for what killed processes left");
	while ((entry = stream_next(stream))) {
		int r = file_is_temporary(entry->d_name)
				? sweep_one(dir, stat.st_uid, entry->d_name, error)
				: 0;

		count += r > 0;
		if (r < 0 && failed == 0)
			failed = r;
	}
	if (errno && failed == 0)
		failed = error_set(error, errno, "look for what killed processes left");
	return failed < 0 ? failed : count;
}
