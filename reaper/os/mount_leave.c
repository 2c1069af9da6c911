#include "mount_leave.h"

#include "base/pathname.h"
#include "base/text.h"
#include "dir.h"
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void mount_exits_done(struct mount_exits *exits)
{
	mounts_done(&exits->ours);
}

/* Filesystems whose answers come from somebody who may sleep, or be gone. */
static bool has_server(const struct mount *mount)
{
	static const char *const types[] = { "fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs",
		"lustre", "gpfs", "orangefs", "coda" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_starts(mount->type, types[i]))
			return true;
	return false;
}

static const struct mount *mount_by_id(const struct mount_table *table, uint64_t id)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->mounts[i].id == id)
			return &table->mounts[i];
	return NULL;
}

/* NULL: it is the first of its namespace. */
static const struct mount *mount_above(const struct mount_table *table, const struct mount *mount)
{
	return mount->parent == mount->id ? NULL : mount_by_id(table, mount->parent);
}

/* By its path, but it must be on the mount that the table says. */
static int open_parent(const struct mount *mount, int top)
{
	char *parent CLEANUP(mem_done) = pathname_parent(mount->point);
	int fd CLEANUP(fd_done) = text_equal(parent, "/")
					  ? fcntl(top, F_DUPFD_CLOEXEC, 0)
					  : dir_open_through(top, parent + 1, O_PATH | O_DIRECTORY);
	char name[40];

	if (fd < 0)
		return -ESTALE; /* hidden by another mount, or gone meanwhile */
	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	return proc_mount_id(AT_FDCWD, name) == mount->parent ? TAKE_FD(fd) : -ESTALE;
}

/* Not past one without a server: btrfs has other devices in the table than its files. */
static int leave(const struct mount_table *table, const struct mount *mount, int top,
	bool (*needed)(const void *context, uint64_t dev), const void *context)
{
	const struct mount *outermost = NULL;

	for (; mount && has_server(mount) && !needed(context, mount->dev);
		mount = mount_above(table, mount))
		outermost = mount;
	if (!outermost)
		return -ENOENT;
	return mount_above(table, outermost) ? open_parent(outermost, top) : -ENOLINK;
}

/* Of a process that has ended meanwhile the kernel has no mounts any more: EINVAL for a zombie. */
static int task_open(int task, const char *name, int flags)
{
	int fd = openat(task, name, flags | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return errno == EINVAL || errno == ENOENT ? -ESRCH : -errno;
}

int mount_leave(struct mount_exits *exits, int task, uint64_t id,
	bool (*needed)(const void *context, uint64_t dev), const void *context)
{
	struct mount_table theirs CLEANUP(mounts_done) = { 0 };
	int file CLEANUP(fd_done) = -EBADF, top CLEANUP(fd_done) = -EBADF;
	const struct mount *mount;
	int r = exits->read ? 0 : mounts_read(&exits->ours, NULL);

	if (r < 0)
		return r;
	exits->read = true;
	mount = mount_by_id(&exits->ours, id);
	if (mount) {
		top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		return top < 0 ? -errno : leave(&exits->ours, mount, top, needed, context);
	}
	file = task_open(task, "mountinfo", O_RDONLY);
	top = task_open(task, "root", O_PATH | O_DIRECTORY);
	if (file < 0 || top < 0)
		return file < 0 ? file : top;
	r = mounts_read_from(file, "mountinfo", &theirs, NULL);
	if (r < 0)
		return r;
	mount = mount_by_id(&theirs, id);
	return mount ? leave(&theirs, mount, top, needed, context) : -ENXIO;
}

/*
 * Who writes back by himself has a bdi of his own: "0:MINOR" a server without a block device,
 * "MAJOR:MINOR-fuseblk" one with one (fs/super.c, super_setup_bdi_name; fs/fuse/inode.c). The others
 * have none, or that of their disk.
 */
bool mount_device_served(uint64_t dev)
{
	int list CLEANUP(fd_done) = open("/sys/class/bdi", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *kind = major(dev) ? "-fuseblk" : "";
	char name[64];

	(void)snprintf(name, sizeof(name), "%u:%u%s", major(dev), minor(dev), kind);
	return list < 0 || faccessat(list, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
