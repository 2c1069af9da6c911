/*
 * The brake's memory: when it tripped, as long as what fell due at once is not worked off. Errors as
 * in runs.h.
 */
#pragma once

#include "base/error.h"
#include "store.h"

/* When it tripped first; *ret_tripped_s is 0 when it has not. 0. */
int brake_get(struct store *store, int64_t *ret_tripped_s, struct error *error);

/*
 * Remembers a trip (0: forgets it), with what happened in words for the history when that is not
 * what was remembered. 1, 0 it was that already.
 */
int brake_set(struct store *store, int64_t tripped_s, const char *pass, int64_t now_s,
	const char *detail, struct error *error);
