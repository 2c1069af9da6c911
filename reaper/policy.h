/*
 * The decision: facts, settings and the time in, keep, stop or reap out, with one reason. Pure and
 * total: no I/O, no clock, no allocation. DESIGN.md, section 6; the rule numbers are those there.
 */
#pragma once

#include "model.h"

enum { POLICY_RULES = 8 };

/* Everything that one decision rests on. */
struct question {
	const struct facts *facts;
	const struct host_facts *host;
	const struct policy_settings *settings;
	int64_t now_s;
};

/*
 * Decides one run by rules 1 to 8, the first that holds. With facts->pressed it says what becomes
 * of the run when rule 10 chooses it. facts->work is looked at last: when
 * everything else says reap and it is WORK_UNKNOWN, the answer is keep, unknown. So a caller that
 * has not looked into the tree yet asks policy_needs_work() first. One that will look into it when
 * its turn comes says so (facts->work_unasked), and is told FATE_UNASKED: for a plan, and nothing that
 * may be acted on.
 */
struct decision policy_decide(const struct question *question);

/* What becomes of the trees of a run that goes, by facts->work and the settings alone. */
enum fate policy_fate(const struct question *question);

/*
 * When salvage of the run's unsaved work, which failed, is tried again; 0: at once, or never by these
 * settings.
 */
int64_t policy_salvage_retry_s(const struct question *question);

/*
 * Whether the decision depends on facts->work: looking into a tree is the one expensive question.
 */
bool policy_needs_work(const struct question *question);

/*
 * Whether facts->first_seen_s matters: nothing was told of the run, or a time that was told lies in
 * the future.
 */
bool policy_ages_by_sight(const struct question *question);

/*
 * Whether rule 1 to 8 by itself holds, and what it says; for explanations. *ret only when it does.
 */
bool policy_rule(unsigned rule, const struct question *question, struct decision *ret);

/*
 * What a rule says when it holds, in a few words: "it has finished". Rules 9 to 11 too
 * (policy_limit.h).
 */
const char *policy_rule_name(unsigned rule);

/* The end of a run's time: its deadline and grace, and what a boot or a suspend adds. */
int64_t policy_deadline_end_s(const struct question *question);

/*
 * Whether what a run was trusted with has no use any more: it is on record, and has finished or is over
 * its deadline and grace. Whoever keeps its files, a pin or its own retention, keeps no credential.
 */
bool policy_credentials_end(const struct question *question);

/* Until when the last sign of life counts as life; 0 when there is none. */
int64_t policy_lease_end_s(const struct question *question);
