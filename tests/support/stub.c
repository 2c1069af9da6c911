#include "stub.h"
#include "base/text.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { LOG_SIZE = 1024 * 1024, REQUEST_MAX = 16 * 1024, ANSWERS_MAX = 128 };

#define STUB_PING "HTTP/1.1 %d X\r\nApi-Version: 1.44\r\nConnection: close\r\n"

static void stub_say(int peer, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = send(peer, bytes, length, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		bytes += n;
		length -= (size_t)n;
	}
}

/* Until the peer goes away: a byte every 20 ms, or nothing at all. */
static void stub_linger(int peer, const char *byte)
{
	struct pollfd watched = { .fd = peer, .events = POLLRDHUP };

	while (poll(&watched, 1, 20) == 0)
		if (byte && send(peer, byte, 1, MSG_NOSIGNAL) != 1)
			return;
}

static void stub_flood(int peer)
{
	char block[64 * 1024];

	memset(block, ' ', sizeof(block));
	for (int i = 0; i < 4096; i++)
		if (send(peer, block, sizeof(block), MSG_NOSIGNAL) <= 0)
			return;
}

static void stub_answer(int peer, const struct stub_answer *answer)
{
	struct text head = { 0 };
	const char *body = answer->body ? answer->body : "";

	text_addf(&head, STUB_PING, answer->status ? answer->status : 200);
	switch (answer->way) {
	case STUB_REPLY:
		text_addf(&head, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
		stub_say(peer, head.data, head.length);
		break;
	case STUB_RAW:
		stub_say(peer, body, strlen(body));
		break;
	case STUB_HANG:
		stub_linger(peer, NULL);
		break;
	case STUB_DRIP:
		text_add(&head, "\r\n");
		stub_say(peer, head.data, head.length);
		stub_linger(peer, "[");
		break;
	case STUB_FLOOD:
		text_add(&head, "\r\n");
		stub_say(peer, head.data, head.length);
		stub_flood(peer);
		break;
	case STUB_HANG_UP:
		break;
	}
	text_done(&head);
}

static void stub_log(const struct stub *stub, const char *request)
{
	size_t used = strlen(stub->log);
	const char *end = strstr(request, " HTTP/");

	if (end && used + (size_t)(end - request) + 2 < LOG_SIZE)
		(void)sprintf(stub->log + used, "%.*s\n", (int)(end - request), request);
}

static void stub_serve(
	const struct stub *stub, int peer, const struct stub_answer *answers, unsigned *used)
{
	static const struct stub_answer missing = { .status = 404,
		.body = "{\"message\":\"page not found\"}" };
	char request[REQUEST_MAX];
	size_t length = 0;

	do {
		ssize_t n = recv(peer, request + length, sizeof(request) - 1 - length, 0);

		if (n <= 0)
			return;
		length += (size_t)n;
		request[length] = 0;
	} while (!strstr(request, "\r\n\r\n") && length < sizeof(request) - 1);
	stub_log(stub, request);
	for (size_t i = 0; answers[i].request; i++)
		if (text_starts(request, answers[i].request) &&
			(!answers[i].uses || used[i] < answers[i].uses)) {
			used[i]++;
			stub_answer(peer, &answers[i]);
			return;
		}
	stub_answer(peer, &missing);
}

static _Noreturn void stub_run(const struct stub *stub, int listener, const struct stub_answer *a)
{
	unsigned used[ANSWERS_MAX] = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (peer < 0)
			_exit(1);
		stub_serve(stub, peer, a, used);
		(void)close(peer);
	}
}

void stub_start(struct stub *stub, const struct stub_answer *answers)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener CLEANUP(fd_done) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*stub = (struct stub){ .directory = "/tmp/sbx-stub-XXXXXX" };
	if (!mkdtemp(stub->directory))
		abort();
	stub->socket = mem_printf("%s/engine.sock", stub->directory);
	stub->url = mem_printf("unix://%s", stub->socket);
	stub->log = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", stub->socket);
	if (stub->log == MAP_FAILED || listener < 0 ||
		bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(listener, 16) < 0)
		abort();
	stub->pid = fork();
	if (stub->pid < 0)
		abort();
	if (stub->pid == 0)
		stub_run(stub, listener, answers);
}

void stub_stop(struct stub *stub)
{
	if (stub->pid > 0) {
		(void)kill(stub->pid, SIGKILL);
		(void)waitpid(stub->pid, NULL, 0);
	}
	if (stub->log)
		(void)munmap(stub->log, LOG_SIZE);
	if (stub->socket) {
		(void)unlink(stub->socket);
		(void)rmdir(stub->directory);
	}
	free(stub->socket);
	free(stub->url);
	*stub = (struct stub){ 0 };
}

unsigned stub_count(const struct stub *stub, const char *request)
{
	unsigned count = 0;

	for (const char *line = stub->log; line && *line; line = strchr(line, '\n') + 1)
		count += text_starts(line, request);
	return count;
}
