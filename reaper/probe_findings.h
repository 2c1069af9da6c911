/* What a probe found: a line for each thing that it looked at. */
#pragma once

#include "base/arena.h"

enum probe_outcome {
	PROBE_OK,
	PROBE_PUT_OFF, /* it had no turn, and that is nobody's fault: the next probe tries it */
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

const char *probe_outcome_name(
	enum probe_outcome outcome); /* "ok" "put off" "FAILED" "cannot run" */

void probe_findings_add(struct probe_findings *findings, const char *check,
	enum probe_outcome outcome, const char *format, ...) PRINTF_LIKE(4, 5);
void probe_findings_done(struct probe_findings *findings);

/* The worst of them, in the order above; that there is none is PROBE_CANNOT. */
enum probe_outcome probe_findings_worst(const struct probe_findings *findings);

/* The first of the bad ones (failed, or cannot run), as the reason of a hold: "outside: FAILED: … (and 2 more)". The caller
 * owns it. */
char *probe_findings_reason(const struct probe_findings *findings);
