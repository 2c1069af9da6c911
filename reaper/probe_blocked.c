#include "probe_blocked.h"

#include "os/trespass.h"

#include <errno.h>

/*
 * What the walls of a unit answer: ProtectSystem= and ReadWritePaths= (EROFS), Landlock (EACCES),
 * RestrictAddressFamilies= (EAFNOSUPPORT), SystemCallFilter= (EPERM, by our SystemCallErrorNumber=; or
 * EACCES), a network namespace without a way out (ENETUNREACH). IPAddressDeny= by itself is not among
 * them: what it drops is only ever a time-out (systemd.resource-control(5)), as is a dead host.
 */
static const struct {
	enum trespass_step step;
	int code;
} walls[] = {
	{ TRESPASS_OPEN, EROFS },
	{ TRESPASS_OPEN, EACCES },
	{ TRESPASS_OPEN, EPERM },
	{ TRESPASS_SOCKET, EAFNOSUPPORT },
	{ TRESPASS_SOCKET, EACCES },
	{ TRESPASS_SOCKET, EPERM },
	{ TRESPASS_CONNECT, EACCES },
	{ TRESPASS_CONNECT, EPERM },
	{ TRESPASS_CONNECT, ENETUNREACH },
};

static bool is_wall(enum trespass_step step, int64_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(walls); i++)
		if (walls[i].step == step && walls[i].code == code)
			return true;
	return false;
}

/* The file was made, or the connection: what went wrong afterwards was no wall. */
static bool came_through(enum trespass_step step)
{
	return step == TRESPASS_WRITE || step == TRESPASS_SEND || step == TRESPASS_THROUGH;
}

void probe_blocked_judge(struct probe_findings *findings, const char *check,
	const struct probe_attempt *attempt, const char *what)
{
	enum trespass_step step = trespass_step_of(attempt->step);
	const char *code = strerrorname_np((int)attempt->code);

	if (came_through(step))
		probe_findings_add(findings, check, PROBE_FAILED,
			"the unit is not kept from %s: it came as far as '%s'", what,
			attempt->step);
	else if (is_wall(step, attempt->code))
		probe_findings_add(findings, check, PROBE_OK, "the unit is kept from %s: %s: %s",
			what, attempt->step, code);
	else
		probe_findings_add(findings, check, PROBE_FAILED,
			"the unit did not come to %s, but for the wrong reason, which says nothing "
			"of its walls: %s: %s",
			what, attempt->step ? attempt->step : "-",
			attempt->note ? attempt->note
			: code        ? code
				      : "no reason was told");
}
