#include "reserve.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { ROOM_TIMES = 4 }; /* so much of its size must be free to make it */

/* A descriptor of a regular file of one name, or -errno. */
static int reserve_open(int dir, const char *name, struct stat *ret_stat)
{
	int fd CLEANUP(fd_done) =
		openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret_stat) < 0)
		return -errno;
	return S_ISREG(ret_stat->st_mode) && ret_stat->st_nlink == 1 ? TAKE_FD(fd) : -EINVAL;
}

static bool has_room(int dir)
{
	struct statvfs fs;

	return fstatvfs(dir, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize >= (uint64_t)RESERVE_SIZE * ROOM_TIMES;
}

/*
 * Half a reserve is of use too, but its size would say that it is whole. Where blocks cannot be asked
 * for without writing them (EOPNOTSUPP, fallocate(2)) the C library writes to each, and reads it first.
 */
static int reserve_allocate(int fd, off_t size)
{
	int code = posix_fallocate(fd, 0, RESERVE_SIZE);

	if (code)
		(void)!ftruncate(fd, size);
	return error_is_full(-code) ? 0 : code ? -code : 1;
}

int reserve_fill(int dir, const char *name)
{
	struct stat stat = { 0 };
	int fd CLEANUP(fd_done) = reserve_open(dir, name, &stat);

	if ((fd < 0 && fd != -ENOENT) || stat.st_size >= RESERVE_SIZE)
		return fd < 0 ? fd : 0;
	if (!has_room(dir))
		return 0;
	if (fd < 0)
		fd = file_make(dir, name, O_RDWR, 0644);
	return fd < 0 ? fd : reserve_allocate(fd, stat.st_size);
}

/* Synced, because some filesystems give blocks out again only when it is on the disk that they are free. */
int reserve_give(int dir, const char *name)
{
	struct stat stat = { 0 };
	int fd CLEANUP(fd_done) = reserve_open(dir, name, &stat);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (stat.st_size > RESERVE_PIECE)
		return ftruncate(fd, stat.st_size - RESERVE_PIECE) < 0 || fsync(fd) < 0 ? -errno
											: 1;
	if (unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	(void)fsync(dir);
	return 1;
}
