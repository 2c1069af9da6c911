/*
 * The policy as a table: named rows for what each rule means, and then every combination of the
 * facts that matter (almost two million) against a second statement of the rules and
 * against the promises.
 */
#include "unit.h"

#include "policy.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

#define NOW INT64_C(1800000000)

static const struct policy_settings settings = {
	.ttl_s = DAY,
	.lease_s = 15 * MINUTE,
	.deadline_grace_s = 5 * MINUTE,
	.keep_ok_s = 10 * MINUTE,
	.keep_failed_s = DAY,
	.keep_abandoned_s = DAY,
	.keep_orphan_s = DAY,
	.unsaved = UNSAVED_KEEP,
};

static struct decision decide(const struct facts *facts, const struct host_facts *host)
{
	return policy_decide(&(struct question){
		.facts = facts, .host = host, .settings = &settings, .now_s = NOW });
}

/* A run on record that has finished well, long enough ago, and has nothing unsaved. */
static const struct facts due = {
	.recorded = true,
	.proven = true,
	.created_s = NOW - 2 * DAY,
	.last_sign_s = NOW - 2 * DAY,
	.deadline_s = NOW - DAY,
	.finished_s = NOW - HOUR,
	.outcome = OUTCOME_OK,
	.live = TRI_NO,
	.work = WORK_CLEAN,
};

struct row {
	const char *sentence;
	struct facts facts;
	struct host_facts host;
	enum verdict verdict;
	enum reason reason;
	unsigned rule;
	int64_t due_s;
};

#define FACTS(...) ((struct facts){ __VA_ARGS__ })
#define RECORDED .recorded = true, .proven = true, .work = WORK_CLEAN
#define ACTIVE RECORDED, .created_s = NOW - HOUR, .last_sign_s = NOW - HOUR

static const struct row rows[] = {
	{ "finished well and old enough goes", { 0 }, { 0 }, VERDICT_REAP, REASON_FINISHED_OK, 6,
		NOW - HOUR + 10 * MINUTE },
	{ "an end before the beginning counts from the beginning",
		FACTS(RECORDED, .created_s = NOW - MINUTE, .finished_s = NOW - DAY,
			.outcome = OUTCOME_OK, .live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_RETAINED, 6, NOW + 9 * MINUTE },
	{ "finished well a minute ago stays",
		FACTS(RECORDED, .finished_s = NOW - MINUTE, .outcome = OUTCOME_OK, .live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_RETAINED, 6, NOW + 9 * MINUTE },
	{ "at the very second it falls due it goes",
		FACTS(RECORDED, .finished_s = NOW - 10 * MINUTE, .outcome = OUTCOME_OK,
			.live = TRI_NO),
		{ 0 }, VERDICT_REAP, REASON_FINISHED_OK, 6, NOW },
	{ "failed an hour ago stays for keep_failed",
		FACTS(RECORDED, .finished_s = NOW - HOUR, .outcome = OUTCOME_FAILED,
			.live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_RETAINED, 6, NOW - HOUR + DAY },
	{ "a finish without an outcome counts as failed",
		FACTS(RECORDED, .finished_s = NOW - HOUR, .live = TRI_NO), { 0 }, VERDICT_KEEP,
		REASON_RETAINED, 6, NOW - HOUR + DAY },
	{ "a leak of a finished run is not life",
		FACTS(RECORDED, .finished_s = NOW - DAY, .outcome = OUTCOME_FAILED, .live = TRI_YES,
			.live_is_own = true),
		{ 0 }, VERDICT_REAP, REASON_FINISHED_FAILED, 6, NOW },
	{ "a person's shell in the tree of a finished run keeps it",
		FACTS(RECORDED, .finished_s = NOW - DAY, .outcome = OUTCOME_OK, .live = TRI_YES,
			.occupied = true),
		{ 0 }, VERDICT_KEEP, REASON_LIVE, 6, 0 },
	{ "a live run before its deadline stays",
		FACTS(ACTIVE, .deadline_s = NOW + HOUR, .live = TRI_YES, .live_is_own = true),
		{ 0 }, VERDICT_KEEP, REASON_LIVE, 7, NOW + HOUR + 5 * MINUTE },
	{ "a live run within the grace stays",
		FACTS(ACTIVE, .deadline_s = NOW - 4 * MINUTE, .live = TRI_YES, .live_is_own = true),
		{ 0 }, VERDICT_KEEP, REASON_LIVE, 7, NOW + MINUTE },
	{ "a live run past deadline and grace is stopped",
		FACTS(ACTIVE, .deadline_s = NOW - 5 * MINUTE, .live = TRI_YES, .live_is_own = true),
		{ 0 }, VERDICT_STOP, REASON_OVER_DEADLINE, 7, NOW },
	{ "a boot since the last sign of life adds one grace",
		FACTS(ACTIVE, .deadline_s = NOW - 9 * MINUTE, .live = TRI_YES, .live_is_own = true),
		{ .boot_s = NOW - 30 * MINUTE }, VERDICT_KEEP, REASON_LIVE, 7, NOW + MINUTE },
	{ "a host that slept gives one grace from then",
		FACTS(ACTIVE, .deadline_s = NOW - HOUR, .live = TRI_YES, .live_is_own = true),
		{ .resumed_s = NOW - MINUTE }, VERDICT_KEEP, REASON_LIVE, 7, NOW + 4 * MINUTE },
	{ "only a stranger at work past the deadline keeps the tree",
		FACTS(ACTIVE, .deadline_s = NOW - HOUR, .live = TRI_YES, .occupied = true), { 0 },
		VERDICT_KEEP, REASON_LIVE, 7, 0 },
	{ "quiet before the deadline stays",
		FACTS(ACTIVE, .deadline_s = NOW + HOUR, .live = TRI_NO), { 0 }, VERDICT_KEEP,
		REASON_RETAINED, 7, NOW + HOUR + DAY },
	{ "quiet since less than keep_abandoned stays",
		FACTS(RECORDED, .created_s = NOW - 9 * DAY, .last_sign_s = NOW - DAY + 1,
			.deadline_s = NOW - 8 * DAY, .live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_RETAINED, 7, NOW + 1 },
	{ "the deadline counts when it is later than the last sign",
		FACTS(RECORDED, .created_s = NOW - 9 * DAY, .last_sign_s = NOW - 9 * DAY,
			.deadline_s = NOW - HOUR, .live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_RETAINED, 7, NOW - HOUR + DAY },
	{ "quiet for longer is abandoned",
		FACTS(RECORDED, .created_s = NOW - 9 * DAY, .last_sign_s = NOW - DAY,
			.deadline_s = NOW - 8 * DAY, .live = TRI_NO),
		{ 0 }, VERDICT_REAP, REASON_ABANDONED, 7, NOW },
	{ "--early asks for what is only retained",
		FACTS(RECORDED, .finished_s = NOW - MINUTE, .outcome = OUTCOME_OK, .live = TRI_NO,
			.requested = true),
		{ 0 }, VERDICT_REAP, REASON_REQUESTED, 6, NOW + 9 * MINUTE },
	{ "--early does not touch a live run",
		FACTS(ACTIVE, .deadline_s = NOW + HOUR, .live = TRI_YES, .live_is_own = true,
			.requested = true),
		{ 0 }, VERDICT_KEEP, REASON_LIVE, 7, NOW + HOUR + 5 * MINUTE },
	{ "what is pressed goes before it is due",
		FACTS(RECORDED, .finished_s = NOW - MINUTE, .outcome = OUTCOME_OK, .live = TRI_NO,
			.pressed = true),
		{ 0 }, VERDICT_REAP, REASON_PRESSURE, 10, NOW + 9 * MINUTE },
	{ "what is looked into when its turn comes is in the plan",
		FACTS(.recorded = true, .proven = true, .work_unasked = true,
			.finished_s = NOW - HOUR, .outcome = OUTCOME_OK, .live = TRI_NO),
		{ 0 }, VERDICT_REAP, REASON_FINISHED_OK, 6, NOW - HOUR + 10 * MINUTE },
	{ "what cannot be looked into stays",
		FACTS(.recorded = true, .proven = true, .finished_s = NOW - HOUR,
			.outcome = OUTCOME_OK, .live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_UNKNOWN, 6, NOW - HOUR + 10 * MINUTE },
	{ "an orphan ages from when it was first seen",
		FACTS(.proven = true, .work = WORK_CLEAN, .first_seen_s = NOW - HOUR), { 0 },
		VERDICT_KEEP, REASON_RETAINED, 8, NOW - HOUR + DAY },
	{ "an orphan never seen before is seen now", FACTS(.proven = true, .work = WORK_CLEAN),
		{ 0 }, VERDICT_KEEP, REASON_RETAINED, 8, NOW + DAY },
	{ "an old orphan goes", FACTS(.proven = true, .work = WORK_NONE, .first_seen_s = NOW - DAY),
		{ 0 }, VERDICT_REAP, REASON_ORPHAN, 8, NOW },
	{ "an orphan in whose tree somebody works stays",
		FACTS(.proven = true, .work = WORK_CLEAN, .first_seen_s = NOW - DAY,
			.live = TRI_YES, .occupied = true),
		{ 0 }, VERDICT_KEEP, REASON_LIVE, 8, 0 },
	{ "without proof it is foreign", FACTS(.first_seen_s = NOW - 9 * DAY, .work = WORK_CLEAN),
		{ 0 }, VERDICT_KEEP, REASON_FOREIGN, 8, 0 },
	{ "a creation in the future waits",
		FACTS(RECORDED, .created_s = NOW + HOUR, .deadline_s = NOW + 2 * HOUR,
			.live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_CLOCK, 4, 0 },
	{ "five minutes ahead are no future",
		FACTS(RECORDED, .finished_s = NOW + 5 * MINUTE, .outcome = OUTCOME_OK,
			.live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_RETAINED, 6, NOW + 15 * MINUTE },
	{ "after a day it is aged from when it was first seen",
		FACTS(RECORDED, .created_s = NOW + 9 * DAY, .last_sign_s = NOW + 9 * DAY,
			.deadline_s = NOW + 9 * DAY + HOUR, .first_seen_s = NOW - 2 * DAY,
			.live = TRI_NO),
		{ 0 }, VERDICT_REAP, REASON_ABANDONED, 7, NOW - DAY + HOUR },
	{ "a begun claim goes on whatever its age",
		FACTS(RECORDED, .claim = CLAIM_BEGUN_REAP, .created_s = NOW - 1,
			.deadline_s = NOW + DAY, .live = TRI_NO),
		{ 0 }, VERDICT_REAP, REASON_RESUMED, 3, 0 },
	{ "a begun stop goes on",
		FACTS(RECORDED, .claim = CLAIM_BEGUN_STOP, .created_s = NOW - 1,
			.deadline_s = NOW - 1, .live = TRI_NO),
		{ 0 }, VERDICT_STOP, REASON_OVER_DEADLINE, 3, 0 },
	{ "a begun claim waits while a source is blind",
		FACTS(RECORDED, .claim = CLAIM_BEGUN_REAP, .finished_s = NOW - DAY,
			.outcome = OUTCOME_OK, .blind = true, .live = TRI_NO),
		{ 0 }, VERDICT_KEEP, REASON_UNKNOWN, 5, 0 },
};

static void each_named_row_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct facts *facts = i == 0 ? &due : &rows[i].facts;
		struct decision got = decide(facts, &rows[i].host);

		if (got.verdict != rows[i].verdict || got.reason != rows[i].reason ||
			got.rule != rows[i].rule || got.due_s != rows[i].due_s)
			fail_msg("%s: got %s %s by rule %u due %+lld", rows[i].sentence,
				verdict_name(got.verdict), reason_name(got.reason), got.rule,
				(long long)(got.due_s - NOW));
	}
}

/* What a run is, as far as its age matters: one of these at a time. */
static const struct facts lives[] = {
	/* recorded: finished ok young and due, failed young and due, no outcome due */
	{ .recorded = true, .proven = true, .finished_s = NOW - MINUTE, .outcome = OUTCOME_OK },
	{ .recorded = true, .proven = true, .finished_s = NOW - HOUR, .outcome = OUTCOME_OK },
	{ .recorded = true, .proven = true, .finished_s = NOW - HOUR, .outcome = OUTCOME_FAILED },
	{ .recorded = true, .proven = true, .finished_s = NOW - DAY, .outcome = OUTCOME_FAILED },
	/* recorded: active before its deadline, past it, and past keep_abandoned */
	{ .recorded = true, .proven = true, .created_s = NOW - HOUR, .deadline_s = NOW + HOUR },
	{ .recorded = true,
		.proven = true,
		.created_s = NOW - HOUR,
		.deadline_s = NOW - 6 * MINUTE },
	{ .recorded = true,
		.proven = true,
		.created_s = NOW - 9 * DAY,
		.deadline_s = NOW - 8 * DAY },
	/* proven only: young and old; foreign */
	{ .proven = true, .first_seen_s = NOW - HOUR },
	{ .proven = true, .first_seen_s = NOW - DAY },
	{ .first_seen_s = NOW - DAY },
};
enum { FINISHED_DUE_MASK = 1 << 1 | 1 << 3, ACTIVE_FIRST = 4, ORPHAN_FIRST = 7, FOREIGN = 9 };

static bool is(const struct decision *decision, enum verdict verdict, enum reason reason)
{
	return decision->verdict == verdict && decision->reason == reason;
}

/* The rules once more, said from the end: what must hold for each answer. NULL: as it must be. */
static const char *fault_of(
	const struct facts *f, bool stepped, bool future, unsigned life, const struct decision *d)
{
	bool person = f->pin != PIN_NONE || f->locked;
	bool begun = (f->claim == CLAIM_BEGUN_REAP || f->claim == CLAIM_BEGUN_STOP) && !f->blind &&
		     !f->occupied;
	bool blind = f->blind && f->proven;
	bool unsaved = f->work == WORK_DIRTY || f->work == WORK_UNPUSHED;
	bool young_end = life == 0 || life == 2;
	bool by_age,
		by_pressure = f->pressed && young_end && !begun && !f->occupied && !f->requested;

	if (f->refused)
		return is(d, VERDICT_KEEP, REASON_REFUSED) ? NULL : "a contradiction is refused";
	if (person)
		return d->verdict == VERDICT_KEEP &&
				       d->reason == (f->pin == PIN_HELD ? REASON_PINNED
							    : f->pin == PIN_UNREADABLE
								    ? REASON_PIN_UNKNOWN
								    : REASON_LOCKED)
			       ? NULL
			       : "what a person keeps is kept";
	if (begun && f->claim == CLAIM_BEGUN_STOP)
		return is(d, VERDICT_STOP, REASON_OVER_DEADLINE) ? NULL : "a begun stop goes on";
	if (!begun && (stepped || future))
		return is(d, VERDICT_KEEP, REASON_CLOCK) ? NULL : "an untrusted clock keeps";
	if (!begun && blind)
		return is(d, VERDICT_KEEP, REASON_UNKNOWN) ? NULL : "unknown keeps";
	if (!begun && life == FOREIGN)
		return is(d, VERDICT_KEEP, REASON_FOREIGN) ? NULL : "no proof is foreign";
	if (!begun && life >= ACTIVE_FIRST && life < ORPHAN_FIRST) {
		if (f->live == TRI_UNKNOWN)
			return is(d, VERDICT_KEEP, REASON_UNKNOWN) ? NULL : "unknown life keeps";
		if (f->live == TRI_YES && (life == ACTIVE_FIRST || !f->live_is_own))
			return is(d, VERDICT_KEEP, REASON_LIVE) ? NULL : "life keeps";
		if (f->live == TRI_YES)
			return is(d, VERDICT_STOP, REASON_OVER_DEADLINE) ? NULL : "time is up";
	}
	by_age = life == 1 || life == 3 || life == 6 || life == 8;
	if (!begun && !by_age && !f->requested && !by_pressure)
		return d->verdict == VERDICT_KEEP &&
				       d->reason == (f->occupied && life >= ORPHAN_FIRST
								    ? REASON_LIVE
								    : REASON_RETAINED)
			       ? NULL
			       : "what is young is retained";
	if (!begun && f->occupied && (life < ACTIVE_FIRST || life >= ORPHAN_FIRST))
		return is(d, VERDICT_KEEP, REASON_LIVE) ? NULL : "a stranger in the tree keeps";
	if (f->work == WORK_UNKNOWN)
		return is(d, VERDICT_KEEP, REASON_UNKNOWN) ? NULL : "unknown work keeps";
	if (unsaved && !f->others_present)
		return is(d, VERDICT_KEEP, REASON_UNSAVED_WORK) ? NULL : "unsaved work keeps";
	if ((d->reason == REASON_PRESSURE) != by_pressure || (d->rule == 10) != by_pressure)
		return "only the retained end of a run is pressed, and by rule 10";
	return d->verdict == VERDICT_REAP ? NULL : "what is due goes";
}

/* Mixed radix: takes the next digit off *code. */
static unsigned digit(uint64_t *code, unsigned radix)
{
	unsigned value = (unsigned)(*code % radix);

	*code /= radix;
	return value;
}

static bool facts_of(uint64_t code, struct facts *f, struct host_facts *host, bool *ret_future,
	unsigned *ret_life)
{
	*ret_life = digit(&code, ARRAY_SIZE(lives));
	*f = lives[*ret_life];
	f->refused = digit(&code, 2);
	f->pin = (enum pin_state)digit(&code, 3);
	f->locked = digit(&code, 2);
	f->claim = (enum claim)digit(&code, 4);
	host->clock_stepped = digit(&code, 2);
	*ret_future = digit(&code, 2);
	f->blind = digit(&code, 2);
	f->live = (enum tri)digit(&code, 3);
	f->live_is_own = digit(&code, 2);
	f->occupied = digit(&code, 2);
	f->requested = digit(&code, 2);
	f->pressed = digit(&code, 2);
	f->work = (enum work)digit(&code, 5);
	f->others_present = digit(&code, 2);
	if (*ret_future) {
		f->last_sign_s = NOW + HOUR;
		f->first_seen_s = f->first_seen_s ? NOW - HOUR : 0;
	}
	return code == 0;
}

static void every_combination_of_facts_decides_as_the_rules_say(void **state)
{
	uint64_t code = 0, reaps = 0;
	struct facts facts;
	struct host_facts host = { 0 };
	unsigned life;
	bool future;

	(void)state;
	for (; facts_of(code, &facts, &host, &future, &life); code++) {
		struct decision decision;
		const char *fault;

		if (facts.live != TRI_YES && (facts.live_is_own || facts.occupied))
			continue; /* cannot be: liveness.c says yes then */
		if (facts.live == TRI_YES && !facts.live_is_own && !facts.occupied)
			continue;
		decision = decide(&facts, &host);
		fault = fault_of(&facts, host.clock_stepped, future, life, &decision);
		if (fault)
			fail_msg("combination %llu (life %u): %s, but it is %s %s by rule %u",
				(unsigned long long)code, life, fault,
				verdict_name(decision.verdict), reason_name(decision.reason),
				decision.rule);
		reaps += decision.verdict == VERDICT_REAP;
	}
	assert_true(code > 1800000);
	assert_true(reaps > 1000);
	print_message("# %llu combinations, %llu of them reap\n", (unsigned long long)code,
		(unsigned long long)reaps);
}

/* Of finished, active and not on record one is true: `why` prints which. */
static void no_run_is_finished_and_active_and_unrecorded(void **state)
{
	const struct host_facts host = { 0 };
	const struct facts runs[] = { due, FACTS(ACTIVE, .deadline_s = NOW + HOUR),
		FACTS(.proven = true), { 0 } };
	const unsigned holds[] = { 6, 7, 8, 8 };
	struct decision decision;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		for (unsigned rule = 6; rule <= POLICY_RULES; rule++)
			assert_int_equal(
				policy_rule(rule,
					&(struct question){ &runs[i], &host, &settings, NOW },
					&decision),
				rule == holds[i]);
}

static void work_is_asked_only_where_it_decides(void **state)
{
	struct host_facts host = { 0 };
	struct facts young = due;
	struct policy_settings discard = settings;

	(void)state;
	young.finished_s = NOW;
	discard.unsaved = UNSAVED_DISCARD;
	assert_true(policy_needs_work(&(struct question){ &due, &host, &settings, NOW }));
	assert_false(policy_needs_work(&(struct question){ &young, &host, &settings, NOW }));
	assert_false(policy_needs_work(&(struct question){ &due, &host, &discard, NOW }));
}

static void discard_takes_unsaved_work_along(void **state)
{
	struct policy_settings discard = settings;
	struct host_facts host = { 0 };
	struct facts dirty = due;

	(void)state;
	discard.unsaved = UNSAVED_DISCARD;
	dirty.work = WORK_DIRTY;
	assert_int_equal(decide(&dirty, &host).reason, REASON_UNSAVED_WORK);
	assert_int_equal(policy_decide(&(struct question){ &dirty, &host, &discard, NOW }).verdict,
		VERDICT_REAP);
}

/* Salvage makes unsaved work no reason to stay, until it failed; then it waits an hour. */
static void what_can_be_salvaged_goes_and_what_could_not_waits(void **state)
{
	static const struct {
		int64_t failed_s;
		bool requested, others;
		enum verdict verdict;
		enum fate fate;
	} cases[] = {
		{ 0, false, false, VERDICT_REAP, FATE_SALVAGED },
		{ NOW - MINUTE, false, false, VERDICT_KEEP, FATE_STAYS },
		{ NOW - MINUTE, false, true, VERDICT_REAP, FATE_STAYS },
		{ NOW - MINUTE, true, false, VERDICT_REAP, FATE_SALVAGED },
		{ NOW - HOUR + 1, false, false, VERDICT_KEEP, FATE_STAYS },
		{ NOW - HOUR, false, false, VERDICT_REAP, FATE_SALVAGED },
		{ NOW + DAY, false, false, VERDICT_REAP, FATE_SALVAGED }, /* the clock went back */
	};
	struct policy_settings salvage = settings;
	struct host_facts host = { 0 };

	(void)state;
	salvage.unsaved = UNSAVED_SALVAGE;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct facts facts = due;
		struct decision decision;

		facts.work = i % 2 ? WORK_DIRTY : WORK_UNPUSHED;
		facts.salvage_failed_s = cases[i].failed_s;
		facts.requested = cases[i].requested;
		facts.others_present = cases[i].others;
		decision = policy_decide(&(struct question){ &facts, &host, &salvage, NOW });
		assert_int_equal(decision.verdict, cases[i].verdict);
		assert_int_equal(decision.fate, cases[i].fate);
		facts.work = WORK_UNKNOWN;
		decision = policy_decide(&(struct question){ &facts, &host, &salvage, NOW });
		assert_int_equal(decision.reason, REASON_UNKNOWN);
	}
}

static bool credentials_end(const struct facts *facts, const struct host_facts *host)
{
	return policy_credentials_end(&(struct question){
		.facts = facts, .host = host, .settings = &settings, .now_s = NOW });
}

static void credentials_end_with_the_run_or_its_deadline_and_not_before(void **state)
{
	static const struct {
		struct facts facts;
		struct host_facts host;
		bool ends;
	} table[] = {
		{ FACTS(RECORDED, .finished_s = NOW), { 0 }, true },
		{ FACTS(RECORDED, .finished_s = NOW, .pin = PIN_HELD), { 0 }, true },
		{ FACTS(RECORDED, .finished_s = NOW + 1), { 0 }, false },
		{ FACTS(RECORDED, .finished_s = NOW + 1, .deadline_s = NOW - DAY), { 0 }, false },
		{ FACTS(ACTIVE, .deadline_s = NOW - 5 * MINUTE, .live = TRI_YES), { 0 }, true },
		{ FACTS(ACTIVE, .deadline_s = NOW - 5 * MINUTE + 1), { 0 }, false },
		{ FACTS(ACTIVE, .deadline_s = NOW - 5 * MINUTE), { .boot_s = NOW - 1 }, false },
		{ FACTS(ACTIVE), { 0 }, false },
		{ FACTS(.proven = true, .first_seen_s = NOW - DAY), { 0 }, false },
		{ FACTS(RECORDED, .refused = true, .finished_s = NOW), { 0 }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(credentials_end(&table[i].facts, &table[i].host), table[i].ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credentials_end_with_the_run_or_its_deadline_and_not_before),
		cmocka_unit_test(each_named_row_holds),
		cmocka_unit_test(every_combination_of_facts_decides_as_the_rules_say),
		cmocka_unit_test(no_run_is_finished_and_active_and_unrecorded),
		cmocka_unit_test(work_is_asked_only_where_it_decides),
		cmocka_unit_test(discard_takes_unsaved_work_along),
		cmocka_unit_test(what_can_be_salvaged_goes_and_what_could_not_waits),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
