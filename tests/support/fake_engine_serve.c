/* The child of a fake engine: its socket, its connections and how they misbehave. */
#include "fake_engine_state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { PEERS_MAX = 64, QUEUE = 128, REQUEST_MAX = 16 * 1024, PEER_TIME_S = 10 };

struct server {
	const struct fake_engine *engine;
	int listener, control;
	int timer;            /* of the next byte that drips, or of the end of a restart */
	int peers[PEERS_MAX]; /* that wait for an answer */
	struct text replies[PEERS_MAX]; /* what they wait for, while they gather */
	int queue[PEERS_MAX];           /* our own connections that fill the listener's queue */
	size_t peer_count, queue_count;
	bool dripping;
};

/* The paths for the handler of the signal that comes when the test is gone. */
static struct {
	char socket[108], directory[64];
} leaving;

static void leave(int signal)
{
	(void)signal;
	(void)unlink(leaving.socket);
	(void)rmdir(leaving.directory);
	_exit(0);
}

static void server_time(const struct server *server, int64_t first_ms, int64_t then_ms)
{
	const struct itimerspec when = {
		.it_value = { first_ms / 1000, first_ms % 1000 * 1000000 },
		.it_interval = { then_ms / 1000, then_ms % 1000 * 1000000 },
	};

	if (timerfd_settime(server->timer, 0, &when, NULL) < 0)
		abort();
}

static struct sockaddr_un server_address(const struct server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", server->engine->socket);
	return address;
}

static void server_open(struct server *server, int queue)
{
	struct sockaddr_un address = server_address(server);

	server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->listener < 0 ||
		bind(server->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(server->listener, queue) < 0)
		abort();
}

static void close_all(int *fds, size_t *count)
{
	while (*count)
		(void)close(fds[--*count]);
}

static void server_close(struct server *server)
{
	fd_done(&server->listener);
	server->listener = -EBADF;
	(void)unlink(server->engine->socket);
	close_all(server->peers, &server->peer_count);
	close_all(server->queue, &server->queue_count);
	server->dripping = false;
	server_time(server, 0, 0);
}

/* Connects to ourselves until no more fits. */
static void server_fill_queue(struct server *server)
{
	struct sockaddr_un address = server_address(server);

	while (server->queue_count < PEERS_MAX) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0)
			abort();
		server->queue[server->queue_count++] = fd;
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
			return;
	}
	abort();
}

/* Does what fake_engine_behave() left in the shared state. */
static void server_behave(struct server *server)
{
	enum fake_engine_way way;

	fake_state_lock(server->engine->state);
	way = server->engine->state->way;
	fake_state_unlock(server->engine->state);
	server_close(server);
	if (way == FAKE_ENGINE_ABSENT)
		return;
	server_open(server, way == FAKE_ENGINE_FULL ? 0 : QUEUE);
	if (way == FAKE_ENGINE_FULL)
		server_fill_queue(server);
}

static void server_restart(struct server *server)
{
	struct fake_engine_state *state = server->engine->state;

	fake_state_lock(state);
	state->way = FAKE_ENGINE_WELL;
	for (size_t i = 0; i < state->slot_count; i++)
		state->slots[i].running = false;
	fake_state_unlock(state);
	server_close(server);
	server_time(server, FAKE_ENGINE_DOWN_MS, 0);
}

static void say(int peer, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = send(peer, bytes, length, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		bytes += n;
		length -= (size_t)n;
	}
}

static void server_hold(struct server *server, int peer)
{
	if (server->peer_count == PEERS_MAX)
		abort();
	server->peers[server->peer_count++] = peer;
}

static void server_drip(struct server *server, int peer)
{
	static const char head[] = "HTTP/1.1 200 X\r\nApi-Version: 1.41\r\n\r\n";

	say(peer, head, strlen(head));
	server_hold(server, peer);
	if (!server->dripping)
		server_time(server, 1000, 1000);
	server->dripping = true;
}

/* Cuts the last third off, and says that this was all. */
static void reply_halve(struct text *reply)
{
	struct text half CLEANUP(text_done) = { 0 };
	char *body = strstr(reply->data, "\r\n\r\n");
	size_t length = body ? strlen(body + 4) : 0;

	if (!length)
		return;
	body[4 + length - length / 3 - 1] = 0;
	fake_engine_reply(&half, 200, body + 4);
	text_done(reply);
	*reply = half;
	half = (struct text){ 0 };
}

static void log_request(struct fake_engine_state *state, const char *request)
{
	size_t length = strlen(request) + 1;

	if (state->log_length + length >= FAKE_LOG_SIZE)
		state->log_length = 0;
	(void)sprintf(state->log + state->log_length, "%s\n", request);
	state->log_length += length;
}

/* What is to be said to "METHOD PATH" now, and in which way. */
static enum fake_engine_way decide(
	struct fake_engine_state *state, const char *request, struct text *reply)
{
	enum fake_engine_way way;

	fake_state_lock(state);
	log_request(state, request);
	way = text_starts(request, state->request) ? state->way : FAKE_ENGINE_WELL;
	if (way == FAKE_ENGINE_WELL || way == FAKE_ENGINE_HALF || way == FAKE_ENGINE_TOGETHER)
		fake_engine_answer(state, request, reply);
	fake_state_unlock(state);
	return way;
}

/* It is answered when enough others wait: who sends one after another waits in vain. */
static void server_gather(struct server *server, int peer, struct text *reply)
{
	server->replies[server->peer_count] = *reply;
	*reply = (struct text){ 0 };
	server_hold(server, peer);
	if (server->peer_count < FAKE_ENGINE_COMPANY)
		return;
	for (size_t i = 0; i < server->peer_count; i++) {
		say(server->peers[i], server->replies[i].data, server->replies[i].length);
		text_done(&server->replies[i]);
	}
	close_all(server->peers, &server->peer_count);
}

/* Takes the peer over. */
static void server_answer(struct server *server, int peer, const char *request)
{
	struct text reply CLEANUP(text_done) = { 0 };

	switch (decide(server->engine->state, request, &reply)) {
	case FAKE_ENGINE_HANG:
		server_hold(server, peer);
		return;
	case FAKE_ENGINE_DRIP:
		server_drip(server, peer);
		return;
	case FAKE_ENGINE_FAIL:
		fake_engine_reply(&reply, 500, "{\"message\":\"out of order\"}");
		break;
	case FAKE_ENGINE_HALF:
		reply_halve(&reply);
		break;
	case FAKE_ENGINE_BUSY:
		fake_engine_reply(&reply, 409,
			"{\"message\":\"removal of container x is already in progress\"}");
		break;
	case FAKE_ENGINE_LIES:
		fake_engine_reply(&reply, 204, "");
		break;
	case FAKE_ENGINE_TOGETHER:
		server_gather(server, peer, &reply);
		return;
	case FAKE_ENGINE_RESTART:
		(void)close(peer);
		server_restart(server);
		return;
	case FAKE_ENGINE_WELL:
	case FAKE_ENGINE_ABSENT:
	case FAKE_ENGINE_FULL:
		break;
	}
	say(peer, reply.data, reply.length);
	(void)close(peer);
}

/* Reads a whole request; leaves "METHOD PATH" of it. */
static bool read_request(int peer, char request[REQUEST_MAX])
{
	size_t length = 0;
	char *end;

	do {
		ssize_t n = recv(peer, request + length, REQUEST_MAX - 1 - length, 0);

		if (n <= 0)
			return false;
		length += (size_t)n;
		request[length] = 0;
	} while (!strstr(request, "\r\n\r\n") && length < REQUEST_MAX - 1);
	end = strstr(request, " HTTP/");
	if (end)
		*end = 0;
	return end != NULL;
}

static void server_accept(struct server *server)
{
	const struct timeval patience = { .tv_sec = PEER_TIME_S };
	int peer = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
	char request[REQUEST_MAX];

	if (peer < 0)
		return;
	(void)setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (read_request(peer, request))
		server_answer(server, peer, request);
	else
		(void)close(peer);
}

static void server_tick(struct server *server)
{
	uint64_t times;

	if (read(server->timer, &times, sizeof(times)) != sizeof(times))
		return;
	if (server->listener < 0)
		server_open(server, QUEUE);
	for (size_t i = 0; i < server->peer_count; i++)
		say(server->peers[i], "[", 1);
}

static void server_drop_gone(struct server *server, const struct pollfd *peers)
{
	size_t kept = 0;

	for (size_t i = 0; i < server->peer_count; i++)
		if (peers[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) {
			(void)close(server->peers[i]);
			text_done(&server->replies[i]);
		} else {
			server->replies[kept] = server->replies[i];
			server->peers[kept++] = server->peers[i];
		}
	server->peer_count = kept;
}

static void server_round(struct server *server)
{
	struct pollfd watched[3 + PEERS_MAX] = {
		{ .fd = server->control, .events = POLLIN },
		{ .fd = server->timer, .events = POLLIN },
		{ .fd = server->queue_count ? -1 : server->listener, .events = POLLIN },
	};
	char byte;

	for (size_t i = 0; i < server->peer_count; i++)
		watched[3 + i] = (struct pollfd){ server->peers[i], POLLRDHUP, 0 };
	if (poll(watched, 3 + server->peer_count, -1) < 0)
		return;
	server_drop_gone(server, watched + 3);
	if (watched[1].revents)
		server_tick(server);
	if (watched[2].revents)
		server_accept(server);
	if (!watched[0].revents)
		return;
	if (read(server->control, &byte, 1) != 1)
		leave(0); /* all that could give orders are gone */
	server_behave(server);
	if (write(server->control, &byte, 1) != 1)
		leave(0);
}

static _Noreturn void server_run(struct server *server, pid_t parent)
{
	(void)snprintf(leaving.socket, sizeof(leaving.socket), "%s", server->engine->socket);
	(void)snprintf(
		leaving.directory, sizeof(leaving.directory), "%s", server->engine->directory);
	(void)signal(SIGTERM, leave);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		leave(0);
	for (;;)
		server_round(server);
}

void fake_engine_serve(struct fake_engine *engine)
{
	struct server server = { .engine = engine, .listener = -EBADF };
	pid_t parent = getpid();
	int control[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		abort();
	engine->control = control[0];
	server.control = control[1];
	server.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	if (server.timer < 0)
		abort();
	server_open(&server, QUEUE);
	engine->pid = fork();
	if (engine->pid < 0)
		abort();
	if (engine->pid == 0) {
		(void)close(control[0]);
		server_run(&server, parent);
	}
	(void)close(control[1]);
	(void)close(server.timer);
	(void)close(server.listener);
}

void fake_engine_unserve(struct fake_engine *engine)
{
	if (engine->pid > 0) {
		(void)kill(engine->pid, SIGTERM);
		(void)waitpid(engine->pid, NULL, 0);
	}
	fd_done(&engine->control);
}
