/*
 * Errands that only look are done by the process itself, not by a child of it: nothing hangs in a world
 * in memory, and of a pass that looks at four small trees half the time is forks. Those that confine
 * themselves or change something have their child as ever. To be included by exactly one file of a
 * program, which is linked with --wrap=errand_run.
 */
#pragma once

#include "os/errand.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_errand_run(const struct errand *errand, struct error *error);
int __wrap_errand_run(const struct errand *errand, struct error *error);

/* While this is set, they have theirs, too. */
static bool inplace_off;

static inline bool errand_only_looks(const struct errand *errand)
{
	static const char *const looks[] = { "ask whether a path answers", "look at a path",
		"look for unsaved work", "look at its branch", "look for who borrows",
		"look at the worktree to register", "see what an archive would lose" };

	for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
		if (errand->what && strcmp(errand->what, looks[i]) == 0)
			return true;
	return false;
}

int __wrap_errand_run(const struct errand *errand, struct error *error)
{
	if (inplace_off || !errand_only_looks(errand))
		return __real_errand_run(errand, error);
	return errand->work(errand->context, errand->result, error);
}
/* NOLINTEND(bugprone-reserved-identifier) */
