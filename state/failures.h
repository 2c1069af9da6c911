/*
 * Runs that could not be taken apart: how often in a row, since when, and why. They are kept apart
 * from the rows of runs, so that they last for what nobody registered too. Errors as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

/*
 * Fills failures of all runs that the inventory shows, facts.failed_count and failed_last_s, and
 * facts.unfinished. 0.
 */
int failures_load(struct store *store, struct inventory *inventory, struct error *error);

/* Counts one more failure of this run, for this reason; fills in what it comes to (strings in the
 * arena). It is not unfinished then. 0. */
int failures_add(struct store *store, const char *run, int64_t now_s, const char *why,
	struct arena *arena, struct failures *ret_failures, struct error *error);

/* The time of this pass was not enough for the run, but it came nearer: that is no failure. 0. */
int failures_note_unfinished(
	struct store *store, const char *run, int64_t now_s, struct error *error);

/* It did what was due, or means another run now: forgets both. Within a transaction too. 0. */
int failures_clear(struct store *store, const char *run, struct error *error);

/* Forgets those of runs that the inventory, which saw everything, does not show. 0. */
int failures_drop_gone(struct store *store, const struct inventory *inventory, struct error *error);
