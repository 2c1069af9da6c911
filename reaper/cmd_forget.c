/* sbx-reap forget: drop a record, or one resource of it, from the books; remove nothing else. */
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

/* The marker goes too, also one that cannot be read: it would bring the record back. */
static enum exit_code forget_all(struct books *books, const char *run)
{
	struct error error = { 0 };
	int row = runs_forget(books->store, run, KIND_WORKTREE, NULL, books->now_s, &error);
	char *guess CLEANUP(mem_done) = NULL;
	int duties, markers;

	if (row < 0)
		return complain(&error, error.code);
	duties = duties_forget(books->store, run, books->now_s, &error);
	if (duties < 0)
		return complain(&error, error.code);
	markers = beside_remove_markers(&books->settings, run, &error);
	if (markers < 0) {
		notice("%s has a marker still, which is a record: %s", run, error.text);
		return EXIT_ATTENTION;
	}
	guess = row || markers || duties
			? mem_dup("")
			: run_guess(&books->settings, books->store, run, NAMES_ON_RECORD);
	(void)printf("%s %s%s\n", run,
		row || markers || duties ? "is forgotten" : "was not on record", guess);
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

	if (code == EXIT_DONE)
		code = end_dead_claim(&books, options->run, &lock);
	if (code != EXIT_DONE)
		return code;
	return options->resource_locator ? forget_resource(&books, options)
					 : forget_all(&books, options->run);
}
