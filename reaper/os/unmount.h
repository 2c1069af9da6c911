/*
 * Takes one mount down. Whatever is asked of a mount point is asked in an errand's child, since it
 * may hang for ever.
 *
 * MUST 1  Only the mount that is named by its id goes, and only while it is found, by descriptors
 * and through no symlink, below the open directory that the caller has proved to be the run's.
 * MUST 2  A mount that answers is never detached while it is in use: that is -EBUSY. MUST 3  Nothing
 * behind a mount is read, written or entered.
 *
 * The race that remains: umount2(2) takes a directory and a name in it, not a mount. Whoever may
 * mount here (CAP_SYS_ADMIN) can put another mount over ours between the last look at the id and the
 * call, and that one is then taken down instead: from the same place in the run's tree, and only if
 * nobody uses it. A rename cannot lead the call elsewhere, since the directory is held open.
 */
#pragma once

#include "base/error.h"
#include "mounts.h"

struct unmount {
	int tree;                  /* open; proved by the caller */
	const char *below;         /* of the mount point: its path below the tree */
	const struct mount *mount; /* as the table shows it */
	int64_t deadline_ms;       /* boot clock */
};

/* Whether we may unmount at all: CAP_SYS_ADMIN (capabilities(7)). */
bool unmount_allowed(void);

/*
 * Whether the filesystem is served by somebody else who may be gone or asleep, so that any question
 * about it can fail or hang: FUSE and network filesystems.
 */
bool mount_is_served(const struct mount *mount);

/* The id of the mount that an open file lies in; 0 when it cannot be read. Never hangs. */
uint64_t mount_id_of(int fd);

/*
 * Asks the server of such a mount. 1 it answers, 0 it is dead (ENOTCONN and the like) or does not
 * answer in time; -errno: it could not be asked.
 */
int unmount_ask(const struct unmount *unmount, struct error *error);

/*
 * Takes it down. 1, 0 when nothing is there any more; -EBUSY it is in use; -ESTALE another mount is
 * in its place or hides it; -ETIME; -EPERM; -errno.
 */
int unmount_take(const struct unmount *unmount, struct error *error);

/* The same for one that does not answer, with all that is mounted in it, and without waiting. */
int unmount_detach(const struct unmount *unmount, struct error *error);
