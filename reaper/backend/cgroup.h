/*
 * What the files of the cgroup backend share: its state, and the rules for which groups may be a
 * run's at all. Not for others.
 */
#pragma once

#include "backend/effects.h"
#include "base/text.h"
#include "os/bus.h"
#include "os/cgroupfs.h"

struct cgroup_state {
	struct cgroupfs *cgroupfs; /* NULL: see absent */
	char *own;                 /* our own group; NULL without cgroup v2 */
	char *root;                /* "/sbx.slice" */
	int64_t kill_timeout_ms;
	bool visits; /* a visit has nothing to do with groups but those that markers name */
	int absent;  /* why there is no cgroupfs: -ENOENT none is mounted, else -errno */
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

/*
 * bus_unit_get(), bus_slice_members() and bus_unit_triggered_by(). A bus that gave no answer to one of
 * them in all its time is not asked again: from then on cgroup_bus() fails, and no further run costs
 * such a time of its own.
 */
int cgroup_bus_unit(struct cgroup_state *state, const char *name, struct bus_unit *ret_unit,
	struct error *error);
int cgroup_bus_members(
	struct cgroup_state *state, const char *slice, char ***ret_names, struct error *error);
int cgroup_bus_triggered_by(
	struct cgroup_state *state, const char *unit, char ***ret_names, struct error *error);

/* A group by its path. The first four are what backend.h and effects.h say, for `path`. */
int group_identify(struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena, struct error *error);
void group_probe(struct cgroup_state *state, struct resource *resource, const char *path,
	struct arena *arena);
int group_stop(struct cgroup_state *state, const struct resource *resource, const char *path,
	int64_t deadline_ms, struct error *error);
int group_remove(struct cgroup_state *state, const struct resource *resource, const char *path,
	int64_t deadline_ms, struct error *error);

/* A unit by its name; without systemd, the group of that name directly below the root. */
int scope_identify(struct cgroup_state *state, struct resource *resource, struct arena *arena,
	struct error *error);
void scope_probe(struct cgroup_state *state, struct resource *resource, struct arena *arena);
int scope_stop(struct cgroup_state *state, const struct resource *resource, int64_t deadline_ms,
	struct error *error);
int scope_remove(struct cgroup_state *state, const struct resource *resource, int64_t deadline_ms,
	struct error *error);

/*
 * A unit of systemd, once it was looked at. Where it has its processes, or would have them; the
 * caller owns the path.
 */
char *unit_group(const struct bus_unit *unit);

/* Whether a run may own the unit at all, by its group (cgroup_check_path). 0 or -EINVAL. */
int unit_check(const struct cgroup_state *state, const struct bus_unit *unit, struct error *error);

/*
 * What is put on record of a unit, "" when nothing is known: of a transient service something that
 * stays when it is started again, of others the invocation id.
 */
const char *unit_identity(const struct bus_unit *unit);

/* Whether it is the unit on record (NULL: none is). 0 or -ESTALE. */
int unit_check_identity(const char *recorded, const struct bus_unit *unit, struct error *error);

/* Waits to be started, or is being started: alive, though nothing may run in it. */
bool unit_starts(const struct bus_unit *unit);

/* Which unit is to be stopped. */
struct unit_target {
	const char *name;
	const char *within;   /* the group that it must have or lie in; NULL: any below the root */
	const char *recorded; /* its identity; NULL: whatever has the name */
};

/*
 * Proves it, and has systemd stop it for good; again while it is started meanwhile. 1; 0 there was
 * nothing to stop; -EPERM it can be no run's, -ESTALE, -ETIME (named, who is still in it), -errno.
 */
int unit_stop(struct cgroup_state *state, struct bus *bus, const struct unit_target *target,
	int64_t deadline_ms, struct error *error);

/*
 * The unit that has exactly that group. 1; 0: none has, or no systemd runs; -errno: a unit has that
 * name where it is known, and systemd cannot be asked.
 */
int unit_of_group(struct cgroup_state *state, const char *path, struct bus_unit *ret_unit,
	struct error *error);

/* Whether something in the slice waits to be started. 1, 0, -errno. */
int slice_starts(struct cgroup_state *state, const char *slice, struct error *error);

/*
 * Timers, paths and sockets start a service again that was stopped. They are nobody's that we know of
 * and so never touched, but told: adds which active one starts the service, or one that lies in the
 * slice, and what a person can do about it. 1; 0 none does; -errno.
 */
int unit_tell_triggers(struct cgroup_state *state, const struct bus_unit *unit, struct text *words,
	struct error *error);
int slice_tell_triggers(
	struct cgroup_state *state, const char *slice, struct text *words, struct error *error);

/* Of a unit that runs: what would start it again becomes the note, where there is none yet. */
void trigger_note(struct cgroup_state *state, struct resource *resource,
	const struct bus_unit *unit, struct arena *arena);

/* Of a unit at rest: it is not gone while something is there that starts it. */
void trigger_probe(struct cgroup_state *state, struct resource *resource,
	const struct bus_unit *unit, struct arena *arena);

/*
 * Stops the unit that has the group; of a slice first what lies in it. `recorded` is its identity.
 * 1, 0 no unit or nothing to stop, -errno.
 */
int group_units_stop(struct cgroup_state *state, const char *path, const char *recorded,
	int64_t deadline_ms, struct error *error);

/* What nobody told us: the groups below the root. */
void cgroup_discover(void *context, struct inventory *inventory, const char *only);
