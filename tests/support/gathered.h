/*
 * An inventory as a look at a host might have brought it, the same each time: a run in every state,
 * of every kind of reason, with names and holders of all lengths. For tests of what people read.
 */
#pragma once

#include "report.h"

struct gathered {
	struct inventory inventory; /* freed with inventory_done */
	struct settings settings;   /* nothing in it to free */
};
void gathered_make(struct gathered *ret_gathered);
