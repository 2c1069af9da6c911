#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { BACKLOG = 64, HEARD_MAX = 256 };

int endpoint_open(struct endpoint *ret_endpoint, struct error *error)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int fd CLEANUP(fd_done) = -EBADF;

	*ret_endpoint = (struct endpoint){ .fd = -EBADF };
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return error_set(error, errno, "listen on 127.0.0.1");
	ret_endpoint->fd = TAKE_FD(fd);
	ret_endpoint->port = ntohs(address.sin_port);
	return 0;
}

void endpoint_close(struct endpoint *endpoint)
{
	fd_done(&endpoint->fd);
}

static bool begins_with(int peer, const char *token)
{
	char heard[HEARD_MAX] = "";
	ssize_t length = recv(peer, heard, sizeof(heard), MSG_DONTWAIT);
	size_t wanted = strlen(token);

	return length >= (ssize_t)wanted && memcmp(heard, token, wanted) == 0;
}

/* Bounded: others on this machine may connect as fast as we accept. */
int endpoint_heard(const struct endpoint *endpoint, const char *token, struct error *error)
{
	bool heard = false;

	for (int i = 0; i <= BACKLOG; i++) {
		int peer CLEANUP(fd_done) = accept4(endpoint->fd, NULL, NULL, SOCK_CLOEXEC);

		if (peer < 0 && errno == EAGAIN)
			break;
		if (peer < 0 && errno != ECONNABORTED)
			return error_set(error, errno, "accept on 127.0.0.1");
		heard |= peer >= 0 && begins_with(peer, token);
	}
	return heard;
}
