/*
 * cgroup v2 wherever it is mounted (/sys/fs/cgroup, /sys/fs/cgroup/unified), as in the kernel's
 * Documentation/admin-guide/cgroup-v2.rst. A group is named by its path below the mount as
 * /proc/PID/cgroup shows it: "/sbx.slice/r1".
 */
#pragma once

#include "base/error.h"
#include "model.h"

struct cgroupfs;

/* Finds and opens the mount. 0; -ENOENT: there is no cgroup v2 here; -errno. */
int cgroupfs_open(struct cgroupfs **ret_cgroupfs, struct error *error);
void cgroupfs_close(struct cgroupfs *cgroupfs);

/* Mount point, for messages. */
const char *cgroupfs_mount(const struct cgroupfs *cgroupfs);

/*
 * Opens a group by its path, no symlink followed, as a directory. A descriptor, -ENOENT, -errno.
 */
int cgroupfs_open_group(const struct cgroupfs *cgroupfs, const char *path, struct error *error);

/* Whether cgroup.events of an open group says populated. -errno when it cannot be told. */
int cgroupfs_populated(int group, bool *ret_populated, struct error *error);

/* The group we are in ourselves, as a path; the caller owns it. 0 or -errno. */
int cgroupfs_own(char **ret_path, struct error *error);

/*
 * Kills everything in the group and below (cgroup.kill, Linux 5.14; threaded groups answer
 * EOPNOTSUPP and are killed through their domain or by pidfd), and waits by poll on cgroup.events
 * until it is empty. 1 killed, 0 was empty or gone, -ETIME when something is still in it at the
 * deadline: the error names a pid, its command and state.
 */
int cgroupfs_kill(int group, int64_t deadline_ms, struct error *error);

/*
 * Removes an empty group with all groups below, bottom-up; `parent` is an open group, `name` its
 * child. 1, 0 gone already, -EBUSY when something is in it, -errno.
 */
int cgroupfs_remove(int parent, const char *name, int64_t deadline_ms, struct error *error);
