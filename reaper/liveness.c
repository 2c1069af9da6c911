#include "liveness.h"

#include "base/timespan.h"
#include "facts.h"
#include "policy.h"

/* Evidence of one kind, while it is gathered. */
struct evidence {
	struct inventory *inventory;
	struct run *run;
	bool unknown;
};

static void life_found(struct evidence *evidence, const char *note)
{
	evidence->run->facts.live = TRI_YES;
	if (!evidence->run->live_note)
		evidence->run->live_note = note;
}

static void judge_lease(struct evidence *evidence, const struct policy_settings *settings)
{
	struct run *run = evidence->run;
	const struct question question = {
		.facts = &run->facts,
		.host = &evidence->inventory->host,
		.settings = settings,
		.now_s = evidence->inventory->now_s,
	};
	char since[TIMESPAN_TEXT];

	if (!run->facts.recorded || run->facts.finished_s)
		return;
	if (evidence->inventory->now_s >= policy_lease_end_s(&question))
		return;
	run->facts.live_is_own = true;
	life_found(evidence, arena_printf(&evidence->inventory->arena, "a sign of life %s ago",
				     timespan_format(since,
					     evidence->inventory->now_s - run->facts.last_sign_s)));
}

/* What a living resource of each kind is called; NULL: it says nothing about life. */
static const char *life_of(enum kind kind)
{
	switch (kind) {
	case KIND_CONTAINER:
		return "is running";
	case KIND_CGROUP:
	case KIND_SCOPE:
		return "is populated";
	case KIND_PROCESS:
		return "is alive";
	case KIND_WORKTREE:
	case KIND_BRANCH:
	case KIND_VOLUME:
	case KIND_NETWORK:
	case KIND_PATH:
	case KIND_MOUNT:
	case KIND_COUNT:
		break;
	}
	return NULL;
}

static void judge_resource(struct evidence *evidence, const struct resource *resource)
{
	struct arena *arena = &evidence->inventory->arena;
	const char *life = life_of(resource->kind);

	if (!life)
		return;
	if (!resource_proven(resource)) {
		if (resource->kind != KIND_PROCESS || resource->alive == TRI_NO)
			return;
		evidence->run->facts.occupied = true;
		life_found(
			evidence, arena_printf(arena, "process %s (%s)", resource->locator,
					  resource->note ? resource->note : "works in its tree"));
		return;
	}
	if (resource->present != TRI_NO && resource->alive == TRI_UNKNOWN)
		evidence->unknown = true;
	if (resource->alive != TRI_YES)
		return;
	evidence->run->facts.live_is_own = true;
	life_found(evidence, arena_printf(arena, "%s %s %s", kind_name(resource->kind),
				     resource->locator, life));
}

void liveness_judge(
	struct inventory *inventory, struct run *run, const struct policy_settings *settings)
{
	struct evidence evidence = { .inventory = inventory, .run = run };

	run->facts.live = TRI_NO;
	for (size_t i = 0; i < run->resource_count; i++)
		judge_resource(&evidence, &run->resources[i]);
	judge_lease(&evidence, settings);
	if (run->facts.live == TRI_NO && evidence.unknown)
		run->facts.live = TRI_UNKNOWN;
}
