/* What is mounted, as systemd has it. */
#include "bus_parts.h"

#include "base/clock.h"
#include "base/text.h"
#include "unit_name.h"

#include <errno.h>
#include <limits.h>

/*
 * Whether the unit is that of the mount point, and not one whose name only looks like it. The bus has
 * no words but UTF-8, so of another path systemd cannot tell; it takes no unit for a mount, though,
 * whose name is not made of where it is (systemd.mount(5)).
 */
static int mount_prove(const struct watch *stopping, const char *point, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	char where[PATH_MAX], state[32];
	int r;

	bus_limit(stopping->bus, stopping->deadline_ms);
	r = bus_unit_read(stopping->bus, stopping->path, BUS_UNIT, "ActiveState", state,
		sizeof(state), &reply);
	if (r >= 0 && utf8_valid(point))
		r = bus_unit_read(stopping->bus, stopping->path, BUS_SYSTEMD ".Mount", "Where",
			where, sizeof(where), &reply);
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

/* 1 when it rests, 0 while it is being stopped, -EBUSY when that was tried and it is active again. */
static int mount_stopped(const struct watch *stopping, struct error *error)
{
	char state[32];
	uint32_t job = 0;
	int r = watch_job(stopping, state, &job, error);

	if (r == -ENOENT)
		return 1;
	if (r < 0 || job)
		return r < 0 ? r : 0;
	if (bus_state_rests(state))
		return 1;
	return text_equal(state, "active")
		       ? error_say(error, EBUSY, "systemd could not stop %s", stopping->unit)
		       : 0;
}

static int mount_wait(const struct watch *stopping, struct error *error)
{
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	int r;

	watch_subscribe(stopping, &slot);
	while ((r = mount_stopped(stopping, error)) == 0) {
		if (deadline_left_ms(stopping->deadline_ms) == 0)
			return error_say(
				error, ETIME, "systemd is still stopping %s", stopping->unit);
		r = watch_pause(stopping, error);
		if (r < 0)
			return r;
	}
	return r;
}

int bus_mount_stop(struct bus *bus, const char *point, int64_t deadline_ms, struct error *error)
{
	char *unit CLEANUP(mem_done) = unit_name_of_mount(point);
	struct watch stopping CLEANUP(watch_done) = {
		.bus = bus,
		.unit = unit,
		.path = unit ? bus_unit_object(unit) : NULL,
		.deadline_ms = deadline_ms,
	};
	int r;

	if (!unit)
		return error_say(
			error, ENAMETOOLONG, "its path is too long for the name of a systemd unit");
	r = mount_prove(&stopping, point, error);
	if (r < 0)
		return r;
	r = watch_call(&stopping, "Stop", error, "s", "replace", 0);
	if (r == -ENOENT)
		return 1;
	return r < 0 ? r : mount_wait(&stopping, error);
}

int bus_mount_wait(struct bus *bus, const char *point, int64_t deadline_ms, struct error *error)
{
	char *unit CLEANUP(mem_done) = unit_name_of_mount(point);
	struct watch waiting CLEANUP(watch_done) = {
		.bus = bus,
		.unit = unit,
		.path = unit ? bus_unit_object(unit) : NULL,
		.deadline_ms = deadline_ms,
	};
	sd_bus_slot *slot CLEANUP(slot_done) = NULL;
	int r;

	if (!unit)
		return error_say(
			error, ENAMETOOLONG, "its path is too long for the name of a systemd unit");
	watch_subscribe(&waiting, &slot);
	while ((r = mount_prove(&waiting, point, NULL)) == -ENOENT) {
		if (deadline_left_ms(deadline_ms) == 0)
			return error_say(error, ETIME,
				"systemd does not see what was mounted there (unit %s); is this "
				"its own mount namespace?",
				unit);
		r = watch_pause(&waiting, error);
		if (r < 0)
			return r;
	}
	return r < 0 ? error_set(error, -r, "look at unit %s", unit) : 0;
}
