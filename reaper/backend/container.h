/*
 * What the parts of the container backend share: container.c looks, container_discover.c finds,
 * container_effects.c acts, container_hasten.c on many
 * at once. No other file includes this.
 */
#pragma once

#include "effects.h"
#include "engine.h"

struct container_state {
	struct engine **engines;
	size_t engine_count;
	/* Full ids of containers that carry a run's label without being proven to be its own. */
	char **disowned;
	size_t disowned_count;
};

/* What stands behind a resource at this moment. */
struct sight {
	enum tri present;
	bool contradicts;      /* it is not what was registered: `error` says why */
	struct error error;    /* why unknown, or what contradicts */
	struct engine *engine; /* where it was found */
	struct engine_item item;
};

/* Every request of every engine ends by then. */
void container_until(struct container_state *state, int64_t deadline_ms);

/* Asks the engine it was found at, or all of them, and compares what comes back with what was
 * registered. Strings are in the arena. */
void container_look(struct container_state *state, const struct resource *resource,
	struct arena *arena, struct sight *ret_sight);

/* What speaks against a proof. */
struct container_doubt {
	const char *why; /* in the arena; NULL: nothing */
	bool unknown;    /* the engine could not tell: neither a yes nor a no */
};

/*
 * Whether the label on a thing proves that the run owns it: a good label, from the thing itself and
 * not from its image, on something made within the run's span.
 */
struct container_doubt container_doubt(struct engine *engine, enum kind kind,
	const struct engine_item *item, const struct resource *owner, struct arena *arena);

/* Whether a record names it. */
bool container_told(const struct resource *resource);

bool container_disowned(const struct container_state *state, const char *id);

void container_discover(void *opaque, struct inventory *inventory, const char *only);

extern const struct backend_effects container_effects;

int64_t container_hasten(void *opaque, enum haste haste, const struct resource *const *resources,
	size_t count, const struct effort *effort);
