/*
 * Runs a command and writes what it cost to a file, as one line of numbers:
 *
 *   timed FILE [--empty DIRECTORY] COMMAND [ARGUMENT]...
 *
 * wall time, CPU time (both in seconds, of the command and of all children that it waited for), the
 * most memory that one of them had (KiB), and with --empty the seconds until the last directory of
 * DIRECTORY had left its place (those with a leading dot do not count), else 0. Exits as the command did.
 */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

struct names {
	int inotify;
	size_t left;
	double gone_s; /* 0: some are there */
};

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "timed: %s: %s\n", what, strerror(errno));
	exit(125);
}

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t count_names(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	if (!directory)
		fail(path);
	while ((entry = readdir(directory)))
		count += entry->d_type == DT_DIR && entry->d_name[0] != '.';
	(void)closedir(directory);
	return count;
}

static void names_watch(struct names *names, const char *path)
{
	names->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (names->inotify < 0 ||
		inotify_add_watch(names->inotify, path, IN_MOVED_FROM | IN_DELETE) < 0)
		fail(path);
	names->left = count_names(path);
	if (!names->left) {
		errno = ENOENT;
		fail(path);
	}
}

static void names_take(struct names *names, double begun_s)
{
	_Alignas(struct inotify_event) char events[65536];
	ssize_t size = read(names->inotify, events, sizeof(events));
	const struct inotify_event *event;

	for (ssize_t at = 0; at < size; at += (ssize_t)(sizeof(*event) + event->len)) {
		event = (const struct inotify_event *)(const void *)(events + at);
		if ((event->mask & IN_ISDIR) && event->name[0] != '.' && names->left > 0 &&
			--names->left == 0)
			names->gone_s = now_s() - begun_s;
	}
}

/* Until the command has ended. */
static void names_follow(struct names *names, pid_t pid, double begun_s)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[] = { { pidfd, POLLIN, 0 }, { names->inotify, POLLIN, 0 } };

	if (pidfd < 0)
		fail("open the command");
	while (!(fds[0].revents & POLLIN)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			fail("wait");
		names_take(names, begun_s);
	}
	(void)close(pidfd);
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void tell(const char *path, double wall_s, const struct rusage *usage, double gone_s)
{
	FILE *file CLEANUP(file_done) = fopen(path, "we");

	if (!file)
		fail(path);
	(void)fprintf(file, "%.6f %.6f %ld %.6f\n", wall_s,
		seconds(&usage->ru_utime) + seconds(&usage->ru_stime), usage->ru_maxrss, gone_s);
	if (fflush(file) != 0)
		fail(path);
}

int main(int count, char **arguments)
{
	struct names names = { .inotify = -EBADF };
	char **command = arguments + 2;
	struct rusage usage;
	double begun_s;
	int status;
	pid_t pid;

	if (count > 4 && text_equal(arguments[2], "--empty")) {
		names_watch(&names, arguments[3]);
		command += 2;
	}
	if (command >= arguments + count)
		return 125;
	begun_s = now_s();
	pid = fork();
	if (pid == 0) {
		(void)execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0)
		fail("fork");
	if (names.inotify >= 0)
		names_follow(&names, pid, begun_s);
	if (wait4(pid, &status, 0, &usage) < 0)
		fail("wait");
	tell(arguments[1], now_s() - begun_s, &usage, names.gone_s);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
