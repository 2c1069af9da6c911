#include "model.h"

#include <errno.h>
#include <search.h>
#include <stdarg.h>

enum { LIST_STEP = 8, REFUSAL_MAX = 480 };

const char *kind_name(enum kind kind)
{
	static const char *const names[KIND_COUNT] = {
		[KIND_WORKTREE] = "worktree",
		[KIND_BRANCH] = "branch",
		[KIND_CONTAINER] = "container",
		[KIND_VOLUME] = "volume",
		[KIND_NETWORK] = "network",
		[KIND_CGROUP] = "cgroup",
		[KIND_SCOPE] = "scope",
		[KIND_PATH] = "path",
		[KIND_MOUNT] = "mount",
		[KIND_PROCESS] = "process",
	};

	assert(kind < KIND_COUNT);
	return names[kind];
}

int kind_from_name(const char *name, enum kind *ret_kind)
{
	for (enum kind kind = 0; kind < KIND_COUNT; kind++)
		if (text_equal(kind_name(kind), name)) {
			*ret_kind = kind;
			return 0;
		}
	return -EINVAL;
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {
		[VERDICT_KEEP] = "keep",
		[VERDICT_STOP] = "stop",
		[VERDICT_REAP] = "reap",
	};

	assert(verdict < ARRAY_SIZE(names));
	return names[verdict];
}

const char *reason_name(enum reason reason)
{
	static const char *const names[REASON_COUNT] = {
		[REASON_PINNED] = "pinned",
		[REASON_PIN_UNKNOWN] = "pin_unknown",
		[REASON_LOCKED] = "locked",
		[REASON_LIVE] = "live",
		[REASON_RETAINED] = "retained",
		[REASON_UNKNOWN] = "unknown",
		[REASON_UNSAVED_WORK] = "unsaved_work",
		[REASON_FOREIGN] = "foreign",
		[REASON_REFUSED] = "refused",
		[REASON_CLOCK] = "clock",
		[REASON_HELD] = "held",
		[REASON_BRAKE] = "brake",
		[REASON_BACKOFF] = "backoff",
		[REASON_CHANGED] = "changed",
		[REASON_FILTERED] = "filtered",
		[REASON_DEFERRED] = "deferred",
		[REASON_OVER_DEADLINE] = "over_deadline",
		[REASON_FINISHED_OK] = "finished_ok",
		[REASON_FINISHED_FAILED] = "finished_failed",
		[REASON_ABANDONED] = "abandoned",
		[REASON_ORPHAN] = "orphan",
		[REASON_PRESSURE] = "pressure",
		[REASON_REQUESTED] = "requested",
		[REASON_RESUMED] = "resumed",
	};

	assert(reason < REASON_COUNT);
	return names[reason];
}

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[] = {
		[OUTCOME_NONE] = NULL,
		[OUTCOME_OK] = "ok",
		[OUTCOME_FAILED] = "failed",
	};

	assert(outcome < ARRAY_SIZE(names));
	return names[outcome];
}

const char *work_name(enum work work)
{
	static const char *const names[] = {
		[WORK_UNKNOWN] = "unknown",
		[WORK_NONE] = "none",
		[WORK_CLEAN] = "clean",
		[WORK_DIRTY] = "dirty",
		[WORK_UNPUSHED] = "unpushed",
	};

	assert(work < ARRAY_SIZE(names));
	return names[work];
}

const char *tri_name(enum tri value)
{
	static const char *const names[] = {
		[TRI_UNKNOWN] = "unknown",
		[TRI_NO] = "no",
		[TRI_YES] = "yes",
	};

	assert(value < ARRAY_SIZE(names));
	return names[value];
}

const char *duty_name(enum duty_kind kind)
{
	static const char *const names[DUTY_KINDS] = {
		[DUTY_REVOKE] = "revoke",
		[DUTY_AFTER] = "after",
	};

	return names[kind];
}

const char *duty_state_name(enum duty_state state)
{
	static const char *const names[DUTY_STATES] = {
		[DUTY_PENDING] = "pending",
		[DUTY_DONE] = "done",
		[DUTY_FAILED] = "failed",
	};

	return names[state];
}

const char *result_name(enum result result)
{
	static const char *const names[] = {
		[RESULT_NONE] = NULL,
		[RESULT_REAPED] = "reaped",
		[RESULT_PARTIAL] = "partial",
		[RESULT_KEPT] = "kept",
		[RESULT_FAILED] = "failed",
	};

	assert(result < ARRAY_SIZE(names));
	return names[result];
}

static int run_compare(const void *a, const void *b)
{
	const struct run *left = a, *right = b;

	return strcmp(left->id, right->id);
}

struct run *inventory_find(const struct inventory *inventory, const char *id)
{
	struct run key = { .id = id };
	struct run *const *found = tfind(&key, &inventory->index, run_compare);

	return found ? *found : NULL;
}

struct run *inventory_run(struct inventory *inventory, const char *id)
{
	struct run *run = inventory_find(inventory, id);

	if (run)
		return run;
	run = arena_new(&inventory->arena, sizeof(*run));
	run->id = arena_dup(&inventory->arena, id);
	run->bytes = -1;
	if (!tsearch(run, &inventory->index, run_compare))
		abort();
	if (inventory->run_count == inventory->run_room) {
		inventory->run_room = inventory->run_room * 2 + LIST_STEP;
		inventory->runs =
			mem_grow(inventory->runs, inventory->run_room, sizeof(*inventory->runs));
	}
	inventory->runs[inventory->run_count++] = run;
	return run;
}

/* Fills what is empty in `told` from `more`; both are the same resource. */
static void resource_join(struct arena *arena, struct resource *told, const struct resource *more)
{
	told->proof |= more->proof;
	if (!told->repo)
		told->repo = arena_dup(arena, more->repo);
	if (!told->base)
		told->base = arena_dup(arena, more->base);
	if (!told->branch)
		told->branch = arena_dup(arena, more->branch);
	if (!told->token)
		told->token = arena_dup(arena, more->token);
	if (!told->at)
		told->at = arena_dup(arena, more->at);
	if (!told->note)
		told->note = arena_dup(arena, more->note);
	if (!told->record)
		told->record = arena_dup(arena, more->record);
	if (!told->set_aside)
		told->set_aside = arena_dup(arena, more->set_aside);
	if (!told->dev && !told->ino) {
		told->dev = more->dev;
		told->ino = more->ino;
	}
	if (told->present == TRI_UNKNOWN)
		told->present = more->present;
	if (told->alive == TRI_UNKNOWN)
		told->alive = more->alive;
	if (told->lock == LOCK_NONE)
		told->lock = more->lock;
	if (!told->made_s)
		told->made_s = more->made_s;
	if (told->active_s < more->active_s)
		told->active_s = more->active_s;
	told->contradicts |= more->contradicts;
}

static struct resource *run_new_resource(struct inventory *inventory, struct run *run)
{
	struct resource *grown;

	if (run->resource_count == run->resource_room) {
		run->resource_room = run->resource_room * 2 + LIST_STEP;
		grown = arena_new(&inventory->arena, run->resource_room * sizeof(*grown));
		if (run->resource_count)
			memcpy(grown, run->resources, run->resource_count * sizeof(*grown));
		run->resources = grown;
	}
	return &run->resources[run->resource_count++];
}

bool resource_is(const struct resource *known, const struct resource *other)
{
	if (known->kind != other->kind || !text_equal(known->locator, other->locator))
		return false;
	return known->kind != KIND_VOLUME || !known->at || !other->at ||
	       text_equal(known->at, other->at);
}

struct resource *run_add_resource(
	struct inventory *inventory, struct run *run, const struct resource *resource)
{
	struct resource *added;

	assert(resource->locator);
	for (size_t i = 0; i < run->resource_count; i++) {
		added = &run->resources[i];
		if (resource_is(added, resource)) {
			resource_join(&inventory->arena, added, resource);
			return added;
		}
	}
	added = run_new_resource(inventory, run);
	*added = (struct resource){
		.kind = resource->kind,
		.run = run->id,
		.generation = resource->generation,
		.span_from_s = resource->span_from_s,
		.span_to_s = resource->span_to_s,
		.begun_s = resource->begun_s,
		.locator = arena_dup(&inventory->arena, resource->locator),
		.bytes = -1,
	};
	resource_join(&inventory->arena, added, resource);
	return added;
}

void run_refuse(struct inventory *inventory, struct run *run, const char *format, ...)
{
	char text[REFUSAL_MAX];
	va_list args;

	if (run->facts.refused)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	run->facts.refused = true;
	run->fault = arena_dup(&inventory->arena, text);
}

void inventory_add_source(struct inventory *inventory, const char *name, const char *at,
	enum tri ok, const char *error)
{
	inventory->sources = mem_grow(
		inventory->sources, inventory->source_count + 1, sizeof(*inventory->sources));
	inventory->sources[inventory->source_count++] = (struct source){
		.name = name,
		.at = arena_dup(&inventory->arena, at),
		.ok = ok,
		.error = arena_dup(&inventory->arena, error),
	};
}

const struct source *inventory_failed_source(const struct inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->source_count; i++)
		if (inventory->sources[i].ok == TRI_NO &&
			(!name || text_equal(inventory->sources[i].name, name)))
			return &inventory->sources[i];
	return NULL;
}

static void run_not_owned(void *run)
{
	(void)run; /* it lives in the arena */
}

void inventory_done(struct inventory *inventory)
{
	tdestroy(inventory->index, run_not_owned);
	free(inventory->runs);
	free(inventory->sources);
	arena_done(&inventory->arena);
	*inventory = (struct inventory){ 0 };
}
