#include "bind.h"

#include <errno.h>
#include <sys/mount.h>

int bind_mount(int source, int point, struct error *error)
{
	char from[32], to[32];

	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", source);
	(void)snprintf(to, sizeof(to), "/proc/self/fd/%d", point);
	return mount(from, to, NULL, MS_BIND, NULL) < 0 ? error_set(error, errno, "bind mount") : 0;
}

int bind_unmount(int dir, const char *name, struct error *error)
{
	char *point CLEANUP(mem_done) = mem_printf("/proc/self/fd/%d/%s", dir, name);

	if (umount2(point, UMOUNT_NOFOLLOW) == 0)
		return 1;
	if (errno == EINVAL || errno == ENOENT)
		return 0;
	return error_set(error, errno, "unmount %s", name);
}
