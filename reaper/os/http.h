/*
 * HTTP over a unix socket, with libcurl: one connection, one request at a time, everything bounded.
 * Neither the environment nor the peer chooses where a request goes: no proxies, no redirects.
 */
#pragma once

#include "base/error.h"

struct http;

struct http_call {
	const char *method;
	const char *path;    /* "/_ping", already escaped */
	const char *body;    /* JSON to send, or NULL */
	size_t max;          /* bytes that the reply's body may have */
	int64_t deadline_ms; /* boot clock */
};

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
 * Sends the call and reads the reply. Gives up at the deadline with -ETIME, also when the peer
 * sends a byte a second, and with -EINTR within a second of being asked to stop. -ENOENT: no socket; -ECONNREFUSED: nobody listens; -EAGAIN: its queue of
 * connections is full; -ECONNRESET: it hung up; -EFBIG: more than max bytes; -EPROTO: that is no
 * HTTP, or was cut short; -errno. A request that was given up may still be carried out.
 */
int http_request(struct http *http, const struct http_call *call, struct http_reply *ret_reply,
	struct error *error);

/*
 * Sends several calls side by side, each on a connection of its own, and waits until each has ended as
 * http_request() would; for calls whose bodies nobody wants to read. ret_statuses[i]: what the i-th was
 * answered, 0: nothing that could be read.
 */
enum { HTTP_SIDE_BY_SIDE = 8 }; /* the most at a time; more gained nothing with real engines */
void http_request_all(
	struct http *http, const struct http_call *calls, size_t count, long *ret_statuses);

void http_reply_done(struct http_reply *reply);

/* Percent-encodes a query value or path segment; the caller owns it. */
char *http_escape(const char *text);
