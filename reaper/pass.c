#include "pass.h"
#include "pass_hold.h"

#include "backend/worktree_salvage_end.h"
#include "backend/worktree_salvaged.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "facts.h"
#include "os/archive.h"
#include "os/dir.h"
#include "os/file_sweep.h"
#include "os/signals.h"
#include "os/trash.h"
#include "policy.h"
#include "salvage_silence.h"
#include "state/brake.h"
#include "state/duties.h"
#include "state/failures.h"
#include "state/history.h"
#include "state/hold.h"
#include "state/marker.h"
#include "state/passes.h"
#include "state/pins.h"
#include "state/runs.h"
#include "state/salvages.h"
#include "state/sizes.h"

#include <errno.h>
#include <fcntl.h>

/* Where the mirrors of ended pins are looked for, and the first failure. */
struct ending {
	const struct settings *settings;
	struct error *error;
};

/* A mirror carries the end of its row. Another .keep of that run is somebody's own and stays. */
static void end_mirror(void *context, const struct pin *pin)
{
	struct ending *ending = context;
	const struct text_list *roots = &ending->settings->roots;

	for (size_t i = 0; i < roots->count; i++) {
		struct arena arena CLEANUP(arena_done) = { 0 };
		int fd CLEANUP(fd_done) = dir_open(roots->items[i], NULL);
		struct pin *mirror;

		if (fd < 0 || keep_read(fd, pin->run, &arena, &mirror, NULL) < 0)
			continue;
		if (mirror->until_s == pin->until_s)
			(void)keep_remove(roots->items[i], pin->run, ending->error);
	}
}

static bool engines_answered(const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->source_count; i++)
		if (text_equal(inventory->sources[i].name, "containers") &&
			inventory->sources[i].ok != TRI_YES)
			return false;
	return true;
}

static bool has_containers(const struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].kind == KIND_CONTAINER && run->resources[i].present != TRI_NO)
			return true;
	return false;
}

/*
 * When something that proves itself was first seen. A name of which no more is there than a pin ages
 * nothing: what appears under it later is new.
 */
static int note_sight(struct store *store, const struct inventory *inventory, const struct run *run,
	const struct settings *settings, struct error *error)
{
	bool sighted = run->facts.first_seen_s && run->facts.first_seen_s != inventory->now_s;
	const struct question question = {
		.facts = &run->facts,
		.host = &inventory->host,
		.settings = &settings->policy,
		.now_s = inventory->now_s,
	};
	bool ages_by_sight = run->facts.proven && policy_ages_by_sight(&question);

	if (ages_by_sight && !sighted && runid_valid(run->id))
		return runs_note_sighting(store, run->id, inventory->now_s, error);
	if (!ages_by_sight && sighted) /* an old one would cut the wait of rule 4 short */
		return runs_drop_sighting(store, run->id, error);
	return 0;
}

/* Notes about one run what a later pass may need to know when it cannot see it any more, and drops
 * what it need not. */
static int note_seen(struct store *store, const struct inventory *inventory, const struct run *run,
	const struct settings *settings, bool engines, struct error *error)
{
	int r = 0;

	if (run->row_outlived)
		r = runs_drop_claimed(store, run->id, error);
	if (r >= 0)
		r = note_sight(store, inventory, run, settings, error);
	if (r >= 0 && engines && run->row && run->row->registered && run->facts.finished_s &&
		run->row->engine_clear_s < run->facts.finished_s && !has_containers(run))
		r = runs_note_engine_clear(store, run->id, inventory->now_s, error);
	return r;
}

static int note_brake(struct store *store, const char *pass, const struct inventory *inventory,
	struct error *error)
{
	const struct brake *brake = &inventory->brake;
	char runs[COUNT_TEXT];
	char *detail CLEANUP(mem_done) = mem_printf("%zu of %s with proof are due", brake->due,
		count_format(runs, brake->proven, "run"));
	int r = brake_set(store, brake->tripped_s, pass, inventory->now_s, detail, error);

	return r < 0 ? r : 0;
}

/* On a full disk it could not be made; what is wrong with it says whoever needs it. */
static void prepare_trash(const struct text_list *roots)
{
	for (size_t i = 0; i < roots->count; i++) {
		int root CLEANUP(fd_done) = dir_open(roots->items[i], NULL);

		if (root >= 0)
			(void)trash_prepare(root, NULL);
	}
}

int pass_open(const struct session *session, const char *pass, const struct inventory *inventory,
	struct error *error)
{
	struct ending ending = { .settings = &session->settings, .error = error };
	bool engines = engines_answered(inventory);
	struct pass_clocks clocks;
	int r = pass_clocks_now(&clocks, error);

	if (r < 0)
		return r;
	(void)roots_watch_look(session->world.watch);
	clocks.resumed_s = inventory->host.resumed_s;
	clocks.step_s = inventory->host.clock_step_s;
	r = pass_begin(session->store, pass, &clocks, error);
	if (r >= 0)
		r = runs_void_claims(session->store, error);
	if (r < 0 || signals_stop_wanted()) /* what was not seen may only have been broken off */
		return r;
	/* A clock that was just set is not believed: what it ends would be gone for good. */
	if (r >= 0 && !inventory->host.clock_stepped)
		r = pins_expire(session->store, inventory->now_s, end_mirror, &ending, error);
	if (r >= 0 && !inventory->host.clock_stepped)
		r = hold_expire(session->store, inventory->now_s, error);
	if (r >= 0)
		r = note_brake(session->store, pass, inventory, error);
	for (size_t i = 0; r >= 0 && i < inventory->run_count; i++)
		r = note_seen(session->store, inventory, inventory->runs[i], &session->settings,
			engines, error);
	if (r >= 0)
		r = runs_drop_sightings(session->store, inventory, error);
	/* A run that only an engine or a root shows is not gone because they do not answer. */
	if (r >= 0 && !inventory_failed_source(inventory, NULL))
		r = failures_drop_gone(session->store, inventory, error);
	if (r >= 0 && !inventory->hold && !session->settings.visited) {
		prepare_trash(&session->settings.roots);
		prepare_trash(&session->settings.path_roots);
	}
	return r;
}

int pass_look_for_hold(struct store *store, struct inventory *inventory, struct error *error)
{
	if (inventory->hold)
		return 0;
	return hold_get(store, clock_wall_s(), &inventory->arena, &inventory->hold, error);
}

/* Salvages that are due, while they are ended. */
struct salvages_end {
	const struct session *session;
	const struct inventory *inventory;
	void (*failed)(void *context, const struct salvage *salvage, const struct error *error);
	void *context;
	struct error *error;
	struct salvage_silence silence;
};

static void salvages_end_done(struct salvages_end *end)
{
	salvage_silence_done(&end->silence);
}

static bool run_is_pinned(const struct inventory *inventory, const char *id)
{
	const struct run *run = inventory_find(inventory, id);

	return run && (run->facts.pin != PIN_NONE || run->keep_path);
}

/* Its work may be counted as saved for the very sake of this salvage, and the tree go next. */
static bool tree_is_left(const struct inventory *inventory, const struct salvage *salvage)
{
	const struct run *run = inventory_find(inventory, salvage->run);

	for (size_t i = 0; run && i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (resource->kind == KIND_WORKTREE &&
			(!resource->generation || resource->generation == salvage->generation) &&
			text_equal(resource->locator, salvage->tree) && resource_left(resource))
			return true;
	}
	return false;
}

/* A salvages_each callback. */
static int end_salvage(void *context, const struct salvage *salvage)
{
	struct salvages_end *end = context;
	struct error error = { 0 };
	int r;

	if (signals_stop_wanted() || run_is_pinned(end->inventory, salvage->run) ||
		tree_is_left(end->inventory, salvage))
		return 0;
	r = salvage_silence_ask(&end->silence, salvage, &error);
	if (r == 0)
		r = worktree_salvage_end(salvage, &error);
	if (r < 0 && r != -ESTALE && signals_stop_wanted())
		return 0; /* a question that was broken off says nothing */
	if (r < 0 && r != -ESTALE) {
		end->failed(end->context, salvage, &error);
		return 0;
	}
	r = salvages_drop(end->session->store, salvage,
		r > 0   ? "it was kept for long enough"
		: r < 0 ? error.text
			: "it was gone already",
		end->inventory->now_s, end->error);
	return r < 0 ? r : 0;
}

/* Under the lock nobody writes archives now. That a directory cannot be read says whoever needs it. */
static void sweep_archives(const struct settings *settings)
{
	char *path CLEANUP(mem_done) = worktree_salvage_directory(settings);
	int dir CLEANUP(fd_done) = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0)
		(void)archive_sweep(dir, NULL);
}

/* Markers, pins and the stamp, half written. Who writes one now has it locked. */
static void sweep_files(const struct settings *settings)
{
	char *state CLEANUP(mem_done) = pathname_parent(settings->database);
	int dir CLEANUP(fd_done) = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0)
		(void)file_sweep(dir, NULL);
	for (size_t i = 0; i < settings->roots.count; i++) {
		int root CLEANUP(fd_done) = dir_open(settings->roots.items[i], NULL);

		if (root >= 0)
			(void)file_sweep(root, NULL);
	}
}

int pass_end_salvages(const struct session *session, struct inventory *inventory,
	void (*failed)(void *context, const struct salvage *salvage, const struct error *error),
	void *context, struct error *error)
{
	struct salvages_end end CLEANUP(salvages_end_done) = { session, inventory, failed, context,
		error, { .settings = &session->settings } };
	int64_t before_s = inventory->now_s - session->settings.policy.salvage_keep_s + 1;
	int r = pass_look_for_hold(session->store, inventory, error);

	if (r < 0 || inventory->hold)
		return r;
	(void)roots_watch_look(session->world.watch);
	sweep_archives(&session->settings);
	sweep_files(&session->settings);
	/* A .keep may stand where nothing can be read. */
	if (before_s <= 0 || inventory->host.clock_stepped ||
		inventory_failed_source(inventory, "markers"))
		return 0;
	return salvages_each(session->store, NULL, before_s, end_salvage, &end, error);
}

/* The sources that could not be read, in words; NULL: none. The caller owns it. */
static char *blind_sources(const struct inventory *inventory)
{
	struct text text = { 0 };

	for (size_t i = 0; i < inventory->source_count; i++)
		if (inventory->sources[i].ok == TRI_NO)
			text_addf(&text, "%s%s %s", text.length ? ", " : "",
				inventory->sources[i].name,
				inventory->sources[i].at ? inventory->sources[i].at : "");
	return text.data;
}

/* Nobody set these directories up for us. What cannot be removed is in use, or will be. */
static void leave_trash(const struct settings *settings)
{
	for (size_t i = 0; settings->visited && i < settings->roots.count; i++) {
		int root CLEANUP(fd_done) = dir_open(settings->roots.items[i], NULL);

		if (root >= 0)
			(void)trash_leave(root, NULL);
	}
}

int pass_close(const struct session *session, const struct report *report, enum exit_code code,
	struct error *error)
{
	struct report_totals totals = report_count(report);
	char *blind CLEANUP(mem_done) = blind_sources(report->inventory);
	const struct pass_counts counts = {
		.runs = (int64_t)totals.runs,
		.reaped = (int64_t)totals.reaped,
		.partial = (int64_t)totals.partial,
		.failed = (int64_t)totals.failed,
		.stopped = (int64_t)totals.stopped,
		.bytes_freed = totals.bytes_freed,
		.exit_code = (int)code,
		.blind = blind,
	};
	int64_t now_s = clock_wall_s();
	int r;

	leave_trash(&session->settings);
	r = pass_end(session->store, report->pass, now_s, &counts, error);
	if (r >= 0)
		r = sizes_note(session->store, report->inventory, error);
	if (r < 0 || report->inventory->host.clock_stepped)
		return r; /* what a clock that was just set calls old may be of today */
	r = history_trim(session->store, now_s - session->settings.policy.history_s, error);
	return r < 0 ? r
		     : duties_trim(
			       session->store, now_s - session->settings.policy.history_s, error);
}
