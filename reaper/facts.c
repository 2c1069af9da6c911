#include "facts.h"

#include "base/text.h"
#include "liveness.h"

bool resource_proven(const struct resource *resource)
{
	return resource->proof != PROOF_NONE;
}

bool resource_kept(const struct resource *resource)
{
	return resource->kind == KIND_BRANCH && resource->note &&
	       text_starts(resource->note, "kept: ");
}

bool resource_left(const struct resource *resource)
{
	if (resource_kept(resource))
		return false;
	return resource->present != TRI_NO || resource->record || resource->set_aside;
}

bool resource_of_tree(const struct run *run, const struct resource *resource)
{
	if (resource->kind != KIND_MOUNT)
		return resource->kind == KIND_WORKTREE || resource->kind == KIND_BRANCH;
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].kind == KIND_WORKTREE &&
			text_equal(run->resources[i].locator, resource->at))
			return true;
	return false;
}

static void run_blind(struct inventory *inventory, struct run *run, const char *what,
	const char *where, const char *why)
{
	run->facts.blind = true;
	if (!run->fault)
		run->fault = arena_printf(&inventory->arena, "%s%s%s: %s", what, where ? " " : "",
			where ? where : "", why ? why : "it cannot be told");
}

/* Containers that nobody told us of may exist where an engine does not answer. */
static bool containers_matter(const struct run *run)
{
	const struct record *row = run->row;

	if ((row && row->no_container) || (!row && run->marker && run->marker->no_container))
		return false;
	return !(row && run->facts.finished_s && row->engine_clear_s >= run->facts.finished_s);
}

/* A record or a .keep of the run may lie in a root that cannot be read, unless it lies elsewhere. */
static void derive_lost_records(struct inventory *inventory, struct run *run)
{
	for (size_t i = 0; i < inventory->source_count; i++) {
		const struct source *source = &inventory->sources[i];

		if (source->ok == TRI_NO && text_equal(source->name, "markers") &&
			(!run->root || text_equal(run->root, source->at)))
			run_blind(inventory, run, "what is told in", source->at, source->error);
	}
}

static void derive_blindness(struct inventory *inventory, struct run *run)
{
	const struct source *engine = inventory_failed_source(inventory, "containers");
	const struct source *processes = inventory_failed_source(inventory, "processes");
	const struct source *mounts = inventory_failed_source(inventory, "mounts");
	bool tree = false;

	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (!resource_proven(resource))
			continue;
		if (resource->present == TRI_UNKNOWN)
			run_blind(inventory, run, kind_name(resource->kind), resource->locator,
				resource->note);
		tree |= (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH) &&
			resource->present == TRI_YES;
	}
	if (engine && containers_matter(run))
		run_blind(inventory, run, "containers at", engine->at, engine->error);
	if (processes && tree)
		run_blind(inventory, run, "processes in its tree", NULL, processes->error);
	if (mounts && tree)
		run_blind(inventory, run, "mounts in its tree", NULL, mounts->error);
	derive_lost_records(inventory, run);
}

static void derive_contradictions(struct inventory *inventory, struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (resource_proven(resource) && resource->contradicts)
			run_refuse(inventory, run, "%s %s: %s", kind_name(resource->kind),
				resource->locator,
				resource->note ? resource->note : "it is not what was registered");
	}
}

static bool is_of_visited(const struct settings *settings, const struct resource *resource)
{
	char *git CLEANUP(mem_done) = resource->repo ? mem_printf("%s/.git", resource->repo) : NULL;

	if (resource->kind != KIND_WORKTREE && resource->kind != KIND_BRANCH)
		return false;
	return !git || text_equal(resource->repo, settings->visited) ||
	       text_equal(git, settings->visited);
}

/*
 * A visit has nobody's settings that say what may go besides the repository's own worktrees and
 * branches, and trusts its owner's markers: what they tell of besides is a matter for whoever registered
 * it, and so is their run.
 */
static void derive_guests(
	struct inventory *inventory, struct run *run, const struct settings *settings)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (resource->proof & (PROOF_ROW | PROOF_MARKER) &&
			!is_of_visited(settings, resource))
			run_refuse(inventory, run,
				"%s %s is registered, and a visit looks after nothing but %s",
				kind_name(resource->kind), resource->locator, settings->visited);
	}
}

/* Whether it owns something besides what lies in the trash. */
static bool has_more_than_trash(const struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].proof & ~(unsigned)PROOF_TRASH &&
			resource_left(&run->resources[i]))
			return true;
	return false;
}

/*
 * What lies in the trash proves a begun claim, also when the row was lost; but not for a later run
 * of the same name. Generations never repeat and grow with the wall clock (state/runs.h), so a
 * marker made after an entry's generation is a later run's. What has no record cannot be told from
 * a later run's.
 */
static bool trash_is_of(const struct run *run, const struct resource *trash)
{
	if (run->row)
		return run->row->generation == trash->generation;
	if (run->marker)
		return run->marker->created_s <= trash->generation;
	return !has_more_than_trash(run);
}

static void derive_rest(struct inventory *inventory, struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		/* A branch of nobody's that policy keeps is not to be taken up in each pass. */
		if (!resource_proven(resource) ||
			(resource->proof == PROOF_ADOPTED && resource_kept(resource)))
			continue;
		run->facts.proven = true;
		if (resource->lock == LOCK_HELD) {
			run->facts.locked = true;
			run->fault =
				run->fault
					? run->fault
					: arena_printf(&inventory->arena, "git worktree lock: %s",
						  resource->note ? resource->note : "no text");
		}
		if (resource->proof & PROOF_TRASH && trash_is_of(run, resource))
			run->facts.claim = CLAIM_BEGUN_REAP;
		if (!resource_of_tree(run, resource) && resource_left(resource))
			run->facts.others_present = true;
		if (resource->set_aside)
			run->facts.others_present = true;
	}
}

static int64_t not_after(int64_t moment_s, int64_t now_s)
{
	return moment_s < now_s ? moment_s : now_s;
}

/* The last sign of life in what git has on record of its trees and branches; 0: none. */
static int64_t git_active_s(const struct run *run)
{
	int64_t active_s = 0;

	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].active_s > active_s)
			active_s = run->resources[i].active_s;
	return active_s;
}

/*
 * Where the age of a run comes from, and since when it counts: a moment in the future makes no age
 * (and rule 4 of the policy keeps its run).
 */
static void derive_age(struct run *run, int64_t now_s)
{
	const struct facts *facts = &run->facts;

	if (run->row && run->row->registered) {
		run->age_from = run->row->created_s == facts->created_s ? "row" : "marker";
		run->age_since_s = facts->created_s;
	} else if (run->marker) {
		run->age_from = "marker";
		run->age_since_s = facts->created_s;
	} else {
		run->age_from = run->facts.first_seen_s == git_active_s(run) ? "git's record"
									     : "first seen";
		run->age_since_s = facts->first_seen_s;
	}
	run->active_s = facts->last_sign_s ? facts->last_sign_s : run->age_since_s;
	run->age_since_s = not_after(run->age_since_s, now_s);
	run->active_s = not_after(run->active_s, now_s);
}

/* Nobody may have looked at a repository before it is visited: it shows itself since when it is quiet. */
static void derive_sight(
	const struct inventory *inventory, struct run *run, const struct settings *settings)
{
	int64_t active_s = settings->visited ? git_active_s(run) : 0;

	if (active_s)
		run->facts.first_seen_s = active_s;
	else if (!run->facts.first_seen_s)
		run->facts.first_seen_s = run->facts.recorded ? 0 : inventory->now_s;
}

void facts_derive(struct inventory *inventory, struct run *run, const struct settings *settings)
{
	run->facts.proven = run->facts.recorded;
	derive_sight(inventory, run, settings);
	derive_contradictions(inventory, run);
	if (settings->visited)
		derive_guests(inventory, run, settings);
	derive_rest(inventory, run);
	liveness_judge(inventory, run, &settings->policy);
	if (run->facts.proven)
		derive_blindness(inventory, run);
	derive_age(run, inventory->now_s);
}
