#include "engine_link.h"
#include "base/clock.h"
#include "base/text.h"
#include "engine_json.h"

#include <errno.h>
#include <poll.h>

enum { PING_MAX = 4096, VERSION_MAX = 24, QUEUE_PAUSE_MS = 50 };

struct engine_link {
	char *url;
	const char *socket; /* within url */
	int64_t timeout_ms, until_ms;
	struct http *http;
	bool met;          /* it answered a ping */
	char *libpod;      /* "/v4.3.1/libpod"; NULL: not podman */
	struct error lost; /* why it is not asked any more */
};

static const char scheme[] = "unix://";

int engine_link_open(
	const char *url, int64_t timeout_ms, struct engine_link **ret_link, struct error *error)
{
	struct engine_link *link;
	int r;

	if (!text_starts(url, scheme) || url[sizeof(scheme) - 1] != '/')
		return error_say(error, EINVAL,
			"engine '%.200s': unix:///PATH is the only form that is supported", url);
	link = mem_new(sizeof(*link));
	link->url = mem_dup(url);
	link->socket = link->url + sizeof(scheme) - 1;
	link->timeout_ms = timeout_ms;
	link->until_ms = INT64_MAX;
	r = http_open(link->socket, &link->http, error);
	if (r < 0) {
		engine_link_close(link);
		return r;
	}
	*ret_link = link;
	return 0;
}

void engine_link_close(struct engine_link *link)
{
	if (!link)
		return;
	http_close(link->http);
	free(link->libpod);
	free(link->url);
	free(link);
}

const char *engine_link_url(const struct engine_link *link)
{
	return link->url;
}

const char *engine_link_socket(const struct engine_link *link)
{
	return link->socket;
}

void engine_link_until(struct engine_link *link, int64_t deadline_ms)
{
	link->until_ms = deadline_ms;
}

/* Pauses; false when no time is left to ask again. */
static bool queue_wait(int64_t deadline_ms)
{
	int64_t left_ms = deadline_left_ms(deadline_ms);

	(void)poll(NULL, 0, (int)(left_ms < QUEUE_PAUSE_MS ? left_ms : QUEUE_PAUSE_MS));
	return deadline_left_ms(deadline_ms) > 0;
}

static struct http_call engine_link_call(
	const struct engine_link *link, const struct engine_request *request)
{
	return (struct http_call){
		.method = request->method,
		.path = request->path,
		.body = request->body,
		.max = request->max,
		.deadline_ms = deadline_sooner(deadline_in_ms(link->timeout_ms), link->until_ms),
	};
}

/* Sends one request; waits while the engine's queue of connections is full. */
static int engine_link_send(struct engine_link *link, const struct engine_request *request,
	struct http_reply *ret_reply, struct error *error)
{
	const struct http_call call = engine_link_call(link, request);

	for (;;) {
		struct error failure = { 0 };
		int r = http_request(link->http, &call, ret_reply, &failure);

		if (r == -EAGAIN && queue_wait(call.deadline_ms))
			continue;
		return r < 0 ? error_say(error, -r, "%s", failure.text) : r;
	}
}

/*
 * Whether a failure says that asking this engine again is in vain. A time-out says it only of a
 * question (what changes the world may take its time), and only when it had all its time.
 */
static bool engine_link_is_lost(
	const struct engine_link *link, const struct engine_request *request, int r)
{
	switch (r) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -EACCES:
		return true;
	case -EAGAIN:
	case -ETIME:
		return strcmp(request->method, "GET") == 0 && deadline_left_ms(link->until_ms) > 0;
	default:
		return false;
	}
}

static int engine_link_try(struct engine_link *link, const struct engine_request *request,
	struct http_reply *ret_reply, struct error *error)
{
	struct error failure = { 0 };
	int r;

	if (link->lost.code)
		return error_say(error, link->lost.code, "%s", link->lost.text);
	r = engine_link_send(link, request, ret_reply, &failure);
	if (r >= 0)
		return r;
	if (engine_link_is_lost(link, request, r))
		link->lost = failure;
	return error_say(error, -r, "%s", failure.text);
}

/* Digits and dots: it becomes part of a path. */
static bool version_valid(const char *version)
{
	size_t length = strlen(version);

	return length > 0 && length <= VERSION_MAX && strspn(version, "0123456789.") == length;
}

/* "4.3.1" of "4.3.1-rhel" or "5.0.0-dev": podman's paths want the bare number. */
static char *version_number(const char *version)
{
	return mem_printf("%.*s", (int)strspn(version, "0123456789."), version);
}

/* Whether something that speaks an engine's API listens, and which dialect. */
static int engine_link_meet(struct engine_link *link, struct error *error)
{
	static const struct engine_request ping = { "GET", "/_ping", NULL, PING_MAX };
	struct http_reply reply CLEANUP(http_reply_done) = { 0 };
	char *libpod CLEANUP(mem_done) = NULL;
	int r;

	if (link->met)
		return 0;
	r = engine_link_try(link, &ping, &reply, error);
	if (r < 0)
		return r;
	if (reply.status != 200 || !reply.server_api || !version_valid(reply.server_api))
		return error_say(
			error, EPROTO, "what listens on %s is no container engine", link->socket);
	if (reply.libpod_api) {
		libpod = version_number(reply.libpod_api);
		if (!version_valid(libpod))
			return error_say(
				error, EPROTO, "%s: podman names no version", link->socket);
		link->libpod = mem_printf("/v%s/libpod", libpod);
	}
	link->met = true;
	return 0;
}

int engine_link_request(struct engine_link *link, const struct engine_request *request,
	struct http_reply *ret_reply, struct error *error)
{
	int r = engine_link_meet(link, error);

	return r < 0 ? r : engine_link_try(link, request, ret_reply, error);
}

void engine_link_request_all(struct engine_link *link, const struct engine_request *requests,
	size_t count, long *ret_statuses)
{
	struct http_call calls[HTTP_SIDE_BY_SIDE];

	assert(count <= HTTP_SIDE_BY_SIDE);
	memset(ret_statuses, 0, count * sizeof(*ret_statuses));
	if (engine_link_meet(link, NULL) < 0 || link->lost.code)
		return;
	for (size_t i = 0; i < count; i++)
		calls[i] = engine_link_call(link, &requests[i]);
	http_request_all(link->http, calls, count, ret_statuses);
}

int engine_link_refused(const struct engine_link *link, const struct engine_request *request,
	const struct http_reply *reply, int code, struct error *error)
{
	char *said CLEANUP(mem_done) = engine_json_message(reply->body, reply->length);

	return error_say(error, code, "%s answered %ld to %s %.*s: %s", link->socket, reply->status,
		request->method, (int)strcspn(request->path, "?"), request->path, said);
}

bool engine_reply_is_absence(const struct http_reply *reply)
{
	if (reply->status == 500) /* podman, while the container is being removed */
		return engine_json_says(reply->body, reply->length, "cause", "no such container");
	return reply->status == 404 &&
	       engine_json_says(reply->body, reply->length, "message", NULL) &&
	       !engine_json_says(reply->body, reply->length, "message", "page not found");
}

int engine_link_libpod(struct engine_link *link, const char **ret_prefix, struct error *error)
{
	int r = engine_link_meet(link, error);

	if (r == 0)
		*ret_prefix = link->libpod;
	return r;
}
