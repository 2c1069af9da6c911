#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/http.h"
#include "os/signals.h"
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static const struct stub_answer answers[] = {
	{ .request = "GET /hang", .way = STUB_HANG },
	{ .request = "GET /drip", .way = STUB_DRIP },
	{ .request = "GET /flood", .way = STUB_FLOOD },
	{ .request = "GET /reset", .way = STUB_HANG_UP },
	{ .request = "GET /no-http", .way = STUB_RAW, .body = "SSH-2.0-OpenSSH_9.2\r\n" },
	{ .request = "GET /no-status", .way = STUB_RAW, .body = "HTTP/1.1 999 X\r\n\r\n" },
	{ .request = "GET /cut",
		.way = STUB_RAW,
		.body = "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n[" },
	{ .request = "GET /declared",
		.way = STUB_RAW,
		.body = "HTTP/1.1 200 X\r\nContent-Length: 99999999999\r\n\r\n[" },
	{ .request = "GET /away",
		.way = STUB_RAW,
		.body = "HTTP/1.1 302 X\r\nLocation: /followed\r\nContent-Length: 0\r\n\r\n" },
	{ .request = "GET /followed", .status = 200 },
	{ .request = "GET /podman",
		.way = STUB_RAW,
		.body = "HTTP/1.1 200 X\r\napi-version:  1.41 \r\nLibpod-Api-Version: 4.3.1\r\n"
			"Content-Length: 2\r\n\r\nOK" },
	{ .request = "POST /body", .status = 201, .body = "made" },
	{ .request = "DELETE /thing", .status = 204 },
	{ .request = NULL },
};

static int stub_up(void **state)
{
	static struct stub stub;

	stub_start(&stub, answers);
	*state = &stub;
	return 0;
}

static int stub_down(void **state)
{
	stub_stop(*state);
	return 0;
}

/* What comes to no end is given up soon; what answers has time, however busy the machine is. */
static int64_t patience_ms(const char *path)
{
	static const char *const endless[] = { "/hang", "/drip" };

	for (size_t i = 0; i < ARRAY_SIZE(endless); i++)
		if (text_equal(path, endless[i]))
			return 400;
	return 60 * 1000;
}

static int ask(const char *socket, const char *method, const char *path, struct http_reply *reply,
	struct error *error)
{
	struct http_call call = { .method = method,
		.path = path,
		.max = 1000,
		.deadline_ms = deadline_in_ms(patience_ms(path)) };
	struct http *http = NULL;
	int r;

	assert_int_equal(http_open(socket, &http, error), 0);
	r = http_request(http, &call, reply, error);
	http_close(http);
	return r;
}

static void failures_have_their_own_errno_and_name_the_socket(void **state)
{
	static const struct {
		const char *path;
		int r;
	} cases[] = {
		{ "/hang", -ETIME },
		{ "/drip", -ETIME },
		{ "/flood", -EFBIG },
		{ "/declared", -EFBIG },
		{ "/reset", -ECONNRESET },
		{ "/no-http", -EPROTO },
		{ "/no-status", -EPROTO },
		{ "/cut", -EPROTO },
	};
	struct stub *stub = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_reply reply = { 0 };
		struct error error = { 0 };

		if (ask(stub->socket, "GET", cases[i].path, &reply, &error) != cases[i].r)
			fail_msg("%s: %s", cases[i].path, error.text);
		assert_int_equal(error.code, -cases[i].r);
		assert_non_null(strstr(error.text, stub->socket));
		assert_non_null(strstr(error.text, cases[i].path));
		assert_null(reply.body);
	}
}

static void an_absent_engine_is_told_from_one_that_nobody_serves(void **state)
{
	struct http_reply reply = { 0 };
	struct error error = { 0 }, again = { 0 };
	struct stub *stub = *state;
	char *path CLEANUP(mem_done) = mem_printf("%s/none", stub->directory);
	char *plain CLEANUP(mem_done) = mem_printf("%s/plain", stub->directory);
	int fd CLEANUP(fd_done) = open(plain, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ask(path, "GET", "/_ping", &reply, &error), -ENOENT);
	assert_int_equal(ask(plain, "GET", "/_ping", &reply, &again), -ECONNREFUSED);
	assert_int_equal(unlink(plain), 0);
}

static void a_full_queue_of_connections_is_told_apart(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct http_reply reply = { 0 };
	struct error error = { 0 };
	struct stub *stub = *state;
	int listener CLEANUP(fd_done) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int first CLEANUP(fd_done) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/full", stub->directory);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(connect(first, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(ask(address.sun_path, "GET", "/_ping", &reply, &error), -EAGAIN);
	assert_int_equal(unlink(address.sun_path), 0);
}

static void replies_keep_status_body_and_versions(void **state)
{
	struct http_reply reply = { 0 };
	struct error error = { 0 };
	struct stub *stub = *state;

	assert_int_equal(ask(stub->socket, "GET", "/podman", &reply, &error), 0);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.body, "OK");
	assert_int_equal(reply.length, 2);
	assert_string_equal(reply.server_api, "1.41");
	assert_string_equal(reply.libpod_api, "4.3.1");
	http_reply_done(&reply);
	assert_int_equal(ask(stub->socket, "DELETE", "/thing", &reply, &error), 0);
	assert_int_equal(reply.status, 204);
	assert_string_equal(reply.body, "");
	assert_null(reply.libpod_api);
	http_reply_done(&reply);
}

static void redirects_are_answers_and_not_followed(void **state)
{
	struct http_reply reply = { 0 };
	struct error error = { 0 };
	struct stub *stub = *state;

	assert_int_equal(ask(stub->socket, "GET", "/away", &reply, &error), 0);
	assert_int_equal(reply.status, 302);
	assert_int_equal(stub_count(stub, "GET /followed"), 0);
	http_reply_done(&reply);
}

static void the_environment_does_not_choose_the_way(void **state)
{
	struct http_reply reply = { 0 };
	struct error error = { 0 };
	struct stub *stub = *state;

	assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(ask(stub->socket, "GET", "/podman", &reply, &error), 0);
	http_reply_done(&reply);
	(void)unsetenv("http_proxy");
	(void)unsetenv("ALL_PROXY");
}

static void one_connection_carries_calls_of_every_kind(void **state)
{
	struct stub *stub = *state;
	struct http *http = NULL;
	struct error error = { 0 };
	const struct http_call calls[] = {
		{ "POST", "/body", "{\"Force\":true}", 100, deadline_in_ms(60000) },
		{ "DELETE", "/thing", NULL, 100, deadline_in_ms(60000) },
		{ "POST", "/body", NULL, 100, deadline_in_ms(60000) },
		{ "GET", "/podman", NULL, 100, deadline_in_ms(60000) },
	};
	static const long status[] = { 201, 204, 201, 200 };

	assert_int_equal(http_open(stub->socket, &http, &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct http_reply reply = { 0 };

		assert_int_equal(http_request(http, &calls[i], &reply, &error), 0);
		assert_int_equal(reply.status, status[i]);
		http_reply_done(&reply);
	}
	http_close(http);
}

static void calls_side_by_side_end_each_in_its_own_way(void **state)
{
	struct stub *stub = *state;
	int64_t soon_ms = deadline_in_ms(400), late_ms = deadline_in_ms(60 * 1000);
	const struct http_call calls[] = {
		{ "GET", "/hang", NULL, 1000, soon_ms },
		{ "POST", "/body", NULL, 1000, late_ms },
		{ "DELETE", "/thing", NULL, 1000, late_ms },
		{ "GET", "/flood", NULL, 1000, late_ms },
		{ "GET", "/no-http", NULL, 1000, late_ms },
		{ "GET", "/late", NULL, 1000, clock_boot_ms() - 1 },
		{ "POST", "/body", "{\"Force\":true}", 1000, late_ms },
	};
	static const long expected[] = { 0, 201, 204, 0, 0, 0, 201 };
	long statuses[ARRAY_SIZE(calls)];
	struct error error = { 0 };
	struct http *http = NULL;

	assert_int_equal(http_open(stub->socket, &http, &error), 0);
	http_request_all(http, calls, ARRAY_SIZE(calls), statuses);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (statuses[i] != expected[i])
			fail_msg("%s: %ld", calls[i].path, statuses[i]);
	assert_int_equal(stub_count(stub, "GET /late"), 0);
	http_close(http);
}

static void nothing_is_sent_after_the_deadline(void **state)
{
	struct stub *stub = *state;
	struct http_call call = { "GET", "/late", NULL, 100, clock_boot_ms() - 1 };
	struct http_reply reply = { 0 };
	struct error error = { 0 };
	struct http *http = NULL;

	assert_int_equal(http_open(stub->socket, &http, &error), 0);
	assert_int_equal(http_request(http, &call, &reply, &error), -ETIME);
	assert_int_equal(stub_count(stub, "GET /late"), 0);
	http_close(http);
}

static void a_call_is_given_up_when_we_are_asked_to_stop(void **state)
{
	const struct timespec now = { 0 };
	struct stub *stub = *state;
	struct http_call call = { "GET", "/hang", NULL, 100, deadline_in_ms(60000) };
	struct http_reply reply = { 0 };
	struct error error = { 0 };
	struct http *http = NULL;
	pid_t us = getpid(), other;
	sigset_t set;

	signals_hold();
	other = fork();
	if (other == 0) {
		while (stub_count(stub, "GET /hang") == 0)
			(void)poll(NULL, 0, 10);
		_exit(kill(us, SIGTERM));
	}
	assert_int_equal(http_open(stub->socket, &http, &error), 0);
	assert_int_equal(http_request(http, &call, &reply, &error), -EINTR);
	assert_non_null(strstr(error.text, "we were asked to stop"));
	assert_true(deadline_left_ms(call.deadline_ms) > 0);
	http_close(http);
	assert_int_equal(waitpid(other, NULL, 0), other);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	assert_int_equal(sigtimedwait(&set, NULL, &now), SIGTERM);
	assert_return_code(sigprocmask(SIG_UNBLOCK, &set, NULL), errno);
}

static void a_socket_path_that_is_too_long_is_refused(void **state)
{
	struct error error = { 0 };
	struct http *http = NULL;
	char path[110];

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[108] = 0;
	assert_int_equal(http_open(path, &http, &error), -ENAMETOOLONG);
	assert_null(http);
}

static void escaping_leaves_only_what_a_query_may_hold(void **state)
{
	char *escaped CLEANUP(mem_done) = http_escape("aZ9-._~ {\"&=/%\xff");

	(void)state;
	assert_string_equal(escaped, "aZ9-._~%20%7B%22%26%3D%2F%25%FF");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_have_their_own_errno_and_name_the_socket),
		cmocka_unit_test(an_absent_engine_is_told_from_one_that_nobody_serves),
		cmocka_unit_test(a_full_queue_of_connections_is_told_apart),
		cmocka_unit_test(replies_keep_status_body_and_versions),
		cmocka_unit_test(redirects_are_answers_and_not_followed),
		cmocka_unit_test(the_environment_does_not_choose_the_way),
		cmocka_unit_test(one_connection_carries_calls_of_every_kind),
		cmocka_unit_test(calls_side_by_side_end_each_in_its_own_way),
		cmocka_unit_test(nothing_is_sent_after_the_deadline),
		cmocka_unit_test(a_call_is_given_up_when_we_are_asked_to_stop),
		cmocka_unit_test(a_socket_path_that_is_too_long_is_refused),
		cmocka_unit_test(escaping_leaves_only_what_a_query_may_hold),
	};

	return cmocka_run_group_tests_name("http", tests, stub_up, stub_down);
}
