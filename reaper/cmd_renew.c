/* sbx-reap renew: a heartbeat; with --ttl it moves the deadline too, in row and marker. */
#include "base/timespan.h"
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "state/marker.h"
#include "state/runs.h"
#include "verbs.h"

#include <errno.h>

static void deadline_print(const char *run, int64_t deadline_s, int64_t now_s)
{
	char until[TIMESPAN_TEXT], span[TIMESPAN_TEXT];

	(void)printf("%s renewed: until %s (%s)\n", run, moment_format(until, deadline_s),
		timespan_format(span, deadline_s - now_s));
}

static int marker_move_deadline(
	const char *root, struct record *marker, int64_t deadline_s, struct error *error)
{
	if (marker->finished_s)
		return error_say(
			error, EALREADY, "the marker of %s says that it is finished", marker->run);
	if (deadline_s <= marker->created_s)
		return error_say(error, EINVAL,
			"the marker of %s says that it begins only after the new deadline",
			marker->run);
	marker->deadline_s = deadline_s;
	marker->ttl_s = deadline_s - marker->created_s;
	return marker_write(root, marker, error);
}

/* A marker has a place for the time budget, and none for a sign of life. */
static enum exit_code renew_marker(const struct books *books, const struct options *options,
	const char *root, struct record *marker)
{
	int64_t deadline_s = books->now_s + options->ttl_s;
	struct error error = { 0 };

	if (options->ttl_s < 0) {
		notice("%s is known by its marker alone, which has no place for a sign of life: "
		       "use 'renew %s --ttl DUR', or 'register' it",
			options->run, options->run);
		return EXIT_ATTENTION;
	}
	if (marker_move_deadline(root, marker, deadline_s, &error) < 0) {
		notice("%s", error.text);
		return EXIT_ATTENTION;
	}
	deadline_print(options->run, deadline_s, books->now_s);
	return EXIT_DONE;
}

static enum exit_code renew_unregistered(const struct books *books, const struct options *options)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *marker;
	struct error error = { 0 };
	const char *root;
	int r = beside_find_marker(&books->settings, options->run, &arena, &root, &marker, &error);

	if (r > 0)
		return renew_marker(books, options, root, marker);
	if (r == 0)
		books_notice_unknown(books, options->run);
	else
		notice("%s", error.text);
	return EXIT_ATTENTION;
}

/* The later of row and marker would hold, so a deadline that moves must move in both. */
static enum exit_code renew_row(struct books *books, const struct options *options)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	enum exit_code code = books_load(books, options->run, &inventory);
	const struct run *run = inventory_find(&inventory, options->run);
	struct record *marker;
	struct error error = { 0 };
	const char *root;
	int r = 0;

	if (code != EXIT_DONE || !run || !run->row)
		return code;
	deadline_print(options->run, run->row->deadline_s, books->now_s);
	if (options->ttl_s < 0)
		return EXIT_DONE;
	r = beside_find_marker(&books->settings, options->run, &arena, &root, &marker, &error);
	if (r > 0)
		r = marker_move_deadline(root, marker, run->row->deadline_s, &error);
	if (r >= 0)
		return EXIT_DONE;
	notice("the deadline of %s is moved, but not in its marker: %s", options->run, error.text);
	return EXIT_ATTENTION;
}

enum exit_code cmd_renew(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_WRITE, &books);
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE)
		return code;
	r = runs_renew(books.store, options->run, books.now_s,
		options->ttl_s > 0 ? options->ttl_s : 0, &error);
	if (r == -ENOENT)
		return renew_unregistered(&books, options);
	return r < 0 ? complain(&error, error.code) : renew_row(&books, options);
}
