/*
 * The decisions of all runs together: what a hold, a disk that is too full, the brake and the limits
 * of one pass make of the plan. Pure and total, like policy.h: no I/O, no clock, no allocation.
 * DESIGN.md, section 6, rules 9 to 11.
 */
#pragma once

#include "model.h"

/* One run of the plan. */
struct plan_item {
	struct decision own;     /* by rules 1 to 8 */
	struct decision pressed; /* by them with facts->pressed; once it was looked at */
	bool selected;           /* by --run or --plan, or because none of them was given */
	bool changed;            /* it is not what --plan shows; good once it was looked at */
	bool proven;
	bool early;                          /* a person asked for it now */
	int64_t failed_count, failed_last_s; /* failures in a row, and the last of them */
	bool looked; /* its shares are measured, and `pressed` is the last word */
	const struct share *shares;
	size_t share_count;

	struct decision decision; /* out */
	bool wanted;              /* out: it is to be looked at, then everything is asked again */
};

struct plan_limits {
	int64_t now_s;
	bool held;           /* a hold is in force */
	bool filtered;       /* --run was given */
	bool approved;       /* --plan was given */
	bool confirmed;      /* a person saw the plan, or said --yes */
	int64_t max_runs;    /* 0: no limit */
	int64_t brake_runs;  /* 0: no brake */
	int64_t brake_share; /* percent */
	int64_t brake_hold_s;
	int64_t brake_tripped_s;     /* as it was remembered; 0: it has not tripped */
	int64_t disk_high, disk_low; /* percent */
};

struct whole_plan {
	struct plan_item *items; /* in the order of work */
	size_t count;
	/* Items that rule 6 retains, by their place in items: the one that ended first comes first. */
	const size_t *by_end;
	size_t by_end_count;
	struct filesystem *filesystems; /* their state is set */
	size_t filesystem_count;
};

/*
 * Sets the decision of every item, the state of every filesystem, and what is to be said of the
 * brake and remembered (ret_brake->tripped_s).
 *
 *  9 What is not selected is `filtered`, whatever else it is. Under a hold all that is due is
 *    `held`; what is kept anyway keeps its own reason. What was approved and has changed since is
 *    `changed` when it is due. What failed in one pass after the other is
 *    `backoff` until policy_retry_s(), unless a person asked for it now.
 * 10 A filesystem is full when more than disk_high of its bytes, or of its inodes, are used. Of
 *    whichever is, less than disk_low shall be: what is due counts first (not what is stopped, nor
 *    trees that stay), then retained runs that have something there go, the one that ended first
 *    first. With --run nothing is chosen nor said: a pass for some runs takes no others' place.
 *    With --plan none is chosen that is not in it, or has changed since.
 * 11 More due runs than brake_runs, and more than brake_share of the proven ones, trip the brake;
 *    from its first trip on all that is due is kept for brake_hold_s, then goes; fewer than half of
 *    brake_runs end it. What a person confirmed passes and trips nothing. Nor does --run, --plan or
 *    a hold change it: neither shows how much there is. A trip in the future was noted by a clock that was
 *    set back since: it counts from now. Last, what exceeds max_runs is `deferred`.
 *
 * Answers how many items are wanted: while there are any, the decisions are not final.
 */
size_t policy_limit(
	const struct whole_plan *plan, const struct plan_limits *limits, struct brake *ret_brake);

/*
 * When a run that failed so often in a row is tried again: at once (0) after the first failure, from
 * the second on after 5 minutes, 10, 20 … and at most 6 hours since the last. One in the future was
 * noted by a clock that was set back since, and makes nothing wait.
 */
int64_t policy_retry_s(int64_t failed_count, int64_t failed_last_s, int64_t now_s);

/* Whether more than `high` percent of its bytes, or of its inodes, are used. */
bool policy_is_full(const struct filesystem *fs, int64_t high);
