/*
 * git's lock on a linked worktree (git-worktree(1)): a file `locked` in its record, with a reason.
 */
#pragma once

#include "model.h"

/*
 * Whether a lock with that text, written at changed_s, still counts. Stale: the text names a
 * process
 * ("pid 123", "pid 123 start 456" with field 22 of proc_pid_stat(5), in any case) that is provably
 * gone, or it is git's own "initializing" of a worktree that was never finished, older than
 * lease_s.
 */
enum lock worktree_lock_judge(const char *text, int64_t changed_s, int64_t now_s, int64_t lease_s);
