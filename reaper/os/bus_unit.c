/* Units: what they are, and their end and beginning. */
#include "bus_parts.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

static int unit_read_invocation(
	struct bus *bus, const char *path, char ret_id[33], sd_bus_error *reply)
{
	sd_bus_message *message CLEANUP(message_done) = NULL;
	const uint8_t *bytes;
	const void *array;
	size_t length;
	int r = sd_bus_get_property(
		bus->bus, BUS_SYSTEMD, path, BUS_UNIT, "InvocationID", reply, &message, "ay");

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

/* That has the properties of its group; NULL: the kind has none. */
static const char *unit_interface(const char *unit)
{
	static const struct {
		const char *suffix, *interface;
	} kinds[] = {
		{ ".scope", BUS_SYSTEMD ".Scope" },
		{ ".slice", BUS_SYSTEMD ".Slice" },
		{ ".socket", BUS_SYSTEMD ".Socket" },
		{ ".timer", NULL },
		{ ".path", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_ends(unit, kinds[i].suffix))
			return kinds[i].interface;
	return BUS_SERVICE;
}

/*
 * The file of a transient unit is written once, when the unit is made, and goes with it: two units
 * of one name never have the same (inode numbers of /run are not used again, and times differ).
 */
static int unit_read_origin(
	struct bus *bus, const char *path, char ret_origin[UNIT_ORIGIN], sd_bus_error *reply)
{
	char file[PATH_MAX];
	struct stat made;
	int transient = 0;
	int r = sd_bus_get_property_trivial(
		bus->bus, BUS_SYSTEMD, path, BUS_UNIT, "Transient", reply, 'b', &transient);

	if (r < 0 || !transient)
		return r;
	r = bus_unit_read(bus, path, BUS_UNIT, "FragmentPath", file, sizeof(file), reply);
	if (r >= 0 && stat(file, &made) == 0)
		(void)snprintf(ret_origin, UNIT_ORIGIN, "transient:%ju:%jd.%09ld",
			(uintmax_t)made.st_ino, (intmax_t)made.st_mtim.tv_sec,
			made.st_mtim.tv_nsec);
	return r;
}

static int unit_read_all(
	struct bus *bus, const char *path, struct bus_unit *all, sd_bus_error *reply)
{
	const struct {
		const char *object, *interface, *property;
		char *text;
		size_t size;
	} fields[] = {
		{ path, BUS_UNIT, "LoadState", all->load_state, sizeof(all->load_state) },
		{ path, BUS_UNIT, "ActiveState", all->active_state, sizeof(all->active_state) },
		{ path, BUS_UNIT, "SubState", all->sub_state, sizeof(all->sub_state) },
		{ path, unit_interface(all->name), "ControlGroup", all->control_group,
			sizeof(all->control_group) },
		{ path, unit_interface(all->name), "Slice", all->slice, sizeof(all->slice) },
		{ BUS_MANAGER_PATH, BUS_MANAGER, "ControlGroup", all->manager_group,
			sizeof(all->manager_group) },
	};
	int r = unit_read_invocation(bus, path, all->invocation_id, reply);

	for (size_t i = 0; i < ARRAY_SIZE(fields) && r >= 0; i++)
		if (fields[i].interface)
			r = bus_unit_read(bus, fields[i].object, fields[i].interface,
				fields[i].property, fields[i].text, fields[i].size, reply);
	if (r >= 0 && text_ends(all->name, ".service"))
		r = unit_read_origin(bus, path, all->origin, reply);
	return r;
}

static int unit_get(
	struct bus *bus, const char *unit, struct bus_unit *ret_unit, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *found CLEANUP(message_done) = NULL;
	struct bus_unit all = { 0 };
	const char *path;
	int r = bus_unit_find(bus, "GetUnit", unit, &found, &path, &reply);

	if (r >= 0)
		r = bus_unit_read(bus, path, BUS_UNIT, "Id", all.name, sizeof(all.name), &reply);
	if (r >= 0)
		r = unit_read_all(bus, path, &all, &reply);
	if (r < 0)
		return bus_fail(error, r, &reply, "look at unit", unit);
	/* A unit whose file was deleted while it runs is not found either, and still there. */
	if (text_equal(all.load_state, "not-found") && text_equal(all.active_state, "inactive"))
		return -ENOENT;
	*ret_unit = all;
	return 0;
}

int bus_unit_get(struct bus *bus, const char *unit, struct bus_unit *ret_unit, struct error *error)
{
	bus_limit_none(bus);
	return unit_get(bus, unit, ret_unit, error);
}

/* What a property of a unit names. */
static int unit_read_names(struct bus *bus, const char *unit, const char *property,
	const char *what, char ***ret_names, struct error *error)
{
	char *path CLEANUP(mem_done) = bus_unit_object(unit);
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *message CLEANUP(message_done) = NULL;
	int r;

	bus_limit_none(bus);
	r = sd_bus_get_property(
		bus->bus, BUS_SYSTEMD, path, BUS_UNIT, property, &reply, &message, "as");
	if (r >= 0)
		r = sd_bus_message_read_strv(message, ret_names);
	return r < 0 ? bus_fail(error, r, &reply, what, unit) : 0;
}

int bus_slice_members(struct bus *bus, const char *slice, char ***ret_names, struct error *error)
{
	return unit_read_names(bus, slice, "SliceOf", "list the units of", ret_names, error);
}

int bus_unit_triggered_by(struct bus *bus, const char *unit, char ***ret_names, struct error *error)
{
	return unit_read_names(bus, unit, "TriggeredBy", "list what starts", ret_names, error);
}

void bus_names_done(char ***names)
{
	for (char **name = *names; name && *name; name++)
		free(*name);
	free(*names);
	*names = NULL;
}

int bus_unit_load(struct bus *bus, const char *unit, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *found CLEANUP(message_done) = NULL;
	char state[32] = "";
	const char *path;
	int r = bus_unit_find(bus, "LoadUnit", unit, &found, &path, &reply);

	if (r >= 0)
		r = bus_unit_read(bus, path, BUS_UNIT, "LoadState", state, sizeof(state), &reply);
	if (r < 0)
		return bus_fail(error, r, &reply, "load unit", unit);
	if (text_equal(state, "loaded"))
		return 0;
	return text_equal(state, "not-found")
		       ? -ENOENT
		       : error_say(error, EINVAL, "unit %s is %s", unit, state);
}

static int stopping_kill(const struct watch *stopping, struct error *error)
{
	int r = watch_call(stopping, "Kill", error, "si", "all", SIGKILL);

	return r == -ESRCH || r == -ENOENT ? 0 : r;
}

/*
 * Waits until the unit is inactive, failed or gone, as its object is when another invocation has the
 * name. 0, -ETIME, -errno.
 */
static int stopping_wait(const struct watch *stopping, struct error *error)
{
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	char state[32];
	uint32_t job = 0;
	int r;

	watch_subscribe(stopping, &slot);
	for (;;) {
		r = watch_job(stopping, state, &job, error);
		if (r < 0 || bus_state_rests(state))
			return r == -ENOENT ? 0 : r;
		if (deadline_left_ms(stopping->deadline_ms) == 0)
			return error_say(error, ETIME, "unit %s was killed and is still %s",
				stopping->unit, state);
		r = watch_pause(stopping, error);
		if (r < 0)
			return r;
		r = stopping_kill(stopping, error);
		if (r < 0)
			return r;
	}
}

/*
 * Stop comes before kill: a service that dies without being stopped may be started anew by its
 * Restart= setting, as another invocation.
 */
static int stopping_run(const struct watch *stopping, struct error *error)
{
	int r = watch_call(stopping, "Stop", error, "s", "replace", 0);

	if (r < 0)
		return r;
	r = stopping_kill(stopping, error);
	if (r < 0)
		return r;
	return stopping_wait(stopping, error);
}

/* A scope whose processes were killed is left "failed", and so its name stays taken. */
static int stopping_reset(const struct watch *stopping, struct error *error)
{
	char state[32];
	uint32_t job = 0;
	int r = watch_job(stopping, state, &job, error);

	if (r == 0 && text_equal(state, "failed"))
		r = watch_call(stopping, "ResetFailed", error, "", NULL, 0);
	return r == -ENOENT ? 0 : r;
}

int bus_unit_stop(struct bus *bus, const char *unit, const char *invocation_id, int64_t deadline_ms,
	struct error *error)
{
	struct watch stopping CLEANUP(watch_done) = {
		.bus = bus,
		.unit = unit,
		.invocation_id = invocation_id,
		.path = bus_unit_object(invocation_id ? invocation_id : unit),
		.deadline_ms = deadline_ms,
	};
	struct bus_unit now;
	int r;

	bus_limit(bus, deadline_ms);
	r = unit_get(bus, unit, &now, error);
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

/* 1 when the start is over, 0 while it goes on. */
static int start_over(const struct watch *starting, struct error *error)
{
	char state[32];
	uint32_t job = 0;
	int r = watch_job(starting, state, &job, error);

	if (r < 0)
		return r == -ENOENT ? 1 : r;
	return !job && !text_equal(state, "activating") && !text_equal(state, "deactivating");
}

static int start_wait(const struct watch *starting, struct error *error)
{
	int r;

	while ((r = start_over(starting, error)) == 0) {
		if (deadline_left_ms(starting->deadline_ms) == 0)
			return error_say(
				error, ETIME, "unit %s is still being started", starting->unit);
		r = watch_pause(starting, error);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

int bus_unit_start(struct bus *bus, const char *unit, int64_t deadline_ms, struct error *error)
{
	struct watch starting CLEANUP(watch_done) = {
		.bus = bus,
		.unit = unit,
		.path = bus_unit_object(unit),
		.deadline_ms = deadline_ms,
	};
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	int r;

	watch_subscribe(&starting, &slot);
	bus_limit(bus, deadline_ms);
	r = sd_bus_call_method(bus->bus, BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER, "StartUnit",
		&reply, NULL, "ss", unit, "replace");
	return r < 0 ? bus_fail(error, r, &reply, "start", unit) : start_wait(&starting, error);
}
