/*
 * The files of one open cgroup, for the files of os/ only. Everything here works on the descriptor,
 * so a group that is removed and made again under its name is never mistaken for the old one.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <sys/types.h>

/* Opens a file of the group. A descriptor or -errno; -ENOENT also when the group is gone. */
int cgroup_file(int group, const char *name, int flags);

/* Writes a value to a file of the group. 0, -ENOENT or -ENODEV when it is gone, -errno. */
int cgroup_write(int group, const char *name, const char *value);

/*
 * The value of a key ("populated", "frozen") in an open cgroup.events: 0, 1 or -errno; a group that
 * is gone is neither. Reading also arms poll(2) for the next change.
 */
int cgroup_event(int events, const char *key);

/* Waits until the key has the value. 0, -ETIME, -errno. */
int cgroup_event_wait(int events, const char *key, int value, int64_t deadline_ms);

/* Adds what the file says, within bounds. 0 or -errno. */
int cgroup_read(int group, const char *name, struct text *text);

/*
 * The members of this very group, without those below: processes, or in a threaded group (where
 * cgroup.procs cannot be read) threads. In ascending order; the caller owns *ret_pids. 0 or -errno.
 */
int cgroup_members(int group, pid_t **ret_pids, size_t *ret_count);

/* Calls back for the group and every one below it, parents first, until an answer is not 0. */
int cgroup_each(int group, int (*each)(void *context, int group), void *context);
