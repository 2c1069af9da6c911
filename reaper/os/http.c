#include "http.h"
#include "base/clock.h"
#include "base/text.h"
#include "signals.h"

#include <curl/curl.h>
#include <errno.h>
#include <sys/un.h>

enum { HEADER_MAX = 64, LANES_POLL_MS = 1000 };

struct http {
	CURL *curl;
	struct curl_slist *json; /* the header of a call with a body */
	char *socket;
};

/* What a reply grows into while it arrives. */
struct intake {
	struct text body;
	size_t max;
	bool too_much;
	char *server_api, *libpod_api;
};

static void intake_done(struct intake *intake)
{
	text_done(&intake->body);
	free(intake->server_api);
	free(intake->libpod_api);
}

static size_t intake_body(char *bytes, size_t one, size_t count, void *opaque)
{
	struct intake *intake = opaque;

	assert(one == 1);
	if (count > intake->max - intake->body.length) {
		intake->too_much = true;
		return 0;
	}
	text_add_n(&intake->body, bytes, count);
	return count;
}

/* The value of header `name` in a line that is not NUL-terminated; NULL: another header. */
static char *header_value(const char *line, size_t length, const char *name)
{
	size_t skip = strlen(name);

	if (length <= skip || strncasecmp(line, name, skip) != 0)
		return NULL;
	line += skip;
	length -= skip;
	while (length && strchr(" \t", *line)) {
		line++;
		length--;
	}
	while (length && strchr(" \t\r\n", line[length - 1]))
		length--;
	return mem_printf("%.*s", (int)(length < HEADER_MAX ? length : HEADER_MAX), line);
}

static void header_keep(char **kept, const char *line, size_t length, const char *name)
{
	char *value = header_value(line, length, name);

	if (!value)
		return;
	free(*kept);
	*kept = value;
}

static size_t intake_header(char *line, size_t one, size_t length, void *opaque)
{
	struct intake *intake = opaque;

	assert(one == 1);
	header_keep(&intake->server_api, line, length, "Api-Version:");
	header_keep(&intake->libpod_api, line, length, "Libpod-Api-Version:");
	return length;
}

/* Called at least once a second (curl_easy_perform waits no longer, lib/easy.c of 7.88). */
static int http_progress(
	void *opaque, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
	(void)opaque;
	(void)down_all;
	(void)down;
	(void)up_all;
	(void)up;
	return signals_stop_wanted();
}

/* What never changes from request to request. An option that libcurl does not know is fatal. */
static int http_configure(struct http *http)
{
	CURL *curl = http->curl;
	CURLcode r = CURLE_OK;

	r |= curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, http->socket);
	r |= curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	r |= curl_easy_setopt(curl, CURLOPT_PROXY, "");
	r |= curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	r |= curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	r |= curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	r |= curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	r |= curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	r |= curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, http_progress);
	r |= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, intake_body);
	r |= curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, intake_header);
	return r == CURLE_OK ? 0 : -ENOTSUP;
}

int http_open(const char *socket, struct http **ret_http, struct error *error)
{
	struct http *http;
	int r;

	if (strlen(socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_say(error, ENAMETOOLONG,
			"socket %.200s: longer than the 107 bytes that a unix socket may have",
			socket);
	/* Counted by libcurl; TLS, whose start-up costs most, is not asked for. */
	if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK)
		return error_say(error, ENOTSUP, "libcurl cannot be initialised");
	http = mem_new(sizeof(*http));
	http->socket = mem_dup(socket);
	http->json = curl_slist_append(NULL, "Content-Type: application/json");
	http->curl = curl_easy_init();
	r = http->curl && http->json ? http_configure(http) : -ENOMEM;
	if (r < 0) {
		http_close(http);
		return error_set(error, -r, "set libcurl up for %s", socket);
	}
	*ret_http = http;
	return 0;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->curl);
	curl_slist_free_all(http->json);
	free(http->socket);
	free(http);
	curl_global_cleanup();
}

/* The failures of libcurl 7.88 over a unix socket, as errno and in words. */
static int http_failed(struct http *http, CURLcode code, const struct intake *intake,
	const struct http_call *call, struct error *error)
{
	long os_errno = 0;
	const char *why = curl_easy_strerror(code);
	int r = EIO;

	if (curl_easy_getinfo(http->curl, CURLINFO_OS_ERRNO, &os_errno) != CURLE_OK)
		os_errno = 0;
	if (intake->too_much || code == CURLE_FILESIZE_EXCEEDED) {
		r = EFBIG;
		why = "the reply is larger than it may be";
	} else if (code == CURLE_OPERATION_TIMEDOUT) {
		r = ETIME;
		why = "no complete reply in time";
	} else if (code == CURLE_ABORTED_BY_CALLBACK) {
		r = EINTR;
		why = "we were asked to stop";
	} else if (code == CURLE_COULDNT_CONNECT && os_errno > 0) {
		r = (int)os_errno;
		why = strerror(r);
	} else if (code == CURLE_COULDNT_CONNECT) {
		r = EAGAIN; /* connect(2) said so, and libcurl does not wait for that */
		why = "its queue of connections is full";
	} else if (code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR ||
		   code == CURLE_RECV_ERROR) {
		r = ECONNRESET;
		why = "it hung up";
	} else if (code != CURLE_OUT_OF_MEMORY) {
		r = EPROTO;
	}
	return error_say(
		error, r, "%s %.160s over %s: %s", call->method, call->path, http->socket, why);
}

static int http_prepare(
	struct http *http, const struct http_call *call, int64_t left_ms, struct intake *intake)
{
	char *url CLEANUP(mem_done) = mem_printf("http://localhost%s", call->path);
	bool post = strcmp(call->method, "POST") == 0;
	CURL *curl = http->curl;
	CURLcode r = CURLE_OK;

	r |= curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
	if (post)
		r |= curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, call->body ? call->body : "");
	r |= curl_easy_setopt(curl, CURLOPT_HTTPHEADER, call->body ? http->json : NULL);
	r |= curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
	r |= curl_easy_setopt(curl, CURLOPT_URL, url);
	r |= curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)left_ms);
	r |= curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)call->max);
	r |= curl_easy_setopt(curl, CURLOPT_WRITEDATA, intake);
	r |= curl_easy_setopt(curl, CURLOPT_HEADERDATA, intake);
	return r == CURLE_OK ? 0 : -ENOTSUP;
}

int http_request(struct http *http, const struct http_call *call, struct http_reply *ret_reply,
	struct error *error)
{
	struct intake intake CLEANUP(intake_done) = { .max = call->max };
	int64_t left_ms = deadline_left_ms(call->deadline_ms);
	long status = 0;
	CURLcode code;

	assert(call->path[0] == '/');
	assert(!call->body || strcmp(call->method, "POST") == 0);
	if (left_ms == 0) /* which to libcurl would mean: no limit */
		return http_failed(http, CURLE_OPERATION_TIMEDOUT, &intake, call, error);
	if (http_prepare(http, call, left_ms, &intake) < 0)
		return error_say(error, ENOTSUP, "libcurl refuses an option it should know");
	code = curl_easy_perform(http->curl);
	if (code != CURLE_OK)
		return http_failed(http, code, &intake, call, error);
	(void)curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 100 || status > 599)
		return http_failed(http, CURLE_WEIRD_SERVER_REPLY, &intake, call, error);
	text_add(&intake.body, ""); /* NUL-terminated also when nothing came */
	*ret_reply = (struct http_reply){ .status = status, .length = intake.body.length };
	ret_reply->body = TAKE_PTR(intake.body.data);
	ret_reply->server_api = TAKE_PTR(intake.server_api);
	ret_reply->libpod_api = TAKE_PTR(intake.libpod_api);
	return 0;
}

/* One of several calls under way. */
struct lane {
	struct http *http;
	struct intake intake;
};

static void lane_done(struct lane *lane)
{
	http_close(lane->http);
	intake_done(&lane->intake);
}

/* A lane that cannot be opened stays without an answer. */
static void lane_open(
	struct lane *lane, CURLM *multi, const struct http *http, const struct http_call *call)
{
	int64_t left_ms = deadline_left_ms(call->deadline_ms);

	lane->intake.max = call->max;
	if (left_ms > 0 && http_open(http->socket, &lane->http, NULL) == 0 &&
		http_prepare(lane->http, call, left_ms, &lane->intake) == 0)
		(void)curl_multi_add_handle(multi, lane->http->curl);
}

/* Until all have ended: each has its time-out. */
static void lanes_run(CURLM *multi)
{
	int running = 0;

	while (curl_multi_perform(multi, &running) == CURLM_OK && running > 0)
		if (signals_stop_wanted() ||
			curl_multi_poll(multi, NULL, 0, LANES_POLL_MS, NULL) != CURLM_OK)
			return;
}

/* What ended well, by its handle. */
static void lanes_collect(CURLM *multi, const struct lane *lanes, size_t count, long *ret_statuses)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi, &left)))
		for (size_t i = 0; i < count; i++)
			if (lanes[i].http && lanes[i].http->curl == message->easy_handle &&
				message->data.result == CURLE_OK)
				(void)curl_easy_getinfo(message->easy_handle,
					CURLINFO_RESPONSE_CODE, &ret_statuses[i]);
}

void http_request_all(
	struct http *http, const struct http_call *calls, size_t count, long *ret_statuses)
{
	struct lane lanes[HTTP_SIDE_BY_SIDE] = { 0 };
	CURLM *multi = curl_multi_init();

	assert(count <= HTTP_SIDE_BY_SIDE);
	memset(ret_statuses, 0, count * sizeof(*ret_statuses));
	for (size_t i = 0; multi && i < count; i++)
		lane_open(&lanes[i], multi, http, &calls[i]);
	if (multi) {
		lanes_run(multi);
		lanes_collect(multi, lanes, count, ret_statuses);
	}
	for (size_t i = 0; i < count; i++) {
		if (multi && lanes[i].http)
			(void)curl_multi_remove_handle(multi, lanes[i].http->curl);
		lane_done(&lanes[i]);
	}
	(void)curl_multi_cleanup(multi);
}

void http_reply_done(struct http_reply *reply)
{
	free(reply->body);
	free(reply->server_api);
	free(reply->libpod_api);
	*reply = (struct http_reply){ 0 };
}

char *http_escape(const char *text)
{
	struct text escaped = { 0 };

	text_add(&escaped, "");
	for (const char *c = text; *c; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			(*c >= '0' && *c <= '9') || strchr("-._~", *c))
			text_add_n(&escaped, c, 1);
		else
			text_addf(&escaped, "%%%02X", (unsigned char)*c);
	return escaped.data;
}
