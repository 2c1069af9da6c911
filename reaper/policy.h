/*
 * The decision: facts, settings and the time in, keep, stop or reap out, with one reason. Pure and
 * total: no I/O, no clock, no allocation. DESIGN.md, section 6; the rule numbers are those there.
 */
#pragma once

#include "model.h"

/*
 * Decides one run by rules 1 to 8, the first that holds. `work` is asked last: when everything else
 * says reap and facts->work is WORK_UNKNOWN, the answer is keep, unknown; so a caller that has not
 * looked yet asks policy_needs_work() first.
 */
struct decision policy_decide(const struct facts *facts, const struct host_facts *host,
	const struct policy_settings *settings, int64_t now_s);

/* Whether the decision depends on facts->work: looking into a tree is the one expensive question.
 */
bool policy_needs_work(const struct facts *facts, const struct host_facts *host,
	const struct policy_settings *settings, int64_t now_s);

/* One run of a plan, as far as the whole plan limits it. */
struct plan_item {
	struct decision *decision;
	bool selected; /* by --run, or because no --run was given */
};

/*
 * Rules 9 to 11 over the whole plan, in the order given (which is the order of work): runs that are
 * not selected become `filtered`, and what exceeds max_runs (0: no limit) becomes `deferred`.
 */
void policy_limit(struct plan_item *items, size_t count, int64_t max_runs);
