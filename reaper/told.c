#include "told.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/answering.h"
#include "state/brake.h"
#include "state/hold.h"
#include "state/pins.h"
#include "state/runs.h"
#include "told_roots.h"
#include "told_silence.h"

static int read_store(struct inventory *inventory, const struct world *world, const char *only,
	struct error *error)
{
	int r = 0;

	if (world->store) {
		r = runs_load(world->store, inventory, only, error);
		if (r >= 0)
			r = pins_load(world->store, inventory, error);
		if (r >= 0)
			r = hold_get(world->store, inventory->now_s, &inventory->arena,
				&inventory->hold, error);
		if (r >= 0)
			r = brake_get(world->store, &inventory->brake.tripped_s, error);
	}
	inventory_add_source(inventory, "store", world->settings->database,
		r < 0 ? TRI_NO : TRI_YES, r < 0 ? error->text : NULL);
	return r;
}

/* "/srv/git/app" and "/srv/git/app/.git" are the same repository. */
static bool same_repository(const char *a, const char *b)
{
	struct stat stat_a, stat_b;
	char *clean_a CLEANUP(mem_done) = mem_dup(a), *clean_b CLEANUP(mem_done) = mem_dup(b);

	if (text_ends(clean_a, "/.git"))
		clean_a[strlen(clean_a) - strlen("/.git")] = 0;
	if (text_ends(clean_b, "/.git"))
		clean_b[strlen(clean_b) - strlen("/.git")] = 0;
	if (text_equal(clean_a, clean_b))
		return true;
	return answering_look(NULL, clean_a, &stat_a) == 0 &&
	       answering_look(NULL, clean_b, &stat_b) == 0 && stat_a.st_dev == stat_b.st_dev &&
	       stat_a.st_ino == stat_b.st_ino;
}

static const struct resource *record_tree(const struct record *record)
{
	for (size_t i = 0; record && i < record->resource_count; i++)
		if (record->resources[i].kind == KIND_WORKTREE)
			return &record->resources[i];
	return NULL;
}

/* Row and marker must speak of the same tree and repository. */
static void check_agreement(struct inventory *inventory, struct run *run)
{
	const struct resource *row = record_tree(run->row), *marker = record_tree(run->marker);

	if (!row || !marker)
		return;
	if (!text_equal(row->locator, marker->locator))
		run_refuse(inventory, run, "its row says worktree %s, its marker %s says %s",
			row->locator, run->marker_path, marker->locator);
	else if (row->repo && marker->repo && !same_repository(row->repo, marker->repo))
		run_refuse(inventory, run, "its row says repository %s, its marker %s says %s",
			row->repo, run->marker_path, marker->repo);
}

static void add_record(struct inventory *inventory, struct run *run, const struct record *record)
{
	const struct resource *known = record == run->marker ? record_tree(run->row) : NULL;

	for (size_t i = 0; record && i < record->resource_count; i++) {
		struct resource resource = record->resources[i];

		/* What the row knows of tree and branch is more exact; a marker repeats it. */
		if (known && known->repo)
			resource.repo = NULL;
		(void)run_add_resource(inventory, run, &resource);
	}
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t keep_of(const struct policy_settings *settings, enum outcome outcome)
{
	return outcome == OUTCOME_OK ? settings->keep_ok_s : settings->keep_failed_s;
}

/* The end of a run is an end only when every record says so; of two, the one that keeps longer. */
static void join_end(struct facts *facts, const struct policy_settings *settings,
	const struct record *row, const struct record *marker)
{
	if ((row && !row->finished_s) || (marker && !marker->finished_s))
		return;
	facts->finished_s = later(row ? row->finished_s : 0, marker ? marker->finished_s : 0);
	if (row && marker && keep_of(settings, marker->outcome) > keep_of(settings, row->outcome))
		row = NULL;
	facts->outcome = row ? row->outcome : marker->outcome;
}

static void join_times(
	struct facts *facts, const struct policy_settings *settings, const struct record *record)
{
	int64_t ttl_s, deadline_s;

	if (!record)
		return;
	ttl_s = record->ttl_s ? record->ttl_s : settings->ttl_s;
	deadline_s = record->deadline_s ? record->deadline_s : record->created_s + ttl_s;
	facts->created_s = later(facts->created_s, record->created_s);
	facts->deadline_s = later(facts->deadline_s, deadline_s);
	facts->last_sign_s =
		later(facts->last_sign_s, later(record->last_sign_s, record->created_s));
}

/*
 * A claim on what nobody registered has a row with the marker's times. When the marker is another by
 * now, a harness used the name again, and the claim does not mean the new run.
 */
static void leave_outlived_row(struct run *run)
{
	run->row_outlived = run->row && !run->row->registered && run->marker &&
			    run->marker->created_s != run->row->created_s;
	if (run->row_outlived)
		run->row = NULL;
}

static void join_run(
	struct inventory *inventory, struct run *run, const struct policy_settings *settings)
{
	const struct record *row;
	struct facts *facts = &run->facts;

	leave_outlived_row(run);
	row = run->row && run->row->registered ? run->row : NULL;
	facts->recorded = row || run->marker;
	facts->claim = run->row ? run->row->claim : CLAIM_NONE;
	facts->salvage_failed_s = run->row ? run->row->salvage_failed_s : 0;
	if (run->pin)
		facts->pin = PIN_HELD;
	check_agreement(inventory, run);
	add_record(inventory, run, run->row);
	add_record(inventory, run, run->marker);
	join_times(facts, settings, row);
	join_times(facts, settings, run->marker);
	if (facts->recorded)
		join_end(facts, settings, row, run->marker);
	for (size_t i = 0; i < run->resource_count; i++) {
		run->resources[i].generation = run->row ? run->row->generation : 0;
		run->resources[i].span_from_s = facts->created_s;
		run->resources[i].span_to_s = facts->finished_s;
		run->resources[i].begun_s = run->row ? run->row->claim_begun_s : 0;
	}
}

/* A tree or path that a run claims for itself. */
struct place {
	struct run *run;
	const char *path;
};

static int place_compare(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->path, ((const struct place *)b)->path);
}

static bool place_told(const struct resource *resource)
{
	return (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH) &&
	       (resource->proof & (PROOF_ROW | PROOF_MARKER));
}

static void check_two_places(
	struct inventory *inventory, const struct place *outer, const struct place *inner)
{
	run_refuse(inventory, outer->run, "run %s claims %s too, which is or lies in its %s",
		inner->run->id, inner->path, outer->path);
	run_refuse(inventory, inner->run, "its %s is or lies in %s, which run %s claims too",
		inner->path, outer->path, outer->run->id);
}

/*
 * Two records for one tree, or for a tree within another's: neither goes. Sorted by path, what lies
 * below a path follows it before anything else that does not begin with it.
 */
static void check_places(struct inventory *inventory)
{
	size_t count = 0, room = 0;
	struct place *places CLEANUP(mem_done) = NULL;

	for (size_t i = 0; i < inventory->run_count; i++)
		room += inventory->runs[i]->resource_count;
	places = mem_grow(NULL, room, sizeof(*places));
	for (size_t i = 0; i < inventory->run_count; i++) {
		struct run *run = inventory->runs[i];

		for (size_t j = 0; j < run->resource_count; j++)
			if (place_told(&run->resources[j]))
				places[count++] = (struct place){ run, run->resources[j].locator };
	}
	qsort(places, count, sizeof(*places), place_compare);
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count && text_starts(places[j].path, places[i].path);
			j++)
			if (places[i].run != places[j].run &&
				(text_equal(places[i].path, places[j].path) ||
					pathname_below(places[j].path, places[i].path)))
				check_two_places(inventory, &places[i], &places[j]);
}

int told_load(struct inventory *inventory, const struct world *world, const char *only,
	struct error *error)
{
	const struct settings *settings = world->settings;
	int r = read_store(inventory, world, only, error);

	if (r < 0)
		return r;
	told_read_roots(inventory, settings, only);
	for (size_t i = 0; i < inventory->run_count; i++)
		join_run(inventory, inventory->runs[i], &settings->policy);
	check_places(inventory);
	told_silence(inventory, settings);
	return 0;
}
