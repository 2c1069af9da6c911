/*
 * A run that is kept, stopped or reaped for each reason of the list, with what that goes with. For tests
 * of what `why` makes of it.
 */
#pragma once

#include "why_subject.h"

struct whys {
	struct inventory inventory; /* freed with inventory_done */
	struct settings settings;   /* nothing in it to free */
	struct run *run;
	struct hold hold;
	struct pin pin;
	struct size_note noted;
	struct failures failures;
	struct record row;
};

enum { WHYS_NOW_S = 1795966380 };

/* Not to be moved. The decision of rules 1 to 8 is the policy's own. */
void whys_make(struct whys *ret_whys, enum reason reason);
struct why_subject whys_subject(const struct whys *whys);
