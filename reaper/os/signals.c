#include "os/signals.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

static void signals_stopping(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGHUP);
}

void signals_hold(void)
{
	sigset_t set;
	int r;

	signals_stopping(&set);
	r = sigprocmask(SIG_BLOCK, &set, NULL);
	assert(r == 0);
}

bool signals_stop_wanted(void)
{
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return false;
	return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
	       sigismember(&pending, SIGHUP) == 1;
}

/* Signals that are held are readable for as long as nobody takes them (signalfd(2)). */
int signals_wait(int fd, short events, int64_t deadline_ms)
{
	int stopped CLEANUP(fd_done) = -EBADF;
	sigset_t set;
	int64_t left_ms;

	signals_stopping(&set);
	stopped = signalfd(-1, &set, SFD_CLOEXEC); /* without one, a stop is seen after the wait */
	do {
		struct pollfd waits[] = { { fd, events, 0 }, { stopped, POLLIN, 0 } };
		int r;

		left_ms = deadline_left_ms(deadline_ms);
		r = poll(waits, ARRAY_SIZE(waits), (int)left_ms);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r > 0)
			return waits[0].revents ? 1 : -EINTR;
	} while (left_ms > 0);
	return 0;
}
