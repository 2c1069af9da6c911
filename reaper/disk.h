/*
 * The filesystems that roots lie on, and what runs take there: what rule 10 is about. Measuring is
 * expensive, so nothing is measured unless somebody asks for that run.
 */
#pragma once

#include "model.h"

/*
 * Asks how full the filesystems of the roots and path_roots are, into the inventory. One that does
 * not answer is noted as the source "disk", and nothing is pressed for it.
 */
void disk_look(struct inventory *inventory, const struct settings *settings);

/* Whether it is there and takes space that can be measured: a tree or a path, also one set aside. */
bool disk_takes_space(const struct resource *resource);

/* Notes on which of them the run has trees and paths (run->shares), not measured yet. */
void disk_place_run(struct inventory *inventory, struct run *run);

/*
 * Measures the run's trees and paths unless that was done: the bytes of each resource and of the
 * run, and its shares. Of what is not done by the deadline (boot clock, ms) the share is what was
 * counted by then, and its bytes stay unknown.
 */
void disk_measure_run(struct run *run, int64_t deadline_ms);
