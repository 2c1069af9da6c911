/*
 * The way out of a mount that must not be touched. Even ".." asks the server of the directory that it
 * starts from (for the permission, when that is not cached), and FUSE keeps out root itself where
 * another user mounted it; the mount table knows where such a mount lies without asking anybody.
 */
#pragma once

#include "mounts.h"

/* Empty at first. */
struct mount_exits {
	struct mount_table ours;
	bool read;
};

void mount_exits_done(struct mount_exits *exits);

/*
 * Of the mount with that id, as a task has it (`task`: its directory in /proc), and those that it
 * lies in, each with a server: opens what the outermost of them lies in. None is passed by whose
 * filesystem is `needed`. An O_PATH descriptor; -ENOENT when there is none to leave, -ENOLINK when
 * nothing lies above it; -ENXIO it is in nobody's table, so it was detached (umount -l); -ESRCH the
 * task has ended; -errno.
 */
int mount_leave(struct mount_exits *exits, int task, uint64_t id,
	bool (*needed)(const void *context, uint64_t dev), const void *context);

/*
 * Whether a filesystem has a server, by its device: of a detached mount no table tells the type. Where
 * that cannot be seen it is taken to have one.
 */
bool mount_device_served(uint64_t dev);
