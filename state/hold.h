/*
 * The hold: one row, or none. A person stops every pass from acting, on all runs at once. Errors as
 * in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

/*
 * Holds; a hold that is there is replaced, and is what *ret_before says then (in the arena; NULL:
 * there was none). 1; 0 when the same hold (but for since when) was there, which then stays.
 */
int hold_set(struct store *store, const struct hold *hold, struct arena *arena,
	struct hold **ret_before, struct error *error);

/*
 * Holds unless somebody holds already, whose words then stay: for who is no person. 1, 0 there was a
 * hold.
 */
int hold_add(struct store *store, const struct hold *hold, struct error *error);

/* Ends it, in the name of `by` (NULL: nobody that can be named). 1, 0 there was none. */
int hold_drop(struct store *store, const char *by, struct error *error);

/* The one that has not ended at now_s, in the arena; *ret_hold is NULL where there is none. 0. */
int hold_get(struct store *store, int64_t now_s, struct arena *arena, struct hold **ret_hold,
	struct error *error);

/* Drops one that has ended. 1, 0 there was none. */
int hold_expire(struct store *store, int64_t now_s, struct error *error);
