/*
 * What the files of the cgroup backend share: its state, and the rules for which groups may be a
 * run's at all. Not for others.
 */
#pragma once

#include "backend/effects.h"
#include "os/bus.h"
#include "os/cgroupfs.h"

struct cgroup_state {
	struct cgroupfs *cgroupfs; /* NULL: see absent */
	char *own;                 /* our own group; NULL without cgroup v2 */
	char *root;                /* "/sbx.slice" */
	int64_t kill_timeout_ms;
	int absent; /* why there is no cgroupfs: -ENOENT none is mounted, else -errno */
	struct error absent_error;

	bool bus_asked;
	struct bus *bus;
	int bus_answer; /* 0; -ENOENT: no systemd; -errno */
	struct error bus_error;
};

/*
 * Whether a run may own the group at all: strictly below the configured root, and neither our own
 * group nor one that we are in. 0, or -EINVAL with an error that says what would be right.
 */
int cgroup_check_path(const struct cgroup_state *state, const char *path, struct error *error);

/* The bus, connected at the first question. 0, -ENOENT: no systemd, -errno. */
int cgroup_bus(struct cgroup_state *state, struct bus **ret_bus, struct error *error);

/* A group by its path. The first four are what backend.h and effects.h say, for `path`. */
int group_identify(const struct cgroup_state *state, struct resource *resource, const char *path,
	struct error *error);
void group_probe(const struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena);
int group_stop(const struct cgroup_state *state, const struct resource *resource, const char *path,
	int64_t deadline_ms, struct error *error);
int group_remove(const struct cgroup_state *state, const struct resource *resource,
	const char *path, int64_t deadline_ms, struct error *error);

/* A unit by its name; without systemd, the group of that name directly below the root. */
int scope_identify(struct cgroup_state *state, struct resource *resource, struct arena *arena,
	struct error *error);
void scope_probe(struct cgroup_state *state, struct resource *resource, struct arena *arena);
int scope_stop(struct cgroup_state *state, const struct resource *resource, int64_t deadline_ms,
	struct error *error);
int scope_remove(struct cgroup_state *state, const struct resource *resource, int64_t deadline_ms,
	struct error *error);

/* What nobody told us: the groups below the root. */
void cgroup_discover(void *context, struct inventory *inventory, const char *only);
