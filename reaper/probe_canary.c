#include "probe_canary_parts.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "beside.h"
#include "os/dir.h"
#include "os/picture.h"
#include "probe_attend.h"
#include "registration.h"
#include "state/marker.h"
#include "state/runs.h"

#include <errno.h>
#include <fcntl.h>

/* A canary that was never finished, since its probe was killed, is abandoned from then on. */
enum { CANARY_BUDGET_S = 15 * 60, CANARY_WORKED_S = 60 };

void probe_canaries_done(struct probe_canaries *canaries)
{
	text_done(&canaries->outside_before);
	text_done(&canaries->outside_linked);
	text_done(&canaries->pinned_before);
	arena_done(&canaries->arena);
}

static struct probe_canary canary_name(
	struct probe_canaries *canaries, const char *kind, const char *id)
{
	struct arena *arena = &canaries->arena;
	char *state CLEANUP(mem_done) = pathname_parent(canaries->settings->database);
	struct probe_canary canary = {
		.run = arena_printf(arena, PROBE_PREFIX "%s-%s", kind, id),
		.repo = arena_printf(arena, "%s/probe/repo.git", state),
		.tree = arena_printf(arena, "%s/" PROBE_PREFIX "%s-%s", canaries->root, kind, id),
	};

	canary.git = (struct worktree_canary){
		.repo = canary.repo,
		.name = canary.run,
		.branch = canary.run,
		.tree = canary.tree,
	};
	canary.marker = arena_printf(arena, "%s.sbx", canary.tree);
	canary.keep = arena_printf(arena, "%s.keep", canary.tree);
	canary.record = arena_printf(arena, "%s/worktrees/%s", canary.repo, canary.run);
	return canary;
}

static const char *outside_of(const struct settings *settings, const char *id, struct arena *arena)
{
	char *parent CLEANUP(mem_done) = pathname_parent(settings->roots.items[0]);

	return arena_printf(arena, "%s/.sbx-probe/%s", text_equal(parent, "/") ? "" : parent, id);
}

void canaries_name(struct probe_canaries *canaries, const char *id, const char *outside)
{
	struct arena *arena = &canaries->arena;
	char *around CLEANUP(mem_done) = NULL;

	canaries->root = canaries->settings->roots.items[0];
	canaries->outside =
		outside ? arena_dup(arena, outside) : outside_of(canaries->settings, id, arena);
	around = pathname_parent(canaries->outside);
	canaries->around = arena_dup(arena, around);
	canaries->file = arena_printf(arena, "%s/kept/canary", canaries->outside);
	canaries->shown = arena_printf(arena, "%s/shown", canaries->outside);
	canaries->due = canary_name(canaries, "due", id);
	canaries->pinned = canary_name(canaries, "pinned", id);
}

static int make_outside(struct probe_canaries *canaries, struct error *error)
{
	int r = outside_make(canaries, error);

	return r < 0 ? r : picture_add(&canaries->outside_before, canaries->outside, error);
}

static int64_t finished_s(const struct probe_canaries *canaries)
{
	int64_t kept_s = canaries->settings->policy.keep_ok_s;

	return canaries->now_s > kept_s + CANARY_WORKED_S ? canaries->now_s - kept_s - 1 : 1;
}

/* Twice: before the tree is there, so that it never stands in a root as nobody's, and after, with its
 * identity. */
static int put_on_record(const struct probe_canaries *canaries, const struct probe_canary *canary,
	struct error *error)
{
	struct registration told CLEANUP(registration_done) = { 0 };
	int64_t created_s =
		finished_s(canaries) > CANARY_WORKED_S ? finished_s(canaries) - CANARY_WORKED_S : 1;
	const struct options options = {
		.run = canary->run,
		.worktree = canary->tree,
		.repo = canary->repo,
		.branch = canary->run,
		.created_s = created_s,
		.ttl_s = canaries->now_s + CANARY_BUDGET_S - created_s,
		.no_container = true,
	};
	int r = registration_build(&told, &options, canaries->settings, NULL, NULL, error);

	if (r >= 0)
		r = runs_register(
			canaries->store, &told.record, options.ttl_s, canaries->now_s, error);
	if (r < 0)
		error_prefix(error, "register %s", canary->run);
	return r;
}

static int fill_tree(const struct probe_canary *canary, struct error *error)
{
	int tree CLEANUP(fd_done) = dir_open(canary->tree, error);
	int directory CLEANUP(fd_done) =
		tree < 0 ? tree : canary_directory(tree, "directory", error);
	int inner CLEANUP(fd_done) =
		directory < 0 ? directory : canary_directory(directory, "inner", error);
	int r = inner < 0 ? inner : canary_file(tree, "file", error);

	return r < 0 ? r : canary_file(inner, "file", error);
}

static int make_run(const struct probe_canaries *canaries, const struct probe_canary *canary,
	struct error *error)
{
	int r = put_on_record(canaries, canary, error);

	if (r >= 0)
		r = worktree_canary_make(&canary->git, error);
	if (r >= 0)
		r = put_on_record(canaries, canary, error);
	return r < 0 ? r : fill_tree(canary, error);
}

static int link_outside(struct probe_canaries *canaries, int kept, int tree, struct error *error)
{
	char *directory CLEANUP(mem_done) = pathname_parent(canaries->file);

	if (symlinkat(canaries->file, tree, "symlink") < 0 ||
		symlinkat(directory, tree, "symlink-to-directory") < 0)
		return error_set(error, errno, "make a symlink in %s", canaries->due.tree);
	if (linkat(kept, pathname_last(canaries->file), tree, "hard-link", 0) == 0)
		return 0;
	if (errno != EXDEV)
		return error_set(error, errno, "make a hard link in %s", canaries->due.tree);
	canaries->no_hard_link = "the root is a filesystem of its own";
	return 0;
}

/* The ways that lead out of the due one. */
static int lead_outside(struct probe_canaries *canaries, struct error *error)
{
	char *bound CLEANUP(mem_done) = mem_printf("%s/bound", canaries->due.tree);
	int kept CLEANUP(fd_done) = outside_kept(canaries, error);
	int tree CLEANUP(fd_done) = kept < 0 ? kept : dir_open(canaries->due.tree, error);
	int r = tree < 0 ? tree : link_outside(canaries, kept, tree, error);

	if (r >= 0)
		r = canaries_show(canaries, kept, tree, bound, error);
	return r < 0 ? r : picture_add(&canaries->outside_linked, canaries->outside, error);
}

const struct record *canary_row(
	const struct probe_canaries *canaries, const char *run, struct inventory *inventory)
{
	const struct run *found;

	inventory->now_s = canaries->now_s;
	if (runs_load(canaries->store, inventory, run, NULL) < 0)
		return NULL;
	found = inventory_find(inventory, run);
	return found ? found->row : NULL;
}

/* The marker first: until the row has its end as well, the run is not over. */
static int finish(const struct probe_canaries *canaries, const struct probe_canary *canary,
	struct error *error)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct record *row = canary_row(canaries, canary->run, &inventory);
	struct record ended;
	int r;

	if (!row)
		return error_say(error, ENOENT, "the record of %s is gone", canary->run);
	ended = *row;
	ended.finished_s = finished_s(canaries);
	ended.outcome = OUTCOME_OK;
	r = beside_write_marker(canaries->root, &ended, NULL, error);
	if (r >= 0)
		r = runs_finish(canaries->store, canary->run, OUTCOME_OK, ended.finished_s,
			canaries->now_s, error);
	return r < 0 ? r : 0;
}

int canary_picture(const struct probe_canary *canary, struct text *picture, struct error *error)
{
	const char *const places[] = { canary->tree, canary->marker, canary->keep, canary->record };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && r == 0; i++)
		r = picture_add(picture, places[i], error);
	return r;
}

/* The pin first: it stays until all the rest is gone, and by it the next probe finds what was left. */
int probe_canaries_make(struct probe_canaries *canaries, const char *id, struct error *error)
{
	int r;

	canaries_name(canaries, id, NULL);
	r = worktree_canary_repository(canaries->due.repo, error);
	if (r >= 0)
		r = canaries_pin(canaries, PROBE_BROKEN_OFF, error);
	if (r >= 0)
		r = make_outside(canaries, error);
	if (r >= 0)
		r = make_run(canaries, &canaries->pinned, error);
	if (r >= 0)
		r = finish(canaries, &canaries->pinned, error);
	if (r >= 0)
		r = canary_picture(&canaries->pinned, &canaries->pinned_before, error);
	if (r >= 0)
		r = make_run(canaries, &canaries->due, error);
	if (r >= 0)
		r = lead_outside(canaries, error);
	return r < 0 ? r : finish(canaries, &canaries->due, error);
}
