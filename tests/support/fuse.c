#include "fuse.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { REQUEST_MAX = 1 << 18 };

struct fuse fuse_mount(const char *point)
{
	return fuse_mount_of(point, 0, "");
}

struct fuse fuse_mount_of(const char *point, unsigned user, const char *more)
{
	struct fuse fuse = { .fd = open("/dev/fuse", O_RDWR | O_CLOEXEC) };
	char options[160];

	assert_return_code(fuse.fd, errno);
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s",
		fuse.fd, user, user, more);
	assert_return_code(
		mount("sbx", point, "fuse.sbxtest", MS_NOSUID | MS_NODEV, options), errno);
	return fuse;
}

static void reply(int fd, const struct fuse_in_header *in, int code, void *body, size_t size)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + (code ? 0 : size)),
		.error = -code,
		.unique = in->unique,
	};
	struct iovec parts[] = { { &out, sizeof(out) }, { body, code ? 0 : size } };

	(void)!writev(fd, parts, code || !size ? 1 : 2);
}

static void serve_one(int fd, const char *request)
{
	const struct fuse_in_header *in = (const void *)request;
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = 4096,
	};
	struct fuse_attr_out attr = {
		.attr = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 },
	};
	struct fuse_open_out opened = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(fd, in, 0, &init, sizeof(init));
		return;
	case FUSE_GETATTR:
		reply(fd, in, 0, &attr, sizeof(attr));
		return;
	case FUSE_OPENDIR:
		reply(fd, in, 0, &opened, sizeof(opened));
		return;
	case FUSE_READDIR:
	case FUSE_RELEASEDIR:
		reply(fd, in, 0, NULL, 0);
		return;
	case FUSE_LOOKUP:
		reply(fd, in, ENOENT, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		reply(fd, in, ENOSYS, NULL, 0);
		return;
	}
}

static void serve(int fd, int taken)
{
	static char request[REQUEST_MAX] __attribute__((aligned(8)));

	(void)taken;
	while (read(fd, request, sizeof(request)) > 0 || errno == EINTR || errno == ENOENT)
		serve_one(fd, request);
}

static void start_server(struct fuse *fuse, void (*server)(int fd, int taken), int taken)
{
	fuse->server = fork();
	assert_return_code(fuse->server, errno);
	if (fuse->server > 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	server(fuse->fd, taken);
	_exit(0);
}

void fuse_serve(struct fuse *fuse)
{
	start_server(fuse, serve, -EBADF);
}

/* Only the first one, FUSE_INIT, is answered. */
static void swallow(int fd, int taken)
{
	static char request[REQUEST_MAX] __attribute__((aligned(8)));

	if (read(fd, request, sizeof(request)) > 0)
		serve_one(fd, request);
	while (read(fd, request, sizeof(request)) > 0 || errno == EINTR || errno == ENOENT)
		(void)!write(taken, "", 1);
}

void fuse_swallow(struct fuse *fuse)
{
	int taken[2];

	assert_return_code(pipe2(taken, O_CLOEXEC | O_NONBLOCK), errno);
	start_server(fuse, swallow, taken[1]);
	(void)close(taken[1]);
	fuse->taken = taken[0];
}

void fuse_await(const struct fuse *fuse)
{
	struct pollfd taken = { .fd = fuse->taken, .events = POLLIN };

	assert_int_equal(poll(&taken, 1, -1), 1);
	assert_true(taken.revents & POLLIN);
}

void fuse_kill(struct fuse *fuse)
{
	if (fuse->server > 0) {
		(void)kill(fuse->server, SIGKILL);
		(void)waitpid(fuse->server, NULL, 0);
	}
	if (fuse->fd >= 0)
		(void)close(fuse->fd);
	if (fuse->taken > 0)
		(void)close(fuse->taken);
	*fuse = (struct fuse){ .fd = -EBADF };
}
