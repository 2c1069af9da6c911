#include "lock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "base/timespan.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { HINT_MAX = 64 }; /* "PID EPOCH\n" */

static int lock_make(const char *path)
{
	char *directory CLEANUP(mem_done) = pathname_parent(path);
	int dir CLEANUP(fd_done) = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : file_make(dir, pathname_last(path), O_RDWR, 0600);
}

static int lock_open(const char *path, struct error *error)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd CLEANUP(fd_done) = open(path, flags);
	struct stat stat;
	int code = fd < 0 ? errno : 0;

	if (code == ENOENT) {
		fd = lock_make(path);
		code = fd < 0 ? -fd : 0;
	}
	if (code == EEXIST) { /* another was faster; nobody ever removes it */
		fd = open(path, flags);
		code = fd < 0 ? errno : 0;
	}
	if (fd < 0)
		return error_set(error, code, "open the lock file '%s'", path);
	if (fstat(fd, &stat) < 0)
		return error_set(error, errno, "look at the lock file '%s'", path);
	if (!S_ISREG(stat.st_mode))
		return error_say(error, EINVAL, "the lock file '%s' is not a regular file", path);
	return TAKE_FD(fd);
}

/* What the holder wrote about itself; false when it has not written yet, or it cannot be read. */
static bool lock_read_hint(int fd, int64_t *ret_pid, int64_t *ret_since_s)
{
	char hint[HINT_MAX + 1], *rest = hint, *pid, *since;
	ssize_t length = pread(fd, hint, HINT_MAX, 0);

	if (length <= 0 || hint[length - 1] != '\n')
		return false;
	hint[length - 1] = 0;
	pid = text_word(&rest);
	since = text_word(&rest);
	return pid && since && text_to_int64(pid, 1, INT32_MAX, ret_pid) == 0 &&
	       text_to_int64(since, 0, MOMENT_MAX_S, ret_since_s) == 0;
}

static int lock_refuse(int fd, const char *path, struct error *error)
{
	char moment[TIMESPAN_TEXT];
	int64_t pid, since_s;

	if (!lock_read_hint(fd, &pid, &since_s))
		return error_say(error, EBUSY, "another pass holds the lock '%s'", path);
	return error_say(error, EBUSY, "another pass holds the lock '%s': pid %lld, since %s", path,
		(long long)pid, moment_format(moment, since_s));
}

/* A full disk does not stop the one program that could free it: the lock is held all the same. */
static void lock_write_hint(int fd, int64_t now_s)
{
	char hint[HINT_MAX + 1];
	int length = snprintf(hint, sizeof(hint), "%d %lld\n", getpid(), (long long)now_s);

	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, hint, (size_t)length, 0);
}

int lock_take(const char *path, int64_t now_s, struct error *error)
{
	int fd CLEANUP(fd_done) = lock_open(path, error);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return lock_refuse(fd, path, error);
		return error_set(error, errno, "lock '%s'", path);
	}
	lock_write_hint(fd, now_s);
	return TAKE_FD(fd);
}
