#include "proc.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

int proc_open(pid_t pid)
{
	char path[32];
	int entry;

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	entry = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (entry < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return entry;
}

ssize_t proc_read(int entry, const char *name, char *buffer, size_t size)
{
	int file CLEANUP(fd_done) = openat(entry, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t length = 0;
	ssize_t got;

	if (file < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	do {
		got = read(file, buffer + length, size - 1 - length);
		if (got < 0 && errno != EINTR)
			return -errno;
		length += got > 0 ? (size_t)got : 0;
	} while (got != 0 && length < size - 1);
	buffer[length] = 0;
	return (ssize_t)length;
}

int proc_stat_read(int entry, struct proc_stat *ret_stat)
{
	struct proc_stat stat;
	char line[1024], *rest;
	ssize_t length = proc_read(entry, "stat", line, sizeof(line));

	if (length < 0)
		return (int)length;
	rest = strrchr(line, ')'); /* the name before it may hold anything, ')' too */
	if (!rest || sscanf(rest + 1,
			     " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			     "%" SCNd64 " %*d %" SCNu64,
			     &stat.state, &stat.parent, &stat.threads, &stat.start_ticks) != 4)
		return -EPROTO;
	*ret_stat = stat;
	return 0;
}

pid_t proc_leader(pid_t thread)
{
	int entry CLEANUP(fd_done) = proc_open(thread);
	char text[1024], *at;
	pid_t leader;
	ssize_t length = entry < 0 ? entry : proc_read(entry, "status", text, sizeof(text));

	if (length < 0)
		return (pid_t)length;
	/* The name in the line before it is escaped by the kernel, so it brings no newline. */
	at = strstr(text, "\nTgid:");
	return at && sscanf(at, "\nTgid: %d", &leader) == 1 ? leader : -EPROTO;
}

bool proc_stat_ended(const struct proc_stat *stat)
{
	return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

void proc_comm(int entry, char *ret_comm, size_t size)
{
	char *escaped CLEANUP(mem_done) = NULL;
	char comm[80];
	ssize_t length = proc_read(entry, "comm", comm, sizeof(comm));

	if (length > 0 && comm[length - 1] == '\n')
		comm[length - 1] = 0;
	escaped = text_escape(length > 0 ? comm : "?");
	(void)snprintf(ret_comm, size, "%s", escaped);
}

const char *proc_describe(char buffer[PROC_TEXT], pid_t pid)
{
	int entry CLEANUP(fd_done) = proc_open(pid);
	struct proc_stat stat = { .state = '?' };
	char comm[PROC_COMM] = "?";

	if (entry >= 0) {
		proc_comm(entry, comm, sizeof(comm));
		(void)proc_stat_read(entry, &stat);
	}
	(void)snprintf(buffer, PROC_TEXT, "pid %d (%s) in state %c", pid, comm, stat.state);
	return buffer;
}

uint64_t proc_mount_id(int entry, const char *fdinfo)
{
	char buffer[1024];
	const char *line;

	if (proc_read(entry, fdinfo, buffer, sizeof(buffer)) < 0)
		return 0;
	line = strstr(buffer, "mnt_id:");
	return line ? strtoull(line + strlen("mnt_id:"), NULL, 10) : 0;
}
