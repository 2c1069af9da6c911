/*
 * Private to pass*.c.
 */
#pragma once

#include "session.h"

/* Between two runs: a hold that somebody began meanwhile holds for the rest. Fills in
 * inventory->hold. 0, -errno. */
int pass_look_for_hold(
	const struct session *session, struct inventory *inventory, struct error *error);
