#include "bus.h"

#include "base/clock.h"
#include "base/text.h"
#include "signals.h"
#include "unit_name.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-login.h>

enum { LOOK_AGAIN_MS = 500 };

static const char systemd[] = "org.freedesktop.systemd1";
static const char manager_path[] = "/org/freedesktop/systemd1";
static const char unit_prefix[] = "/org/freedesktop/systemd1/unit";
static const char manager_interface[] = "org.freedesktop.systemd1.Manager";
static const char unit_interface[] = "org.freedesktop.systemd1.Unit";
static const char service_interface[] = "org.freedesktop.systemd1.Service";
static const char mount_interface[] = "org.freedesktop.systemd1.Mount";

struct bus {
	sd_bus *bus;
	int64_t timeout_ms;
};

static void message_done(sd_bus_message **message)
{
	(void)sd_bus_message_unref(*message);
}

static void slot_done(sd_bus_slot **slot)
{
	(void)sd_bus_slot_unref(*slot);
}

/* Converts a failed call: -ENOENT when there is no such unit, else with an error that says why. */
static int bus_fail(
	struct error *error, int r, const sd_bus_error *reply, const char *what, const char *unit)
{
	static const char *const absent[] = {
		"org.freedesktop.systemd1.NoSuchUnit",
		"org.freedesktop.systemd1.NoUnitForInvocationID",
		SD_BUS_ERROR_UNKNOWN_OBJECT,
	};
	char *shown CLEANUP(mem_done) = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		if (sd_bus_error_has_name(reply, absent[i]))
			return -ENOENT;
	if (r == -ETIMEDOUT)
		r = -ETIME;
	if (r == -ENOENT) /* it is kept for the answer above */
		r = -EIO;
	shown = text_escape(reply->message ? reply->message : strerror(-r));
	return error_say(error, -r, "%s %s over the bus: %s", what, unit, shown);
}

int bus_own_unit(char ret_unit[UNIT_NAME])
{
	char *unit CLEANUP(mem_done) = NULL;
	int r = geteuid() == 0 ? sd_pid_get_unit(0, &unit) : sd_pid_get_user_unit(0, &unit);

	if (r < 0)
		return r;
	if (strlen(unit) >= UNIT_NAME)
		return -E2BIG;
	(void)snprintf(ret_unit, UNIT_NAME, "%s", unit);
	return 0;
}

int bus_open(int64_t timeout_ms, struct bus **ret_bus, struct error *error)
{
	sd_bus *bus = NULL;
	int r = sd_booted();

	if (r < 0)
		return error_set(error, -r, "see whether systemd runs");
	if (r == 0)
		return error_say(error, ENOENT, "systemd does not run here");
	r = geteuid() == 0 ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus);
	if (r < 0)
		return error_set(error, r == -ENOENT ? ECONNREFUSED : -r,
			"systemd runs, but connecting to its bus failed");
	*ret_bus = mem_new(sizeof(**ret_bus));
	(*ret_bus)->bus = bus;
	(*ret_bus)->timeout_ms = timeout_ms;
	(void)sd_bus_set_method_call_timeout(bus, (uint64_t)timeout_ms * 1000);
	return 0;
}

void bus_close(struct bus *bus)
{
	if (!bus)
		return;
	(void)sd_bus_close_unref(bus->bus);
	free(bus);
}

/* No call may last longer than what is left until the deadline. */
static void bus_limit(struct bus *bus, int64_t deadline_ms)
{
	int64_t left_ms = deadline_left_ms(deadline_ms);

	if (left_ms > bus->timeout_ms)
		left_ms = bus->timeout_ms;
	(void)sd_bus_set_method_call_timeout(
		bus->bus, (uint64_t)(left_ms > 0 ? left_ms : 1) * 1000);
}

/* A unit's object, by name or by invocation id (dbus-objects of org.freedesktop.systemd1(5)). */
static char *unit_object(const char *name_or_invocation)
{
	char *path = NULL;

	if (sd_bus_path_encode(unit_prefix, name_or_invocation, &path) < 0)
		abort(); /* only for want of memory: the prefix is a valid path */
	return path;
}

/* Reads a string property into a field of that size. */
static int unit_read(struct bus *bus, const char *path, const char *interface, const char *property,
	char *ret_text, size_t size, sd_bus_error *reply)
{
	char *value CLEANUP(mem_done) = NULL;
	int r = sd_bus_get_property_string(
		bus->bus, systemd, path, interface, property, reply, &value);

	if (r < 0)
		return r;
	if (strlen(value) >= size)
		return -E2BIG;
	(void)snprintf(ret_text, size, "%s", value);
	return 0;
}

static int unit_read_invocation(
	struct bus *bus, const char *path, char ret_id[33], sd_bus_error *reply)
{
	sd_bus_message *message CLEANUP(message_done) = NULL;
	const uint8_t *bytes;
	const void *array;
	size_t length;
	int r = sd_bus_get_property(
		bus->bus, systemd, path, unit_interface, "InvocationID", reply, &message, "ay");

	if (r >= 0)
		r = sd_bus_message_read_array(message, 'y', &array, &length);
	if (r < 0)
		return r;
	if (length != 0 && length != 16)
		return -EPROTO;
	bytes = array;
	ret_id[0] = 0;
	for (size_t i = 0; i < length; i++)
		(void)snprintf(ret_id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int unit_read_all(struct bus *bus, const char *path, const char *unit, struct bus_unit *all,
	sd_bus_error *reply)
{
	const char *interface =
		text_ends(unit, ".scope") ? "org.freedesktop.systemd1.Scope" : service_interface;
	int r = unit_read_invocation(bus, path, all->invocation_id, reply);

	if (r >= 0)
		r = unit_read(bus, path, unit_interface, "LoadState", all->load_state,
			sizeof(all->load_state), reply);
	if (r >= 0)
		r = unit_read(bus, path, unit_interface, "ActiveState", all->active_state,
			sizeof(all->active_state), reply);
	if (r >= 0)
		r = unit_read(bus, path, interface, "ControlGroup", all->control_group,
			sizeof(all->control_group), reply);
	if (r >= 0)
		r = unit_read(bus, path, interface, "Slice", all->slice, sizeof(all->slice), reply);
	if (r >= 0)
		r = unit_read(bus, manager_path, manager_interface, "ControlGroup",
			all->manager_group, sizeof(all->manager_group), reply);
	return r;
}

int bus_unit_get(struct bus *bus, const char *unit, struct bus_unit *ret_unit, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *found CLEANUP(message_done) = NULL;
	struct bus_unit all = { 0 };
	const char *path;
	int r = sd_bus_call_method(bus->bus, systemd, manager_path, manager_interface, "GetUnit",
		&reply, &found, "s", unit);

	if (r >= 0)
		r = sd_bus_message_read(found, "o", &path);
	if (r >= 0)
		r = unit_read_all(bus, path, unit, &all, &reply);
	if (r < 0)
		return bus_fail(error, r, &reply, "look at unit", unit);
	/* A unit whose file was deleted while it runs is not found either, and still there. */
	if (text_equal(all.load_state, "not-found") && text_equal(all.active_state, "inactive"))
		return -ENOENT;
	*ret_unit = all;
	return 0;
}

int bus_unit_load(struct bus *bus, const char *unit, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *found CLEANUP(message_done) = NULL;
	char state[32] = "";
	const char *path;
	int r = sd_bus_call_method(bus->bus, systemd, manager_path, manager_interface, "LoadUnit",
		&reply, &found, "s", unit);

	if (r >= 0)
		r = sd_bus_message_read(found, "o", &path);
	if (r >= 0)
		r = unit_read(bus, path, unit_interface, "LoadState", state, sizeof(state), &reply);
	if (r < 0)
		return bus_fail(error, r, &reply, "load unit", unit);
	if (text_equal(state, "loaded"))
		return 0;
	return text_equal(state, "not-found")
		       ? -ENOENT
		       : error_say(error, EINVAL, "unit %s is %s", unit, state);
}

static bool unit_rests(const struct bus_unit *unit)
{
	return text_equal(unit->active_state, "inactive") ||
	       text_equal(unit->active_state, "failed");
}

/* What is being stopped, or waited for. */
struct stopping {
	struct bus *bus;
	const char *unit;
	const char *invocation_id; /* NULL: whatever has the name */
	char *path;
	int64_t deadline_ms;
};

static void stopping_done(struct stopping *stopping)
{
	free(stopping->path);
}

/* Calls a method of the unit. 0, -ENOENT when it is gone, -errno. */
static int stopping_call(const struct stopping *stopping, const char *method, struct error *error,
	const char *types, const char *text, int number)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus *bus = stopping->bus->bus;
	int r;

	bus_limit(stopping->bus, stopping->deadline_ms);
	if (text_equal(types, "si"))
		r = sd_bus_call_method(bus, systemd, stopping->path, unit_interface, method, &reply,
			NULL, types, text, number);
	else
		r = sd_bus_call_method(bus, systemd, stopping->path, unit_interface, method, &reply,
			NULL, types, text);
	return r < 0 ? bus_fail(error, r, &reply, method, stopping->unit) : 0;
}

static int stopping_kill(const struct stopping *stopping, struct error *error)
{
	int r = stopping_call(stopping, "Kill", error, "si", "all", SIGKILL);

	return r == -ESRCH || r == -ENOENT ? 0 : r;
}

/* The unit as it is now, if it still is the one that is being stopped; -ENOENT when it is gone. */
static int stopping_look(
	const struct stopping *stopping, struct bus_unit *ret_unit, struct error *error)
{
	int r;

	bus_limit(stopping->bus, stopping->deadline_ms);
	r = bus_unit_get(stopping->bus, stopping->unit, ret_unit, error);
	if (r == 0 && stopping->invocation_id && *ret_unit->invocation_id &&
		!text_equal(ret_unit->invocation_id, stopping->invocation_id))
		return -ENOENT;
	return r;
}

static int bus_something_changed(sd_bus_message *message, void *context, sd_bus_error *error)
{
	(void)message, (void)context, (void)error;
	return 0;
}

/*
 * Has systemd tell us when the unit changes. Without that we look from time to time all the same.
 */
static void stopping_subscribe(const struct stopping *stopping, sd_bus_slot **ret_slot)
{
	sd_bus *bus = stopping->bus->bus;
	char *path CLEANUP(mem_done) = unit_object(stopping->unit);

	(void)sd_bus_call_method(
		bus, systemd, manager_path, manager_interface, "Subscribe", NULL, NULL, "");
	(void)sd_bus_match_signal(bus, ret_slot, systemd, path, "org.freedesktop.DBus.Properties",
		"PropertiesChanged", bus_something_changed, NULL);
}

static int stopping_pause(const struct stopping *stopping)
{
	int64_t left_ms = deadline_left_ms(stopping->deadline_ms);
	int r;

	if (left_ms > LOOK_AGAIN_MS)
		left_ms = LOOK_AGAIN_MS;
	if (signals_stop_wanted())
		return -EINTR;
	r = sd_bus_wait(stopping->bus->bus, (uint64_t)left_ms * 1000);
	while (r >= 0 && (r = sd_bus_process(stopping->bus->bus, NULL)) > 0)
		;
	return r;
}

/* Waits until the unit is inactive, failed or gone. 0, -ETIME, -errno. */
static int stopping_wait(const struct stopping *stopping, struct error *error)
{
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	struct bus_unit now;
	int r;

	stopping_subscribe(stopping, &slot);
	for (;;) {
		r = stopping_look(stopping, &now, error);
		if (r < 0 || unit_rests(&now))
			return r == -ENOENT ? 0 : r;
		if (deadline_left_ms(stopping->deadline_ms) == 0)
			return error_say(error, ETIME, "unit %s was killed and is still %s",
				stopping->unit, now.active_state);
		r = stopping_pause(stopping);
		if (r < 0)
			return error_set(error, -r, "wait for unit %s", stopping->unit);
		r = stopping_kill(stopping, error);
		if (r < 0)
			return r;
	}
}

/*
 * Stop comes before kill: a service that dies without being stopped may be started anew by its
 * Restart= setting, as another invocation.
 */
static int stopping_run(const struct stopping *stopping, struct error *error)
{
	int r = stopping_call(stopping, "Stop", error, "s", "replace", 0);

	if (r < 0)
		return r;
	r = stopping_kill(stopping, error);
	if (r < 0)
		return r;
	return stopping_wait(stopping, error);
}

/* A scope whose processes were killed is left "failed", and so its name stays taken. */
static int stopping_reset(const struct stopping *stopping, struct error *error)
{
	struct bus_unit now;
	int r = stopping_look(stopping, &now, error);

	if (r == 0 && text_equal(now.active_state, "failed"))
		r = stopping_call(stopping, "ResetFailed", error, "", NULL, 0);
	return r == -ENOENT ? 0 : r;
}

int bus_unit_stop(struct bus *bus, const char *unit, const char *invocation_id, int64_t deadline_ms,
	struct error *error)
{
	struct stopping stopping CLEANUP(stopping_done) = {
		.bus = bus,
		.unit = unit,
		.invocation_id = invocation_id,
		.path = unit_object(invocation_id ? invocation_id : unit),
		.deadline_ms = deadline_ms,
	};
	struct bus_unit now;
	int r;

	bus_limit(bus, deadline_ms);
	r = bus_unit_get(bus, unit, &now, error);
	if (r == -ENOENT || (r == 0 && text_equal(now.active_state, "inactive")))
		return 0;
	if (r < 0)
		return r;
	if (invocation_id && !text_equal(now.invocation_id, invocation_id))
		return error_say(error, ESTALE, "unit %s is another invocation, %s instead of %s",
			unit, now.invocation_id, invocation_id);
	r = stopping_run(&stopping, error);
	if (r == -ENOENT)
		r = 0;
	if (r == 0)
		r = stopping_reset(&stopping, error);
	return r < 0 ? r : 1;
}

/*
 * Whether the unit is that of the mount point, and not one whose name only looks like it. The bus has
 * no words but UTF-8, so of another path systemd cannot tell; it takes no unit for a mount, though,
 * whose name is not made of where it is (systemd.mount(5)).
 */
static int mount_prove(const struct stopping *stopping, const char *point, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	char where[PATH_MAX], state[32];
	int r;

	bus_limit(stopping->bus, stopping->deadline_ms);
	r = unit_read(stopping->bus, stopping->path, unit_interface, "ActiveState", state,
		sizeof(state), &reply);
	if (r >= 0 && utf8_valid(point))
		r = unit_read(stopping->bus, stopping->path, mount_interface, "Where", where,
			sizeof(where), &reply);
	else
		(void)snprintf(where, sizeof(where), "%s", point);
	if (r < 0)
		r = bus_fail(error, r, &reply, "look at unit", stopping->unit);
	if (r == -ENOENT || (r >= 0 && text_equal(state, "inactive")))
		return error_say(
			error, ENOENT, "systemd knows of no mount there (unit %s)", stopping->unit);
	if (r >= 0 && !text_equal(where, point))
		return error_say(
			error, EINVAL, "unit %s is of another mount point", stopping->unit);
	return r < 0 ? r : 0;
}

/* Its state now, and whether systemd has a job for it. 0, -ENOENT when it is gone, -errno. */
static int job_look(
	const struct stopping *stopping, char ret_state[32], uint32_t *ret_job, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *message CLEANUP(message_done) = NULL;
	int r;

	bus_limit(stopping->bus, stopping->deadline_ms);
	r = sd_bus_get_property(stopping->bus->bus, systemd, stopping->path, unit_interface, "Job",
		&reply, &message, "(uo)");
	if (r >= 0)
		r = sd_bus_message_read(message, "(uo)", ret_job, NULL);
	if (r >= 0)
		r = unit_read(stopping->bus, stopping->path, unit_interface, "ActiveState",
			ret_state, 32, &reply);
	return r < 0 ? bus_fail(error, r, &reply, "look at unit", stopping->unit) : 0;
}

/* 1 when it rests, 0 while it is being stopped, -EBUSY when that was tried and it is active again. */
static int mount_stopped(const struct stopping *stopping, struct error *error)
{
	char state[32];
	uint32_t job = 0;
	int r = job_look(stopping, state, &job, error);

	if (r == -ENOENT)
		return 1;
	if (r < 0 || job)
		return r < 0 ? r : 0;
	if (text_equal(state, "inactive") || text_equal(state, "failed"))
		return 1;
	return text_equal(state, "active")
		       ? error_say(error, EBUSY, "systemd could not stop %s", stopping->unit)
		       : 0;
}

static int mount_wait(const struct stopping *stopping, struct error *error)
{
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	int r;

	stopping_subscribe(stopping, &slot);
	while ((r = mount_stopped(stopping, error)) == 0) {
		if (deadline_left_ms(stopping->deadline_ms) == 0)
			return error_say(
				error, ETIME, "systemd is still stopping %s", stopping->unit);
		r = stopping_pause(stopping);
		if (r < 0)
			return error_set(error, -r, "wait for unit %s", stopping->unit);
	}
	return r;
}

int bus_mount_stop(struct bus *bus, const char *point, int64_t deadline_ms, struct error *error)
{
	char *unit CLEANUP(mem_done) = unit_name_of_mount(point);
	struct stopping stopping CLEANUP(stopping_done) = {
		.bus = bus,
		.unit = unit,
		.path = unit ? unit_object(unit) : NULL,
		.deadline_ms = deadline_ms,
	};
	int r;

	if (!unit)
		return error_say(
			error, ENAMETOOLONG, "its path is too long for the name of a systemd unit");
	r = mount_prove(&stopping, point, error);
	if (r < 0)
		return r;
	r = stopping_call(&stopping, "Stop", error, "s", "replace", 0);
	if (r == -ENOENT)
		return 1;
	return r < 0 ? r : mount_wait(&stopping, error);
}

static int sandbox_read(
	struct bus *bus, const char *path, struct bus_sandbox *sandbox, sd_bus_error *reply)
{
	sd_bus_message *message CLEANUP(message_done) = NULL;
	char state[32];
	int r = unit_read(bus, path, unit_interface, "LoadState", state, sizeof(state), reply);

	if (r >= 0 && text_equal(state, "not-found"))
		return sd_bus_error_set(reply, "org.freedesktop.systemd1.NoSuchUnit", NULL);
	if (r >= 0)
		r = unit_read(bus, path, service_interface, "ProtectSystem",
			sandbox->protect_system, sizeof(sandbox->protect_system), reply);
	if (r >= 0)
		r = sd_bus_get_property(bus->bus, systemd, path, service_interface,
			"ReadWritePaths", reply, &message, "as");
	return r < 0 ? r : sd_bus_message_read_strv(message, &sandbox->read_write_paths);
}

int bus_sandbox_get(
	struct bus *bus, const char *unit, struct bus_sandbox *ret_sandbox, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *loaded CLEANUP(message_done) = NULL;
	struct bus_sandbox sandbox CLEANUP(bus_sandbox_done) = { 0 };
	const char *path;
	/* GetUnit knows a unit only while it does something. */
	int r = sd_bus_call_method(bus->bus, systemd, manager_path, manager_interface, "LoadUnit",
		&reply, &loaded, "s", unit);

	if (r >= 0)
		r = sd_bus_message_read(loaded, "o", &path);
	if (r >= 0)
		r = sandbox_read(bus, path, &sandbox, &reply);
	if (r < 0)
		return bus_fail(error, r, &reply, "look at unit", unit);
	*ret_sandbox = sandbox;
	sandbox = (struct bus_sandbox){ 0 };
	return 0;
}

void bus_sandbox_done(struct bus_sandbox *sandbox)
{
	for (char **path = sandbox->read_write_paths; path && *path; path++)
		free(*path);
	free(sandbox->read_write_paths);
	*sandbox = (struct bus_sandbox){ 0 };
}

/* 1 when the start is over, 0 while it goes on. */
static int start_over(const struct stopping *starting, struct error *error)
{
	char state[32];
	uint32_t job = 0;
	int r = job_look(starting, state, &job, error);

	if (r < 0)
		return r == -ENOENT ? 1 : r;
	return !job && !text_equal(state, "activating") && !text_equal(state, "deactivating");
}

static int start_wait(const struct stopping *starting, struct error *error)
{
	int r;

	while ((r = start_over(starting, error)) == 0) {
		if (deadline_left_ms(starting->deadline_ms) == 0)
			return error_say(
				error, ETIME, "unit %s is still being started", starting->unit);
		r = stopping_pause(starting);
		if (r < 0)
			return error_set(error, -r, "wait for unit %s", starting->unit);
	}
	return r < 0 ? r : 0;
}

int bus_unit_start(struct bus *bus, const char *unit, int64_t deadline_ms, struct error *error)
{
	struct stopping starting CLEANUP(stopping_done) = {
		.bus = bus,
		.unit = unit,
		.path = unit_object(unit),
		.deadline_ms = deadline_ms,
	};
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	int r;

	stopping_subscribe(&starting, &slot);
	bus_limit(bus, deadline_ms);
	r = sd_bus_call_method(bus->bus, systemd, manager_path, manager_interface, "StartUnit",
		&reply, NULL, "ss", unit, "replace");
	return r < 0 ? bus_fail(error, r, &reply, "start", unit) : start_wait(&starting, error);
}

int bus_mount_wait(struct bus *bus, const char *point, int64_t deadline_ms, struct error *error)
{
	char *unit CLEANUP(mem_done) = unit_name_of_mount(point);
	struct stopping waiting CLEANUP(stopping_done) = {
		.bus = bus,
		.unit = unit,
		.path = unit ? unit_object(unit) : NULL,
		.deadline_ms = deadline_ms,
	};
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	int r;

	if (!unit)
		return error_say(
			error, ENAMETOOLONG, "its path is too long for the name of a systemd unit");
	stopping_subscribe(&waiting, &slot);
	while ((r = mount_prove(&waiting, point, NULL)) == -ENOENT) {
		if (deadline_left_ms(deadline_ms) == 0)
			return error_say(error, ETIME,
				"systemd does not see what was mounted there (unit %s); is this "
				"its own mount namespace?",
				unit);
		r = stopping_pause(&waiting);
		if (r < 0)
			return error_set(error, -r, "wait for unit %s", unit);
	}
	return r < 0 ? error_set(error, -r, "look at unit %s", unit) : 0;
}
