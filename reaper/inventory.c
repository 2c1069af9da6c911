#include "inventory.h"

#include "base/clock.h"
#include "base/text.h"
#include "disk.h"
#include "facts.h"
#include "os/processes.h"
#include "os/signals.h"
#include "policy.h"
#include "policy_limit.h"
#include "sharing.h"
#include "state/duties.h"
#include "state/failures.h"
#include "state/passes.h"
#include "state/runs.h"
#include "text_list.h"
#include "told.h"

#include <errno.h>

/* How long measuring the one run may take that is explained. */
enum { PERCENT_ALL = 100 };

/* What was seen before must not outlive a new look: a backend may find nothing to say any more. */
static void forget_seen(struct resource *resource)
{
	resource->present = TRI_UNKNOWN;
	resource->alive = TRI_UNKNOWN;
	resource->contradicts = false;
	resource->note = NULL;
	resource->record = NULL;
	resource->group = NULL;
	resource->lock = LOCK_NONE;
	resource->set_aside = NULL;
	resource->active_s = 0;
}

/* Whether a backend is asked; else all is said that can be. */
static bool prepare_probe(struct resource *resource)
{
	if (!backend_of(resource->kind) || !resource_proven(resource))
		return false;
	forget_seen(resource);
	resource->note = resource->silent;
	return !resource->silent;
}

void inventory_probe(struct inventory *inventory, const struct world *world, struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		struct resource *resource = &run->resources[i];
		const struct backend *backend = backend_of(resource->kind);

		if (prepare_probe(resource))
			backend->probe(world_state(world, backend), resource, &inventory->arena);
	}
}

/* All that one backend is asked about, run by run. */
struct probing {
	struct resource **resources;
	size_t count, room;
};

static void probing_done(struct probing *probing)
{
	free(probing->resources);
}

static void probing_add_run(
	struct probing *probing, const struct backend *backend, const struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		struct resource *resource = &run->resources[i];

		if (backend_of(resource->kind) != backend || !prepare_probe(resource))
			continue;
		if (probing->count == probing->room) {
			probing->room = probing->room * 2 + 16;
			probing->resources = mem_grow(
				probing->resources, probing->room, sizeof(*probing->resources));
		}
		probing->resources[probing->count++] = resource;
	}
}

static void probe_all_by(
	struct inventory *inventory, const struct world *world, const struct backend *backend)
{
	struct probing probing CLEANUP(probing_done) = { 0 };
	void *state = world_state(world, backend);

	for (size_t i = 0; i < inventory->run_count; i++)
		probing_add_run(&probing, backend, inventory->runs[i]);
	if (backend->probe_many && probing.count)
		backend->probe_many(state, probing.resources, probing.count, &inventory->arena);
	for (size_t i = 0; !backend->probe_many && i < probing.count && !signals_stop_wanted(); i++)
		backend->probe(state, probing.resources[i], &inventory->arena);
}

static const char *root_of(const struct settings *settings, const struct run *run)
{
	const char *root = NULL;

	for (size_t i = 0; i < run->resource_count && !root; i++)
		if (run->resources[i].kind == KIND_WORKTREE)
			root = text_list_above(&settings->roots, run->resources[i].locator);
	return root;
}

static void see(struct inventory *inventory, const struct world *world, const char *only)
{
	for (size_t i = 0; i < BACKEND_COUNT && !signals_stop_wanted(); i++)
		if (backends[i]->discover)
			backends[i]->discover(world->states[i], inventory, only);
	for (size_t i = 0; i < BACKEND_COUNT && !signals_stop_wanted(); i++)
		probe_all_by(inventory, world, backends[i]);
	if (!only)
		sharing_check(inventory, world->settings);
}

/* The worse of two: what cannot be told is worst, then what is unsaved. */
static enum work work_worse(enum work a, enum work b)
{
	static const int badness[] = {
		[WORK_NONE] = 0,
		[WORK_CLEAN] = 1,
		[WORK_UNPUSHED] = 2,
		[WORK_DIRTY] = 3,
		[WORK_UNKNOWN] = 4,
	};

	return badness[a] >= badness[b] ? a : b;
}

/*
 * Whether it may hold what is saved nowhere else. That a registered run's tree is gone is its doing; a
 * record without a tree that a visit finds may be all that names a commit.
 */
static bool may_hold_work(const struct world *world, const struct resource *resource)
{
	return resource->kind == KIND_WORKTREE &&
	       (resource->present != TRI_NO || (world->settings->visited && resource->record));
}

enum work inventory_ask_work(struct inventory *inventory, const struct world *world,
	const struct run *run, int64_t deadline_ms, const char **ret_note)
{
	void *state = world_state(world, &worktree_backend);
	enum work worst = WORK_NONE;

	*ret_note = NULL;
	for (size_t i = 0; i < run->resource_count; i++) {
		const char *note = NULL;
		enum work work;

		if (!may_hold_work(world, &run->resources[i]) ||
			!resource_proven(&run->resources[i]))
			continue;
		note = run->resources[i].silent;
		work = note ? WORK_UNKNOWN
			    : worktree_backend.work(state, &run->resources[i], deadline_ms,
				      &inventory->arena, &note);
		if (work_worse(work, worst) == work) {
			worst = work;
			*ret_note = note;
		}
	}
	return worst;
}

static int say_occupied(const struct run *run, struct error *error)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *process = &run->resources[i];

		if (process->kind == KIND_PROCESS && !resource_proven(process) &&
			process->alive != TRI_NO)
			return error_say(error, EBUSY, "process %s works in its tree (%s)",
				process->locator, process->note ? process->note : "unseen");
	}
	return 0;
}

int inventory_ask_processes(struct inventory *inventory, const struct world *world, struct run *run,
	struct error *error)
{
	size_t asked = inventory->source_count;

	process_backend.discover(world_state(world, &process_backend), inventory, run->id);
	for (size_t i = asked; i < inventory->source_count; i++)
		if (inventory->sources[i].ok == TRI_NO)
			return error_say(error, EIO, "whether anybody works in its tree: %s",
				inventory->sources[i].error);
	return say_occupied(run, error);
}

/*
 * A look that is not a run's turn gets a part of a pass's time, so that one tree cannot take all of it
 * from the others.
 */
static int64_t look_deadline_ms(const struct world *world)
{
	enum { PART = 4, LIMIT_MS = 30 * 1000 };
	int64_t part_ms = world->settings->limits.time_budget_ms / PART;

	return deadline_in_ms(part_ms > 0 && part_ms < LIMIT_MS ? part_ms : LIMIT_MS);
}

static bool has_tree(const struct world *world, const struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (may_hold_work(world, &run->resources[i]))
			return true;
	return false;
}

struct question inventory_question(
	const struct inventory *inventory, const struct world *world, const struct run *run)
{
	return (struct question){
		.facts = &run->facts,
		.host = &inventory->host,
		.settings = &world->settings->policy,
		.now_s = inventory->now_s,
	};
}

/* Whether rule 9 lets a pass take it up; else it does not matter what it holds. */
static bool may_be_taken_up(const struct inventory *inventory, const struct run *run,
	const struct inventory_request *request)
{
	const struct facts *facts = &run->facts;
	int64_t retry_s =
		policy_retry_s(facts->failed_count, facts->failed_last_s, inventory->now_s);

	if (request->chosen && request->chosen->count && !text_list_has(request->chosen, run->id))
		return false;
	return !inventory->hold && (facts->requested || retry_s <= inventory->now_s);
}

static void ask_in_time(struct inventory *inventory, const struct world *world, struct run *run,
	const struct inventory_request *request, int64_t deadline_ms)
{
	bool taken_up = may_be_taken_up(inventory, run, request);

	if (taken_up && deadline_left_ms(deadline_ms) > 0 && !signals_stop_wanted())
		run->facts.work = inventory_ask_work(
			inventory, world, run, look_deadline_ms(world), &run->work_note);
	else
		run->facts.work_unasked = true;
	if (taken_up && run->facts.work_unasked)
		run->work_note = "it is looked into when its turn comes: there was no time before";
}

static void decide(struct inventory *inventory, const struct world *world, struct run *run,
	const struct inventory_request *request, int64_t deadline_ms)
{
	const struct question question = inventory_question(inventory, world, run);

	facts_derive(inventory, run, world->settings);
	run->facts.requested = request->early && text_list_has(request->early, run->id);
	run->facts.work = has_tree(world, run) ? WORK_UNKNOWN : WORK_NONE;
	if (text_equal(request->explain, run->id))
		run->facts.work = inventory_ask_work(
			inventory, world, run, look_deadline_ms(world), &run->work_note);
	else if (run->facts.work == WORK_UNKNOWN && request->work == WORK_WHERE_IT_DECIDES &&
		 policy_needs_work(&question))
		ask_in_time(inventory, world, run, request, deadline_ms);
	run->decision = policy_decide(&question);
}

void inventory_ask_in_turn(struct inventory *inventory, const struct world *world, struct run *run,
	int64_t deadline_ms)
{
	const struct question question = inventory_question(inventory, world, run);

	run->facts.work_unasked = false;
	run->facts.work = inventory_ask_work(inventory, world, run, deadline_ms, &run->work_note);
	run->decision = policy_decide(&question);
}

/* What rules 1 to 8 say of a run that rule 10 would choose. */
static void decide_pressed(struct inventory *inventory, const struct world *world, struct run *run,
	int64_t deadline_ms)
{
	const struct question question = inventory_question(inventory, world, run);

	run->facts.pressed = true;
	if (run->facts.work == WORK_UNKNOWN && policy_needs_work(&question))
		run->facts.work = inventory_ask_work(inventory, world, run,
			deadline_sooner(deadline_ms, look_deadline_ms(world)), &run->work_note);
	run->pressed = policy_decide(&question);
	run->facts.pressed = false;
}

void inventory_look_closer(struct inventory *inventory, const struct world *world, struct run *run,
	int64_t deadline_ms)
{
	const struct decision *decision = &run->decision;

	run->looked = true;
	run->pressed = run->decision;
	if (deadline_left_ms(deadline_ms) == 0 || signals_stop_wanted())
		return;
	if (run->decision.verdict == VERDICT_KEEP) {
		decide_pressed(inventory, world, run, deadline_ms);
		decision = &run->pressed;
	}
	if (decision->verdict != VERDICT_KEEP)
		disk_measure_run(run, deadline_ms);
}

static int look_at_clocks(struct inventory *inventory, const struct world *world,
	const struct inventory_request *request, struct error *error)
{
	struct pass_clocks now, last;
	int r;

	inventory->now_s = request->now_s ? request->now_s : clock_wall_s();
	if (request->now_s)
		return 0; /* a forecast: no clock ran until then */
	r = pass_clocks_now(&now, error);
	if (r < 0)
		return r;
	r = world->store ? pass_last(world->store, &last, error) : 0;
	if (r < 0)
		return r;
	pass_compare(r > 0 ? &last : NULL, &now, &inventory->host);
	inventory->host.last_pass_s = r > 0 ? last.wall_s : 0;
	return 0;
}

static int run_order(const void *a, const void *b)
{
	return strcmp((*(struct run *const *)a)->id, (*(struct run *const *)b)->id);
}

/* What earlier passes noted, also of runs that nobody told of: so when all are known. */
static int read_notes(struct inventory *inventory, const struct world *world, struct error *error)
{
	int r = 0;

	if (world->store)
		r = runs_load_sightings(world->store, inventory, error);
	if (world->store && r >= 0)
		r = failures_load(world->store, inventory, error);
	if (world->store && r >= 0)
		r = duties_load(world->store, inventory, error);
	return r;
}

/*
 * Trees are asked one after the other, a slow one for long (at most another quarter). Together they
 * get a quarter of a pass's time, and each time another one is the first, so that the same ones cannot
 * keep the rest from it.
 */
static void decide_each(struct inventory *inventory, const struct world *world,
	const struct inventory_request *request)
{
	enum { PART = 4 };
	static const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15); /* passes come at even times */
	int64_t deadline_ms = deadline_in_ms(world->settings->limits.time_budget_ms / PART);
	size_t count = inventory->run_count;
	size_t first = count ? ((uint64_t)inventory->now_s * spread >> 32) % count : 0;

	progress_begin(request->progress, PROGRESS_LOOKING, count);
	for (size_t i = 0; i < count; i++) {
		struct run *run = inventory->runs[(first + i) % count];

		progress_run(request->progress, i, run->id);
		decide(inventory, world, run, request, deadline_ms);
	}
}

enum { PINNED_PART = 4 };

/* What pins hold is asked in each pass where a limit is set to it. */
static void measure(struct inventory *inventory, const struct world *world,
	const struct inventory_request *request)
{
	int64_t budget_ms = world->settings->limits.time_budget_ms;

	if (request->size == SIZE_MEASURE)
		disk_measure_runs(inventory, budget_ms, request->progress);
	else if (world->settings->policy.pinned_bytes_warn && !request->only)
		disk_measure_pinned(inventory, budget_ms / PINNED_PART);
}

int inventory_gather(struct inventory *inventory, const struct world *world,
	const struct inventory_request *request, struct error *error)
{
	int r = look_at_clocks(inventory, world, request, error);

	if (r < 0)
		return r;
	r = told_load(inventory, world, request->only, error);
	if (r < 0)
		return r;
	see(inventory, world, request->only);
	r = read_notes(inventory, world, error);
	if (r < 0)
		return r;
	if (!request->only && world->settings->disk.high < PERCENT_ALL)
		disk_look(inventory, world->settings);
	if (inventory->run_count)
		qsort(inventory->runs, inventory->run_count, sizeof(*inventory->runs), run_order);
	for (size_t i = 0; i < inventory->run_count; i++) {
		struct run *run = inventory->runs[i];

		run->root = run->root ? run->root : root_of(world->settings, run);
	}
	decide_each(inventory, world, request);
	for (size_t i = 0; i < inventory->run_count && !signals_stop_wanted(); i++)
		if (inventory->filesystem_count)
			disk_place_run(inventory, inventory->runs[i]);
	measure(inventory, world, request);
	return 0;
}
