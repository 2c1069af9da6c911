/* sbx-reap finish: record how a run ended, in its row and in its marker. */
#include "base/timespan.h"
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "state/marker.h"
#include "state/runs.h"
#include "verbs.h"

#include <errno.h>

struct ending {
	const char *run;
	enum outcome outcome;
	int64_t at_s; /* 0: now, or whenever it was recorded first */
};

static void ending_print(const struct record *record, bool changed)
{
	char at[TIMESPAN_TEXT];

	(void)printf("%s %s: %s at %s\n", record->run,
		changed ? "finished" : "was finished already", outcome_name(record->outcome),
		moment_format(at, record->finished_s));
}

/* A run that only its marker records ends there. */
static enum exit_code finish_marker(const struct books *books, const struct ending *ending,
	const char *root, struct record *marker)
{
	struct error error = { 0 };
	bool finished = marker->finished_s != 0;

	if (finished && (marker->outcome != ending->outcome ||
				(ending->at_s && ending->at_s != marker->finished_s))) {
		notice("the marker of %s in %s records another end already; nothing was changed",
			ending->run, root);
		return EXIT_ATTENTION;
	}
	if (!finished && ending->at_s && ending->at_s < marker->created_s) {
		notice("the marker of %s in %s says that it began later than that; nothing was "
		       "changed",
			ending->run, root);
		return EXIT_ATTENTION;
	}
	if (!finished) {
		marker->outcome = ending->outcome;
		marker->finished_s = ending->at_s ? ending->at_s : books->now_s;
		if (marker_write_end(root, marker, &error) < 0) {
			notice("%s", error.text);
			return EXIT_ATTENTION;
		}
	}
	ending_print(marker, !finished);
	return EXIT_DONE;
}

/*
 * Brings the marker in line with the row; one is made where the run has a root and none. 1: its
 * root cannot be opened now, or there is none.
 */
static int marker_follow(const struct books *books, const struct record *row, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *marker = NULL;
	const char *root = NULL;
	bool ended;
	int r = beside_find_marker(&books->settings, row->run, &arena, &root, &marker, error);

	if (r < 0)
		return r;
	if (!marker) {
		root = beside_root(&books->settings, row->run, row);
		return root ? beside_write_marker(root, row, NULL, error) : 1;
	}
	if (marker->finished_s == row->finished_s && marker->outcome == row->outcome)
		return 0;
	ended = marker->finished_s != 0;
	marker->finished_s = row->finished_s;
	marker->outcome = row->outcome;
	return ended ? marker_write(root, marker, error) : marker_write_end(root, marker, error);
}

static enum exit_code finish_row(struct books *books, const char *run, bool changed)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	enum exit_code code = books_load(books, run, &inventory);
	const struct run *found = inventory_find(&inventory, run);
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE || !found || !found->row)
		return code;
	ending_print(found->row, changed);
	r = marker_follow(books, found->row, &error);
	if (r >= 0)
		return r > 0 ? books_notice_lost_roots(books) : EXIT_DONE;
	notice("the end of %s is on record, but not in its marker: %s", run, error.text);
	return EXIT_ATTENTION;
}

static enum exit_code finish_unregistered(struct books *books, const struct ending *ending)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct record *marker;
	struct error error = { 0 };
	const char *root;
	int r = beside_find_marker(&books->settings, ending->run, &arena, &root, &marker, &error);

	if (r > 0)
		return finish_marker(books, ending, root, marker);
	if (r == 0)
		books_notice_unknown(books, ending->run);
	else
		notice("%s", error.text);
	return EXIT_ATTENTION;
}

enum exit_code cmd_finish(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	struct ending ending = {
		.run = options->run,
		.outcome = options->ok ? OUTCOME_OK : OUTCOME_FAILED,
		.at_s = options->at_s,
	};
	enum exit_code code = books_open(options, STORE_WRITE, &books);
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE)
		return code;
	r = runs_finish(books.store, ending.run, ending.outcome, ending.at_s, books.now_s, &error);
	if (r == -ENOENT)
		return finish_unregistered(&books, &ending);
	return r < 0 ? complain(&error, error.code) : finish_row(&books, ending.run, r > 0);
}
