#include "quiet_open.h"

#include "base/text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

/* By another name in C: the headers may have an inline open() of their own (_FORTIFY_SOURCE). */
int quiet_open(const char *path, int flags, ...) __asm__("open");
int quiet_open64(const char *path, int flags, ...) __asm__("open64");
DIR *quiet_opendir(const char *path) __asm__("opendir");

static bool only_reads(int flags)
{
	return (flags & (O_ACCMODE | O_CREAT | O_TRUNC | O_PATH)) == O_RDONLY;
}

static bool takes_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static bool names_kernel_file(const char *path)
{
	return text_starts(path, "/dev/") || text_starts(path, "/proc/") ||
	       text_starts(path, "/sys/");
}

/* Looked at before it is opened, and opened by what was looked at: a swap in between does nothing. */
static int open_looked_at(int looked, int flags)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	struct stat stat;
	int fd;

	if (fstat(looked, &stat) < 0)
		return -1;
	if (!S_ISREG(stat.st_mode) && !S_ISDIR(stat.st_mode)) {
		errno = S_ISLNK(stat.st_mode) ? ELOOP : ENXIO;
		return -1;
	}
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", looked);
	flags &= ~O_NOFOLLOW; /* obeyed by the first look; this link is the kernel's */
	fd = openat(AT_FDCWD, link, flags | O_NOATIME);
	return fd < 0 && errno == EPERM ? openat(AT_FDCWD, link, flags) : fd;
}

static int open_quietly(const char *path, int flags)
{
	int looked CLEANUP(fd_done) =
		openat(AT_FDCWD, path, (flags & (O_NOFOLLOW | O_DIRECTORY)) | O_PATH | O_CLOEXEC);

	return looked < 0 ? -1 : open_looked_at(looked, flags);
}

static int open_any(const char *path, int flags, mode_t mode)
{
	if (!only_reads(flags) || names_kernel_file(path))
		return openat(AT_FDCWD, path, flags, mode);
	return open_quietly(path, flags);
}

int quiet_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = takes_mode(flags) ? va_arg(args, mode_t) : 0;
	va_end(args);
	return open_any(path, flags, mode);
}

int quiet_open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = takes_mode(flags) ? va_arg(args, mode_t) : 0;
	va_end(args);
	return open_any(path, flags | O_LARGEFILE, mode);
}

DIR *quiet_opendir(const char *path)
{
	int fd CLEANUP(fd_done) = open_any(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	if (stream)
		(void)TAKE_FD(fd);
	return stream;
}

bool quiet_open_in_force(void)
{
	return dlsym(RTLD_DEFAULT, "open") == (void *)quiet_open &&
	       dlsym(RTLD_DEFAULT, "opendir") == (void *)quiet_opendir;
}
