/*
 * A container engine that remembers: it lists, inspects, kills and deletes what a test put into it,
 * as Docker 20.10 answers, and misbehaves on cue. It runs as a child of its own, so that a pass can
 * be killed, stopped or forked beside it; every process that descends from the test may call these.
 */
#pragma once

#include "base/base.h"
#include "model.h"

#include <sys/types.h>

enum fake_engine_way {
	FAKE_ENGINE_WELL,
	FAKE_ENGINE_HANG,     /* reads the request and never answers */
	FAKE_ENGINE_DRIP,     /* a head, and then a byte a second without end */
	FAKE_ENGINE_FAIL,     /* 500, with the message "out of order" */
	FAKE_ENGINE_HALF,     /* a whole reply that ends in the middle of its JSON */
	FAKE_ENGINE_BUSY,     /* 409, "removal of container x is already in progress", for ever */
	FAKE_ENGINE_TOGETHER, /* answers none before FAKE_ENGINE_COMPANY of them wait, and then these */
	FAKE_ENGINE_RESTART, /* hangs up, has no socket for FAKE_ENGINE_DOWN_MS, then is well again;
				what ran has ended */
	FAKE_ENGINE_LIES,    /* 204, and nothing was done */
	FAKE_ENGINE_ABSENT,  /* no socket */
	FAKE_ENGINE_FULL     /* never accepts, and its queue of connections is full */
};

enum { FAKE_ENGINE_DOWN_MS = 300, FAKE_ENGINE_COMPANY = 4 };

struct fake_thing {
	enum kind kind;        /* KIND_CONTAINER, KIND_VOLUME, KIND_NETWORK */
	const char *name;      /* NULL: one is made up */
	const char *run;       /* of the label sbx.run; NULL: none */
	const char *image_run; /* of the same label of its image */
	bool running;
	int64_t created_s;
};

struct fake_engine {
	char directory[64];
	char *socket, *url; /* "unix:///…" */
	struct fake_engine_state *state;
	pid_t pid;
	int control;
};

/* It is there on return. It and its directory go with the test, also when that is killed. */
void fake_engine_start(struct fake_engine *engine);
void fake_engine_stop(struct fake_engine *engine);

/* Its full id (of a volume: its name), good until the engine is stopped and the place used anew. */
const char *fake_engine_add(struct fake_engine *engine, const struct fake_thing *thing);
bool fake_engine_has(const struct fake_engine *engine, const char *id);
bool fake_engine_runs(const struct fake_engine *engine, const char *id);
size_t fake_engine_count(const struct fake_engine *engine); /* of all that it has */

/* As if somebody had ended or removed it by hand. */
void fake_engine_end(struct fake_engine *engine, const char *id);
void fake_engine_drop(struct fake_engine *engine, const char *id);

/*
 * From now on it answers so to requests that begin like that ("DELETE /containers/"; "" is any),
 * and well to all others. ABSENT and FULL hold for all. In force on return.
 */
void fake_engine_behave(struct fake_engine *engine, enum fake_engine_way way, const char *request);

/* How many requests began like that since the last fake_engine_behave(). */
unsigned fake_engine_asked(const struct fake_engine *engine, const char *request);
