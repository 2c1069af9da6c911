#include "trespass.h"

#include "base/clock.h"
#include "errand.h"
#include "signals.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

/* Loopback answers at once, or not at all. */
enum { CONNECT_MS = 5000, ERRAND_MS = 10000 };

static const char *const step_names[TRESPASS_STEPS] = {
	[TRESPASS_NOWHERE] = "begin",
	[TRESPASS_OPEN] = "open",
	[TRESPASS_WRITE] = "write",
	[TRESPASS_SOCKET] = "socket",
	[TRESPASS_CONNECT] = "connect",
	[TRESPASS_SEND] = "send",
	[TRESPASS_THROUGH] = "through",
};

const char *trespass_step_name(enum trespass_step step)
{
	return step_names[step];
}

enum trespass_step trespass_step_of(const char *name)
{
	enum trespass_step step = TRESPASS_NOWHERE;

	while (step < TRESPASS_STEPS && !text_equal(step_names[step], name))
		step++;
	return step;
}

struct target {
	const char *directory, *token;
	uint16_t port;
};

/* The step is noted before it is tried: who is killed for it cannot do so any more. */
static int refused(struct trespass *trespass, int code)
{
	trespass->code = code;
	return 0;
}

static int write_marker(void *context, void *result, struct error *error)
{
	const struct target *target = context;
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", target->directory, target->token);
	struct trespass *trespass = result;
	size_t length = strlen(target->token);
	int fd CLEANUP(fd_done) = -EBADF;

	(void)error;
	trespass->step = TRESPASS_OPEN;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return refused(trespass, errno);
	trespass->step = TRESPASS_WRITE;
	if (write(fd, target->token, length) != (ssize_t)length)
		return refused(trespass, errno);
	trespass->step = TRESPASS_THROUGH;
	return 0;
}

/* 0 or -errno. */
static int connect_in_time(int fd, const struct sockaddr_in *address)
{
	socklen_t size = sizeof(int);
	int code, r;

	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	r = signals_wait(fd, POLLOUT, deadline_in_ms(CONNECT_MS));
	if (r <= 0)
		return r < 0 ? r : -ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 ? -errno : -code;
}

static int use_credential(void *context, void *result, struct error *error)
{
	const struct target *target = context;
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(target->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct trespass *trespass = result;
	size_t length = strlen(target->token);
	int fd CLEANUP(fd_done) = -EBADF, r;

	(void)error;
	trespass->step = TRESPASS_SOCKET;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return refused(trespass, errno);
	trespass->step = TRESPASS_CONNECT;
	r = connect_in_time(fd, &address);
	if (r < 0)
		return refused(trespass, -r);
	trespass->step = TRESPASS_SEND;
	if (send(fd, target->token, length, MSG_NOSIGNAL) != (ssize_t)length)
		return refused(trespass, errno);
	trespass->step = TRESPASS_THROUGH;
	return 0;
}

static struct trespass try(errand_work *work, struct target *target)
{
	struct trespass trespass = { 0 };
	struct error error = { 0 };
	const struct errand errand = {
		.work = work,
		.context = target,
		.what = "attempt",
		.result = &trespass,
		.result_size = sizeof(trespass),
		.deadline_ms = deadline_in_ms(ERRAND_MS),
	};

	if (errand_run(&errand, &error) < 0)
		(void)snprintf(trespass.note, sizeof(trespass.note), "%s", error.text);
	return trespass;
}

struct trespass trespass_file(const char *directory, const char *token)
{
	return try(write_marker, &(struct target){ .directory = directory, .token = token });
}

struct trespass trespass_network(uint16_t port, const char *token)
{
	return try(use_credential, &(struct target){ .port = port, .token = token });
}
