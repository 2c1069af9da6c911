#include "plan.h"

#include "policy.h"
#include "text_list.h"

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

static bool selected(const struct plan_wish *wish, const struct run *run)
{
	return wish->only->count == 0 || text_list_has(wish->only, run->id);
}

void plan_make(struct plan *ret_plan, struct inventory *inventory, const struct plan_wish *wish)
{
	size_t count = inventory->run_count, due = 0;
	struct run **runs = mem_grow(NULL, count, sizeof(struct run *));
	struct plan_item *items CLEANUP(mem_done) = mem_grow(NULL, count, sizeof(*items));

	if (count) {
		memcpy(runs, inventory->runs, count * sizeof(struct run *));
		qsort(runs, count, sizeof(struct run *), work_order);
	}
	for (size_t i = 0; i < count; i++)
		items[i] = (struct plan_item){ &runs[i]->decision, selected(wish, runs[i]) };
	policy_limit(items, count, wish->max_runs);
	for (size_t i = 0; i < count; i++)
		if (runs[i]->decision.verdict != VERDICT_KEEP)
			runs[due++] = runs[i];
	*ret_plan = (struct plan){ .due = runs, .count = due };
}

void plan_done(struct plan *plan)
{
	free(plan->due);
	*plan = (struct plan){ 0 };
}

void plan_defer(struct run *run)
{
	run->decision.verdict = VERDICT_KEEP;
	run->decision.reason = REASON_DEFERRED;
	run->decision.rule = 11;
}
