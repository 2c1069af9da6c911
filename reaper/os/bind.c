#include "bind.h"

#include "dir.h"

#include <errno.h>
#include <sys/mount.h>

/* By descriptor: mount(2) would follow a symlink in either path. */
int bind_mount(const char *source, const char *point, struct error *error)
{
	int from CLEANUP(fd_done) = dir_open(source, error);
	int to CLEANUP(fd_done) = from < 0 ? -EBADF : dir_open(point, error);
	char from_path[32], to_path[32];

	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	(void)snprintf(from_path, sizeof(from_path), "/proc/self/fd/%d", from);
	(void)snprintf(to_path, sizeof(to_path), "/proc/self/fd/%d", to);
	if (mount(from_path, to_path, NULL, MS_BIND, NULL) < 0)
		return error_set(error, errno, "mount %s at %s", source, point);
	return 0;
}

int bind_unmount(const char *point, struct error *error)
{
	if (umount2(point, UMOUNT_NOFOLLOW) == 0)
		return 1;
	if (errno == EINVAL || errno == ENOENT)
		return 0;
	return error_set(error, errno, "unmount %s", point);
}
