#include "os/signals.h"

#include <assert.h>
#include <signal.h>

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
