/*
 * systemd over the system bus (sd-bus): scopes and services of a run. Where no systemd runs
 * (sd_booted(3)) the answer is -ENOENT and the cgroup path serves instead.
 */
#pragma once

#include "base/error.h"

struct bus;

enum { UNIT_NAME = 256, UNIT_ORIGIN = 64 };

struct bus_unit {
	char name[UNIT_NAME];  /* its first, where it was asked for by another */
	char load_state[32];   /* "loaded" "not-found" */
	char active_state[32]; /* "active" "inactive" "failed" "deactivating" */
	char sub_state[32];    /* the kind's own: of a timer "waiting" "running" "elapsed" */
	char control_group
		[512];   /* "/sbx.slice/r1.scope"; "" when it has none, as of a timer or path */
	char slice[256]; /* "sbx.slice" */
	/* In which the manager's slices lie: "/user.slice/…/user@1000.service"; "" of the system's. */
	char manager_group[512];
	char invocation_id[33]; /* 32 hex digits; "" when it has none */
	/*
	 * Of a transient service: what tells it from a later one of its name, and stays when the service
	 * is started again, as Restart= has it. "" of others, whose file says nothing about that.
	 */
	char origin[UNIT_ORIGIN];
};

/* Whether systemd runs here, as sd_booted(3) has it. */
bool bus_booted(void);

/*
 * Connects to the system bus, or the user's when we are not root. timeout_ms limits that, and then
 * each call. 0; -ENOENT: no systemd; -ETIME: its bus is silent; -EINTR: we were asked to stop; -errno
 * (never -ENOENT) when it cannot be reached.
 */
int bus_open(int64_t timeout_ms, struct bus **ret_bus, struct error *error);
void bus_close(struct bus *bus);

/* The unit that this process belongs to: of the system, or of our user when we are not root. Asks no
 * bus (sd_pid_get_unit(3)). 0; -ENODATA: none; -errno. */
int bus_own_unit(char ret_unit[UNIT_NAME]);

/* Whether nothing of a unit runs in this ActiveState. */
bool bus_state_rests(const char *state);

/* A scope, service, socket, slice, timer or path. 0; -ENOENT: no such unit (NoSuchUnit, or not-found and
 * inactive); -errno. */
int bus_unit_get(struct bus *bus, const char *unit, struct bus_unit *ret_unit, struct error *error);

/*
 * Stops it, kills all its processes, waits until it is inactive, resets "failed". With an
 * invocation id (NULL: whatever has the name) the unit is addressed by it, so that a new one of the
 * same name, started meanwhile, cannot be hit. 1; 0 when there was nothing to stop; -ESTALE:
 * another invocation has the name; -ETIME; -errno.
 */
int bus_unit_stop(struct bus *bus, const char *unit, const char *invocation_id, int64_t deadline_ms,
	struct error *error);

/*
 * The names of all units that lie directly in a slice, whatever their state, up to a NULL;
 * bus_names_done() ends them. 0; -ENOENT: no such slice; -errno. (SliceOf, systemd 250.)
 */
int bus_slice_members(struct bus *bus, const char *slice, char ***ret_names, struct error *error);
void bus_names_done(char ***names);

/* The names of the units that start it, active or not: timers, paths, sockets. As above. */
int bus_unit_triggered_by(
	struct bus *bus, const char *unit, char ***ret_names, struct error *error);

/* The same of one that systemd need not have loaded yet: loads it. 0, -ENOENT: it has no file, -errno. */
int bus_unit_load(struct bus *bus, const char *unit, struct error *error);

/*
 * Has systemd start it, and waits until that is over: of a oneshot service, until it has run, well or
 * not (what came of it is the unit's own to tell). Where it is being started already, that start is
 * what is waited for. 0; -ENOENT: no such unit; -ETIME; -errno.
 */
int bus_unit_start(struct bus *bus, const char *unit, int64_t deadline_ms, struct error *error);

/* Waits until systemd has seen what was mounted at an absolute path. 0, -ETIME, -errno. */
int bus_mount_wait(struct bus *bus, const char *point, int64_t deadline_ms, struct error *error);

/*
 * Has systemd unmount what is mounted at an absolute path: stops its .mount unit, and with it every
 * unit that requires it, and waits for the end. What is mounted below goes before, by calls of its
 * own: mounts that systemd found in the table do not require each other. Kills nothing. 1; -EBUSY
 * systemd tried and it is still mounted; -ENOENT with an error: systemd knows of no mount there;
 * -ETIME; -errno. systemd goes by the path, and so it can be led elsewhere by whoever swaps a
 * directory on the way for a symlink meanwhile: the caller proves the path right before, and looks
 * at the mount table afterwards.
 */
int bus_mount_stop(struct bus *bus, const char *point, int64_t deadline_ms, struct error *error);

/* Where systemd lets a service write, by the names of systemd.exec(5). */
struct bus_sandbox {
	char protect_system[16]; /* "no" "yes" "full" "strict" */
	char **read_write_paths; /* up to a NULL; "-" and "+" may stand before each */
};

/* Of a service, whether it runs or not. 0; -ENOENT: there is no such unit; -errno. */
int bus_sandbox_get(
	struct bus *bus, const char *unit, struct bus_sandbox *ret_sandbox, struct error *error);
void bus_sandbox_done(struct bus_sandbox *sandbox);
