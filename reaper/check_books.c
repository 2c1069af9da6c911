#include "check.h"

#include "backend/worktree_salvaged.h"
#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "beside.h"
#include "os/lock.h"
#include "salvage_silence.h"
#include "salvage_text.h"
#include "state/hold.h"
#include "state/marker.h"
#include "state/salvages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Who owns it, or is root, is who runs the passes; anyone else may be here to read. */
static bool is_ours(const char *path)
{
	struct stat stat;

	return geteuid() == 0 || (lstat(path, &stat) == 0 && stat.st_uid == geteuid());
}

/* SQLite needs the directory too: its journal is made there. */
static void check_writable(struct check *check)
{
	const char *database = check->books.settings.database;
	char *directory CLEANUP(mem_done) = pathname_parent(database);
	const char *const paths[] = { database, directory };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (faccessat(AT_FDCWD, paths[i], W_OK, AT_EACCESS) != 0 && errno != ENOENT) {
			char *detail CLEANUP(mem_done) = mem_printf(
				"%s is not writable for us: %s", paths[i], strerror(errno));
			enum level level = is_ours(paths[i]) ? LEVEL_BAD : LEVEL_WARN;

			check_say(check, level, "database", detail);
			if (level == LEVEL_BAD)
				check->code = exit_code_worse(check->code, EXIT_STATE);
		}
}

static void check_database(struct check *check)
{
	struct books *books = &check->books;
	const char *database = books->settings.database;
	struct error error = { 0 };
	int r = store_open(database, STORE_READ, &books->store, &error);

	if (r == -ENOENT) {
		check_say(check, LEVEL_WARN, "database",
			"there is none yet; the first pass, pin or register makes it");
		check_writable(check);
		return;
	}
	if (r == 0)
		r = store_verify(books->store, &error);
	if (r == 0) {
		check_say(check, LEVEL_OK, "database", database);
		check_writable(check);
		return;
	}
	check_say_error(check, LEVEL_BAD, "database", &error);
	check->code = exit_code_worse(check->code, r == -EBUSY ? EXIT_ATTENTION : EXIT_STATE);
}

/* Of no use to who may only read; and taking it would turn a pass away. */
static void check_lock(struct check *check)
{
	char *path CLEANUP(mem_done) = mem_printf("%s.lock", check->books.settings.database);
	struct error error = { 0 };

	if (!is_ours(check->books.settings.database) || lock_check(path, &error) >= 0)
		return;
	check_say_error(check, LEVEL_BAD, "lock", &error);
	check->code = exit_code_worse(check->code, EXIT_STATE);
}

static void check_hold(struct check *check)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char since[TIMESPAN_TEXT], until[TIMESPAN_TEXT];
	char *detail CLEANUP(mem_done) = NULL;
	struct hold *hold = NULL;
	struct error error = { 0 };
	int r = check->books.store
			? hold_get(check->books.store, check->books.now_s, &arena, &hold, &error)
			: 0;

	if (r < 0)
		check_say_error(check, LEVEL_BAD, "hold", &error);
	if (!hold)
		return;
	detail = mem_printf("no pass acts: by %s, since %s, until %s: %s",
		hold->by ? hold->by : "somebody", moment_format(since, hold->since_s),
		hold->until_s ? moment_format(until, hold->until_s) : "'sbx-reap resume'",
		hold->reason ? hold->reason : "no reason given");
	check_say(check, LEVEL_WARN, "hold", detail);
}

struct file_count {
	struct check *check;
	size_t good, bad;
};

static int file_counted(struct file_count *count, const char *what, const char *path, int r,
	const struct error *error)
{
	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		check_say(count->check, LEVEL_BAD, what, path);
		check_say_more(error->text);
		count->bad++;
	} else {
		count->good++;
	}
	return 0;
}

/* A beside_entry. */
static int check_marker(void *context, int root, const char *root_path, const char *run)
{
	struct file_count *count = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *path CLEANUP(mem_done) = mem_printf("%s/%s.sbx", root_path, run);
	struct record *marker;
	struct error error = { 0 };
	int r = runid_check(run, &error);

	if (r == 0)
		r = marker_read(root, root_path, run, &count->check->books.settings, &arena,
			&marker, &error);
	return file_counted(count, "marker", path, r, &error);
}

/* A beside_entry. */
static int check_pin(void *context, int root, const char *root_path, const char *run)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *path CLEANUP(mem_done) = mem_printf("%s/%s.keep", root_path, run);
	struct pin *pin;
	struct error error = { 0 };
	int r = runid_check(run, &error);

	if (r == 0)
		r = keep_read(root, run, &arena, &pin, &error);
	return file_counted(context, "pin", path, r, &error);
}

static void check_files_of(
	struct check *check, const char *what, const char *ending, beside_entry *each)
{
	const struct text_list *roots = &check->books.settings.roots;
	struct file_count count = { .check = check };
	char *detail CLEANUP(mem_done) = NULL;

	for (size_t i = 0; i < roots->count; i++) {
		struct error error = { 0 };

		if (beside_each(roots->items[i], ending, each, &count, &error) < 0)
			check_say_error(check, LEVEL_BAD, what, &error);
	}
	detail = mem_printf("*%s files: %zu readable, %zu not", ending, count.good, count.bad);
	if (roots->count)
		check_say(check, count.bad ? LEVEL_BAD : LEVEL_OK, what, detail);
}

struct salvage_count {
	struct check *check;
	size_t there, missing;
	struct salvage_silence silence;
};

static void salvage_count_done(struct salvage_count *count)
{
	salvage_silence_done(&count->silence);
}

/* A salvages_each callback. */
static int check_salvage(void *context, const struct salvage *salvage)
{
	struct salvage_count *count = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct error silent = { 0 };
	const char *note = NULL;
	char *said CLEANUP(mem_done) = NULL;

	if (salvage_silence_ask(&count->silence, salvage, &silent) < 0)
		note = silent.text;
	else if (worktree_salvaged_present(salvage, &arena, &note) == TRI_YES) {
		count->there++;
		return 0;
	}
	count->missing++;
	check_say(count->check, LEVEL_BAD, "salvage", salvage->run);
	said = mem_printf("%s: %s", salvage_where(salvage, &arena), note ? note : "it is missing");
	check_say_more(said);
	return 0;
}

static void check_salvages(struct check *check)
{
	struct salvage_count count CLEANUP(salvage_count_done) = { .check = check,
		.silence.settings = &check->books.settings };
	struct error error = { 0 };
	char *detail CLEANUP(mem_done) = NULL;

	if (!check->books.store)
		return;
	if (salvages_each(check->books.store, NULL, 0, check_salvage, &count, &error) < 0) {
		check_say_error(check, LEVEL_BAD, "salvage", &error);
		return;
	}
	detail = mem_printf("%zu on the books are there, %zu are not", count.there, count.missing);
	if (count.there || count.missing)
		check_say(check, count.missing ? LEVEL_BAD : LEVEL_OK, "salvage", detail);
}

void check_books(struct check *check)
{
	check_database(check);
	check_lock(check);
	check_hold(check);
	check_files_of(check, "marker", ".sbx", check_marker);
	check_files_of(check, "pin", ".keep", check_pin);
	check_salvages(check);
}
