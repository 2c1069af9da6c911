/*
 * A cgroup full of processes, and its removal without cgroup.kill:
 *
 *   crowd fill GROUP COUNT     starts as many processes in the group, which wait for ever
 *   crowd end GROUP            kills pid by pid until none is left, waits, and removes the group
 *
 * GROUP is a directory of cgroup v2.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void enter(const char *group)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/cgroup.procs", group);
	int fd CLEANUP(fd_done) = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(path);
}

static _Noreturn void wait_for_ever(void)
{
	for (;;)
		(void)pause();
}

static void fill(const char *group, unsigned long count)
{
	enter(group);
	for (unsigned long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0)
			wait_for_ever();
	}
}

static size_t kill_each(const char *group)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/cgroup.procs", group);
	FILE *file CLEANUP(file_done) = fopen(path, "re");
	size_t count = 0;
	int pid;

	if (!file)
		fail(path);
	for (; fscanf(file, "%d", &pid) == 1; count++)
		(void)kill(pid, SIGKILL);
	return count;
}

static bool is_populated(int events)
{
	char text[256] = { 0 };

	if (pread(events, text, sizeof(text) - 1, 0) < 0)
		fail("read cgroup.events");
	return strstr(text, "populated 1") != NULL;
}

static void end(const char *group)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/cgroup.events", group);
	int events CLEANUP(fd_done) = open(path, O_RDONLY | O_CLOEXEC);
	struct pollfd fd = { .fd = events, .events = POLLPRI };

	if (events < 0)
		fail(path);
	while (kill_each(group) > 0 && is_populated(events))
		(void)poll(&fd, 1, 10);
	while (is_populated(events))
		(void)poll(&fd, 1, 10);
	if (rmdir(group) != 0)
		fail(group);
}

int main(int count, char **arguments)
{
	if (count == 4 && text_equal(arguments[1], "fill"))
		fill(arguments[2], strtoul(arguments[3], NULL, 10));
	else if (count == 3 && text_equal(arguments[1], "end"))
		end(arguments[2]);
	else
		return 2;
	return 0;
}
