#include "check.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/answering.h"
#include "os/bus.h"
#include "os/cgroupfs.h"
#include "os/unit_name.h"
#include "text_list.h"

#include <errno.h>
#include <sys/statvfs.h>

static const char unit[] = "sbx-reap.service";

/* Without what nobody answers behind, which must not be touched and has a line of its own. */
static void add_answering(struct text_list *list, const struct text_list *paths)
{
	bool *silent CLEANUP(mem_done) = mem_new((paths->count + 1) * sizeof(*silent));

	if (!paths->count)
		return;
	(void)answering_ask((const char *const *)paths->items, paths->count, silent, NULL);
	for (size_t i = 0; i < paths->count; i++) {
		char *real CLEANUP(mem_done) = silent[i] ? NULL : realpath(paths->items[i], NULL);

		if (!silent[i])
			text_list_add_new(list, real ? real : paths->items[i]);
	}
}

static void add_recorded_repos(struct text_list *list, struct check *check)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	if (!check->books.store || books_load(&check->books, NULL, &inventory) != EXIT_DONE)
		return;
	for (size_t i = 0; i < inventory.run_count; i++)
		for (size_t k = 0; k < inventory.runs[i]->resource_count; k++)
			if (inventory.runs[i]->resources[k].repo)
				text_list_add_new(list, inventory.runs[i]->resources[k].repo);
}

static void add_cgroups(struct text_list *list, const struct settings *settings)
{
	struct cgroupfs *cgroupfs;
	char *slice CLEANUP(mem_done) = NULL;

	if (cgroupfs_open(&cgroupfs, NULL) < 0)
		return;
	slice = mem_printf("%s/%s", cgroupfs_mount(cgroupfs), settings->cgroup_root);
	text_list_add_new(list, slice);
	cgroupfs_close(cgroupfs);
}

/* All that a pass writes to, symlinks resolved. */
static void places_find(struct check *check, struct text_list *ret_places)
{
	const struct settings *settings = &check->books.settings;
	const struct text_list *const lists[] = { &settings->roots, &settings->path_roots,
		&settings->repos };
	char *directory CLEANUP(mem_done) = pathname_parent(settings->database);
	struct text_list paths CLEANUP(text_list_done) = { 0 };

	text_list_add(&paths, directory);
	if (settings->textfile) {
		char *metrics CLEANUP(mem_done) = pathname_parent(settings->textfile);

		text_list_add_new(&paths, metrics);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			text_list_add_new(&paths, lists[i]->items[k]);
	add_recorded_repos(&paths, check);
	add_cgroups(&paths, settings);
	add_answering(ret_places, &paths);
}

static void check_read_only(struct check *check, const struct text_list *places)
{
	for (size_t i = 0; i < places->count; i++) {
		struct statvfs fs;
		char *detail CLEANUP(mem_done) = mem_printf("%s: to us", places->items[i]);

		if (statvfs(places->items[i], &fs) == 0 && (fs.f_flag & ST_RDONLY))
			check_say(check, LEVEL_BAD, "read-only", detail);
	}
}

/* Prefixes are systemd's: may be missing, and below the root of the service. */
static void writable_find(const struct bus_sandbox *sandbox, struct text_list *ret_writable)
{
	struct text_list paths CLEANUP(text_list_done) = { 0 };

	for (char **path = sandbox->read_write_paths; path && *path; path++)
		text_list_add_new(&paths, *path + strspn(*path, "-+"));
	add_answering(ret_writable, &paths);
}

static void say_drop_in(const struct text_list *missing)
{
	struct text setting CLEANUP(text_done) = { 0 };

	text_add(&setting, "ReadWritePaths=");
	for (size_t i = 0; i < missing->count; i++) {
		char *word CLEANUP(mem_done) = unit_setting_path(missing->items[i]);

		text_addf(&setting, "%s%s", i ? " " : "", word);
	}
	check_say_more("these lines allow it (systemctl edit sbx-reap.service):");
	check_say_more("[Service]");
	check_say_more(setting.data);
}

static void check_sandbox(
	struct check *check, const struct bus_sandbox *sandbox, const struct text_list *places)
{
	struct text_list writable CLEANUP(text_list_done) = { 0 };
	struct text_list missing CLEANUP(text_list_done) = { 0 };

	if (text_equal(sandbox->protect_system, "strict")) {
		writable_find(sandbox, &writable);
		for (size_t i = 0; i < places->count; i++)
			if (!text_list_at_or_above(&writable, places->items[i]))
				text_list_add(&missing, places->items[i]);
	}
	for (size_t i = 0; i < missing.count; i++) {
		char *detail CLEANUP(mem_done) =
			mem_printf("%s may not write to %s", unit, missing.items[i]);

		check_say(check, LEVEL_BAD, "unit", detail);
	}
	if (missing.count)
		say_drop_in(&missing);
	else
		check_say(check, LEVEL_OK, "unit", "sbx-reap.service may write where it has to");
}

void check_unit(struct check *check)
{
	struct text_list places CLEANUP(text_list_done) = { 0 };
	struct bus_sandbox sandbox CLEANUP(bus_sandbox_done) = { 0 };
	struct error error = { 0 };
	struct bus *bus;
	int r;

	places_find(check, &places);
	check_read_only(check, &places);
	if (bus_open(check->books.settings.limits.kill_timeout_ms, &bus, NULL) < 0)
		return; /* said already */
	r = bus_sandbox_get(bus, unit, &sandbox, &error);
	bus_close(bus);
	if (r == 0)
		check_sandbox(check, &sandbox, &places);
	else if (r != -ENOENT)
		check_say_error(check, LEVEL_BAD, "unit", &error);
}
