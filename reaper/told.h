/*
 * What was told: rows, markers and pins, joined by run. Where row and marker both speak of a run
 * they must agree on what it owns; of times and outcomes the one holds that keeps longer.
 */
#pragma once

#include "base/error.h"
#include "world.h"

/*
 * Loads everything that was told (`only`: about one run; NULL: all) into the inventory: records,
 * their resources, the times in facts, pins. What is invalid or contradicting is refused with its
 * words in run->fault. Notes the sources "store" and "markers". 0, or -errno when the database
 * failed.
 */
int told_load(struct inventory *inventory, const struct world *world, const char *only,
	struct error *error);
