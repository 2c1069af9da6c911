/*
 * What a pinned run holds on disk, for whoever lists pins: by its record alone, without a look at the
 * host.
 */
#pragma once

#include "model.h"

/*
 * Bytes of the trees and paths of a run of that name: those on record in its row, which the inventory
 * has loaded, or in its marker; without a record what stands under its name in a root. Measured once a
 * run. -1: there is nothing, nobody answers behind it, or the deadline (boot clock, ms) came first.
 */
int64_t pin_size(struct inventory *inventory, const struct settings *settings, const char *id,
	int64_t deadline_ms);
