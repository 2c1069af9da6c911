/*
 * What falls silent while a pass works: its runs are left alone, and its sources are reported as failed.
 * Private to pass*.c.
 */
#pragma once

#include "session.h"

struct pass_silence {
	const struct session *session;
	struct inventory *inventory;
};

/* Looks, and adds to the inventory's sources what was found here or by anybody since the start. */
void pass_silence_look(const struct pass_silence *silence);

/* Says of a run what of it lies where nobody answers, in the inventory's arena; NULL: nothing. */
const char *pass_silence_of(const struct pass_silence *silence, const struct run *run);
