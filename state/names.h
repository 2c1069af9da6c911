/*
 * Names of runs, for whoever looks for one that was mistyped. Errors as in runs.h.
 */
#pragma once

#include "store.h"

enum names {
	NAMES_ON_RECORD,
	NAMES_EVER, /* on record, or told of by the history */
	NAMES_PINNED,
	NAMES_SALVAGED
};

/* Calls back for each, once, in alphabetical order; the name is good for the call. 0. */
int names_each(struct store *store, enum names names, void (*each)(void *context, const char *run),
	void *context, struct error *error);
