/*
 * Makes and deletes refs of a repository that somebody else may own and change at any moment.
 *
 * MUST 1  Nothing outside the common git directory is unlinked or written, wherever the owner has
 *         its "refs", "logs" or "packed-refs" lead: the library follows such links, for a lock, a
 *         log, and the file that it renames over. So it works in a child that is confined to that
 *         directory (os/confine.h) and, first, as its owner; where the kernel cannot confine, only as
 *         its owner.
 * MUST 2  The ref goes only while it is at the commit that is given: the library compares under the
 *         ref's lock.
 */
#pragma once

#include "base/error.h"

/*
 * A process that is killed while it has a ref locked, one of ours too, leaves the lock: then nobody can
 * delete that ref, or make it anew. Whoever lives waits for it a tenth of a second by default
 * (core.filesRefLockTimeout, git-config(1)), so none is held for a minute: one that old goes. Only for
 * a run's own ref, and for who is confined to that directory and its owner, or the same by other means
 * (MUST 1). Never packed-refs.lock: all refs are behind it, and git holds it closed and empty for as long
 * as it writes them, so that nothing tells a dead one from that of a host which slept meanwhile.
 */
void worktree_ref_unlock(int common, const char *name);

/*
 * A stale lock on it goes first. `commit`: 40 hexadecimal digits. 1, 0 it was gone already (or its
 * repository was), -ESTALE it is at another commit, -ETIME, -errno.
 */
int worktree_ref_delete(
	const char *common, const char *name, const char *commit, struct error *error);

/*
 * Makes one, only as the owner: what the library writes to a log has names of the repository's own
 * choice in it. `message`: of that log. 1, 0 there is one already, -ETIME, -errno.
 */
int worktree_ref_make(const char *common, const char *name, const char *commit, const char *message,
	struct error *error);
