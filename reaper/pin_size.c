#include "pin_size.h"

#include "base/runid.h"
#include "beside.h"
#include "disk.h"
#include "os/answering.h"

#include <sys/stat.h>

static void add_place(struct inventory *inventory, struct run *run, const struct resource *resource)
{
	struct stat stat;

	if (resource->kind != KIND_WORKTREE && resource->kind != KIND_PATH)
		return;
	if (answering_look(NULL, resource->locator, &stat) == 0 && S_ISDIR(stat.st_mode))
		run_add_resource(inventory, run, resource)->present = TRI_YES;
}

static void add_record(struct inventory *inventory, struct run *run, const struct record *record)
{
	for (size_t i = 0; i < record->resource_count; i++)
		add_place(inventory, run, &record->resources[i]);
}

static void add_beside(
	struct inventory *inventory, const struct settings *settings, struct run *run)
{
	struct record *marker = NULL;
	const char *root = NULL;

	if (!runid_valid(run->id))
		return;
	if (beside_find_marker(settings, run->id, &inventory->arena, &root, &marker, NULL) > 0) {
		add_record(inventory, run, marker);
		return;
	}
	for (size_t i = 0; i < settings->roots.count; i++) {
		const struct resource tree = {
			.kind = KIND_WORKTREE,
			.locator = arena_printf(
				&inventory->arena, "%s/%s", settings->roots.items[i], run->id),
		};

		add_place(inventory, run, &tree);
	}
}

int64_t pin_size(struct inventory *inventory, const struct settings *settings, const char *id,
	int64_t deadline_ms)
{
	struct run *run = inventory_run(inventory, id);

	if (run->measured)
		return run->bytes;
	if (run->row && run->row->resource_count)
		add_record(inventory, run, run->row);
	else
		add_beside(inventory, settings, run);
	disk_measure_run(run, deadline_ms);
	return run->bytes;
}
