/*
 * Real cgroups for tests, all of them below /sbx-test-<pid> on the cgroup v2 mount. Names are paths
 * below that ("" is the test's group itself). What cannot be done fails the test.
 */
#pragma once

#include <sys/types.h>

/* Makes the test's group; -1 (and says why) when cgroup v2 is not here or not writable. */
int groups_set_up(void);

/* Kills what is left in it and removes it with everything below. */
void groups_tear_down(void);

const char *groups_mount(void); /* "/sys/fs/cgroup/unified" */
const char *groups_root(void);  /* "/sbx-test-123" */

/* "/sbx-test-123/a/b", in one of a few buffers that are used in turn. */
const char *group_path(const char *name);

void group_make(const char *name);           /* with its parents */
void group_unmake(const char *name);         /* rmdir */
int group_exists(const char *name);          /* 0 or 1 */
int group_open(const char *name);            /* a directory descriptor */
void group_put(const char *name, pid_t pid); /* the whole process */
void group_write(const char *name, const char *file, const char *value);

/* Makes writes to a file of the group fail with ENOSPC, until it is torn down. */
void group_break(const char *name, const char *file);
