/*
 * HTTP over a unix socket, with libcurl: one connection, one request at a time, everything bounded.
 */
#pragma once

#include "base/error.h"

struct http;

struct http_reply {
	long status; /* 100 to 599 */
	char *body;  /* NUL-terminated; never NULL */
	size_t length;
	char *server_api; /* the Api-Version header, or NULL */
	char *libpod_api; /* the Libpod-Api-Version header, or NULL */
};

/* Prepares; connects to nothing. `socket` is a path of at most 107 bytes. 0 or -errno. */
int http_open(const char *socket, struct http **ret_http, struct error *error);
void http_close(struct http *http);

/*
 * Sends method and path ("/_ping", already escaped) and reads the reply. Gives up at the deadline
 * (boot clock) with -ETIME, also when the peer sends a byte a second. -ENOENT: no socket;
 * -ECONNREFUSED: nobody listens; -EFBIG: more than max bytes; -EPROTO: that is no HTTP; -errno.
 */
int http_request(struct http *http, const char *method, const char *path, size_t max,
	int64_t deadline_ms, struct http_reply *ret_reply, struct error *error);
void http_reply_done(struct http_reply *reply);

/* Percent-encodes a query value or path segment; the caller owns it. */
char *http_escape(const char *text);
