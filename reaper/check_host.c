#include "check.h"

#include "backend/backend.h"
#include "base/text.h"
#include "os/bus.h"
#include "os/cgroupfs.h"
#include "os/confine.h"
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
}

/* Lost roots have a line already; processes are asked for below, where no run is needed for it. */
static bool source_told_elsewhere(const struct check *check, const struct source *source)
{
	return text_equal(source->name, process_backend.name) ||
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

static void check_cgroups(struct check *check)
{
	struct cgroupfs *cgroupfs;
	struct error error = { 0 };
	int r = cgroupfs_open(&cgroupfs, &error);

	if (r == 0) {
		check_say(check, LEVEL_OK, "cgroup v2", cgroupfs_mount(cgroupfs));
		cgroupfs_close(cgroupfs);
	} else {
		check_say_error(check, r == -ENOENT ? LEVEL_WARN : LEVEL_BAD, "cgroup v2", &error);
	}
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
	}
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

/* Whether trees are deleted by a process that cannot reach anything else. */
static void check_wall(struct check *check)
{
	struct error error = { 0 };
	int abi = confine_abi(&error);

	if (abi > 0)
		check_say(check, LEVEL_OK, "landlock", "confines whatever deletes a tree");
	else if (abi == 0)
		check_say(check, LEVEL_WARN, "landlock",
			"this kernel has none: trees are deleted without a second wall");
	else
		check_say_error(check, LEVEL_BAD, "landlock", &error);
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
	check_mounts(check);
	check_wall(check);
	check_processes(check);
}
