/*
 * What keeps an entry from being removed beyond owners and modes: an inode that is immutable or
 * append-only (ioctl_iflags(2)), and a btrfs subvolume that is read-only. Private to os/.
 *
 * The flags of an inode are there for all its hard links, and so are lifted from directories and
 * from regular files without another link only. Checked and lifted through one descriptor: as long
 * as the flag is there nobody can make a further link (EPERM, link(2)). Other kinds of inodes are
 * not opened, since opening a fifo or a device acts; the kernel has no way to flag them by
 * descriptor before 6.17 (file_setattr(2)), nor would a run have the right.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

/*
 * Lifts what protects the inode behind the descriptor, which may be an O_PATH one. Returns 1 when
 * something was there and is not any more, 0 when nothing was or it is no directory and no regular
 * file, -EMLINK when the file has other links, -EPERM: without CAP_LINUX_IMMUTABLE in the host's
 * user namespace, -errno. Needs /proc.
 */
int protection_lift(int fd);

/* The same for what the entry names at this moment; symlinks not followed, mounts not entered. */
int protection_lift_entry(int dir, const char *name);

/*
 * Makes a directory that is the top of a read-only btrfs subvolume writable: for its owner and
 * CAP_FOWNER, not while it is being sent (EPERM). Deleting it whole (BTRFS_IOC_SNAP_DESTROY) was
 * rejected: that takes CAP_SYS_ADMIN, and rmdir(2) does once it is empty. 1, 0 nothing to do,
 * -errno.
 */
int protection_lift_subvolume(int dir);

/* "immutable", "append-only", or NULL when the directory is neither or it cannot be told. */
const char *protection_of(int dir);

/*
 * Adds to a message what a person has to know of an EPERM, EACCES or EROFS: flags, owners, and which
 * capability is missing. `name`: the entry of dir, or "" for dir itself.
 */
void protection_explain(struct text *text, int code, int dir, const char *name);
