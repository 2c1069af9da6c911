/*
 * What was salvaged, from whom, and where it is. Errors as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

/*
 * Puts one on the books, with its entry in the history ("salvaged"). A row of another one in the same
 * place (ref of a repository, path) is void and goes. 1, 0 it was there already, -EINVAL.
 */
int salvages_add(
	struct store *store, const char *pass, const struct salvage *salvage, struct error *error);

/*
 * Calls back for each, newest first; run NULL: all; before_s 0: all, else those made before it.
 * Strings are good for the call. A negative answer ends it and is returned. 0.
 */
int salvages_each(struct store *store, const char *run, int64_t before_s,
	int (*each)(void *context, const struct salvage *salvage), void *context,
	struct error *error);

/*
 * Drops one from the books, after it is gone, with its entry in the history ("salvage ended"). 1, 0
 * there was none, or its place is another's by now.
 */
int salvages_drop(struct store *store, const struct salvage *salvage, const char *why,
	int64_t now_s, struct error *error);

/*
 * Notes that salvage of a run failed, and why; NULL: forgets it, as a registration and a renewal of
 * the run do too. 0.
 */
int salvages_note_failure(
	struct store *store, const char *run, int64_t now_s, const char *why, struct error *error);
