/* A database of its own for each test, in a workdir. */
#pragma once

#include "model.h"
#include "state/runs.h"
#include "state/store.h"
#include "workdir.h"

enum { NOW = 1795966380, TTL = 7200 };

int database_setup(void **state);
int database_teardown(void **state);
struct store *database(void **state); /* open to write */

/* Another connection to it, for another process or for a closer look; closed by the caller. */
struct store *database_open(struct workdir *workdir, enum store_access access);

/* What was done to a run (NULL: to all), in order: "registered finished"; the caller frees it. */
char *database_history(struct store *store, const char *run);

/* Loads it, or gives NULL; good until the next call with this inventory. */
const struct record *database_row(
	struct store *store, const char *run, struct inventory *inventory);

/* Registers a run with resources, created now; what runs_register answers. */
int database_register(struct store *store, const char *run, const struct resource *resources,
	size_t count, struct error *error);
