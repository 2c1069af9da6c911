/*
 * What a pass does for a probe (sbx-reap probe), which runs outside of the unit and wants to know
 * what the unit is kept from.
 */
#pragma once

#include "base/error.h"
#include "state/probe.h"

/* The unit that is probed, and that alone answers: a pass by hand is confined by nothing. */
#define PROBE_UNIT "sbx-reap.service"

enum {
	PROBE_YOUNG_S = 15 * 60, /* so long a probe waits for its answer */
	PROBE_JUDGED_S = 60 * 60 /* and by then it has judged, or it never will */
};

/*
 * Answers what is asked and young: tries what must be blocked, and writes down what came of it. What
 * nobody judged in an hour is a probe that died, and holds all passes. Needs the pass lock. 1 when
 * passes are held from now on, this one too: with an error when that could not be written down, so
 * that the next pass finds it again; 0; -errno, which is no reason not to go on.
 */
int probe_attend(struct store *store, const char *pass, int64_t now_s, struct error *error);
