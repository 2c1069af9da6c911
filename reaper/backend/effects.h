/*
 * What can be done to one kind of resource. Only apply_teardown.c includes this.
 *
 * Every function proves what it is about to touch once more (identity as registered, compared on
 * the descriptor it then acts on), works when any part is gone already, and may be killed anywhere.
 * Returns 1 when it did something, 0 when there was nothing left to do, -errno with an error that
 * names the thing (and who holds it) otherwise. A function that a kind does not offer is NULL.
 */
#pragma once

#include "backend.h"
#include "os/rmtree_report.h"

struct effort {
	int64_t deadline_ms; /* boot clock; when it passes, the function gives up with -ETIME */
	unsigned threads;    /* as in struct rmtree_limits */
	struct rmtree_report deleted; /* added to, also by what fails */
	int64_t steps;                /* done by what fails after them: it came nearer to its end */
};

enum haste { HASTE_STOP, HASTE_REMOVE };

struct backend_effects {
	/* Ends what runs in it: kills containers, cgroups, scopes and registered processes, and
	 * waits until nothing is left. */
	int (*stop)(void *state, const struct resource *resource, struct effort *effort,
		struct error *error);

	/*
	 * worktree: keeps what the tree holds that is saved nowhere else, as a commit in the owning
	 * repository, else as an archive, and reads it back. The caller has stopped everything that
	 * writes to the tree. 1, with *ret_salvage filled in (strings in the arena); 0: nothing was
	 * unsaved; -EFBIG more than is salvaged, -ENOSPC it does not fit, -errno: it could not be
	 * kept, and the tree must stay (error_may_pass: for want of something, or because what it
	 * is cannot be told just now, so the same may succeed in a moment). What an earlier, killed attempt left is taken over or
	 * stays; nothing that was salvaged before is ever overwritten.
	 */
	int (*salvage)(void *state, const struct resource *resource, struct effort *effort,
		struct arena *arena, struct salvage *ret_salvage, struct error *error);

	/* Removes it. A worktree or path is set aside by rename, then its git record is dropped;
	 * what was set aside is deleted by purge. A container is verified absent. */
	int (*remove)(void *state, const struct resource *resource, struct effort *effort,
		struct error *error);

	/* worktree, path: deletes everything of this run and generation that was set aside in the
	 * root the locator lies below. */
	int (*purge)(void *state, const struct resource *resource, struct effort *effort,
		struct error *error);

	/*
	 * container: stops or removes several of one run side by side, as far as that goes at the first
	 * try, and proves each as these do. How many steps were done. Whatever came of it, stop or
	 * remove of each has to follow: that one looks, waits and says what is wrong.
	 */
	int64_t (*hasten)(void *state, enum haste haste, const struct resource *const *resources,
		size_t count, const struct effort *effort);
};
