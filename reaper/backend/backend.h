/*
 * What can be asked about one kind of resource: the read-only half of the backend table. The half
 * that changes the world is in effects.h, and only apply_teardown.c may see it.
 */
#pragma once

#include "base/error.h"
#include "model.h"

struct backend_effects;

struct backend {
	const char *name; /* also the name of its source in reports */

	/*
	 * Prepares for questions; connects to nothing that may be absent. *ret_state is the
	 * backend's own and is closed with close(). 0 or -errno.
	 */
	int (*open)(const struct settings *settings, void **ret_state, struct error *error);
	void (*close)(void *state);

	/*
	 * Fills in, at registration, the told fields that identify a resource of which the caller
	 * knows kind and locator (and perhaps repo or branch): device and inode, the owning
	 * repository, branch and base commit, full container id, invocation id, process start.
	 * A thing that is not there (yet) keeps those empty, and that is no error; one that must
	 * never be registered (a cgroup we are in, a tree of another repository) is -EINVAL, and an
	 * unreadable one -errno, with an error that says what would be right. NULL: nothing to
	 * fill.
	 */
	int (*identify)(
		void *state, struct resource *resource, struct arena *arena, struct error *error);

	/*
	 * Looks for what nobody told us: adds resources that carry their own proof, and foreign
	 * ones (proof none), to the runs they name, and notes each source that was asked with
	 * inventory_add_source(). `only`: a run identifier, when nothing but that run matters;
	 * NULL: all. An unreadable source is not an error here: it is noted, and what it would have
	 * shown stays unknown. Told resources are in the inventory already. NULL: nothing to
	 * discover.
	 */
	void (*discover)(void *state, struct inventory *inventory, const char *only);

	/*
	 * Fills in the seen fields of a resource of this backend's kinds. What cannot be told stays
	 * unknown, with a note. Strings are allocated in the arena. Changes nothing at all, no
	 * access time and no index either.
	 */
	void (*probe)(void *state, struct resource *resource, struct arena *arena);

	/*
	 * As probe() of each, of many at once: fewer questions to the same repository, and the same
	 * answers. Those of one run are in its order. NULL: it is no cheaper than one by one.
	 */
	void (*probe_many)(
		void *state, struct resource *const *resources, size_t count, struct arena *arena);

	/* worktree only: what the tree holds that no surviving ref contains; fills in its head,
	 * and *ret_note, in the arena. What cannot be told by the deadline (boot clock) is
	 * unknown. */
	enum work (*work)(void *state, struct resource *resource, int64_t deadline_ms,
		struct arena *arena, const char **ret_note);

	const struct backend_effects *effects;
};

extern const struct backend worktree_backend;  /* worktree, branch */
extern const struct backend container_backend; /* container, volume, network */
extern const struct backend cgroup_backend;    /* cgroup, scope */
extern const struct backend process_backend;   /* process */
extern const struct backend path_backend;      /* path */
extern const struct backend mount_backend;     /* mount */

const struct backend *backend_of(enum kind kind);

/* All backends in the order in which they are asked. */
enum { BACKEND_COUNT = 6 };
extern const struct backend *const backends[BACKEND_COUNT];
