/*
 * What the files of the bus share: the connection, calls over it, and a unit that is waited for. The
 * only place that includes sd-bus.h.
 */
#pragma once

#include "bus.h"

#include <systemd/sd-bus.h>

/* Names of org.freedesktop.systemd1(5). */
#define BUS_SYSTEMD "org.freedesktop.systemd1"
#define BUS_MANAGER_PATH "/org/freedesktop/systemd1"
#define BUS_MANAGER BUS_SYSTEMD ".Manager"
#define BUS_UNIT BUS_SYSTEMD ".Unit"
#define BUS_SERVICE BUS_SYSTEMD ".Service"

/* So often we look up from waiting for the bus. */
enum { LOOK_AGAIN_MS = 500 };

struct bus {
	sd_bus *bus;
	int64_t timeout_ms;
};

static inline void message_done(sd_bus_message **message)
{
	(void)sd_bus_message_unref(*message);
}

static inline void slot_done(sd_bus_slot **slot)
{
	(void)sd_bus_slot_unref(*slot);
}

/* Converts a failed call: -ENOENT when there is no such unit, else with an error that says why. */
int bus_fail(
	struct error *error, int r, const sd_bus_error *reply, const char *what, const char *unit);

/* No call may last longer than what is left until the deadline. */
void bus_limit(struct bus *bus, int64_t deadline_ms);

/* No longer than the connection was told, whatever the call before was limited to. */
void bus_limit_none(struct bus *bus);

/* A unit's object, by name or by invocation id. The caller owns it. */
char *bus_unit_object(const char *name_or_invocation);

/* Reads a string property into a field of that size. */
int bus_unit_read(struct bus *bus, const char *path, const char *interface, const char *property,
	char *ret_text, size_t size, sd_bus_error *reply);

/* Finds the object of a unit by a method of the manager. *ret_path is the message's. 0 or -errno. */
int bus_unit_find(struct bus *bus, const char *method, const char *unit,
	sd_bus_message **ret_message, const char **ret_path, sd_bus_error *reply);

/* What is being stopped, started or waited for. */
struct watch {
	struct bus *bus;
	const char *unit;
	const char *invocation_id; /* NULL: whatever has the name */
	char *path;
	int64_t deadline_ms;
};

void watch_done(struct watch *watch);

/* Calls a method of the unit. 0, -ENOENT when it is gone, -errno. */
int watch_call(const struct watch *watch, const char *method, struct error *error,
	const char *types, const char *text, int number);

/*
 * Has systemd tell us when the unit changes. Without that we look from time to time all the same.
 */
void watch_subscribe(const struct watch *watch, sd_bus_slot **ret_slot);

/* Until something changes, some time is over, or the deadline. 0, -EINTR, -errno. */
int watch_pause(const struct watch *watch, struct error *error);

/* Its state now, and whether systemd has a job for it. 0, -ENOENT when it is gone, -errno. */
int watch_job(
	const struct watch *watch, char ret_state[32], uint32_t *ret_job, struct error *error);
