/*
 * git's lock on a linked worktree (git-worktree(1)): a file `locked` in its record, with a reason.
 */
#pragma once

#include "model.h"

/* A lock as it was found. */
struct lock_told {
	const char *text;
	int64_t changed_s; /* when it was written */
	int64_t now_s;
	int64_t lease_s;
};

enum { LOCK_WHOSE = 400 };

/*
 * Whether a lock still counts, and whose it is, in words ("" when its text says all there is to say).
 *
 * Stale is one whose text ends with a process that is provably gone, as tools write it: "(pid 123)",
 * "pid=123", "(pid 123 start 456)" with field 22 of proc_pid_stat(5) or a date, in any case; what names
 * a process in the middle of a sentence is somebody's prose, and a person's lock always counts. Gone is
 * also one whose number another process has by now: it started at another tick, or began more than five
 * minutes after the lock was written (less may be a clock that was set). And stale is git's own
 * "initializing" of a worktree that was never finished, older than lease_s.
 */
enum lock worktree_lock_judge(const struct lock_told *told, char ret_whose[LOCK_WHOSE]);
