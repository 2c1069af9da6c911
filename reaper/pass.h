/*
 * A pass that acts: what it leaves in the database before and after the runs themselves.
 */
#pragma once

#include "apply.h"
#include "report.h"
#include "session.h"

/*
 * The beginning: records the pass and its clocks, voids claims that were not begun, ends pins whose
 * time is up (with their mirrors), and notes what was seen for the first time. Needs the pass lock.
 * 0, -errno.
 */
int pass_open(const struct session *session, const char *pass, const struct inventory *inventory,
	struct error *error);

/*
 * Applies the plan until it is done, the deadline passes or a signal asks to stop; what is not
 * reached is deferred. 0; -errno when the database failed, after which nothing more is begun.
 */
int pass_apply(const struct session *session, const char *pass, int64_t deadline_ms,
	const struct plan *plan, struct inventory *inventory, struct error *error);

/* The end: totals, exit code and blind sources; trims the history. 0, -errno. */
int pass_close(const struct session *session, const struct report *report, enum exit_code code,
	struct error *error);
