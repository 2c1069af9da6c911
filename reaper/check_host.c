#include "check.h"

#include "backend/backend.h"
#include "base/text.h"
#include "os/bus.h"
#include "os/journal.h"
#include "os/mount_view.h"
#include "os/processes.h"
#include "text_list.h"

#include <errno.h>

static void check_source(struct check *check, const struct source *source)
{
	const char *at = source->at ? source->at : "this host";

	if (source->ok == TRI_YES) {
		check_say(check, LEVEL_OK, source->name, at);
		return;
	}
	if (source->ok == TRI_UNKNOWN) {
		check_say(check, LEVEL_OK, source->name, "not configured");
		return;
	}
	check_say(check, LEVEL_BAD, source->name, at);
	check_say_more(source->error ? source->error : "no answer");
	if (text_equal(source->name, container_backend.name))
		check_say_more(
			"its containers are unseen, so runs that may have some are kept; start it, "
			"or take it out of [containers] engine");
}

/*
 * Lost roots have a line already; processes are asked for below, where no run is needed for it, and so
 * is cgroup v2, of which nothing is said here where there is none.
 */
static bool source_told_elsewhere(const struct check *check, const struct source *source)
{
	return text_equal(source->name, process_backend.name) ||
	       (text_equal(source->name, cgroup_backend.name) && !source->at) ||
	       (source->at && text_list_has(&check->books.settings.lost_roots, source->at));
}

/* Every backend looks around, as it would in a pass; what it finds does not matter here. */
static void check_sources(struct check *check)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = check->books.now_s };

	for (size_t i = 0; i < BACKEND_COUNT; i++) {
		const struct backend *backend = backends[i];
		struct error error = { 0 };
		void *state = NULL;

		if (!backend->discover)
			continue;
		if (backend->open(&check->books.settings, &state, &error) < 0) {
			check_say_error(check, LEVEL_BAD, backend->name, &error);
			continue;
		}
		backend->discover(state, &inventory, NULL);
		backend->close(state);
	}
	for (size_t i = 0; i < inventory.source_count; i++)
		if (!source_told_elsewhere(check, &inventory.sources[i]))
			check_source(check, &inventory.sources[i]);
}

static void check_bus(struct check *check)
{
	struct bus *bus;
	struct error error = { 0 };
	int r = bus_open(check->books.settings.limits.kill_timeout_ms, &bus, &error);

	if (r == 0) {
		check_say(check, LEVEL_OK, "systemd", "the bus answers");
		bus_close(bus);
	} else if (r == -ENOENT) {
		check_say(check, LEVEL_OK, "systemd", "not running: cgroups are used without it");
	} else {
		check_say_error(check, LEVEL_BAD, "systemd", &error);
		check_say_more(
			"the scopes and services of runs cannot be stopped, nor, by the unit, what "
			"is mounted in them: such runs are kept");
		check_say_more("start it: systemctl start dbus.socket");
	}
}

/* Only where systemd starts the passes: elsewhere whoever does hears them. */
static void check_journal(struct check *check)
{
	struct error error = { 0 };
	int r = bus_booted() ? journal_listens(&error) : 0;

	if (r > 0)
		check_say(check, LEVEL_OK, "journal", "listens");
	else if (r < 0)
		check_say_error(check, LEVEL_WARN, "journal", &error);
	else if (bus_booted())
		check_say(check, LEVEL_WARN, "journal", "nobody listens at its socket");
	if (r <= 0 && bus_booted())
		check_say_more(
			"what the timer's passes say is lost, but for sbx-reap log; start it: "
			"systemctl start systemd-journald.socket");
}

/* In a namespace of our own an unmount does not reach the host, and its mounts are not seen. */
static void check_mounts(struct check *check)
{
	struct mount_view view CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;
	struct error error = { 0 };

	if (mount_view_now(&view, &error) < 0)
		check_say_error(check, LEVEL_BAD, "mount namespace", &error);
	else if (view.apart)
		check_say(check, LEVEL_WARN, "mount namespace",
			"not that of PID 1: what is mounted there goes only through systemd");
	else
		check_say(check, LEVEL_OK, "mount namespace", "that of PID 1");
}

static void process_ignored(
	void *context, const struct process_place *place, const struct process_seen *process)
{
	(void)context;
	(void)place;
	(void)process;
}

/* A place that is nowhere: only whether every process can be looked at is asked. */
static void check_processes(struct check *check)
{
	const struct process_place nowhere = { 0 };
	struct error error = { 0 };
	int r = processes_in(&nowhere, 1, process_ignored, NULL, &error);

	if (r == 0)
		check_say(check, LEVEL_OK, "processes", "all can be looked at");
	else
		check_say_error(check, r == -EACCES ? LEVEL_WARN : LEVEL_BAD, "processes", &error);
}

void check_host(struct check *check)
{
	check_sources(check);
	check_cgroups(check);
	check_bus(check);
	check_journal(check);
	check_mounts(check);
	check_wall(check);
	check_processes(check);
}
