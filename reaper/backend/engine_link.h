/*
 * The conversation with one engine: where it listens, which dialect it speaks, and when to stop
 * asking. An engine that is not there, or did not answer a question in time, is not asked again
 * while the link is open: one that hangs costs one time-out in a pass, not one for each run.
 */
#pragma once

#include "os/http.h"

struct engine_link;

struct engine_request {
	const char *method;
	const char *path;
	const char *body; /* JSON, or NULL */
	size_t max;       /* bytes of the reply's body */
};

int engine_link_open(
	const char *url, int64_t timeout_ms, struct engine_link **ret_link, struct error *error);
void engine_link_close(struct engine_link *link);
const char *engine_link_url(const struct engine_link *link);
const char *engine_link_socket(const struct engine_link *link);
void engine_link_until(struct engine_link *link, int64_t deadline_ms);

/* 0 with a reply of whatever status, or -errno as http_request(); -EPROTO: that is no engine. */
int engine_link_request(struct engine_link *link, const struct engine_request *request,
	struct http_reply *ret_reply, struct error *error);

/* As http_request_all(). An engine that is not asked any more answers nothing. */
void engine_link_request_all(struct engine_link *link, const struct engine_request *requests,
	size_t count, long *ret_statuses);

/* The path podman's own API begins with, "/v4.3.1/libpod"; NULL: that engine is not podman. */
int engine_link_libpod(struct engine_link *link, const char **ret_prefix, struct error *error);

/* Makes an error of an answer that is not the wanted one; returns -code. */
int engine_link_refused(const struct engine_link *link, const struct engine_request *request,
	const struct http_reply *reply, int code, struct error *error);

/*
 * The engine's own word that there is no such thing. Its 404 for a path that it does not know is
 * something else: Docker says "page not found", podman sends no JSON.
 */
bool engine_reply_is_absence(const struct http_reply *reply);
