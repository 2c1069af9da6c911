/*
 * What counts as life. Turns the resources and times of a run into facts->live: any one evidence is
 * enough; unknown stays unknown when nothing else says yes.
 */
#pragma once

#include "model.h"

/*
 * Fills facts.live, live_is_own, occupied and run->live_note. Evidence: the last sign of life
 * within the lease, the registered process alive, a container running, the cgroup or scope
 * populated, a process (the run's or not) with its working directory or root in the tree. Resources
 * must be probed.
 */
void liveness_judge(
	struct inventory *inventory, struct run *run, const struct policy_settings *settings);
