/*
 * cgroup v2 wherever it is mounted (/sys/fs/cgroup, /sys/fs/cgroup/unified), as in the kernel's
 * Documentation/admin-guide/cgroup-v2.rst. A group is named by its path below the mount as
 * /proc/PID/cgroup shows it: "/sbx.slice/r1".
 */
#pragma once

#include "base/error.h"
#include "base/text.h"
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

/*
 * Calls back for each group directly below, until an answer is not 0, and returns that. 0 also when
 * the group is gone; -errno.
 */
int cgroupfs_children(int group, int (*each)(void *context, const char *name), void *context,
	struct error *error);

/* Whether the kernel has cgroup.kill (Linux 5.14), by a group's files. 1, 0, -ENOENT no such group, -errno. */
int cgroupfs_kills(const struct cgroupfs *cgroupfs, const char *path);

/* The group we are in ourselves, as a path; the caller owns it. 0 or -errno. */
int cgroupfs_own(char **ret_path, struct error *error);

/*
 * Kills everything in the group and below, and waits by poll on cgroup.events until it is empty.
 * Mostly that is cgroup.kill (Linux 5.14). Where the kernel refuses it, the group is frozen and its
 * members are killed one by one through pidfds: so with a threaded group (EOPNOTSUPP), whose
 * processes are killed whole, since its domain, where cgroup.kill would work, is not the run's.
 * 1 killed, 0 was empty or gone, -ETIME when something is still in it at the deadline: the error
 * names pids, their commands and states. -EPERM, killing nothing, when we are in it ourselves.
 */
int cgroupfs_kill(int group, int64_t deadline_ms, struct error *error);

/*
 * Removes an empty group with all groups below, bottom-up; `parent` is an open group, `name` its
 * child. 1, 0 gone already, -EBUSY when something is in it (then nothing was removed, unless it
 * came in meanwhile), -ETIME, -errno. Depth costs neither stack nor descriptors. A group made again
 * under the name after it was proved is removed too, if it is empty.
 */
int cgroupfs_remove(int parent, const char *name, int64_t deadline_ms, struct error *error);

/*
 * Names who is in the group or below, a few of them: "pid 12 (sleep) in state D, … and 3 more", and
 * says when they are frozen, or their group a threaded one. The text is added.
 */
void cgroupfs_name_members(int group, struct text *text);
