/*
 * The mount table of our own mount namespace, /proc/self/mountinfo (proc_pid_mountinfo(5)), with
 * its octal escapes decoded.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct mount {
	uint64_t id;       /* as statx(2) gives it in stx_mnt_id */
	const char *point; /* absolute, as seen from our root */
	const char *type;  /* "ext4" "tmpfs" "fuse.bindfs" "cgroup2" */
	const char *source;
};

struct mount_table {
	struct arena arena;
	struct mount *mounts;
	size_t count;
};

/* Reads the table. 0, or -errno: then nothing may be said about mounts. */
int mounts_read(struct mount_table *ret_table, struct error *error);

/*
 * The same from the bytes of such a file. -EINVAL when any line is not understood, or there is
 * none: half a table would say "no mount" where there is one.
 */
int mounts_parse(
	const char *bytes, size_t length, struct mount_table *ret_table, struct error *error);
void mounts_done(struct mount_table *table);

/* The first mount whose point is `path` or lies below it, or NULL. */
const struct mount *mounts_below(const struct mount_table *table, const char *path);

/* The first mount of that type, or NULL. */
const struct mount *mounts_of_type(const struct mount_table *table, const char *type);

/*
 * Refuses to go on where something is mounted at or below the absolute path. 0 when nothing is,
 * -EBUSY with an error that names the mount, or -errno when the table cannot be read. What is
 * mounted after the question is still not entered by rmtree.
 */
int mounts_refuse(const char *path, struct error *error);
