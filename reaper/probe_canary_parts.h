/*
 * Private to probe_canary*.c.
 */
#pragma once

#include "base/error.h"
#include "model.h"
#include "probe_canary.h"

/* The row of a run, or NULL; in the inventory, which the caller frees. */
const struct record *canary_row(
	const struct probe_canaries *canaries, const char *run, struct inventory *inventory);

/* A picture of all that stands for a canary: tree, marker, pin and git's record. 0 or -errno. */
int canary_picture(const struct probe_canary *canary, struct text *picture, struct error *error);

/* Gives all of them the names that go with `id`. Settings are there, and in them a root. */
void canaries_name(struct probe_canaries *canaries, const char *id);

/* Pins the pinned one, or gives its pin another reason. 0 or -errno. */
int canaries_pin(const struct probe_canaries *canaries, const char *reason, struct error *error);

/* The reason of the pin until the probe has come to its end. */
extern const char canary_must_stay[];
