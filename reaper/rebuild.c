#include "rebuild.h"
#include "backend/worktree_salvaged.h"
#include "base/count.h"
#include "base/runid.h"
#include "base/text.h"
#include "beside.h"
#include "notice.h"
#include "state/marker.h"
#include "state/pins.h"
#include "state/runs.h"
#include "state/salvages.h"

#include <errno.h>
#include <fcntl.h>

struct rebuilding {
	struct books *books;
	size_t runs, pins, salvages, failed;
	bool files_failed, salvages_failed;
};

static void rebuild_failed(
	struct rebuilding *rebuilding, const char *root_path, const struct error *error)
{
	rebuilding->failed++;
	rebuilding->files_failed = true;
	notice("root %s: not read in: %s", root_path, error->text);
}

/* As the policy has it: the clock was set back meanwhile, and the later of the two moments counts. */
static int64_t end_of(const struct record *marker)
{
	return marker->finished_s < marker->created_s ? marker->created_s : marker->finished_s;
}

/* An earlier call had registered it before it was killed; what is finished takes no registration. */
static bool is_finished_now(struct books *books, const struct record *marker)
{
	return marker->finished_s && runs_finish(books->store, marker->run, marker->outcome,
					     end_of(marker), books->now_s, NULL) >= 0;
}

static int marker_register(struct books *books, const struct record *marker, struct error *error)
{
	int r;

	if (is_finished_now(books, marker))
		return 0;
	r = runs_register(books->store, marker, books->settings.policy.ttl_s, books->now_s, error);
	if (r < 0 || !marker->finished_s)
		return r;
	return runs_finish(
		books->store, marker->run, marker->outcome, end_of(marker), books->now_s, error);
}

/* A beside_entry. Goes on behind what cannot be read. */
static int rebuild_marker(void *context, int root, const char *root_path, const char *run)
{
	struct rebuilding *rebuilding = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	const char *found_in;
	struct record *marker = NULL;
	struct error error = { 0 };
	int r = runid_check(run, &error);

	(void)root;
	/* In all roots: of two markers of a run neither is the right one, whatever they say. */
	if (r >= 0)
		r = beside_find_marker(
			&rebuilding->books->settings, run, &arena, &found_in, &marker, &error);
	if (r == 0) /* it has gone meanwhile */
		return 0;
	if (r > 0)
		r = marker_register(rebuilding->books, marker, &error);
	if (r < 0)
		rebuild_failed(rebuilding, root_path, &error);
	else
		rebuilding->runs++;
	return 0;
}

/* A beside_entry. */
static int rebuild_pin(void *context, int root, const char *root_path, const char *run)
{
	struct rebuilding *rebuilding = context;
	struct books *books = rebuilding->books;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct pin *pin;
	struct error error = { 0 };
	bool known;
	int r = runid_check(run, &error);

	if (r == 0)
		r = keep_read(root, run, &arena, &pin, &error);
	if (r == -ENOENT)
		return 0;
	if (r == 0) {
		pin->since_s = pin->since_s ? pin->since_s : books->now_s;
		r = pins_set(books->store, pin, &known, &error);
	}
	if (r < 0)
		rebuild_failed(rebuilding, root_path, &error);
	else
		rebuilding->pins++;
	return 0;
}

static void rebuild_root(struct rebuilding *rebuilding, const char *root_path)
{
	struct error error = { 0 };
	int r = beside_each(root_path, ".sbx", rebuild_marker, rebuilding, &error);

	if (r == 0)
		r = beside_each(root_path, ".keep", rebuild_pin, rebuilding, &error);
	if (r < 0)
		rebuild_failed(rebuilding, root_path, &error);
}

/* Of a salvaged_finder. */
static void rebuild_odd(void *context, const char *where, const char *why)
{
	struct rebuilding *rebuilding = context;
	char *shown CLEANUP(mem_done) = text_escape(where);

	rebuilding->failed++;
	rebuilding->salvages_failed = true;
	notice("salvage %s: not read in: %s", shown, why);
}

static int rebuild_salvage(void *context, const struct salvage *salvage)
{
	struct rebuilding *rebuilding = context;
	struct error error = { 0 };

	if (salvages_add(rebuilding->books->store, NULL, salvage, &error) < 0)
		rebuild_odd(context, salvage->ref ? salvage->ref : salvage->path, error.text);
	else
		rebuilding->salvages++;
	return 0;
}

/* What was salvaged says itself whose it was. */
static void rebuild_salvages(struct rebuilding *rebuilding)
{
	const struct settings *settings = &rebuilding->books->settings;
	const struct salvaged_finder finder = { rebuild_salvage, rebuild_odd, rebuilding };
	char *path CLEANUP(mem_done) = worktree_salvage_directory(settings);
	int dir CLEANUP(fd_done) = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int code = dir < 0 ? errno : 0;

	for (size_t i = 0; i < settings->repos.count; i++) {
		struct error error = { 0 };

		if (worktree_salvaged_refs(settings->repos.items[i], &finder, &error) < 0)
			rebuild_odd(rebuilding, settings->repos.items[i], error.text);
	}
	if (dir < 0 && code != ENOENT)
		rebuild_odd(rebuilding, path, strerror(code));
	if (dir >= 0) {
		struct error error = { 0 };

		if (worktree_salvaged_archives(dir, path, &finder, &error) < 0)
			rebuild_odd(rebuilding, path, error.text);
	}
}

/* What is configured and cannot be opened, or does not answer. */
static void rebuild_lost(struct rebuilding *rebuilding)
{
	const struct settings *settings = &rebuilding->books->settings;

	for (size_t i = 0; i < settings->lost_roots.count; i++) {
		struct error error = { 0 };

		(void)error_say(&error, EIO, "it cannot be opened");
		rebuild_failed(rebuilding, settings->lost_roots.items[i], &error);
	}
	for (size_t i = 0; i < settings->lost_repos.count; i++)
		rebuild_odd(rebuilding, settings->lost_repos.items[i], "it does not answer");
}

/*
 * The database counts as whole all the same: no run goes for what is missing in it, and one file that
 * nobody can read must not keep every pass from working.
 */
static void say_what_is_right(const struct rebuilding *rebuilding)
{
	if (rebuilding->files_failed)
		notice("a marker or .keep that was not read in goes on keeping its run by itself; "
		       "mend or remove it, and the next pass reads it");
	if (rebuilding->salvages_failed)
		notice("what was salvaged and not read in stays where it is, but is not listed; to "
		       "have it on the books mend it, move this database away and make it anew");
}

enum exit_code rebuild(struct books *books)
{
	struct rebuilding rebuilding = { .books = books };
	char runs[COUNT_TEXT], pins[COUNT_TEXT], salvages[COUNT_TEXT];
	struct error error = { 0 };
	int r = store_open(books->settings.database, STORE_RENEW, &books->store, &error);

	if (r < 0) {
		notice("%s", error.text);
		return r == -EBUSY ? EXIT_ATTENTION : EXIT_STATE;
	}
	for (size_t i = 0; i < books->settings.roots.count; i++)
		rebuild_root(&rebuilding, books->settings.roots.items[i]);
	rebuild_salvages(&rebuilding);
	rebuild_lost(&rebuilding);
	r = store_renewed(books->store, &error);
	store_close(TAKE_PTR(books->store));
	if (r < 0) {
		notice("%s", error.text);
		return EXIT_STATE;
	}
	(void)printf("new database %s: %s, %s and %s read in, %zu not\n", books->settings.database,
		count_format(runs, rebuilding.runs, "run"),
		count_format(pins, rebuilding.pins, "pin"),
		count_format(salvages, rebuilding.salvages, "salvage"), rebuilding.failed);
	say_what_is_right(&rebuilding);
	return rebuilding.failed ? EXIT_ATTENTION : EXIT_DONE;
}
