/*
 * What a command works with: the settings, the database, and every backend opened once.
 */
#pragma once

#include "backend/backend.h"
#include "base/error.h"
#include "hooks.h"
#include "model.h"
#include "roots_watch.h"
#include "state/store.h"

struct world {
	const struct settings *settings;
	struct store *store; /* NULL: there has never been a database, so nothing is on record */
	struct roots_watch
		*watch;      /* of a pass; NULL: what answered at the start goes on doing so */
	struct hooks *hooks; /* of a pass; NULL: none is run */
	void *states[BACKEND_COUNT];
};

/*
 * Opens every backend; both pointers are borrowed. 0 or -errno; world_close is right in any case.
 */
int world_open(struct world *ret_world, const struct settings *settings, struct store *store,
	struct error *error);
void world_close(struct world *world);

/* The opened state of a backend. */
void *world_state(const struct world *world, const struct backend *backend);
