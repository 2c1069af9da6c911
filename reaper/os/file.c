#include "file.h"
#include "base/text.h"
#include "fsuser.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>

static void assert_component(const char *name)
{
	assert(*name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

/* Sets the error with the name escaped: names come from directory listings too. */
static int file_fail(struct error *error, int code, const char *doing, const char *name)
{
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_set(error, code, "%s '%.200s'", doing, shown);
}

static int file_refuse(struct error *error, int code, const char *name, const char *fault)
{
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_say(error, code, "'%.200s' %s", shown, fault);
}

/*
 * O_NONBLOCK, so that a FIFO without a writer does not hold us up; what was opened is looked at
 * afterwards. A socket cannot be opened at all: ENXIO, open(2). O_NOATIME, so that looking leaves
 * no trace; that is for owners and CAP_FOWNER only, EPERM otherwise.
 */
static int file_open(int dir, const char *name, struct stat *ret_stat, struct error *error)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd CLEANUP(fd_done) = openat(dir, name, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(dir, name, flags);
	if (fd < 0 && errno == ELOOP)
		return file_refuse(error, ELOOP, name, "is a symbolic link, not a file");
	if (fd < 0 && errno != ENXIO)
		return file_fail(error, errno, "open", name);
	if (fd >= 0 && fstat(fd, ret_stat) < 0)
		return file_fail(error, errno, "look at", name);
	if (fd < 0 || !S_ISREG(ret_stat->st_mode))
		return file_refuse(error, EINVAL, name, "is not a regular file");
	return TAKE_FD(fd);
}

/* The size that stat tells is not asked: a file may grow while it is read. */
static int file_fill(int fd, size_t max, struct text *text, const char *name, struct error *error)
{
	char chunk[4096], *shown CLEANUP(mem_done) = NULL;

	text_add_n(text, "", 0);
	while (text->length <= max) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return file_fail(error, errno, "read", name);
		if (n == 0)
			return 0;
		text_add_n(text, chunk, (size_t)n);
	}
	shown = text_escape(name);
	return error_say(error, EFBIG, "'%.200s' is larger than %zu bytes", shown, max);
}

int file_read(int dir, const char *name, size_t max, char **ret_bytes, size_t *ret_length,
	struct stat *ret_stat, struct error *error)
{
	struct text text CLEANUP(text_done) = { 0 };
	int fd CLEANUP(fd_done) = -EBADF;
	struct stat stat;
	int r;

	assert_component(name);
	fd = file_open(dir, name, &stat, error);
	if (fd < 0)
		return fd;
	r = file_fill(fd, max, &text, name, error);
	if (r < 0)
		return r;
	if (ret_stat)
		*ret_stat = stat;
	*ret_length = text.length;
	*ret_bytes = TAKE_PTR(text.data);
	return 0;
}

struct making {
	int dir;
	const char *name;
	int flags; /* of open(2); O_DIRECTORY alone: a directory */
	mode_t mode;
};

static int make_as(const struct fsuser *user, const struct making *making)
{
	int flags = making->flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, fd, code;

	if (fsuser_begin(user, NULL) < 0)
		return -EPERM;
	fd = making->flags & O_DIRECTORY ? mkdirat(making->dir, making->name, making->mode)
					 : openat(making->dir, making->name, flags, making->mode);
	code = errno;
	fsuser_end(user);
	return fd < 0 ? -code : fd;
}

/* Who may not write in a directory of his own has no use for a file that is his. */
static int make(const struct making *making)
{
	struct fsuser user = { 0 };
	int r = fsuser_of(making->dir, &user, NULL);

	assert_component(making->name);
	if (r == 0)
		r = make_as(&user, making);
	if ((r == -EACCES || r == -EPERM) && user.other)
		r = make_as(&(struct fsuser){ 0 }, making);
	return r;
}

int file_make(int dir, const char *name, int flags, mode_t mode)
{
	return make(&(struct making){ dir, name, flags, mode });
}

int file_make_directory(int dir, const char *name, mode_t mode)
{
	return make(&(struct making){ dir, name, O_DIRECTORY, mode });
}

#define TEMPORARY_INFIX ".sbx-new-"
enum { TEMPORARY_RANDOM = 6, TEMPORARY_TRIES = 8 };

static const char temporary_letters[] = "abcdefghijklmnopqrstuvwxyz012345";

/* A name of the temporary file that no other process can have guessed and taken. */
static char *temporary_name(const char *name)
{
	unsigned char random[TEMPORARY_RANDOM] = { 0 };
	char suffix[sizeof(random) + 1] = { 0 };

	/* Up to 256 bytes come whole once the pool is ready: getrandom(2). */
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		suffix[i] = temporary_letters[random[i] % 32];
	return mem_printf(".%s" TEMPORARY_INFIX "%s", name, suffix);
}

bool file_is_temporary(const char *name)
{
	size_t length = strlen(name), tail = sizeof(TEMPORARY_INFIX) - 1 + TEMPORARY_RANDOM;
	const char *suffix;

	if (*name != '.' || length <= tail + 1)
		return false;
	suffix = name + length - TEMPORARY_RANDOM;
	return text_starts(name + length - tail, TEMPORARY_INFIX) &&
	       strspn(suffix, temporary_letters) == TEMPORARY_RANDOM;
}

/*
 * Makes the temporary file and locks it, so that file_sweep() sees that somebody lives who writes it.
 * Where that was faster than the lock it is made again. A filesystem without locks (flock(2)) has
 * files that are never swept away while they are written, for the sweep cannot lock them either.
 */
static int temporary_make(int dir, const char *name, char **ret_temporary)
{
	for (int tries = 0; tries < TEMPORARY_TRIES; tries++) {
		char *temporary CLEANUP(mem_done) = temporary_name(name);
		int fd CLEANUP(fd_done) = file_make(dir, temporary, O_WRONLY, 0600);
		struct stat stat;

		if (fd < 0)
			return fd;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			continue;
		if (fstat(fd, &stat) < 0) {
			int code = errno;

			assert(code > 0);
			(void)unlinkat(dir, temporary, 0);
			return -code;
		}
		if (stat.st_nlink == 0)
			continue;
		*ret_temporary = TAKE_PTR(temporary);
		return TAKE_FD(fd);
	}
	return -EBUSY;
}

int file_write_whole(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t n = write(fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

static int file_fill_new(int fd, const void *bytes, size_t length, mode_t mode)
{
	int r = file_write_whole(fd, bytes, length);

	if (r < 0)
		return r;
	/* By descriptor, because the umask has had its say at open. */
	return fchmod(fd, mode) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int file_replace(int dir, const char *temporary, const char *name, int fd, const void *bytes,
	size_t length, mode_t mode)
{
	int r = file_fill_new(fd, bytes, length, mode);

	if (r < 0)
		return r;
	if (renameat(dir, temporary, dir, name) < 0)
		return -errno;
	return 0;
}

static int file_unsynced(struct error *error, const char *name)
{
	int code = errno;
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_say(error, EINPROGRESS, "sync the directory of '%.200s', which is written: %s",
		shown, strerror(code));
}

int file_write(int dir, const char *name, const void *bytes, size_t length, mode_t mode,
	struct error *error)
{
	char *temporary CLEANUP(mem_done) = NULL;
	int fd CLEANUP(fd_done) = -EBADF;
	int r;

	assert_component(name);
	fd = temporary_make(dir, name, &temporary);
	if (fd < 0)
		return file_fail(error, -fd, "make a new file for", name);
	assert(temporary);
	r = file_replace(dir, temporary, name, fd, bytes, length, mode);
	if (r < 0) {
		(void)unlinkat(dir, temporary, 0);
		return file_fail(error, -r, "write", name);
	}
	if (fsync(dir) < 0)
		return file_unsynced(error, name);
	return 0;
}

static int append_whole(int fd, const void *bytes, size_t length, size_t max)
{
	struct stat stat;
	ssize_t n;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode) || stat.st_nlink != 1)
		return -EINVAL;
	if ((uint64_t)stat.st_size + length > max)
		return -EFBIG;
	n = write(fd, bytes, length);
	if (n == (ssize_t)length)
		return fsync(fd) < 0 ? -errno : 0;
	if (n > 0 && ftruncate(fd, stat.st_size) < 0)
		return -errno;
	return n < 0 ? -errno : -ENOSPC;
}

int file_append(int dir, const char *name, const void *bytes, size_t length, size_t max,
	struct error *error)
{
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd CLEANUP(fd_done) = openat(dir, name, flags);
	int r = fd < 0 ? -errno : append_whole(fd, bytes, length, max);

	assert_component(name);
	return r < 0 ? file_fail(error, -r, "add to", name) : 0;
}

int file_remove(int dir, const char *name, struct error *error)
{
	assert_component(name);
	if (unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0 : file_fail(error, errno, "remove", name);
	if (fsync(dir) < 0)
		return file_fail(error, errno, "sync the directory of", name);
	return 1;
}
