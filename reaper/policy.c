#include "policy.h"

/* Timestamps this far in the future are taken for small differences between clocks. */
#define SKEW_S INT64_C(300)
/* How long a run with a timestamp in the future waits before it is aged from when it was seen. */
#define CLOCK_WAIT_S INT64_C(86400)

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static bool keep(struct decision *ret, enum reason reason, int64_t due_s)
{
	*ret = (struct decision){ .verdict = VERDICT_KEEP, .reason = reason, .due_s = due_s };
	return true;
}

static bool reap(struct decision *ret, enum reason reason, int64_t due_s)
{
	*ret = (struct decision){ .verdict = VERDICT_REAP, .reason = reason, .due_s = due_s };
	return true;
}

static bool stop(struct decision *ret, int64_t due_s)
{
	*ret = (struct decision){
		.verdict = VERDICT_STOP, .reason = REASON_OVER_DEADLINE, .due_s = due_s
	};
	return true;
}

/* Kept until due, then reaped; --early asks for it now. */
static bool age(const struct question *q, int64_t due_s, enum reason reason, struct decision *ret)
{
	if (q->now_s >= due_s)
		return reap(ret, reason, due_s);
	if (q->facts->requested)
		return reap(ret, REASON_REQUESTED, due_s);
	return keep(ret, REASON_RETAINED, due_s);
}

/* One more grace for runs that a boot or a suspend kept from giving a sign of life. */
static int64_t with_host_grace(const struct question *q, int64_t end_s)
{
	int64_t grace_s = q->settings->deadline_grace_s;

	if (q->facts->last_sign_s < q->host->boot_s)
		end_s += grace_s;
	if (q->host->resumed_s)
		end_s = later(end_s, q->host->resumed_s + grace_s);
	return end_s;
}

int64_t policy_deadline_end_s(const struct question *q)
{
	return with_host_grace(q, q->facts->deadline_s + q->settings->deadline_grace_s);
}

int64_t policy_lease_end_s(const struct question *q)
{
	if (!q->facts->last_sign_s)
		return 0;
	return with_host_grace(q, q->facts->last_sign_s + q->settings->lease_s);
}

static bool rule_refused(const struct question *q, struct decision *ret)
{
	return q->facts->refused && keep(ret, REASON_REFUSED, 0);
}

static bool rule_kept_by_person(const struct question *q, struct decision *ret)
{
	switch (q->facts->pin) {
	case PIN_HELD:
		return keep(ret, REASON_PINNED, 0);
	case PIN_UNREADABLE:
		return keep(ret, REASON_PIN_UNKNOWN, 0);
	case PIN_NONE:
		break;
	}
	return q->facts->locked && keep(ret, REASON_LOCKED, 0);
}

/*
 * A begun claim goes on, unless something is unknown or somebody works in the tree: then the later
 * rules keep the run, and its claim, until that has passed. One not begun is void.
 */
static bool rule_claimed(const struct question *q, struct decision *ret)
{
	if (q->facts->blind || q->facts->occupied)
		return false;
	switch (q->facts->claim) {
	case CLAIM_BEGUN_REAP:
		return reap(ret, REASON_RESUMED, 0);
	case CLAIM_BEGUN_STOP:
		return stop(ret, 0);
	case CLAIM_NONE:
	case CLAIM_OPEN:
		break;
	}
	return false;
}

static bool in_future(const struct question *q, int64_t moment_s)
{
	return moment_s > q->now_s + SKEW_S;
}

static bool told_in_future(const struct question *q)
{
	return in_future(q, q->facts->created_s) || in_future(q, q->facts->last_sign_s) ||
	       in_future(q, q->facts->finished_s);
}

bool policy_ages_by_sight(const struct question *q)
{
	return !q->facts->recorded || told_in_future(q);
}

/* When a run was first seen says something only where it is aged by that. */
static bool facts_in_future(const struct question *q)
{
	return told_in_future(q) || (!q->facts->recorded && in_future(q, q->facts->first_seen_s));
}

/*
 * Whether a run with a timestamp in the future has waited long enough to be aged by first_seen_s.
 */
static bool clock_waited(const struct question *q)
{
	return q->facts->first_seen_s && !in_future(q, q->facts->first_seen_s) &&
	       q->now_s - q->facts->first_seen_s >= CLOCK_WAIT_S;
}

static bool rule_clock(const struct question *q, struct decision *ret)
{
	if (q->host->clock_stepped)
		return keep(ret, REASON_CLOCK, 0);
	if (facts_in_future(q) && !clock_waited(q))
		return keep(ret, REASON_CLOCK,
			q->facts->first_seen_s ? q->facts->first_seen_s + CLOCK_WAIT_S : 0);
	return false;
}

static bool rule_unknown(const struct question *q, struct decision *ret)
{
	return q->facts->proven && q->facts->blind && keep(ret, REASON_UNKNOWN, 0);
}

/* An end before the beginning is a mistake of whoever told it: the later one counts. */
static bool rule_finished(const struct question *q, struct decision *ret)
{
	int64_t end_s = later(q->facts->finished_s, q->facts->created_s);
	bool ok = q->facts->outcome == OUTCOME_OK;
	int64_t keep_s = ok ? q->settings->keep_ok_s : q->settings->keep_failed_s;
	enum reason reason = ok ? REASON_FINISHED_OK : REASON_FINISHED_FAILED;

	if (!q->facts->recorded || !q->facts->finished_s)
		return false;
	if (!age(q, end_s + keep_s, reason, ret) || ret->verdict == VERDICT_KEEP)
		return true;
	return !q->facts->occupied || keep(ret, REASON_LIVE, 0);
}

/* Nothing is alive: it may be slow, it may be gone. */
static bool quiet(const struct question *q, struct decision *ret)
{
	int64_t sign_s = later(q->facts->last_sign_s, q->facts->created_s);
	int64_t due_s = later(sign_s, q->facts->deadline_s) + q->settings->keep_abandoned_s;

	return age(q, due_s, REASON_ABANDONED, ret);
}

static bool rule_active(const struct question *q, struct decision *ret)
{
	int64_t end_s = policy_deadline_end_s(q);

	if (!q->facts->recorded || q->facts->finished_s)
		return false;
	switch (q->facts->live) {
	case TRI_NO:
		return quiet(q, ret);
	case TRI_UNKNOWN:
		return keep(ret, REASON_UNKNOWN, 0);
	case TRI_YES:
		break;
	}
	if (q->now_s < end_s)
		return keep(ret, REASON_LIVE, end_s);
	/* Whoever else works in the tree is not ours to stop: the tree waits for them. */
	return q->facts->live_is_own ? stop(ret, end_s) : keep(ret, REASON_LIVE, 0);
}

static bool rule_unrecorded(const struct question *q, struct decision *ret)
{
	int64_t seen_s = q->facts->first_seen_s ? q->facts->first_seen_s : q->now_s;

	if (q->facts->recorded)
		return false;
	if (!q->facts->proven)
		return keep(ret, REASON_FOREIGN, 0);
	if (q->facts->occupied)
		return keep(ret, REASON_LIVE, 0);
	return age(q, seen_s + q->settings->keep_orphan_s, REASON_ORPHAN, ret);
}

static const struct {
	bool (*holds)(const struct question *q, struct decision *ret);
	const char *name;
} rules[POLICY_RULES] = {
	{ rule_refused, "record and world contradict each other" },
	{ rule_kept_by_person, "a person keeps it (pin, or lock of its worktree)" },
	{ rule_claimed, "an earlier pass began to take it apart" },
	{ rule_clock, "the clock, or a timestamp in the future, cannot be trusted" },
	{ rule_unknown, "a fact that it needs is unknown" },
	{ rule_finished, "it has finished" },
	{ rule_active, "it is registered and has not finished" },
	{ rule_unrecorded, "it is not on record" },
};

const char *policy_rule_name(unsigned rule)
{
	static const char *const limits[] = {
		"a person holds every pass, or asked for other runs, or it failed and waits",
		"its filesystem is too full",
		"too much is due at once, or more than one pass may do",
	};

	assert(rule >= 1 && rule <= POLICY_RULES + ARRAY_SIZE(limits));
	if (rule > POLICY_RULES)
		return limits[rule - POLICY_RULES - 1];
	return rules[rule - 1].name;
}

/*
 * The facts by which a run is aged: after a day of waiting, a moment in the future is taken for the
 * moment when it was first seen, and the deadline moves with the creation.
 */
static struct facts facts_settled(const struct question *q)
{
	struct facts facts = *q->facts;

	if (!facts_in_future(q) || !clock_waited(q))
		return facts;
	if (in_future(q, facts.created_s)) {
		facts.deadline_s -= facts.created_s - facts.first_seen_s;
		facts.created_s = facts.first_seen_s;
	}
	if (in_future(q, facts.last_sign_s))
		facts.last_sign_s = facts.first_seen_s;
	if (in_future(q, facts.finished_s))
		facts.finished_s = facts.first_seen_s;
	return facts;
}

bool policy_rule(unsigned rule, const struct question *question, struct decision *ret)
{
	struct facts facts = facts_settled(question);
	struct question settled = *question;

	assert(rule >= 1 && rule <= POLICY_RULES);
	settled.facts = &facts;
	if (!rules[rule - 1].holds(&settled, ret))
		return false;
	ret->rule = rule;
	return true;
}

/*
 * Rule 10 only takes early what rule 6 retains: whatever else keeps a run comes before. Whether a
 * process works in the tree rule 6 itself asks only of what goes.
 */
static bool may_be_pressed(const struct question *q, const struct decision *decision)
{
	return q->facts->pressed && decision->rule == 6 && decision->reason == REASON_RETAINED &&
	       !q->facts->occupied;
}

static struct decision decide_without_work(const struct question *question)
{
	struct decision decision = { .verdict = VERDICT_KEEP, .reason = REASON_REFUSED };
	unsigned rule = 1;

	while (rule <= POLICY_RULES && !policy_rule(rule, question, &decision))
		rule++;
	assert(rule <=
		POLICY_RULES); /* 6 to 8 leave nothing out: finished, not finished, no record */
	if (may_be_pressed(question, &decision)) {
		(void)reap(&decision, REASON_PRESSURE, decision.due_s);
		decision.rule = 10;
	}
	return decision;
}

bool policy_needs_work(const struct question *question)
{
	return question->settings->unsaved != UNSAVED_DISCARD &&
	       decide_without_work(question).verdict == VERDICT_REAP;
}

/*
 * After a failure salvage is tried again, but not in every pass: what it could not do it cannot do
 * five minutes later either, and a try costs as much as a success.
 */
enum { SALVAGE_RETRY_S = 3600 };

int64_t policy_salvage_retry_s(const struct question *q)
{
	int64_t failed_s = q->facts->salvage_failed_s;

	if (q->settings->unsaved != UNSAVED_SALVAGE || failed_s == 0 || failed_s > q->now_s ||
		failed_s + SALVAGE_RETRY_S <= q->now_s)
		return 0;
	return failed_s + SALVAGE_RETRY_S;
}

static bool can_salvage(const struct question *q)
{
	return q->settings->unsaved == UNSAVED_SALVAGE &&
	       (q->facts->requested || policy_salvage_retry_s(q) == 0);
}

enum fate policy_fate(const struct question *question)
{
	switch (question->facts->work) {
	case WORK_NONE:
	case WORK_CLEAN:
		return FATE_GOES;
	case WORK_UNKNOWN:
		return question->facts->work_unasked ? FATE_UNASKED : FATE_STAYS;
	case WORK_DIRTY:
	case WORK_UNPUSHED:
		break;
	}
	if (question->settings->unsaved == UNSAVED_DISCARD)
		return FATE_GOES;
	return can_salvage(question) ? FATE_SALVAGED : FATE_STAYS;
}

struct decision policy_decide(const struct question *question)
{
	struct decision decision = decide_without_work(question);

	if (decision.verdict != VERDICT_REAP || question->settings->unsaved == UNSAVED_DISCARD)
		return decision;
	decision.fate = policy_fate(question);
	if (decision.fate != FATE_STAYS)
		return decision;
	if (question->facts->work == WORK_UNKNOWN) {
		decision.verdict = VERDICT_KEEP;
		decision.reason = REASON_UNKNOWN;
	} else if (!question->facts->others_present) {
		decision.verdict = VERDICT_KEEP;
		decision.reason = REASON_UNSAVED_WORK;
	} /* else what is not the tree goes: the result will be `partial` */
	return decision;
}

bool policy_credentials_end(const struct question *q)
{
	if (!q->facts->recorded || q->facts->refused)
		return false;
	return q->facts->finished_s ? q->facts->finished_s <= q->now_s
				    : q->facts->deadline_s && policy_deadline_end_s(q) <= q->now_s;
}
