#include "why_change.h"

#include "facts.h"

struct changing {
	const struct why_subject *subject;
	struct arena *arena;
	struct why_changes *changes;
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void add(struct changing *changing, const char *what, int64_t at_s)
{
	struct why_changes *changes = changing->changes;

	if (changes->count < WHY_CHANGES_MAX)
		changes->items[changes->count++] =
			(struct why_change){ .what = what, .at_s = at_s };
}

/* What goes on living when its lease is over: the run's own things, and whoever else works in it. */
static void outlive_lease(const struct run *run, struct facts *facts)
{
	facts->live = TRI_NO;
	facts->live_is_own = false;
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (resource_proven(resource) && resource->alive == TRI_YES)
			facts->live_is_own = true;
	}
	if (facts->live_is_own || facts->occupied)
		facts->live = TRI_YES;
}

/* The same, and what follows from these facts at that moment, or now. */
static void add_then(
	struct changing *changing, const char *what, int64_t at_s, const struct facts *facts)
{
	const struct why_subject *subject = changing->subject;
	struct question question = why_question(subject);
	struct why_changes *changes = changing->changes;
	struct facts settled = *facts;
	size_t place = changes->count;

	question.facts = &settled;
	question.now_s = later(question.now_s, at_s);
	if (facts->live == TRI_YES && question.now_s >= policy_lease_end_s(&question))
		outlive_lease(subject->run, &settled);
	add(changing, what, at_s);
	if (changes->count == place)
		return;
	changes->items[place].then = policy_decide(&question);
	changes->items[place].decided = true;
}

static const char *who(const char *by)
{
	return by ? by : "somebody";
}

/* ---------------------------------------------------------------------------- a person keeps it */

static void change_pinned(struct changing *changing)
{
	const struct run *run = changing->subject->run;
	struct facts facts = run->facts;

	facts.pin = PIN_NONE;
	if (run->pin && run->pin->until_s)
		add_then(changing,
			arena_printf(changing->arena, "the pin by %s ends", who(run->pin->by)),
			run->pin->until_s, &facts);
	add_then(changing, "somebody unpins it", 0, &facts);
}

static void change_pin_unknown(struct changing *changing)
{
	const struct run *run = changing->subject->run;
	struct facts facts = run->facts;

	facts.pin = PIN_NONE;
	add_then(changing,
		arena_printf(changing->arena, "%s is removed, by 'unpin' or by hand",
			run->keep_path ? run->keep_path : "its .keep file"),
		0, &facts);
	facts.pin = PIN_HELD;
	add_then(changing, "it can be read again, and is a pin that has not ended", 0, &facts);
}

static void change_locked(struct changing *changing)
{
	struct facts facts = changing->subject->run->facts;

	facts.locked = false;
	add_then(changing, "its worktree is unlocked", 0, &facts);
}

/* ------------------------------------------------------------------------------------ it is alive */

static void add_finished(struct changing *changing)
{
	struct facts facts = changing->subject->run->facts;

	if (!facts.recorded || facts.finished_s)
		return;
	facts.finished_s = changing->subject->inventory->now_s;
	facts.outcome = OUTCOME_OK;
	add_then(changing, "it is finished as ok", 0, &facts);
	facts.outcome = OUTCOME_FAILED;
	add_then(changing, "it is finished as failed", 0, &facts);
}

/* What of a resource has to end; NULL: it is no life. */
static const char *end_of(const struct resource *resource, struct arena *arena)
{
	const char *kind = kind_name(resource->kind), *locator = resource->locator;

	if (resource->kind == KIND_PROCESS && !resource_proven(resource))
		return resource->alive == TRI_NO
			       ? NULL
			       : arena_printf(arena, "process %s (%s) leaves its tree", locator,
					 resource->note ? resource->note : "it works there");
	if (resource->alive != TRI_YES)
		return NULL;
	if (resource->kind == KIND_CONTAINER)
		return arena_printf(arena, "%s %s stops", kind, locator);
	return arena_printf(arena, "%s %s %s", kind, locator,
		resource->kind == KIND_PROCESS ? "ends" : "becomes empty");
}

/* Each evidence of life by itself, then what follows when none is left. */
static void change_live(struct changing *changing)
{
	const struct why_subject *subject = changing->subject;
	const struct run *run = subject->run;
	const struct question question = why_question(subject);
	int64_t lease_s = policy_lease_end_s(&question);
	bool leased = run->facts.recorded && !run->facts.finished_s && lease_s > question.now_s;
	struct facts facts = run->facts;
	size_t before = changing->changes->count;

	for (size_t i = 0; i < run->resource_count; i++) {
		const char *end = end_of(&run->resources[i], changing->arena);

		if (end)
			add(changing, end, 0);
	}
	facts.live = TRI_NO;
	facts.live_is_own = facts.occupied = false;
	if (changing->changes->count - before > 0)
		add_then(changing,
			leased ? "nothing of that is left, and no sign of life comes any more"
			       : "nothing of that is left",
			leased ? lease_s : 0, &facts);
	else if (leased)
		add_then(changing, "no further sign of life comes", lease_s, &facts);
	if (run->decision.due_s > question.now_s)
		add_then(changing, "it is alive still when its deadline and the grace are over",
			run->decision.due_s, &run->facts);
	add_finished(changing);
}

/* --------------------------------------------------------------------------- it waits for its time */

static void add_requested(struct changing *changing)
{
	struct facts facts = changing->subject->run->facts;

	facts.requested = true;
	add_then(changing, "somebody asks for it now, with --early", 0, &facts);
}

static void add_sign(struct changing *changing)
{
	struct facts facts = changing->subject->run->facts;

	if (!facts.recorded || facts.finished_s)
		return;
	facts.last_sign_s = changing->subject->inventory->now_s;
	facts.live = TRI_YES;
	facts.live_is_own = true;
	add_then(changing, "it gives a sign of life, by 'renew' or 'register'", 0, &facts);
}

static void change_retained(struct changing *changing)
{
	const struct why_subject *subject = changing->subject;
	struct facts facts = subject->run->facts;

	if (subject->run->decision.due_s)
		add_then(changing, "it has been kept for long enough", subject->run->decision.due_s,
			&facts);
	facts.pressed = true;
	if (subject->run->decision.rule == 6 && subject->settings->disk.high < 100)
		add_then(changing,
			"its filesystem becomes too full, and it is the turn of this run", 0,
			&facts);
	add_requested(changing);
	add_sign(changing);
	add_finished(changing);
}

/* ------------------------------------------------------------------------------- it is not known */

static void change_unknown(struct changing *changing)
{
	const struct run *run = changing->subject->run;
	struct facts facts = run->facts;
	const char *fault = run->fault ? run->fault : "what it needs";

	if (facts.blind) {
		facts.blind = false;
		add_then(changing, arena_printf(changing->arena, "this can be told: %s", fault), 0,
			&facts);
	} else if (facts.live == TRI_UNKNOWN) {
		facts.live = TRI_NO;
		add_then(changing, "it can be told whether it is alive, and it is not", 0, &facts);
	} else {
		facts.work = WORK_CLEAN;
		facts.work_unasked = false;
		add_then(changing,
			arena_printf(changing->arena,
				"it can be told what its tree holds, and nothing is unsaved (%s)",
				run->work_note ? run->work_note : "nobody knows why not"),
			0, &facts);
	}
}

static void change_unsaved(struct changing *changing)
{
	const struct why_subject *subject = changing->subject;
	const struct question question = why_question(subject);
	struct facts facts = subject->run->facts;
	int64_t retry_s = policy_salvage_retry_s(&question);

	if (retry_s)
		add_then(changing, "salvage is tried again", retry_s, &facts);
	if (subject->settings->policy.unsaved == UNSAVED_KEEP)
		add(changing, "[policy] unsaved = salvage keeps it first, then removes the tree",
			0);
	facts.work = WORK_CLEAN;
	add_then(changing,
		arena_printf(changing->arena,
			"what is unsaved is pushed, committed to another ref, or thrown away (%s)",
			subject->run->work_note ? subject->run->work_note
						: work_name(subject->run->facts.work)),
		0, &facts);
}

static void change_foreign(struct changing *changing)
{
	const struct why_subject *subject = changing->subject;
	bool linked = false;

	add(changing, "somebody registers it, or writes a marker for it", 0);
	for (size_t i = 0; i < subject->run->resource_count; i++)
		linked |= subject->run->resources[i].record != NULL;
	if (linked && subject->settings->adopt == ADOPT_NONE)
		add(changing, "[workspaces] adopt = worktrees makes it an orphan", 0);
}

static void change_refused(struct changing *changing)
{
	const struct run *run = changing->subject->run;
	struct facts facts = run->facts;
	const char *what;

	what = arena_printf(changing->arena, "this is so no more: %s",
		run->fault ? run->fault : "record and world contradict each other");
	facts.refused = false;
	if (run->marker_path && !run->marker) /* nobody knows what it will say */
		add(changing, what, 0);
	else
		add_then(changing, what, 0, &facts);
	if (run->row || run->marker_path)
		add(changing, "its record is forgotten: then it is nobody's", 0);
}

static void change_clock(struct changing *changing)
{
	const struct why_subject *subject = changing->subject;

	if (subject->inventory->host.clock_stepped) {
		add(changing, "the next pass finds that the clocks go together", 0);
		return;
	}
	add(changing, "the clock is right, or its times are not in the future any more", 0);
	if (subject->run->decision.due_s)
		add_then(changing, "a day has passed since it was first seen: it ages from then",
			subject->run->decision.due_s, &subject->run->facts);
	else
		add(changing, "a pass notes it, and a day has passed since: it ages from then", 0);
}

/* ------------------------------------------------------------------------ the whole plan keeps it */

static void change_held(struct changing *changing)
{
	const struct why_subject *subject = changing->subject;
	const struct hold *hold = subject->inventory->hold;

	if (hold && hold->until_s)
		add_then(changing,
			arena_printf(changing->arena, "the hold by %s ends", who(hold->by)),
			hold->until_s, &subject->run->facts);
	add_then(changing, "somebody ends the hold, with 'resume'", 0, &subject->run->facts);
}

static void change_brake(struct changing *changing)
{
	const struct why_subject *subject = changing->subject;

	add_then(changing, "the brake lets go", subject->inventory->brake.until_s,
		&subject->run->facts);
	add_then(changing, "a person confirms it: --run, --plan, --yes, or at the prompt", 0,
		&subject->run->facts);
}

static void change_backoff(struct changing *changing)
{
	const struct run *run = changing->subject->run;
	struct facts facts = run->facts;

	if (run->failures && run->failures->error)
		add(changing,
			arena_printf(changing->arena, "this is mended: %s", run->failures->error),
			0);
	add_then(changing, "it is tried again", run->decision.due_s, &facts);
	add_requested(changing);
}

static void add_next_pass(struct changing *changing, const char *what)
{
	add_then(changing, what, 0, &changing->subject->run->facts);
}

/* ------------------------------------------------------------------------------------- it is due */

static void add_pinned(struct changing *changing)
{
	struct facts facts = changing->subject->run->facts;

	facts.pin = PIN_HELD;
	add_then(changing, "somebody pins it", 0, &facts);
}

/* Its tree stays although the rest goes: what makes that go, too. */
static void add_fate(struct changing *changing)
{
	if (changing->subject->run->decision.fate == FATE_STAYS)
		change_unsaved(changing);
}

static void change_due(struct changing *changing)
{
	add_next_pass(changing, "the next pass comes");
	add_pinned(changing);
	add_sign(changing);
	add_fate(changing);
}

static void change_over_deadline(struct changing *changing)
{
	struct facts facts = changing->subject->run->facts;

	add_next_pass(changing, "the next pass comes: it stops what is alive, and the tree stays");
	add_pinned(changing);
	facts.deadline_s = changing->subject->inventory->now_s + 1;
	add_then(changing, "its deadline is moved, with 'renew --ttl'", 0, &facts);
	add_finished(changing);
}

static void change_resumed(struct changing *changing)
{
	add_next_pass(changing, "the next pass comes: it goes on with what an earlier one began");
	add(changing, "a .keep file is made beside it by hand: then no further step is taken", 0);
	add_fate(changing);
}

/* What this one pass does not do another will. */
static void change_put_off(struct changing *changing)
{
	enum reason reason = changing->subject->run->decision.reason;

	add_next_pass(
		changing, reason == REASON_CHANGED ? "a pass comes that has no plan, or a new one"
			  : reason == REASON_FILTERED ? "a pass comes that is not for other runs"
						      : "a pass comes that has time for it");
}

typedef void change_by(struct changing *changing);

static change_by *change_of(enum reason reason)
{
	switch (reason) {
	case REASON_PINNED:
		return change_pinned;
	case REASON_PIN_UNKNOWN:
		return change_pin_unknown;
	case REASON_LOCKED:
		return change_locked;
	case REASON_LIVE:
		return change_live;
	case REASON_RETAINED:
		return change_retained;
	case REASON_UNKNOWN:
		return change_unknown;
	case REASON_UNSAVED_WORK:
		return change_unsaved;
	case REASON_FOREIGN:
		return change_foreign;
	case REASON_REFUSED:
		return change_refused;
	case REASON_CLOCK:
		return change_clock;
	case REASON_HELD:
		return change_held;
	case REASON_BRAKE:
		return change_brake;
	case REASON_BACKOFF:
		return change_backoff;
	case REASON_CHANGED:
	case REASON_FILTERED:
	case REASON_DEFERRED:
		return change_put_off;
	case REASON_OVER_DEADLINE:
		return change_over_deadline;
	case REASON_RESUMED:
		return change_resumed;
	case REASON_FINISHED_OK:
	case REASON_FINISHED_FAILED:
	case REASON_ABANDONED:
	case REASON_ORPHAN:
	case REASON_PRESSURE:
	case REASON_REQUESTED:
		return change_due;
	case REASON_COUNT:
		break;
	}
	abort();
}

void why_changes(
	const struct why_subject *subject, struct arena *arena, struct why_changes *ret_changes)
{
	struct changing changing = { subject, arena, ret_changes };

	*ret_changes = (struct why_changes){ 0 };
	change_of(subject->run->decision.reason)(&changing);
}
