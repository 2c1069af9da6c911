#include "db.h"
#include "run_row.h"
#include "runs.h"

/*
 * Both queries come in the order of runs, so that they are merged in one go; `more`: resources
 * stands on a row that belongs to a later run.
 */
struct loader {
	struct query runs, resources;
	int more;
};

static void loader_done(struct loader *loader)
{
	query_done(&loader->runs);
	query_done(&loader->resources);
}

static int loader_take_resources(
	struct loader *loader, struct arena *arena, struct record *record, struct error *error)
{
	while (loader->more > 0 && text_equal(column_text(&loader->resources, 0), record->run)) {
		int r = resource_row_read(&loader->resources, arena, record, error);

		if (r < 0)
			return r;
		loader->more = query_step(&loader->resources, error);
	}
	return loader->more;
}

static int loader_run(struct loader *loader, struct inventory *inventory, struct error *error)
{
	struct record *record = arena_new(&inventory->arena, sizeof(*record));
	struct run_row row;
	int r;

	run_row_read(&loader->runs, &inventory->arena, &row);
	*record = row.record;
	r = loader_take_resources(loader, &inventory->arena, record, error);
	if (r < 0)
		return r;
	inventory_run(inventory, record->run)->row = record;
	return 0;
}

int runs_load(
	struct store *store, struct inventory *inventory, const char *only, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct loader loader CLEANUP(loader_done) = { 0 };
	int r = transaction_read(&transaction, store, error);

	if (r < 0)
		return r;
	loader.runs = query_new(store, only ? SQL_RUN_GET : SQL_RUN_EACH);
	loader.resources = query_new(store, only ? SQL_RESOURCE_OF : SQL_RESOURCE_EACH);
	if (only) {
		query_text(&loader.runs, only);
		query_text(&loader.resources, only);
	}
	r = loader.more = query_step(&loader.resources, error);
	while (r >= 0 && (r = query_step(&loader.runs, error)) > 0)
		r = loader_run(&loader, inventory, error);
	return r;
}

/* Most were noted by an earlier pass, and reading costs no sync of the disk. */
static int sighting_get(struct store *store, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SIGHTING_GET);

	query_text(&query, run);
	return query_step(&query, error);
}

int runs_note_sighting(struct store *store, const char *run, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = { 0 };
	int r = sighting_get(store, run, error);

	if (r != 0)
		return r < 0 ? r : 0;
	query = query_new(store, SQL_SIGHTING_ADD);
	query_text(&query, run);
	query_int(&query, now_s);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

int runs_load_sightings(struct store *store, struct inventory *inventory, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SIGHTING_EACH);
	struct run *run;
	int r;

	while ((r = query_step(&query, error)) > 0) {
		run = inventory_find(inventory, column_text(&query, 0));
		if (run)
			run->facts.first_seen_s = column_int(&query, 1);
	}
	return r;
}

static int sightings_find_gone(struct store *store, const struct inventory *inventory,
	struct arena *arena, const char ***ret_gone, size_t *ret_count, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SIGHTING_EACH);
	const char **gone CLEANUP(mem_done) = NULL;
	size_t count = 0;
	int r;

	while ((r = query_step(&query, error)) > 0) {
		const char *run = column_text(&query, 0);

		if (inventory_find(inventory, run))
			continue;
		if ((count & (count - 1)) == 0)
			gone = mem_grow(gone, count ? count * 2 : 1, sizeof(*gone));
		gone[count++] = arena_dup(arena, run);
	}
	if (r < 0)
		return r;
	*ret_gone = TAKE_PTR(gone);
	*ret_count = count;
	return 0;
}

static int sighting_delete(struct store *store, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SIGHTING_DELETE);

	query_text(&query, run);
	return query_run(&query, error);
}

int runs_drop_sighting(struct store *store, const char *run, struct error *error)
{
	int r = sighting_delete(store, run, error);

	return r < 0 ? r : 0;
}

int runs_drop_sightings(struct store *store, const struct inventory *inventory, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	const char **gone CLEANUP(mem_done) = NULL;
	size_t count = 0;
	int r = sightings_find_gone(store, inventory, &arena, &gone, &count, error);

	if (r < 0 || count == 0)
		return r;
	r = transaction_write(&transaction, store, error);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = sighting_delete(store, gone[i], error);
	return r < 0 ? r : transaction_commit(&transaction, error);
}
