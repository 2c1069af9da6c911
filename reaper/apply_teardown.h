/*
 * One claimed run being taken apart: the steps in their order. Private to apply.c, whose MUSTs
 * (apply.h) hold here too.
 */
#pragma once

#include "apply.h"

struct teardown {
	struct application *application; /* its own: what a hook takes is added to its time */
	struct inventory seen;           /* the second look, of this run only */
	struct run *run;                 /* within it */
	int64_t bytes_freed, entries_deleted, steps_done;
	struct error error;   /* the first of a step */
	const char *unsaved;  /* why the tree stays; NULL: it may go */
	int lacking;          /* what salvage was short of, -errno; 0: nothing */
	const char *salvaged; /* where its unsaved work is now; NULL: there was none */
	bool kept_by_hand;    /* a .keep appeared */
	bool marker_changed;  /* what proved the run says something else now */
	bool unread;          /* whichever of the two it was: it could not be read */
	bool stopped;         /* this pass is asked to stop */
	bool acted;           /* a step has changed something, or may have */
	bool uncovered;       /* a mount went, and what it covered was not seen before */
	bool ran_out;         /* a step was broken off because the run's time was over */
};

/*
 * The steps that stop what runs, or all of them. 0 or positive; -errno with teardown->error when
 * one failed on which the others rest. Also look at kept_by_hand and unsaved.
 */
int teardown_stop(struct teardown *teardown);
int teardown_all(struct teardown *teardown);

/* MUST 8: 0 when nothing is left, -EBUSY with the first leftover named. */
int teardown_verify(struct teardown *teardown);
