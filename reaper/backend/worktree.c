/*
 * git worktrees and their branches.
 *
 * MUST 1  Only what lies strictly below a configured root is touched, reached by descriptor from
 *         there, and only while it is the directory that was registered (device and inode).
 * MUST 2  What a tree says of itself (its .git) never chooses what is removed: it may only agree
 *         with the recorded repository, or contradict it, and then nothing is removed.
 * MUST 3  Exactly one tree's git record is dropped: one that names it, or names nothing while the
 *         tree's .git names it. Never is a repository pruned.
 * MUST 4  A lock that counts, a mount within, or anything unknown stops the removal before its
 *         first change.
 * MUST 5  The record goes after the tree has left its place; both steps are nothing when done.
 * MUST 6  A branch is deleted only when it is the recorded one, stands where it stood when its
 *         work was judged, and no other worktree uses it.
 * MUST 7  No program is run, no index or access time written, no working tree shown to the
 *         library.
 */
#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "effects.h"
#include "os/mounts.h"
#include "os/signals.h"
#include "os/trash.h"
#include "worktree_activity.h"
#include "worktree_ask.h"
#include "worktree_branch_probe.h"
#include "worktree_census.h"
#include "worktree_discover.h"
#include "worktree_salvage.h"
#include "worktree_sight.h"

#include <errno.h>

struct worktree_state {
	const struct settings *settings;
	struct worktree_memory memory;
	struct worktree_census census;
};

static int worktree_open(const struct settings *settings, void **ret_state, struct error *error)
{
	struct worktree_state *state = mem_new(sizeof(*state));

	(void)error;
	state->settings = settings;
	state->census.settings = settings;
	*ret_state = state;
	return 0;
}

static void worktree_close(void *context)
{
	struct worktree_state *state = context;

	if (!state)
		return;
	worktree_memory_done(&state->memory);
	worktree_census_done(&state->census);
	free(state);
}

static void worktree_discover_all(void *context, struct inventory *inventory, const char *only)
{
	const struct worktree_state *state = context;

	worktree_discover(state->settings, inventory, only);
}

static int worktree_identify_any(
	void *context, struct resource *resource, struct arena *arena, struct error *error)
{
	const struct worktree_state *state = context;

	return worktree_ask_identity(state->settings,
		deadline_in_ms(worktree_ask_ms(state->settings)), resource, arena, error);
}

/* One look, and whether anybody else claims what the tree would take along. */
static void look(struct worktree_state *state, const struct resource *resource, struct arena *arena,
	struct sight *ret_sight)
{
	struct census_candidate candidate;
	const char *note = NULL;
	enum tri rival;

	sight_look(state->settings, resource, arena, ret_sight);
	worktree_census_tell(&state->census, ret_sight->common);
	if (!ret_sight->recorded || ret_sight->contradicts)
		return;
	candidate = (struct census_candidate){ ret_sight->common, resource->locator,
		&ret_sight->record };
	rival = worktree_census_rival(&state->census, &candidate, arena, &note);
	if (rival == TRI_NO)
		return;
	ret_sight->contradicts = rival == TRI_YES;
	if (rival == TRI_UNKNOWN)
		ret_sight->present = TRI_UNKNOWN;
	ret_sight->note = note;
}

/* What will point at nothing when the tree is gone; nobody else's file is changed for it. */
static const char *inbound(struct worktree_state *state, const struct sight *sight,
	const char *tree, struct arena *arena)
{
	if (!sight->common || sight->own || sight->present != TRI_YES || sight->contradicts)
		return NULL;
	return worktree_census_inbound(&state->census, sight->common, tree, arena);
}

static void tree_probe(struct worktree_state *state, struct resource *resource, struct arena *arena)
{
	struct sight sight CLEANUP(sight_done) = { .root_dir = -EBADF, .tree = -EBADF };

	look(state, resource, arena, &sight);
	resource->present = sight.present;
	resource->contradicts = sight.contradicts;
	resource->note = sight.note ? sight.note : inbound(state, &sight, resource->locator, arena);
	resource->record = sight.recorded ? sight.record.path : NULL;
	resource->lock = sight.lock;
	resource->active_s = state->settings->visited && sight.recorded
				     ? worktree_record_active_s(sight.record.path)
				     : 0;
	resource->set_aside = sight.set_aside ? arena_printf(arena, "%s/%s/%s", sight.root,
							TRASH_NAME, sight.set_aside)
					      : NULL;
	if (sight.present == TRI_YES && !sight.contradicts && !resource->dev && !resource->ino) {
		/* From here on it is this one, whatever gets its name. */
		resource->dev = sight.dev;
		resource->ino = sight.ino;
	}
	if (resource->branch && !sight.contradicts)
		(void)worktree_remember(&state->memory, resource);
}

/* Branches after all trees: whose they are is known by then. */
static void worktree_probe_many(
	void *context, struct resource *const *resources, size_t count, struct arena *arena)
{
	struct worktree_state *state = context;
	struct resource **branches CLEANUP(mem_done) = mem_new((count + 1) * sizeof(*branches));
	size_t branch_count = 0;

	for (size_t i = 0; i < count && !signals_stop_wanted(); i++)
		if (resources[i]->kind == KIND_BRANCH)
			branches[branch_count++] = resources[i];
		else
			tree_probe(state, resources[i], arena);
	if (!signals_stop_wanted())
		worktree_branches_probe(
			state->settings, &state->memory, branches, branch_count, arena);
}

static void worktree_probe(void *context, struct resource *resource, struct arena *arena)
{
	worktree_probe_many(context, &resource, 1, arena);
}

static void judge(struct worktree_state *state, const struct sight *sight,
	const struct resource *resource, int64_t deadline_ms, struct arena *arena,
	struct worktree_judgement *ret_judgement)
{
	const struct worktree_place place = {
		.tree = sight->tree,
		.path = resource->locator,
		.common = sight->common,
		.common_gone = sight->common_gone,
		.gitdir = sight->gitdir,
		.own = sight->own,
		.branch = resource->branch,
		.base = resource->base,
		.rule = state->settings->policy.branch,
		.settings = state->settings,
		.census = &state->census,
		.deadline_ms = deadline_ms,
	};

	worktree_ask_work(&place, arena, ret_judgement);
	if (resource->branch)
		memcpy(worktree_remember(&state->memory, resource)->proved,
			ret_judgement->branch_tip, COMMIT_TEXT);
}

static enum work worktree_work(void *context, struct resource *resource, int64_t deadline_ms,
	struct arena *arena, const char **ret_note)
{
	struct worktree_state *state = context;
	struct sight sight CLEANUP(sight_done) = { .root_dir = -EBADF, .tree = -EBADF };
	struct worktree_judgement judgement;

	look(state, resource, arena, &sight);
	if (sight.present == TRI_UNKNOWN || sight.contradicts) {
		*ret_note = sight.note;
		return WORK_UNKNOWN;
	}
	judge(state, &sight, resource, deadline_ms, arena, &judgement);
	resource->head = *judgement.head ? arena_dup(arena, judgement.head) : NULL;
	*ret_note =
		judgement.note ? judgement.note : inbound(state, &sight, resource->locator, arena);
	return judgement.work;
}

static int refuse(const struct resource *resource, int code, const char *note, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(resource->locator);

	return error_say(error, code, "worktree %.200s: %s", shown, note);
}

/*
 * Also where unsaved work is discarded: it is not this run's to discard. Where that is not judged at
 * all, any tree may have a repository in it.
 */
static int nobody_borrows(struct worktree_state *state, const struct sight *sight,
	const struct resource *resource, struct arena *arena, struct error *error)
{
	struct error unseen = { 0 };
	const char *borrower = NULL;
	int r;

	if (sight->own)
		worktree_census_expire(&state->census);
	r = worktree_census_borrower(&state->census, resource->locator, arena, &borrower, &unseen);
	if (r > 0)
		return refuse(resource, EBUSY,
			arena_printf(arena, "%s borrows from a repository in it", borrower), error);
	if (r < 0 && (sight->own || state->settings->policy.unsaved == UNSAVED_DISCARD))
		return refuse(resource, EIO,
			arena_printf(arena, "who borrows from it is unseen: %s", unseen.text),
			error);
	return 0;
}

/* 0 when nothing speaks against removing what was seen. */
static int removal_allowed(struct worktree_state *state, const struct sight *sight,
	const struct resource *resource, struct arena *arena, struct error *error)
{
	int r;

	if (sight->contradicts)
		return refuse(resource, ESTALE, sight->note, error);
	if (sight->present == TRI_UNKNOWN)
		return refuse(resource, EIO, sight->note ? sight->note : "it is unseen", error);
	if (sight->lock == LOCK_HELD)
		return refuse(resource, EBUSY,
			sight->note ? sight->note : "git worktree lock without a reason", error);
	if (sight->present != TRI_YES)
		return 0;
	r = nobody_borrows(state, sight, resource, arena, error);
	return r < 0 ? r : mounts_refuse(resource->locator, error);
}

static int branch_remove(struct worktree_state *state, const struct resource *resource,
	int64_t deadline_ms, struct error *error)
{
	struct branch_ask ask = worktree_branch_question(state->settings, &state->memory, resource);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct branch_view seen;

	worktree_ask_branches(&ask, 1, deadline_left_ms(deadline_ms), &arena, &seen);
	if (seen.answer == BRANCH_UNSEEN && deadline_left_ms(deadline_ms) == 0)
		return error_say(error, ETIME, "%s", seen.why);
	return worktree_branch_remove(&ask, &seen, error);
}

static int worktree_remove(
	void *context, const struct resource *resource, struct effort *effort, struct error *error)
{
	struct worktree_state *state = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct sight sight CLEANUP(sight_done) = { .root_dir = -EBADF, .tree = -EBADF };
	int moved = 0, r;

	if (resource->kind == KIND_BRANCH)
		return branch_remove(state, resource, effort->deadline_ms, error);
	look(state, resource, &arena, &sight);
	r = removal_allowed(state, &sight, resource, &arena, error);
	if (r == 0 && sight.present == TRI_YES)
		r = moved = trash_take(sight.root_dir,
			&(struct trash_thing){ sight.below, resource->run, resource->generation,
				sight.dev, sight.ino, { effort->deadline_ms, effort->threads },
				/* Half a repository can be judged no more, so it would stay for ever. */
				sight.own ? ".git" : NULL },
			&effort->deleted, error);
	if (r < 0)
		return r;
	r = sight.recorded ? worktree_record_drop(sight.common, &sight.record, effort->deadline_ms,
				     &effort->deleted, error)
			   : 0;
	effort->steps += r < 0 && moved > 0;
	return r < 0 ? r : moved > 0 || r > 0;
}

static int worktree_salvage_work(void *context, const struct resource *resource,
	struct effort *effort, struct arena *arena, struct salvage *ret_salvage,
	struct error *error)
{
	struct worktree_state *state = context;
	struct sight sight CLEANUP(sight_done) = { .root_dir = -EBADF, .tree = -EBADF };
	struct worktree_judgement judgement;

	if (resource->kind != KIND_WORKTREE)
		return 0; /* a branch is kept with its tree */
	look(state, resource, arena, &sight);
	if (sight.contradicts)
		return refuse(resource, ESTALE, sight.note, error);
	/* It was seen a moment ago. What cannot be seen for longer, the next pass finds unknown. */
	if (sight.present == TRI_UNKNOWN)
		return refuse(resource, EAGAIN, sight.note ? sight.note : "it is unseen", error);
	judge(state, &sight, resource, effort->deadline_ms, arena, &judgement);
	return worktree_salvage(
		&sight, &judgement, resource, state->settings, effort, arena, ret_salvage, error);
}

struct purge {
	const char *root;
	const struct resource *resource;
	struct error *error;
};

static int purge_allowed(void *context, const struct trash_entry *entry)
{
	const struct purge *purge = context;
	char *path CLEANUP(mem_done) = NULL;

	if (!text_equal(entry->run, purge->resource->run) ||
		entry->generation > purge->resource->generation)
		return 0;
	path = mem_printf("%s/%s/%s", purge->root, TRASH_NAME, entry->name);
	return mounts_refuse(path, purge->error);
}

static int worktree_purge(
	void *context, const struct resource *resource, struct effort *effort, struct error *error)
{
	struct worktree_state *state = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct sight sight CLEANUP(sight_done) = { .root_dir = -EBADF, .tree = -EBADF };
	struct purge purge = { .resource = resource, .error = error };
	const struct rmtree_limits limits = { effort->deadline_ms, effort->threads };
	int r;

	if (resource->kind != KIND_WORKTREE)
		return 0;
	look(state, resource, &arena, &sight);
	if (sight.root_dir < 0)
		return refuse(resource, EIO, sight.note, error);
	purge.root = sight.root;
	r = trash_each(sight.root_dir, purge_allowed, &purge, error);
	return r < 0 ? r
		     : trash_purge(sight.root_dir, resource->run, resource->generation, &limits,
			       &effort->deleted, error);
}

static const struct backend_effects worktree_effects = {
	.salvage = worktree_salvage_work,
	.remove = worktree_remove,
	.purge = worktree_purge,
};

const struct backend worktree_backend = {
	.name = "worktrees",
	.open = worktree_open,
	.close = worktree_close,
	.identify = worktree_identify_any,
	.discover = worktree_discover_all,
	.probe = worktree_probe,
	.probe_many = worktree_probe_many,
	.work = worktree_work,
	.effects = &worktree_effects,
};
