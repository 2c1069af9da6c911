/*
 * What a pass does for a probe (sbx-reap probe), which runs outside of the unit and wants to know
 * what the unit is kept from.
 */
#pragma once

#include "base/error.h"
#include "model.h"
#include "state/probe.h"

/* The unit that is probed, and that alone answers: a pass by hand is confined by nothing. */
#define PROBE_UNIT "sbx-reap.service"

/* What the names of its canaries begin with. */
#define PROBE_PREFIX "sbx-probe-"

enum {
	PROBE_YOUNG_S = 15 * 60, /* so long a probe waits for its answer */
	PROBE_JUDGED_S = 60 * 60 /* and by then it has judged, or it never will */
};

/* When a pass looks at the probe, and when its host was booted, by the same clock. */
struct probe_time {
	int64_t now_s, booted_s;
};

/*
 * Answers what is asked and young: tries what must be blocked, and writes down what came of it. What
 * nobody judged in an hour is a probe that died, and holds all passes; but for one that went down with
 * its host, which is given up. Needs the pass lock. 1 when passes are held from now on, this one too:
 * with an error when that could not be written down, so that the next pass finds it again; 0; -errno,
 * which is no reason not to go on.
 */
int probe_attend(
	struct store *store, const char *pass, const struct probe_time *time, struct error *error);

/*
 * While a probe waits for its judgement: notes in the history of each canary that was due that this
 * pass kept it for a reason which is none of its own. At the end of a pass. 0, -errno.
 */
int probe_note_kept(struct store *store, const char *pass, const struct inventory *inventory,
	struct error *error);

/* Whether a reason (reason_name; NULL: none) is of those: the pass had no turn at it. */
bool probe_reason_puts_off(const char *reason);
