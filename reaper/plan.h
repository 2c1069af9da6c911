/*
 * The plan is data: which runs would be acted on, in which order. A dry run ends here.
 */
#pragma once

#include "inventory.h"
#include "state/approval.h"

struct plan_wish {
	const struct world *world;
	const struct text_list *only;    /* --run; empty: all */
	const struct approval *approval; /* --plan; NULL: none */
	int64_t max_runs;                /* 0: no limit */
	bool confirmed;                  /* a person sees the plan first, or said --yes */
};

struct plan {
	struct run **due; /* stop and reap, in the order of work, what is salvaged first behind the
			     others; the runs are the inventory's */
	size_t count;
};

/*
 * Limits the decisions of the inventory by the wish (rules 9 to 11) and lists what remains due:
 * what was begun first, then by how long it has been due. Sets the state of inventory->filesystems
 * and inventory->brake. Where a filesystem is too full, looks closer at runs that may go. The caller
 * frees with plan_done.
 */
void plan_make(struct plan *ret_plan, struct inventory *inventory, const struct plan_wish *wish);
void plan_done(struct plan *plan);

/* Marks a due run as kept for the next pass; for those that the time budget does not reach. */
void plan_defer(struct run *run);

/*
 * Defers whatever is due, and what may be unknown only because looking at it was broken off: for a
 * pass that was asked to stop before it had a plan.
 */
void plan_stop(struct inventory *inventory);

/* Marks a due run as unknown, with why; for those that cannot be seen any more. */
void plan_blind(struct run *run, const char *why);

/* Marks a due run as held; for those that a pass had not begun when a hold began. */
void plan_hold(struct run *run);
