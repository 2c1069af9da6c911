/* A unit that is being stopped, started or waited for. */
#include "bus_parts.h"

#include "base/clock.h"
#include "base/text.h"
#include "signals.h"

#include <errno.h>

void watch_done(struct watch *watch)
{
	free(watch->path);
}

int watch_call(const struct watch *watch, const char *method, struct error *error,
	const char *types, const char *text, int number)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus *bus = watch->bus->bus;
	int r;

	bus_limit(watch->bus, watch->deadline_ms);
	if (text_equal(types, "si"))
		r = sd_bus_call_method(bus, BUS_SYSTEMD, watch->path, BUS_UNIT, method, &reply,
			NULL, types, text, number);
	else
		r = sd_bus_call_method(
			bus, BUS_SYSTEMD, watch->path, BUS_UNIT, method, &reply, NULL, types, text);
	return r < 0 ? bus_fail(error, r, &reply, method, watch->unit) : 0;
}

static int bus_something_changed(sd_bus_message *message, void *context, sd_bus_error *error)
{
	(void)message, (void)context, (void)error;
	return 0;
}

void watch_subscribe(const struct watch *watch, sd_bus_slot **ret_slot)
{
	sd_bus *bus = watch->bus->bus;
	char *path CLEANUP(mem_done) = bus_unit_object(watch->unit);

	(void)sd_bus_call_method(
		bus, BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER, "Subscribe", NULL, NULL, "");
	(void)sd_bus_match_signal(bus, ret_slot, BUS_SYSTEMD, path,
		"org.freedesktop.DBus.Properties", "PropertiesChanged", bus_something_changed,
		NULL);
}

int watch_pause(const struct watch *watch, struct error *error)
{
	int64_t left_ms = deadline_left_ms(watch->deadline_ms);
	int r;

	if (left_ms > LOOK_AGAIN_MS)
		left_ms = LOOK_AGAIN_MS;
	r = signals_stop_wanted() ? -EINTR : sd_bus_wait(watch->bus->bus, (uint64_t)left_ms * 1000);
	while (r >= 0 && (r = sd_bus_process(watch->bus->bus, NULL)) > 0)
		;
	return r < 0 ? error_set(error, -r, "wait for unit %s", watch->unit) : 0;
}

int watch_job(const struct watch *watch, char ret_state[32], uint32_t *ret_job, struct error *error)
{
	sd_bus_error reply CLEANUP(sd_bus_error_free) = SD_BUS_ERROR_NULL;
	sd_bus_message *message CLEANUP(message_done) = NULL;
	int r;

	bus_limit(watch->bus, watch->deadline_ms);
	r = sd_bus_get_property(watch->bus->bus, BUS_SYSTEMD, watch->path, BUS_UNIT, "Job", &reply,
		&message, "(uo)");
	if (r >= 0)
		r = sd_bus_message_read(message, "(uo)", ret_job, NULL);
	if (r >= 0)
		r = bus_unit_read(
			watch->bus, watch->path, BUS_UNIT, "ActiveState", ret_state, 32, &reply);
	return r < 0 ? bus_fail(error, r, &reply, "look at unit", watch->unit) : 0;
}
