#include "probe_canary_parts.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "beside.h"
#include "os/bind.h"
#include "os/file.h"
#include "os/picture.h"
#include "probe_attend.h"
#include "registration.h"
#include "state/marker.h"
#include "state/runs.h"

#include <errno.h>
#include <fcntl.h>

/* A canary that was never finished, since its probe was killed, is abandoned from then on. */
enum { CANARY_BUDGET_S = 15 * 60, CANARY_WORKED_S = 60, MOUNT_WAIT_MS = 60 * 1000 };

static const char canary_text[] = "A canary of 'sbx-reap probe'. It must stay as it is.\n";

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

static const char *canaries_around(const struct settings *settings, struct arena *arena)
{
	char *parent CLEANUP(mem_done) = pathname_parent(settings->roots.items[0]);

	return arena_printf(arena, "%s/.sbx-probe", text_equal(parent, "/") ? "" : parent);
}

const char *probe_outside(const struct settings *settings, const char *id, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", canaries_around(settings, arena), id);
}

void canaries_name(struct probe_canaries *canaries, const char *id)
{
	struct arena *arena = &canaries->arena;

	canaries->root = canaries->settings->roots.items[0];
	canaries->around = canaries_around(canaries->settings, arena);
	canaries->outside = probe_outside(canaries->settings, id, arena);
	canaries->kept = arena_printf(arena, "%s/kept", canaries->outside);
	canaries->file = arena_printf(arena, "%s/canary", canaries->kept);
	canaries->shown = arena_printf(arena, "%s/shown", canaries->outside);
	canaries->due = canary_name(canaries, "due", id);
	canaries->pinned = canary_name(canaries, "pinned", id);
}

static int make_directory(const char *path, struct error *error)
{
	return mkdir(path, 0700) == 0 ? 0 : error_set(error, errno, "make %s", path);
}

static int make_file(const char *directory, const char *name, struct error *error)
{
	int dir CLEANUP(fd_done) = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return error_set(error, errno, "open %s", directory);
	return file_write(dir, name, canary_text, strlen(canary_text), 0600, error);
}

static int show_at(const struct probe_canaries *canaries, const char *point, struct error *error)
{
	int r = make_directory(point, error);

	if (r >= 0)
		r = bind_mount(canaries->kept, point, error);
	if (r >= 0)
		r = bus_mount_wait(canaries->bus, point, deadline_in_ms(MOUNT_WAIT_MS), error);
	if (r < 0)
		error_prefix(error, "%s", point);
	return r;
}

/* The second bind is nobody's business: taking the first one down must not take it, too. */
static int make_outside(struct probe_canaries *canaries, struct error *error)
{
	int r = 0;

	if (mkdir(canaries->around, 0700) < 0 && errno != EEXIST)
		return error_set(error, errno, "make %s", canaries->around);
	r = make_directory(canaries->outside, error);
	if (r >= 0)
		r = make_directory(canaries->kept, error);
	if (r >= 0)
		r = make_file(canaries->kept, "canary", error);
	if (r >= 0)
		r = show_at(canaries, canaries->shown, error);
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
	char *directory CLEANUP(mem_done) = mem_printf("%s/directory", canary->tree);
	char *inner CLEANUP(mem_done) = mem_printf("%s/inner", directory);
	int r = make_directory(directory, error);

	if (r >= 0)
		r = make_directory(inner, error);
	if (r >= 0)
		r = make_file(canary->tree, "file", error);
	return r < 0 ? r : make_file(inner, "file", error);
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

/* The ways that lead out of the due one. */
static int lead_outside(struct probe_canaries *canaries, struct error *error)
{
	const char *tree = canaries->due.tree;
	char *to_file CLEANUP(mem_done) = mem_printf("%s/symlink", tree);
	char *to_directory CLEANUP(mem_done) = mem_printf("%s/symlink-to-directory", tree);
	char *hard CLEANUP(mem_done) = mem_printf("%s/hard-link", tree);
	char *bound CLEANUP(mem_done) = mem_printf("%s/bound", tree);
	int r;

	if (symlink(canaries->file, to_file) < 0 || symlink(canaries->kept, to_directory) < 0)
		return error_set(error, errno, "make a symlink in %s", tree);
	if (link(canaries->file, hard) < 0) {
		if (errno != EXDEV)
			return error_set(error, errno, "make %s", hard);
		canaries->no_hard_link = "the root is a filesystem of its own";
	}
	r = show_at(canaries, bound, error);
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

	canaries_name(canaries, id);
	r = worktree_canary_repository(canaries->due.repo, error);
	if (r >= 0)
		r = canaries_pin(canaries, canary_must_stay, error);
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
