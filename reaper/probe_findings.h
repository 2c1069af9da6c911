/* What a probe found: a line for each thing that it looked at. */
#pragma once

#include "base/arena.h"

enum probe_outcome {
	PROBE_OK,
	PROBE_FAILED,
	PROBE_CANNOT /* it could not be tried, so it is not known: as bad */
};

struct probe_finding {
	const char *check; /* "due" "pinned" … */
	enum probe_outcome outcome;
	const char *why;
};

enum { PROBE_FINDINGS = 16 };

struct probe_findings {
	struct arena arena;
	struct probe_finding list[PROBE_FINDINGS];
	size_t count;
};

const char *probe_outcome_name(enum probe_outcome outcome); /* "ok" "FAILED" "cannot run" */

void probe_findings_add(struct probe_findings *findings, const char *check,
	enum probe_outcome outcome, const char *format, ...) PRINTF_LIKE(4, 5);
void probe_findings_done(struct probe_findings *findings);

/* Whether there is any, and every one is ok. */
bool probe_findings_good(const struct probe_findings *findings);

/* The first that is not ok, as the reason of a hold: "outside: FAILED: … (and 2 more)". The caller
 * owns it. */
char *probe_findings_reason(const struct probe_findings *findings);
