/*
 * What the trees and paths of runs took when a pass measured them, so that who looks an hour later need
 * not measure them again. To be shown, never to decide by. Errors as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

enum { SIZES_FRESH_S = 3600 };

/*
 * Fills `noted` of the runs that are not measured and have a size that is not older than that at now_s.
 * Whether it is that of the trees that are there now is for the caller to see (size_notes.h). 0.
 */
int sizes_load(
	struct store *store, struct inventory *inventory, int64_t now_s, struct error *error);

/*
 * The end of a pass: notes what it measured and left as it was, and forgets what it worked on and what
 * the inventory does not show. One transaction, and none where that is nothing. 0.
 */
int sizes_note(struct store *store, const struct inventory *inventory, struct error *error);
