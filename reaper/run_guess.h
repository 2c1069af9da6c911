/*
 * Which known run may be meant by a name that is none: what the verbs say when they find nothing.
 */
#pragma once

#include "model.h"
#include "state/names.h"

/*
 * "; is 'r-1042' meant?" (base/spelling.h), or "". Among those names of the books (NULL: there are
 * none yet), and where that may be a run's, what stands in the roots: markers and workspaces, or
 * .keep files. What cannot be read is left out: it is a guess. The caller frees it.
 */
char *run_guess(
	const struct settings *settings, struct store *store, const char *run, enum names among);

/* The same among the runs of an inventory. */
char *run_guess_seen(const struct inventory *inventory, const char *run);
