/* sbx-reap check: is the set-up sane? One line a finding; asks what a pass would ask. */
#include "backend/backend.h"
#include "backend/worktree_salvaged.h"
#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "beside.h"
#include "books.h"
#include "config.h"
#include "notice.h"
#include "os/answering.h"
#include "os/bus.h"
#include "os/cgroupfs.h"
#include "os/confine.h"
#include "os/lock.h"
#include "os/mount_view.h"
#include "os/processes.h"
#include "rebuild.h"
#include "salvage_silence.h"
#include "salvage_text.h"
#include "state/hold.h"
#include "state/marker.h"
#include "state/salvages.h"
#include "text_list.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_BAD };

struct check {
	struct books books;
	enum exit_code code;
};

static void check_done(struct check *check)
{
	books_done(&check->books);
}

/* The detail is escaped here, wherever it comes from. */
static void check_say(struct check *check, enum level level, const char *what, const char *detail)
{
	static const char *const names[] = {
		[LEVEL_OK] = "ok",
		[LEVEL_WARN] = "warn",
		[LEVEL_BAD] = "bad",
	};

	(void)printf("%-4s  %-10s  ", names[level], what);
	print_escaped(detail, 0);
	(void)putchar('\n');
	if (level == LEVEL_BAD)
		check->code = exit_code_worse(check->code, EXIT_ATTENTION);
}

static void check_say_why(const struct error *error)
{
	(void)printf("                  %s\n", error->text);
}

/* An error's text is escaped already, so that a second time would double the backslashes. */
static void check_say_error(
	struct check *check, enum level level, const char *what, const struct error *error)
{
	check_say(check, level, what, "");
	check_say_why(error);
}

static bool check_settings(struct check *check, const struct options *options)
{
	struct text_list files CLEANUP(text_list_done) = { 0 };
	struct error error = { 0 };
	int r = config_files(options->config, &files, &error);

	if (r == 0)
		r = books_open_settings(options, &check->books) == EXIT_DONE ? 0 : -EINVAL;
	else
		notice("%s", error.text);
	for (size_t i = 0; i < files.count; i++)
		check_say(check, r == 0 ? LEVEL_OK : LEVEL_BAD, "settings", files.items[i]);
	if (r < 0)
		check->code = EXIT_STATE;
	return r == 0;
}

static void check_roots(struct check *check)
{
	const struct settings *settings = &check->books.settings;

	for (size_t i = 0; i < settings->roots.count; i++)
		check_say(check, LEVEL_OK, "root", settings->roots.items[i]);
	for (size_t i = 0; i < settings->path_roots.count; i++)
		check_say(check, LEVEL_OK, "path_root", settings->path_roots.items[i]);
	for (size_t i = 0; i < settings->lost_roots.count; i++) {
		const char *root = settings->lost_roots.items[i];
		char *detail CLEANUP(mem_done) = mem_printf(
			"%s cannot be opened: what is there is unseen, so its runs are kept", root);
		struct arena arena CLEANUP(arena_done) = { 0 };

		check_say(check, LEVEL_BAD, "root", detail);
		if (text_list_has(&settings->silent, root))
			(void)printf("                  %s\n", answering_words(root, &arena));
	}
	if (!settings->roots.count && !settings->lost_roots.count)
		check_say(check, LEVEL_WARN, "root",
			"none is configured: only containers and cgroups are looked at");
}

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
		check_say_why(error);
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
	detail = mem_printf(
		"%zu *%s files are readable, %zu are not", count.good, ending, count.bad);
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
	(void)printf("                  %s\n", said);
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

static void check_source(struct check *check, const struct source *source)
{
	const char *at = source->at ? source->at : "this host";

	if (source->ok == TRI_YES) {
		check_say(check, LEVEL_OK, source->name, at);
		return;
	}
	if (source->ok == TRI_UNKNOWN) {
		check_say(check, LEVEL_OK, source->name, "not configured");
		return;
	}
	check_say(check, LEVEL_BAD, source->name, at);
	(void)printf("                  %s\n", source->error ? source->error : "no answer");
}

/* Lost roots have a line already; processes are asked for below, where no run is needed for it. */
static bool source_told_elsewhere(const struct check *check, const struct source *source)
{
	return text_equal(source->name, process_backend.name) ||
	       (source->at && text_list_has(&check->books.settings.lost_roots, source->at));
}

/* Every backend looks around, as it would in a pass; what it finds does not matter here. */
static void check_sources(struct check *check)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = check->books.now_s };

	for (size_t i = 0; i < BACKEND_COUNT; i++) {
		const struct backend *backend = backends[i];
		struct error error = { 0 };
		void *state = NULL;

		if (!backend->discover)
			continue;
		if (backend->open(&check->books.settings, &state, &error) < 0) {
			check_say_error(check, LEVEL_BAD, backend->name, &error);
			continue;
		}
		backend->discover(state, &inventory, NULL);
		backend->close(state);
	}
	for (size_t i = 0; i < inventory.source_count; i++)
		if (!source_told_elsewhere(check, &inventory.sources[i]))
			check_source(check, &inventory.sources[i]);
}

static void check_cgroups(struct check *check)
{
	struct cgroupfs *cgroupfs;
	struct error error = { 0 };
	int r = cgroupfs_open(&cgroupfs, &error);

	if (r == 0) {
		check_say(check, LEVEL_OK, "cgroup v2", cgroupfs_mount(cgroupfs));
		cgroupfs_close(cgroupfs);
	} else {
		check_say_error(check, r == -ENOENT ? LEVEL_WARN : LEVEL_BAD, "cgroup v2", &error);
	}
}

static void check_bus(struct check *check)
{
	struct bus *bus;
	struct error error = { 0 };
	int r = bus_open(check->books.settings.limits.kill_timeout_ms, &bus, &error);

	if (r == 0) {
		check_say(check, LEVEL_OK, "systemd", "the bus answers");
		bus_close(bus);
	} else if (r == -ENOENT) {
		check_say(check, LEVEL_OK, "systemd", "not running: cgroups are used without it");
	} else {
		check_say_error(check, LEVEL_BAD, "systemd", &error);
	}
}

/* In a namespace of our own an unmount does not reach the host, and its mounts are not seen. */
static void check_mounts(struct check *check)
{
	struct mount_view view CLEANUP(mount_view_done) = MOUNT_VIEW_NONE;
	struct error error = { 0 };

	if (mount_view_now(&view, &error) < 0)
		check_say_error(check, LEVEL_BAD, "mount namespace", &error);
	else if (view.apart)
		check_say(check, LEVEL_WARN, "mount namespace",
			"not that of PID 1: what is mounted there goes only through systemd");
	else
		check_say(check, LEVEL_OK, "mount namespace", "that of PID 1");
}

/* Whether trees are deleted by a process that cannot reach anything else. */
static void check_wall(struct check *check)
{
	struct error error = { 0 };
	int abi = confine_abi(&error);

	if (abi > 0)
		check_say(check, LEVEL_OK, "landlock", "confines whatever deletes a tree");
	else if (abi == 0)
		check_say(check, LEVEL_WARN, "landlock",
			"this kernel has none: trees are deleted without a second wall");
	else
		check_say_error(check, LEVEL_BAD, "landlock", &error);
}

static void process_ignored(
	void *context, const struct process_place *place, const struct process_seen *process)
{
	(void)context;
	(void)place;
	(void)process;
}

/* A place that is nowhere: only whether every process can be looked at is asked. */
static void check_processes(struct check *check)
{
	const struct process_place nowhere = { 0 };
	struct error error = { 0 };
	int r = processes_in(&nowhere, 1, process_ignored, NULL, &error);

	if (r == 0)
		check_say(check, LEVEL_OK, "processes", "all can be looked at");
	else
		check_say_error(check, r == -EACCES ? LEVEL_WARN : LEVEL_BAD, "processes", &error);
}

enum exit_code cmd_check(const struct options *options)
{
	struct check check CLEANUP(check_done) = { .code = EXIT_DONE };

	if (!check_settings(&check, options))
		return check.code;
	if (options->new_database)
		check.code = rebuild(&check.books);
	check_roots(&check);
	check_database(&check);
	check_lock(&check);
	check_hold(&check);
	check_files_of(&check, "marker", ".sbx", check_marker);
	check_files_of(&check, "pin", ".keep", check_pin);
	check_salvages(&check);
	check_sources(&check);
	check_cgroups(&check);
	check_bus(&check);
	check_mounts(&check);
	check_wall(&check);
	check_processes(&check);
	return check.code;
}
