/* Makes a history that fails shorter. */
#pragma once

#include "model_op.h"

/*
 * Drops what can be dropped while `fails` still says so, large pieces first; at most `tries` calls.
 */
void ops_shrink(struct ops *ops, bool (*fails)(void *context, const struct ops *ops), void *context,
	unsigned tries);
