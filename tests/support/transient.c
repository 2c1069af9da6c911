#include "transient.h"
#include "unit.h"

#include "base/text.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { WAIT_STEPS = 200, STEP_MS = 50, COMMAND = 1024 };

static int run(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int transient_is(const char *unit, const char *state)
{
	char command[COMMAND];

	(void)snprintf(command, sizeof(command),
		"test \"$(systemctl show -P ActiveState '%s')\" = '%s'", unit, state);
	return run(command) == 0;
}

void transient_wait(const char *unit, const char *state)
{
	for (int step = 0; step < WAIT_STEPS; step++) {
		if (transient_is(unit, state))
			return;
		(void)poll(NULL, 0, STEP_MS);
	}
	fail_msg("unit %s did not become %s", unit, state);
}

pid_t transient_scope(const char *unit, const char *slice)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execlp("systemd-run", "systemd-run", "--quiet", "--scope", "--unit", unit,
			"--slice", slice, "sh", "-c", "trap '' TERM; while :; do sleep 600; done",
			(char *)NULL);
		_exit(127);
	}
	transient_wait(unit, "active");
	return pid;
}

void transient_service(const char *unit, const char *options, const char *command)
{
	char line[COMMAND];

	(void)snprintf(line, sizeof(line), "systemd-run --quiet --unit='%s' %s %s", unit, options,
		command);
	assert_int_equal(run(line), 0);
}

void transient_end(const char *unit)
{
	char command[COMMAND];

	(void)snprintf(command, sizeof(command),
		"{ systemctl kill -s KILL '%s'; systemctl stop '%s'; "
		"systemctl reset-failed '%s'; } >/dev/null 2>&1",
		unit, unit, unit);
	(void)run(command);
}
