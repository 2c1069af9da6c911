/*
 * The end of what was salvaged, when it has been kept for long enough. An effect of its own kind: it
 * removes what no run owns any more, so it is neither a step of a run's removal (effects.h) nor for
 * anybody but the pass.
 *
 * MUST 1  A ref is deleted only below refs/sbx/salvage/, by the name of its run, and while it is at
 *         the commit on the books: the library compares under the ref's lock.
 * MUST 2  A file is unlinked only by the name of its run, as an archive's, and only a regular one.
 * MUST 3  Archive and ref of one salvage: the archive, which holds more, goes last.
 */
#pragma once

#include "backend.h"

/*
 * 1 it is gone now, 0 it was gone already, -ESTALE its ref was moved: it is somebody's own by now
 * and stays (an archive beside it goes), -errno: it is still there.
 */
int worktree_salvage_end(const struct salvage *salvage, struct error *error);
