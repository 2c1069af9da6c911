#include "told_roots.h"

#include "base/runid.h"
#include "base/text.h"
#include "beside.h"
#include "os/answering.h"
#include "os/dir.h"
#include "state/marker.h"
#include "text_list.h"

#include <errno.h>

struct reading {
	struct inventory *inventory;
	const struct settings *settings;
};

static void read_marker(
	const struct reading *reading, int root, const char *root_path, struct run *run)
{
	struct inventory *inventory = reading->inventory;
	struct error error = { 0 };
	struct record *record = NULL;
	int r = runid_check(run->id, &error);

	if (r == 0)
		r = marker_read(root, root_path, run->id, reading->settings, &inventory->arena,
			&record, &error);
	if (r == -ENOENT)
		return;
	if (run->marker_path) {
		run_refuse(inventory, run, "it has two markers: %s and one in %s", run->marker_path,
			root_path);
		return;
	}
	run->root = run->root ? run->root : root_path;
	run->marker_path = arena_printf(&inventory->arena, "%s/%s.sbx", root_path, run->id);
	run->marker_distrusted = r == -EPERM;
	if (r < 0)
		run_refuse(inventory, run, "%s", error.text);
	else
		run->marker = record;
}

/* The pin that keeps longer; one without an end keeps longest. */
static struct pin *pin_longer(struct pin *a, struct pin *b)
{
	if (!a || !b)
		return a ? a : b;
	if (!a->until_s || !b->until_s)
		return a->until_s ? b : a;
	return a->until_s >= b->until_s ? a : b;
}

static void read_keep(
	const struct reading *reading, int root, const char *root_path, struct run *run)
{
	struct inventory *inventory = reading->inventory;
	struct error error = { 0 };
	struct pin *pin;
	int r = keep_read(root, run->id, &inventory->arena, &pin, &error);

	if (r == -ENOENT)
		return;
	run->root = run->root ? run->root : root_path;
	run->keep_path = arena_printf(&inventory->arena, "%s/%s.keep", root_path, run->id);
	if (r < 0) {
		error_prefix(&error, "root %s", root_path);
		run->facts.pin = PIN_UNREADABLE;
		run->fault = run->fault ? run->fault : arena_dup(&inventory->arena, error.text);
	} else if (!pin->until_s || pin->until_s > inventory->now_s) {
		pin->file = run->keep_path;
		run->pin = pin_longer(run->pin, pin);
	}
}

/* A beside_entry. */
static int each_marker(void *context, int root, const char *root_path, const char *id)
{
	const struct reading *reading = context;

	if (id[0] != '.') /* a write of ours that was killed */
		read_marker(reading, root, root_path, inventory_run(reading->inventory, id));
	return 0;
}

/* A beside_entry. A name that no run can have pins nothing. */
static int each_keep(void *context, int root, const char *root_path, const char *id)
{
	const struct reading *reading = context;

	if (runid_valid(id))
		read_keep(reading, root, root_path, inventory_run(reading->inventory, id));
	return 0;
}

static int read_one(
	const struct reading *reading, const char *root_path, const char *only, struct error *error)
{
	int root CLEANUP(fd_done) = dir_open(root_path, error);
	struct run *run;

	if (root < 0)
		return root;
	run = inventory_run(reading->inventory, only);
	read_marker(reading, root, root_path, run);
	read_keep(reading, root, root_path, run);
	return 0;
}

static int read_all(struct reading *reading, const char *root_path, struct error *error)
{
	int r = beside_each(root_path, ".sbx", each_marker, reading, error);

	return r < 0 ? r : beside_each(root_path, ".keep", each_keep, reading, error);
}

void told_read_roots(struct inventory *inventory, const struct settings *settings, const char *only)
{
	struct reading reading = { .inventory = inventory, .settings = settings };

	for (size_t i = 0; i < settings->roots.count; i++) {
		const char *root_path = settings->roots.items[i];
		struct error error = { 0 };
		int r = only ? read_one(&reading, root_path, only, &error)
			     : read_all(&reading, root_path, &error);

		inventory_add_source(inventory, "markers", root_path, r < 0 ? TRI_NO : TRI_YES,
			r < 0 ? error.text : NULL);
	}
	for (size_t i = 0; i < settings->lost_roots.count; i++) {
		const char *root = settings->lost_roots.items[i];

		inventory_add_source(inventory, "markers", root, TRI_NO,
			text_list_has(&settings->silent, root)
				? answering_words(root, &inventory->arena)
				: "this root does not exist or cannot be opened");
	}
}
