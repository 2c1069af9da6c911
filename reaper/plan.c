#include "plan.h"

#include "base/clock.h"
#include "policy_limit.h"
#include "seal.h"
#include "text_list.h"

/*
 * How long looking closer may take in all. Next time there is less to do, since what was found goes.
 */
enum { LOOK_LIMIT_MS = 60 * 1000 };

/* The plan while it is made; the same runs, in the order of work. */
struct draft {
	struct run **runs;
	struct plan_item *items;
	size_t *by_end;
	struct whole_plan whole;
};

static void draft_done(struct draft *draft)
{
	free(draft->runs);
	free(draft->items);
	free(draft->by_end);
}

static int compare_moments(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* The order of work. What was begun has no due time, so it comes first. */
static int work_order(const void *a, const void *b)
{
	const struct run *left = *(struct run *const *)a, *right = *(struct run *const *)b;
	int r = compare_moments(left->decision.due_s, right->decision.due_s);

	return r ? r : strcmp(left->id, right->id);
}

/* The order of rule 10. */
static int end_order(const void *a, const void *b, void *context)
{
	struct run *const *runs = context;
	const struct run *left = runs[*(const size_t *)a], *right = runs[*(const size_t *)b];
	int r = compare_moments(left->facts.finished_s, right->facts.finished_s);

	return r ? r : strcmp(left->id, right->id);
}

static bool selected(const struct plan_wish *wish, const struct run *run)
{
	if (wish->approval)
		return approval_has(wish->approval, run->id);
	return wish->only->count == 0 || text_list_has(wish->only, run->id);
}

/* What nobody has looked into may be anything. */
static bool changed(const struct plan_wish *wish, const struct run *run)
{
	char seal[SEAL_TEXT];

	return wish->approval && (run->facts.work_unasked || !approval_holds(wish->approval,
								     run->id, seal_of(run, seal)));
}

/* What looking closer changes. */
static void item_refresh(
	struct plan_item *item, const struct plan_wish *wish, const struct run *run)
{
	item->changed = changed(wish, run);
	item->pressed = run->pressed;
	item->looked = run->looked;
	item->shares = run->shares;
	item->share_count = run->share_count;
}

static void draft_fill(
	struct draft *draft, const struct inventory *inventory, const struct plan_wish *wish)
{
	size_t count = inventory->run_count;

	draft->runs = mem_grow(NULL, count, sizeof(*draft->runs));
	draft->items = mem_grow(NULL, count, sizeof(*draft->items));
	draft->by_end = mem_grow(NULL, count, sizeof(*draft->by_end));
	draft->whole = (struct whole_plan){
		.items = draft->items,
		.count = count,
		.by_end = draft->by_end,
		.filesystems = inventory->filesystems,
		.filesystem_count = inventory->filesystem_count,
	};
	if (count) {
		memcpy(draft->runs, inventory->runs, count * sizeof(*draft->runs));
		qsort(draft->runs, count, sizeof(*draft->runs), work_order);
	}
	for (size_t i = 0; i < count; i++) {
		const struct run *run = draft->runs[i];

		draft->items[i] = (struct plan_item){
			.own = run->decision,
			.selected = selected(wish, run),
			.proven = run->facts.proven,
			.early = run->facts.requested,
			.failed_count = run->facts.failed_count,
			.failed_last_s = run->facts.failed_last_s,
		};
		item_refresh(&draft->items[i], wish, run);
		if (run->decision.reason == REASON_RETAINED && run->facts.finished_s)
			draft->by_end[draft->whole.by_end_count++] = i;
	}
	if (draft->whole.by_end_count)
		qsort_r(draft->by_end, draft->whole.by_end_count, sizeof(*draft->by_end), end_order,
			draft->runs);
}

static struct plan_limits limits_of(const struct inventory *inventory, const struct plan_wish *wish)
{
	const struct settings *settings = wish->world->settings;

	return (struct plan_limits){
		.now_s = inventory->now_s,
		.held = inventory->hold != NULL,
		.filtered = wish->only->count > 0 && !wish->approval,
		.approved = wish->approval != NULL,
		.confirmed = wish->confirmed,
		.max_runs = wish->max_runs,
		.brake_runs = settings->limits.brake_runs,
		.brake_share = settings->limits.brake_share,
		.brake_hold_s = settings->limits.brake_hold_s,
		.brake_tripped_s = inventory->brake.tripped_s,
		.disk_high = settings->disk.high,
		.disk_low = settings->disk.low,
	};
}

static void draft_look(struct draft *draft, struct inventory *inventory,
	const struct plan_wish *wish, int64_t deadline_ms)
{
	for (size_t i = 0; i < draft->whole.count; i++) {
		if (!draft->items[i].wanted)
			continue;
		inventory_look_closer(inventory, wish->world, draft->runs[i], deadline_ms);
		item_refresh(&draft->items[i], wish, draft->runs[i]);
	}
}

/*
 * What is salvaged first comes last: that takes room, and on a full disk the others make it. Each of
 * both in the order of work.
 */
static void draft_result(const struct draft *draft, struct plan *ret_plan)
{
	size_t count = draft->whole.count;

	ret_plan->due = mem_grow(NULL, count, sizeof(*ret_plan->due));
	ret_plan->count = 0;
	for (int salvaged = 0; salvaged < 2; salvaged++)
		for (size_t i = 0; i < count; i++) {
			const struct decision *decision = &draft->runs[i]->decision;

			if (decision->verdict != VERDICT_KEEP &&
				(decision->fate == FATE_SALVAGED) == salvaged)
				ret_plan->due[ret_plan->count++] = draft->runs[i];
		}
}

void plan_make(struct plan *ret_plan, struct inventory *inventory, const struct plan_wish *wish)
{
	struct draft draft CLEANUP(draft_done) = { 0 };
	const struct plan_limits limits = limits_of(inventory, wish);
	int64_t deadline_ms = deadline_in_ms(LOOK_LIMIT_MS);

	draft_fill(&draft, inventory, wish);
	while (policy_limit(&draft.whole, &limits, &inventory->brake) > 0)
		draft_look(&draft, inventory, wish, deadline_ms);
	for (size_t i = 0; i < draft.whole.count; i++)
		draft.runs[i]->decision = draft.items[i].decision;
	draft_result(&draft, ret_plan);
}

void plan_done(struct plan *plan)
{
	free(plan->due);
	*plan = (struct plan){ 0 };
}

static void keep(struct run *run, enum reason reason, unsigned rule)
{
	run->decision.verdict = VERDICT_KEEP;
	run->decision.reason = reason;
	run->decision.rule = rule;
}

void plan_defer(struct run *run)
{
	keep(run, REASON_DEFERRED, 11);
}

void plan_stop(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->run_count; i++) {
		struct run *run = inventory->runs[i];

		if (run->decision.verdict == VERDICT_KEEP && run->decision.reason != REASON_UNKNOWN)
			continue;
		plan_defer(run);
		run->error = "this pass was asked to stop while it looked; the next one goes on";
	}
}

void plan_blind(struct run *run, const char *why)
{
	keep(run, REASON_UNKNOWN, 5);
	run->fault = why;
}

void plan_hold(struct run *run)
{
	keep(run, REASON_HELD, 9);
}
