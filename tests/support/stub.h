/*
 * A small server on a unix socket that stands in for an engine, to make it fail on cue. It runs as
 * a child, answers one connection at a time and closes it after each reply.
 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

enum stub_way {
	STUB_REPLY, /* 200 to 599 with a body */
	STUB_RAW,   /* `body` is all that is sent */
	STUB_HANG,  /* says nothing, keeps the connection */
	STUB_DRIP,  /* a byte every 20 ms, without end */
	STUB_FLOOD, /* a body without end */
	STUB_HANG_UP
};

struct stub_answer {
	const char *request; /* how the request begins: "GET /containers/json"; "" is any */
	int status;
	const char *body;
	enum stub_way way;
	unsigned uses; /* after so many the next entry that fits answers; 0: no end */
};

struct stub {
	char directory[64];
	char *socket, *url;
	char *log; /* of the request lines so far, each ending in a newline */
	pid_t pid;
};

/* The answers end with an entry without `request`. What none fits is answered 404. */
void stub_start(struct stub *stub, const struct stub_answer *answers);
void stub_stop(struct stub *stub);

/* How many requests began like that. */
unsigned stub_count(const struct stub *stub, const char *request);
