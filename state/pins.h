/*
 * Pins: rows here, mirrored as <root>/<run>.keep by the caller. Errors as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

/*
 * Pins a run, known or not; a pin that is there is replaced. Voids a claim that has not begun. 1; 0
 * when the same pin was there; -EBUSY when the run is already being taken apart (nothing is
 * changed). *ret_known: whether the run has a row.
 */
int pins_set(struct store *store, const struct pin *pin, bool *ret_known, struct error *error);

/*
 * The same for several runs, all or none of them: -EBUSY when one is already being taken apart, which
 * the error names. ret_known has room for each. The number that changed.
 */
int pins_set_all(struct store *store, const struct pin *pins, size_t count, bool *ret_known,
	struct error *error);

/* 1, 0 there was none. */
int pins_drop(struct store *store, const char *run, struct error *error);

/* Sets run->pin for every pin that has not ended at inventory->now_s, making the run when needed.
 * 0. */
int pins_load(struct store *store, struct inventory *inventory, struct error *error);

/* Drops the rows of pins that ended before now; calls back for each, so that its mirror goes too.
 * 0. */
int pins_expire(struct store *store, int64_t now_s,
	void (*ended)(void *context, const struct pin *pin), void *context, struct error *error);

/* Calls back for each pin, oldest first, ended ones too. 0. */
int pins_each(struct store *store, void (*each)(void *context, const struct pin *pin),
	void *context, struct error *error);
