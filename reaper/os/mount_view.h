/*
 * The mount table kept at hand, and read again only when it has changed: the kernel says so through
 * poll(2) on the open file (proc_pid_mounts(5)). Beside it that of PID 1 when that is in another
 * mount namespace: there a mount in a tree is not seen from here, nor reached by an unmount.
 */
#pragma once

#include "mounts.h"

struct mount_view {
	struct mount_table here;
	struct mount_table there; /* of PID 1; empty unless `apart` */
	bool apart;               /* PID 1 is in another mount namespace than we are */
	int here_fd, there_fd;    /* -EBADF: not read yet */
};

#define MOUNT_VIEW_NONE ((struct mount_view){ .here_fd = -EBADF, .there_fd = -EBADF })

/*
 * Brings the view up to date. What the kernel does not tell is that a directory above a mount was
 * renamed: until something is mounted or unmounted the old path stays. 0; -errno: nothing may be
 * said about mounts. Namespaces are told apart by the ids of mounts, each of which is in one
 * namespace only: /proc/PID/ns/mnt of PID 1 is for CAP_SYS_PTRACE only, its mountinfo is not. Where /proc has no PID 1 (hidepid), or shows none
 * of its mounts, it counts as being in ours.
 */
int mount_view_now(struct mount_view *view, struct error *error);

/* The same, read again in any case. */
int mount_view_anew(struct mount_view *view, struct error *error);
void mount_view_done(struct mount_view *view);
