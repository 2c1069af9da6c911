/*
 * sbx-reap register: the row first, then the marker that others see. A call that was killed between
 * the two is completed by the same call again.
 */
#include "base/text.h"
#include "base/timespan.h"
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "registration.h"
#include "state/runs.h"
#include "verbs.h"

#include <errno.h>

struct known {
	struct arena arena;
	struct inventory inventory; /* holds the row */
	struct record *marker;      /* NULL: none */
	const char *marker_root;
};

static void known_done(struct known *known)
{
	inventory_done(&known->inventory);
	arena_done(&known->arena);
}

static const struct record *row_of(const struct inventory *inventory, const char *run)
{
	const struct run *found = inventory_find(inventory, run);

	return found ? found->row : NULL;
}

/* A marker that cannot be trusted, or says that the run is over, is for a person to mend. */
static enum exit_code known_load(struct known *known, struct books *books, const char *run)
{
	enum exit_code code = books_load(books, run, &known->inventory);
	struct error error = { 0 };

	if (code != EXIT_DONE)
		return code;
	if (beside_find_marker(&books->settings, run, &known->arena, &known->marker_root,
		    &known->marker, &error) < 0) {
		notice("%s has a marker already: %s; mend it or 'forget %s', nothing was changed",
			run, error.text, run);
		return EXIT_ATTENTION;
	}
	if (known->marker && known->marker->finished_s) {
		notice("the marker of %s says that it is finished; 'forget %s' drops it, nothing "
		       "was changed",
			run, run);
		return EXIT_ATTENTION;
	}
	return EXIT_DONE;
}

static const char *tree_of(const struct record *record)
{
	for (size_t i = 0; record && i < record->resource_count; i++)
		if (record->resources[i].kind == KIND_WORKTREE)
			return record->resources[i].locator;
	return NULL;
}

/*
 * Where the marker names another tree than what is to be registered, neither is believed. (Beside a
 * row without a tree a marker names <root>/<run> only because a marker must.)
 */
static bool marker_agrees(const struct known *known, const struct record *told)
{
	const struct record *row = row_of(&known->inventory, told->run);
	const char *marked = tree_of(known->marker), *tree = tree_of(told);

	return !marked || !tree || (row && !tree_of(row)) || text_equal(marked, tree);
}

static void print_resource(const struct resource *resource)
{
	(void)printf(", %s ", kind_name(resource->kind));
	print_escaped(resource->locator, 0);
}

static void print_record(const struct record *row, bool changed)
{
	char until[TIMESPAN_TEXT];

	(void)printf("%s %s: until %s", row->run, changed ? "registered" : "was registered already",
		moment_format(until, row->deadline_s));
	for (size_t i = 0; i < row->resource_count; i++)
		print_resource(&row->resources[i]);
	(void)putchar('\n');
}

/* What is on record now goes into the marker and to the caller. */
static enum exit_code finish_register(
	struct books *books, const struct known *known, const char *run, bool changed)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	enum exit_code code = books_load(books, run, &inventory);
	const struct record *row = row_of(&inventory, run);
	struct error error = { 0 };
	const char *root;

	if (code != EXIT_DONE)
		return code;
	if (!row) {
		notice("%s was registered and forgotten or reaped at once", run);
		return EXIT_ATTENTION;
	}
	print_record(row, changed);
	root = known->marker ? known->marker_root : beside_root(&books->settings, run, row);
	if (!root)
		return books_notice_lost_roots(books);
	if (beside_write_marker(root, row, known->marker, &error) >= 0)
		return EXIT_DONE;
	notice("%s is on record, but its marker is missing: %s", run, error.text);
	return EXIT_ATTENTION;
}

static enum exit_code register_failed(const struct error *error)
{
	notice("%s", error->text);
	return error->code == EINVAL ? EXIT_USAGE : EXIT_ATTENTION;
}

static enum exit_code register_run(
	struct books *books, const struct known *known, const struct options *options)
{
	struct registration told CLEANUP(registration_done) = { 0 };
	struct error error = { 0 };
	int r = registration_build(&told, options, &books->settings,
		row_of(&known->inventory, options->run), known->marker, &error);

	if (r < 0)
		return register_failed(&error);
	if (!marker_agrees(known, &told.record)) {
		notice("the marker of %s in %s names another worktree; nothing was changed",
			options->run, known->marker_root);
		return EXIT_ATTENTION;
	}
	r = runs_register(
		books->store, &told.record, books->settings.policy.ttl_s, books->now_s, &error);
	if (r < 0)
		return r == -EINVAL ? register_failed(&error) : complain(&error, error.code);
	return finish_register(books, known, options->run, r > 0);
}

enum exit_code cmd_register(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	struct known known CLEANUP(known_done) = { 0 };
	enum exit_code code = books_open(options, STORE_WRITE, &books);

	if (code == EXIT_DONE)
		code = known_load(&known, &books, options->run);
	return code == EXIT_DONE ? register_run(&books, &known, options) : code;
}
