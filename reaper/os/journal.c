#include "journal.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

int journal_listens(struct error *error)
{
	static const struct sockaddr_un address = {
		.sun_family = AF_UNIX,
		.sun_path = "/run/systemd/journal/socket",
	};
	/* Of datagrams: to connect only asks whether somebody has bound it (unix(7)). */
	int fd CLEANUP(fd_done) = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return error_set(error, errno, "make a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 1;
	if (errno == ENOENT || errno == ECONNREFUSED)
		return 0;
	return error_set(error, errno, "connect to %s", address.sun_path);
}
