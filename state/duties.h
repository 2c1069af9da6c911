/*
 * What hooks are owed: for which run one has to be run, whether it was, and how often it failed. They
 * outlive the rows of runs: a credential that could not be revoked is there when the run is not. Errors
 * as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

/*
 * Fills duties of the inventory, in the place of those that it has, and revocation of its runs that have
 * a row, whose facts must have their deadlines: one that was done for an earlier deadline is not told. 0.
 */
int duties_load(struct store *store, struct inventory *inventory, struct error *error);

/* It will have to be done; nothing when that, or more, is known of it and its deadline. 0. */
int duties_expect(struct store *store, const struct duty *duty, struct error *error);

/*
 * What came of a try: its state, count, last_s and error, and an entry in the history. A revocation that
 * is done counts for all runs of that name before it, too. What is done for a deadline stays done. 0.
 */
int duties_set(struct store *store, const struct duty *duty, const char *pass, struct error *error);

/* A person takes upon herself what is left to do; the history says so. 1 dropped, 0 it is not owed. */
int duties_forget(struct store *store, const struct duty *duty, int64_t now_s, struct error *error);

/*
 * Drops those done for runs that are gone, and what was expected before that moment of runs that never
 * went. 0.
 */
int duties_trim(struct store *store, int64_t before_s, struct error *error);
