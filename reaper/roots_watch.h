/*
 * Whether roots and repositories still answer while a pass works: a mount may die under it, and who
 * touches it then waits until systemd ends the pass. Between two looks that remains: who touches one
 * within a second of its death.
 */
#pragma once

#include "model.h"
#include "settings.h"

/* Empty but for the settings, which change by it. */
struct roots_watch {
	struct settings *settings;
	int64_t good_until_ms; /* boot clock */
};

/*
 * Asks all that are left, at most once a second. What does not answer any more is from then on one of
 * the silent and of lost_roots or lost_repos, as if it had been found so at the start; the texts stay
 * where they are. How many there were. What cannot be asked, or when we are asked to stop, changes
 * nothing. `watch` may be NULL.
 */
size_t roots_watch_look(struct roots_watch *watch);

/* The place of a run (root, tree, path or repository) behind which nobody answers, or NULL. */
const char *roots_watch_silent(const struct settings *settings, const struct run *run);
