/* Where systemd lets a service write. */
#include "bus_parts.h"

#include "base/text.h"

#include <errno.h>

static int sandbox_read(
	struct bus *bus, const char *path, struct bus_sandbox *sandbox, sd_bus_error *reply)
{
	sd_bus_message *message CLEANUP(message_done) = NULL;
	char state[32];
	int r = bus_unit_read(bus, path, BUS_UNIT, "LoadState", state, sizeof(state), reply);

	if (r >= 0 && text_equal(state, "not-found"))
		return sd_bus_error_set(reply, BUS_SYSTEMD ".NoSuchUnit", NULL);
	if (r >= 0)
		r = bus_unit_read(bus, path, BUS_SERVICE, "ProtectSystem", sandbox->protect_system,
			sizeof(sandbox->protect_system), reply);
	if (r >= 0)
		r = sd_bus_get_property(bus->bus, BUS_SYSTEMD, path, BUS_SERVICE, "ReadWritePaths",
			reply, &message, "as");
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
	int r = bus_unit_find(bus, "LoadUnit", unit, &loaded, &path, &reply);

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
	bus_names_done(&sandbox->read_write_paths);
	*sandbox = (struct bus_sandbox){ 0 };
}
