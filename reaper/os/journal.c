#include "journal.h"

#include "base/text.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#define SD_JOURNAL_SUPPRESS_LOCATION /* which line of ours sends it is of no use to anybody */
#include <systemd/sd-journal.h>

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

bool journal_has(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char *name CLEANUP(mem_done) = NULL;
	struct stat st;

	if (!stream || fstat(fd, &st) < 0)
		return false;
	name = mem_printf(
		"%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return text_equal(stream, name);
}

int journal_send(const struct journal_field *fields, size_t count)
{
	struct iovec *parts CLEANUP(mem_done) = mem_grow(NULL, count, sizeof(*parts));
	int r;

	for (size_t i = 0; i < count; i++) {
		char *text = mem_printf("%s=%s", fields[i].name, fields[i].value);

		parts[i] = (struct iovec){ text, strlen(text) };
	}
	r = sd_journal_sendv(parts, (int)count);
	for (size_t i = 0; i < count; i++)
		free(parts[i].iov_base);
	return r < 0 ? r : 0;
}
