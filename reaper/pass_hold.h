/*
 * A hold that begins while a pass acts.
 */
#pragma once

#include "model.h"
#include "state/store.h"

/* Between two runs: a hold that somebody began meanwhile holds for the rest. Fills in
 * inventory->hold. 0, -errno. */
int pass_look_for_hold(struct store *store, struct inventory *inventory, struct error *error);
