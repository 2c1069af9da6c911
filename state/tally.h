/*
 * What all passes did, ever: counts that the trimming of the history does not lessen. A trigger adds to
 * them in the transaction that writes the history, so that neither lacks what the other has. Errors as
 * in runs.h.
 */
#pragma once

#include "base/error.h"
#include "store.h"

struct tally {
	const char *action; /* of struct history_entry: stopped reaped partial kept failed */
	const char *reason; /* reason_name() */
	/*
	 * The reason for which it began, where this one is resumed; over_deadline for the end of a run
	 * that was stopped before.
	 */
	const char *cause;
	int64_t runs, bytes;
};

/*
 * The same by days of UTC, as they are kept for ever: also runs that were registered (action
 * "registered", no reason and no cause: ""). Days are counted from the epoch; those from `day` on, in
 * order. However long the history is, this reads a few rows a day. 0.
 */
int tally_each_day(struct store *store, int64_t day,
	void (*each)(void *context, int64_t day, const struct tally *tally), void *context,
	struct error *error);

/* Calls back for each that is not zero. 0. */
int tally_each(struct store *store, void (*each)(void *context, const struct tally *tally),
	void *context, struct error *error);
