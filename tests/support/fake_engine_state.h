/* What a fake engine knows, in memory that it shares with the tests; and what it answers. */
#pragma once

#include "base/text.h"
#include "fake_engine.h"

#include <pthread.h>

enum {
	FAKE_THINGS_MAX = 4096,
	FAKE_NAME_SIZE = 136,
	FAKE_REQUEST_SIZE = 128,
	FAKE_LOG_SIZE = 1024 * 1024
};

struct fake_slot {
	bool used;
	enum kind kind;
	char id[FAKE_NAME_SIZE], name[FAKE_NAME_SIZE];
	char run[FAKE_NAME_SIZE], image_run[FAKE_NAME_SIZE]; /* "": no label */
	bool running;
	int64_t created_s;
};

struct fake_engine_state {
	pthread_mutex_t lock; /* for all of it, but not while anything is sent */
	struct fake_slot slots[FAKE_THINGS_MAX];
	size_t slot_count; /* that were ever used */
	uint64_t made;
	enum fake_engine_way way;
	char request[FAKE_REQUEST_SIZE]; /* how those begin that are answered in that way */
	size_t log_length;
	char log[FAKE_LOG_SIZE]; /* request lines, each ending in a newline; begins anew when full */
};

void fake_state_lock(struct fake_engine_state *state);
void fake_state_unlock(struct fake_engine_state *state);

/* The thing of that kind with that id or name, or a container whose id begins so; NULL. Locked. */
struct fake_slot *fake_state_find(struct fake_engine_state *state, enum kind kind, const char *ref);

/* Appends the whole reply to "METHOD PATH"; does what it asks. Locked. */
void fake_engine_answer(struct fake_engine_state *state, const char *request, struct text *reply);

/* Starts and ends the child that answers (fake_engine_serve.c). */
void fake_engine_serve(struct fake_engine *engine);
void fake_engine_unserve(struct fake_engine *engine);

/* A reply with that body. */
void fake_engine_reply(struct text *reply, int status, const char *body);
