/* sbx-reap forget: drop a record, one resource of it, or what hooks owe, from the books; remove nothing else. */
#include "base/text.h"
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "os/lock.h"
#include "run_guess.h"
#include "state/duties.h"
#include "state/marker.h"
#include "state/runs.h"
#include "verbs.h"

#include <errno.h>

enum { ANY_GENERATION = -1 };

static int look(
	struct books *books, const char *run, struct inventory *inventory, struct error *error)
{
	int r = runs_load(books->store, inventory, run, error);

	return r < 0 ? r : duties_load(books->store, inventory, error);
}

static bool is_owed_for(const struct duty *duty, const char *run, int64_t generation)
{
	return text_equal(duty->run, run) &&
	       (generation == ANY_GENERATION ? duty->ripe : duty->generation == generation);
}

/* A credential must not be lost in silence: each is told. How many, -errno. */
static int drop_duties(const struct books *books, const struct inventory *inventory,
	const char *run, int64_t generation, struct error *error)
{
	int dropped = 0;

	for (size_t i = 0; i < inventory->duty_count; i++) {
		const struct duty *duty = &inventory->duties[i];
		int r = is_owed_for(duty, run, generation)
				? duties_forget(books->store, duty, books->now_s, error)
				: 0;

		if (r < 0)
			return r;
		if (r > 0)
			(void)printf("%s: the %s hook of generation %lld, which was %s, is "
				     "forgotten\n",
				run, duty_name(duty->kind), (long long)duty->generation,
				duty_state_name(duty->state));
		dropped += r;
	}
	return dropped;
}

static bool is_owed_still(const struct inventory *inventory, const char *run, int64_t generation)
{
	for (size_t i = 0; i < inventory->duty_count; i++)
		if (inventory->duties[i].ripe && text_equal(inventory->duties[i].run, run) &&
			inventory->duties[i].generation != generation)
			return true;
	return false;
}

static enum exit_code forget_hooks(struct books *books, const char *run)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct error error = { 0 };
	int r = look(books, run, &inventory, &error);

	if (r >= 0)
		r = drop_duties(books, &inventory, run, ANY_GENERATION, &error);
	if (r < 0)
		return complain(&error, error.code);
	if (r == 0)
		(void)printf("%s: hooks owe nothing for it\n", run);
	return EXIT_DONE;
}

/* The row, and what hooks owe for it: another run of that name may have lost nothing yet. 1, 0, -errno. */
static int forget_row(struct books *books, const char *run, bool *ret_owed, struct error *error)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	int r = look(books, run, &inventory, error), row;
	const struct run *known = r < 0 ? NULL : inventory_find(&inventory, run);
	int64_t generation = known && known->row ? known->row->generation : 0;

	if (r < 0)
		return r;
	row = runs_forget(books->store, run, KIND_WORKTREE, NULL, books->now_s, error);
	if (row < 0)
		return row;
	if (row > 0 && (r = drop_duties(books, &inventory, run, generation, error)) < 0)
		return r;
	*ret_owed = is_owed_still(&inventory, run, generation);
	return row;
}

/* The marker goes too, also one that cannot be read: it would bring the record back. */
static enum exit_code forget_all(struct books *books, const char *run)
{
	struct error error = { 0 };
	bool owed = false;
	int row = forget_row(books, run, &owed, &error);
	char *guess CLEANUP(mem_done) = NULL;
	int markers;

	if (row < 0)
		return complain(&error, error.code);
	markers = beside_remove_markers(&books->settings, run, &error);
	if (markers < 0) {
		notice("%s has a marker still, which is a record: %s", run, error.text);
		return EXIT_ATTENTION;
	}
	guess = row || markers || owed
			? mem_dup("")
			: run_guess(&books->settings, books->store, run, NAMES_ON_RECORD);
	(void)printf(
		"%s %s%s\n", run, row || markers ? "is forgotten" : "was not on record", guess);
	if (owed)
		notice("what hooks owe for an earlier run %s stays: 'sbx-reap forget %s --hooks' "
		       "drops that",
			run, run);
	return books_notice_lost_roots(books);
}

/* Takes the resource out of a record in memory. Whether it was there. */
static bool record_drop(struct record *record, enum kind kind, const char *locator)
{
	size_t kept = 0;

	for (size_t i = 0; i < record->resource_count; i++)
		if (record->resources[i].kind != kind ||
			!text_equal(record->resources[i].locator, locator))
			record->resources[kept++] = record->resources[i];
	if (kept == record->resource_count)
		return false;
	record->resource_count = kept;
	return true;
}

/*
 * A marker cannot say "no worktree": without the key it means <root>/<run>. So the marker goes as a
 * whole when a row keeps the rest, and without a row that would be everything.
 */
static int marker_drop_worktree(
	const char *root, const struct record *marker, bool has_row, struct error *error)
{
	if (!has_row)
		return error_say(error, EINVAL,
			"%s is known by its marker alone, and a marker always has a worktree; "
			"'forget %s' drops it as a whole",
			marker->run, marker->run);
	return marker_remove(root, marker->run, error);
}

/* 1 dropped, 0 the marker does not have it, -errno. */
static int marker_drop(
	const struct books *books, const struct options *options, bool has_row, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *marker;
	const char *root;
	int r = beside_find_marker(&books->settings, options->run, &arena, &root, &marker, error);

	if (r <= 0)
		return r;
	if (!record_drop(marker, options->resource_kind, options->resource_locator))
		return 0;
	if (options->resource_kind == KIND_WORKTREE)
		return marker_drop_worktree(root, marker, has_row, error);
	r = marker_write(root, marker, error);
	return r < 0 ? r : 1;
}

static enum exit_code forget_resource(struct books *books, const struct options *options)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *shown CLEANUP(mem_done) = text_escape(options->resource_locator);
	enum exit_code code = books_load(books, options->run, &inventory);
	const struct run *run = inventory_find(&inventory, options->run);
	struct error error = { 0 };
	int row, marker;

	if (code != EXIT_DONE)
		return code;
	row = runs_forget(books->store, options->run, options->resource_kind,
		options->resource_locator, books->now_s, &error);
	if (row < 0)
		return complain(&error, error.code);
	marker = marker_drop(books, options, run && run->row, &error);
	if (marker < 0) {
		notice("%s is on record by its marker still: %s", shown, error.text);
		return EXIT_ATTENTION;
	}
	(void)printf("%s: %s %s %s\n", options->run, kind_name(options->resource_kind), shown,
		row || marker ? "is forgotten" : "was not on record");
	return EXIT_DONE;
}

/*
 * Under the lock of a pass a begun claim is a dead pass's, which must not stand in the way of the
 * one way out of `refused`. While a pass is on, what it takes apart cannot be forgotten.
 */
static enum exit_code end_dead_claim(const struct books *books, const char *run, int *ret_lock)
{
	char *path CLEANUP(mem_done) = mem_printf("%s.lock", books->settings.database);
	struct error error = { 0 };

	*ret_lock = lock_take(path, books->now_s, NULL);
	if (*ret_lock < 0 || runs_end_claim(books->store, run, &error) >= 0)
		return EXIT_DONE;
	return complain(&error, error.code);
}

enum exit_code cmd_forget(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	int lock CLEANUP(fd_done) = -EBADF;
	enum exit_code code = books_open(options, STORE_WRITE, &books);

	if (code == EXIT_DONE && options->hooks)
		return forget_hooks(&books, options->run);
	if (code == EXIT_DONE)
		code = end_dead_claim(&books, options->run, &lock);
	if (code != EXIT_DONE)
		return code;
	return options->resource_locator ? forget_resource(&books, options)
					 : forget_all(&books, options->run);
}
