/*
 * The mount table of a mount namespace, /proc/PID/mountinfo (proc_pid_mountinfo(5)), with its octal
 * escapes decoded. Nothing here touches a mount point: one behind which nobody answers would hang.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct mount {
	uint64_t id;       /* as statx(2) gives it in stx_mnt_id; unique on the whole host */
	uint64_t parent;   /* id of the mount that the point lies in */
	uint64_t dev;      /* of the filesystem: st_dev of what is in it, mostly */
	const char *root;  /* what of the filesystem is mounted; "//deleted" at its end when gone */
	const char *point; /* absolute, as seen from the reader's root */
	const char *type;  /* "ext4" "tmpfs" "fuse.bindfs" "cgroup2" */
	const char *source;
	const char *super; /* options of the filesystem, as it writes them; see mounts_option */
};

struct mount_table {
	struct arena arena;
	struct mount *mounts;         /* as the kernel lists them */
	const struct mount **by_path; /* by point, component by component; equal ones as listed */
	size_t count;
};

/* Reads our own table. 0, or -errno: then nothing may be said about mounts. */
int mounts_read(struct mount_table *ret_table, struct error *error);

/* Reads that of an open mountinfo file, whose name is for messages. */
int mounts_read_from(int fd, const char *name, struct mount_table *ret_table, struct error *error);

/*
 * The same from the bytes of such a file. -EINVAL when any line is not understood, or there is
 * none: half a table would say "no mount" where there is one.
 */
int mounts_parse(
	const char *bytes, size_t length, struct mount_table *ret_table, struct error *error);
void mounts_done(struct mount_table *table);

/*
 * The mounts whose points are the absolute, clean `path` or lie below it: how many, and the first
 * of them in by_path, where they stand together. Costs two searches, however long the table is.
 */
size_t mounts_within(
	const struct mount_table *table, const char *path, const struct mount *const **ret_first);

/* The first of those, or NULL. */
const struct mount *mounts_below(const struct mount_table *table, const char *path);

/* The mount that is on top at exactly that point, or NULL. */
const struct mount *mounts_at(const struct mount_table *table, const char *path);

/*
 * The order in which the mounts of a list that mounts_within gave can be taken down: what lies in a
 * mount before it, and what is mounted over a mount before all else in it, which it hides. The
 * caller frees the array of `count` pointers.
 */
const struct mount **mounts_downward(const struct mount *const *list, size_t count);

/* The first mount of that type, or NULL. */
const struct mount *mounts_of_type(const struct mount_table *table, const char *type);

/*
 * The value of an option of the filesystem, "/a" of "upperdir=/a", with its escapes decoded, in the
 * arena; NULL when it has none. Backslashes of a filesystem's own escapes stay.
 */
const char *mounts_option(const struct mount *mount, const char *name, struct arena *arena);

/*
 * Refuses to go on where something is mounted at or below the absolute path. 0 when nothing is,
 * -EBUSY with an error that names the mount, or -errno when the table cannot be read. What is
 * mounted after the question is still not entered by rmtree.
 */
int mounts_refuse(const char *path, struct error *error);
