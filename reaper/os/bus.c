/* The connection, and what every call over it needs. */
#include "bus_parts.h"

#include "base/clock.h"
#include "base/text.h"
#include "signals.h"

#include <errno.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-login.h>

static void bus_done(struct bus **bus)
{
	bus_close(*bus);
}

int bus_fail(
	struct error *error, int r, const sd_bus_error *reply, const char *what, const char *unit)
{
	static const char *const absent[] = {
		BUS_SYSTEMD ".NoSuchUnit",
		BUS_SYSTEMD ".NoUnitForInvocationID",
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

bool bus_booted(void)
{
	return sd_booted() > 0;
}

static void bus_set_timeout(struct bus *bus, int64_t timeout_ms)
{
	(void)sd_bus_set_method_call_timeout(bus->bus, (uint64_t)timeout_ms * 1000);
}

/*
 * Until the bus has let us in and greeted us. sd-bus connects without waiting, and has the first call
 * wait for that: 90 s, whatever the time limit of the call (systemd 252, BUS_AUTH_TIMEOUT).
 */
static int bus_await(struct bus *bus)
{
	int64_t deadline_ms = deadline_in_ms(bus->timeout_ms);
	int r;

	while ((r = sd_bus_is_ready(bus->bus)) == 0) {
		int64_t left_ms = deadline_left_ms(deadline_ms);

		if (left_ms == 0 || signals_stop_wanted())
			return left_ms == 0 ? -ETIME : -EINTR;
		r = sd_bus_process(bus->bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus->bus,
				(uint64_t)(left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS) *
					1000);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

int bus_open(int64_t timeout_ms, struct bus **ret_bus, struct error *error)
{
	struct bus *bus CLEANUP(bus_done) = NULL;
	int r = sd_booted();

	if (r < 0)
		return error_set(error, -r, "see whether systemd runs");
	if (r == 0)
		return error_say(error, ENOENT, "systemd does not run here");
	bus = mem_new(sizeof(*bus));
	bus->timeout_ms = timeout_ms;
	r = geteuid() == 0 ? sd_bus_open_system(&bus->bus) : sd_bus_open_user(&bus->bus);
	if (r >= 0) {
		bus_set_timeout(bus, timeout_ms);
		r = bus_await(bus);
	}
	if (r == -ETIME)
		return error_say(error, ETIME, "systemd runs, but its bus does not answer");
	if (r < 0)
		return error_set(error, r == -ENOENT ? ECONNREFUSED : -r,
			"systemd runs, but connecting to its bus failed");
	*ret_bus = TAKE_PTR(bus);
	return 0;
}

void bus_close(struct bus *bus)
{
	if (!bus)
		return;
	(void)sd_bus_close_unref(bus->bus);
	free(bus);
}

void bus_limit(struct bus *bus, int64_t deadline_ms)
{
	int64_t left_ms = deadline_left_ms(deadline_ms);

	if (left_ms > bus->timeout_ms)
		left_ms = bus->timeout_ms;
	bus_set_timeout(bus, left_ms > 0 ? left_ms : 1);
}

void bus_limit_none(struct bus *bus)
{
	bus_set_timeout(bus, bus->timeout_ms);
}

char *bus_unit_object(const char *name_or_invocation)
{
	char *path = NULL;

	if (sd_bus_path_encode("/org/freedesktop/systemd1/unit", name_or_invocation, &path) < 0)
		abort(); /* only for want of memory: the prefix is a valid path */
	return path;
}

int bus_unit_find(struct bus *bus, const char *method, const char *unit,
	sd_bus_message **ret_message, const char **ret_path, sd_bus_error *reply)
{
	int r = sd_bus_call_method(bus->bus, BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER, method,
		reply, ret_message, "s", unit);

	return r < 0 ? r : sd_bus_message_read(*ret_message, "o", ret_path);
}

bool bus_state_rests(const char *state)
{
	return text_equal(state, "inactive") || text_equal(state, "failed");
}

int bus_unit_read(struct bus *bus, const char *path, const char *interface, const char *property,
	char *ret_text, size_t size, sd_bus_error *reply)
{
	char *value CLEANUP(mem_done) = NULL;
	int r = sd_bus_get_property_string(
		bus->bus, BUS_SYSTEMD, path, interface, property, reply, &value);

	if (r < 0)
		return r;
	if (strlen(value) >= size)
		return -E2BIG;
	(void)snprintf(ret_text, size, "%s", value);
	return 0;
}
