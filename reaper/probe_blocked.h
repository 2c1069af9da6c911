/*
 * Whether an attempt of the reaper's unit was blocked, and for the right reason. Wrong ones are as bad
 * as none: where nobody listened, or the directory was not there, it is not known what the unit would
 * have been allowed.
 */
#pragma once

#include "probe_findings.h"
#include "state/probe.h"

/* "file": `what` names the directory; "network": the endpoint. Adds one finding. */
void probe_blocked_judge(struct probe_findings *findings, const char *check,
	const struct probe_attempt *attempt, const char *what);
