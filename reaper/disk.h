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

/* Whether any of its resources is such. */
bool disk_run_takes_space(const struct run *run);

/*
 * Which trees and paths of the run are there, as a sum of what tells them from others (tree_sum.h): the
 * one that disk_measure_run leaves in run->trees when it measured them all. 0: not known, or none.
 */
uint64_t disk_trees(const struct run *run);

/* Notes on which of them the run has trees and paths (run->shares), not measured yet. */
void disk_place_run(struct inventory *inventory, struct run *run);

/*
 * Measures the run's trees and paths unless that was done: the bytes of each resource and of the
 * run, and its shares. Of what is not done by the deadline (boot clock, ms) the share is what was
 * counted by then, its bytes and those of the run stay unknown, and run->bytes_least has what was
 * counted.
 */
void disk_measure_run(struct run *run, int64_t deadline_ms);

/*
 * The same of all runs that take space, several at once, each by a child, so that one that is slow or
 * hangs holds none of the others: a run has a quarter of the budget, and all together a half. When we
 * are asked to stop, the rest is not measured.
 */
struct progress;
void disk_measure_runs(struct inventory *inventory, int64_t budget_ms, struct progress *progress);

/* Of those alone that are pinned. */
void disk_measure_pinned(struct inventory *inventory, int64_t budget_ms);
