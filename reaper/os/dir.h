/*
 * Directories held by descriptor: a path only opens a root, everything below is reached from there
 * one proven step at a time (openat2(2), Linux 5.6). What is opened for reading keeps its access time
 * where we may ask for that. Every negative answer sets the error; who takes -ENOENT as an answer
 * passes NULL.
 */
#pragma once

#include "base/error.h"

#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens an absolute path as a directory without following a symlink anywhere in it
 * (RESOLVE_NO_SYMLINKS). A descriptor, or -errno: -ENOENT and -ENOTDIR are answers, -ELOOP means
 * that a component is a symlink.
 */
int dir_open(const char *path, struct error *error);

/*
 * Opens what lies below `dir` at the relative path with the given open flags (O_CLOEXEC is added),
 * without leaving dir, without following a symlink anywhere and without entering another mount
 * (RESOLVE_BENEATH, NO_SYMLINKS, NO_XDEV). A descriptor, or -errno: -ENOENT it is not there, -ELOOP
 * a symlink, -EXDEV another mount (also a bind mount of the same filesystem), -ENOTDIR. With
 * O_PATH | O_NOFOLLOW a symlink at the end is opened itself (openat2(2), RESOLVE_NO_SYMLINKS).
 */
int dir_open_below(int dir, const char *path, int flags, struct error *error);

/*
 * The same through whatever is mounted on the way. Only for who asks about those mounts: one that
 * is served by somebody else may hang. Says nothing to an error object.
 */
int dir_open_through(int dir, const char *path, int flags);

/*
 * Opens the parent of an open directory, unless a mount lies between. The caller compares what it
 * gets with what it expects: a directory may have been moved. A descriptor or -errno.
 */
int dir_open_up(int dir, int flags);

/* Whether name is one component: not empty, without '/', neither "." nor "..". */
bool dir_is_name(const char *name);

/*
 * Gives the owner of a directory the right to list and change it, when that is us (rights of others
 * stay as they are). Works on O_PATH descriptors too: chmod(2) of the descriptor's link in
 * /proc/self/fd reaches exactly its inode, where fchmod(2) answers EBADF and chmod of "." would
 * need a search permission that is just what may be missing. 0 or -errno.
 */
int dir_make_passable(int dir);

/*
 * What is known of an entry without asking who serves it: also a mount point behind which nobody
 * answers does not hang (AT_STATX_DONT_SYNC, statx(2)). Type, device and inode are right then, size
 * and times are not told. A last symlink is not followed; "" is the descriptor itself. 0 or -errno.
 */
int dir_look(int dir, const char *name, struct stat *ret_stat);

/*
 * Device and inode of what an absolute path names, a last symlink not followed. 0, -ENOENT, -errno.
 */
int dir_identity(const char *path, uint64_t *ret_dev, uint64_t *ret_ino, struct error *error);

enum { DIR_BIRTH = 48 };

/*
 * When the thing behind a descriptor (of any kind, also O_PATH) came to be, as "SECONDS.NANOSECONDS"
 * (statx(2), STATX_BTIME). Inode numbers are given out again at once; with the time of birth they name
 * one thing for good. False where the filesystem does not tell.
 */
bool dir_birth(int fd, char ret_birth[DIR_BIRTH]);

/* What names one thing for good: `birth` is "" (or NULL) where the filesystem does not tell. */
struct dir_known {
	uint64_t dev, ino; /* 0, 0: not known */
	const char *birth;
};

/*
 * Why one thing is not the other, in words; NULL: it is, as far as both are known. With the same
 * inode and time of birth the device may be another: btrfs, LVM and loop devices get their numbers
 * anew at a mount or boot.
 */
const char *dir_differs(const struct dir_known *told, const struct dir_known *seen);

/*
 * Whether a directory is ours and nobody else but root may enter it: group and others have no right in
 * it, nor has an access control list then, whose mask is the group's (acl(5)).
 */
bool dir_is_closed(const struct stat *st);

/* Whether an absolute path leads through (or to) such a directory. 1, 0, -errno. */
int dir_closed(const char *path);

/*
 * Whether nobody but trusted users can rename or replace the directory: it and every parent up to
 * "/" is a real directory owned by root, by our effective user or by one of owners, and writable by
 * group or others only with the sticky bit (parents) or not at all (itself; group 0 counts as
 * root). 0, -EPERM with an error that names the component and its owner, or -errno.
 */
int dir_trusted(const char *path, const uid_t *owners, size_t owner_count, struct error *error);
