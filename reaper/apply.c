#include "apply.h"

#include "apply_marker.h"
#include "apply_teardown.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/pathname.h"
#include "facts.h"
#include "inventory.h"
#include "os/dir.h"
#include "os/signals.h"
#include "policy.h"
#include "state/failures.h"
#include "state/history.h"
#include "state/marker.h"
#include "state/runs.h"

#include <errno.h>

static void tell(struct run *run, struct arena *arena, enum result result, const char *error)
{
	run->result = result;
	run->error = arena_dup(arena, error);
}

/* History of what was not the end of the run; its own failure is the database's. */
static int note_history(const struct teardown *teardown, const char *action, const struct run *run,
	const char *detail, struct error *error)
{
	const struct history_entry entry = {
		.at_s = clock_wall_s(),
		.pass = teardown->application->pass,
		.run = run->id,
		.generation = teardown->run->row ? teardown->run->row->generation : 0,
		.action = action,
		.reason = reason_name(run->decision.reason),
		.detail = detail,
		.bytes = run->bytes_freed,
	};

	return history_add(teardown->application->world->store, &entry, error);
}

/* All that could be done was: whatever failed before is over. */
static int end_failures(const struct teardown *teardown, struct run *run, struct error *error)
{
	run->failures = NULL;
	return failures_clear(teardown->application->world->store, run->id, error);
}

/* The tree stays: everything else went as decided, and from now on a person is needed. */
static int end_partial(struct teardown *teardown, struct run *run, struct arena *arena,
	const char *why, struct error *error)
{
	struct store *store = teardown->application->world->store;
	int r;

	tell(run, arena, RESULT_PARTIAL, why);
	r = note_history(teardown, "partial", run, why, error);
	if (r < 0 || teardown->kept_by_hand || teardown->stopped)
		return r; /* the claim stays begun: when the .keep goes, or next time, the rest goes on */
	r = end_failures(teardown, run, error);
	if (r < 0)
		return r;
	return runs_release(store, teardown->application->pass, run->id, error);
}

/* Unsaved work stays. When there was nothing but the tree, the run is simply kept. */
static int end_unsaved(
	struct teardown *teardown, struct run *run, struct arena *arena, struct error *error)
{
	int r;

	if (teardown->run->facts.others_present)
		return end_partial(teardown, run, arena, teardown->unsaved, error);
	run->decision.verdict = VERDICT_KEEP;
	run->decision.reason = REASON_UNSAVED_WORK;
	tell(run, arena, RESULT_KEPT, teardown->unsaved);
	r = note_history(teardown, "kept", run, teardown->unsaved, error);
	if (r >= 0)
		r = end_failures(teardown, run, error);
	if (r < 0)
		return r;
	return runs_release(
		teardown->application->world->store, teardown->application->pass, run->id, error);
}

/* The run is not what the plan saw. A claim that an earlier pass had begun stays what it is. */
static int keep_changed(struct teardown *teardown, struct run *run, struct arena *arena,
	enum reason reason, const char *why, struct error *error)
{
	run->decision.verdict = VERDICT_KEEP;
	run->decision.reason = reason;
	tell(run, arena, RESULT_KEPT, why);
	if (run->facts.claim == CLAIM_BEGUN_REAP || run->facts.claim == CLAIM_BEGUN_STOP)
		return 0;
	return runs_release(
		teardown->application->world->store, teardown->application->pass, run->id, error);
}

static bool ended_early(const struct teardown *teardown)
{
	return teardown->stopped || teardown->kept_by_hand || teardown->marker_changed;
}

/* What ended the steps of a run before they were through. */
static const struct ending {
	enum reason reason;
	const char *why;
} ending_stopped = { REASON_DEFERRED, "this pass was asked to stop" },
  ending_kept = { REASON_PINNED, "a .keep appeared" },
  ending_keep_unread = { REASON_PIN_UNKNOWN, "whether there is a .keep could not be seen" },
  ending_marker = { REASON_CHANGED, "its marker was changed" },
  ending_marker_unread = { REASON_UNKNOWN, "its marker could not be read" };

static const struct ending *ending_of(const struct teardown *teardown)
{
	if (teardown->stopped)
		return &ending_stopped;
	if (teardown->kept_by_hand)
		return teardown->unread ? &ending_keep_unread : &ending_kept;
	return teardown->unread ? &ending_marker_unread : &ending_marker;
}

/*
 * A signal, a person or a harness ended the steps. Where none had done anything, the claim is given
 * back; and so is that on a run whose name means another one by now: what was set aside goes with its
 * trash.
 */
static int end_early(struct teardown *teardown, struct run *run, struct arena *arena,
	const char *what, struct error *error)
{
	const struct error *step = &teardown->error;
	const struct ending *ending = ending_of(teardown);
	const char *why;

	why = arena_printf(&teardown->seen.arena, "%s while it was %s%s%s%s", ending->why, what,
		teardown->stopped ? "; the next one goes on" : "",
		teardown->stopped && step->code ? ": " : "",
		teardown->stopped && step->code ? step->text : "");
	if (!teardown->acted)
		return keep_changed(teardown, run, arena, ending->reason, why, error);
	return end_partial(teardown, run, arena, why, error);
}

/* What this pass has done to the run, in all the rounds so far. */
static void count_done(const struct teardown *teardown, struct run *run)
{
	run->bytes_freed += teardown->bytes_freed;
	run->entries_deleted += teardown->entries_deleted;
	run->steps_done += teardown->steps_done;
}

static int end_interrupted(struct teardown *teardown, struct run *run, struct arena *arena)
{
	bool progressed = run->steps_done || run->entries_deleted || run->bytes_freed;
	char steps[COUNT_TEXT], entries[COUNT_TEXT];

	(void)count_format(steps, run->steps_done, "step");
	(void)count_format(entries, run->entries_deleted, "entry");
	tell(run, arena, progressed ? RESULT_PARTIAL : RESULT_FAILED,
		arena_printf(arena,
			"its time ran out after %s and %s deleted; the next pass goes on: %s",
			steps, entries, teardown->error.text));
	return APPLY_INTERRUPTED;
}

/* Something stood in the way, or it was broken off before its end. */
static int end_unfinished(
	struct teardown *teardown, struct run *run, struct arena *arena, struct error *error)
{
	if (teardown->ran_out)
		return end_interrupted(teardown, run, arena);
	tell(run, arena, RESULT_FAILED, teardown->error.text);
	return note_history(teardown, "failed", run, teardown->error.text, error);
}

/* Salvage lacked something for the moment: tried again as what failed is; until then it may be pinned. */
static int end_lacking(
	struct teardown *teardown, struct run *run, struct arena *arena, struct error *error)
{
	int r;

	tell(run, arena, RESULT_FAILED, teardown->error.text);
	r = note_history(teardown, "failed", run, teardown->error.text, error);
	if (r < 0)
		return r;
	return runs_release(
		teardown->application->world->store, teardown->application->pass, run->id, error);
}

static int reap_begun(
	struct teardown *teardown, struct run *run, struct arena *arena, struct error *error)
{
	int r = teardown_all(teardown);

	count_done(teardown, run);
	if (ended_early(teardown))
		return end_early(teardown, run, arena, "taken apart", error);
	if (r >= 0 && teardown->lacking)
		return end_lacking(teardown, run, arena, error);
	if (r >= 0 && teardown->unsaved)
		return end_unsaved(teardown, run, arena, error);
	if (r >= 0)
		r = teardown_verify(teardown);
	if (r < 0 && teardown->stopped)
		return end_early(teardown, run, arena, "looked at for the last time", error);
	if (r >= 0)
		r = marker_drop(teardown);
	if (r < 0)
		return end_unfinished(teardown, run, arena, error);
	r = runs_reaped(teardown->application->world->store, teardown->application->pass, run,
		clock_wall_s(), error);
	if (r < 0)
		return r;
	run->failures = NULL;
	tell(run, arena, RESULT_REAPED, NULL);
	return APPLY_DONE;
}

static int stop_begun(
	struct teardown *teardown, struct run *run, struct arena *arena, struct error *error)
{
	int64_t now_s;
	int r = teardown_stop(teardown);

	count_done(teardown, run);
	if (ended_early(teardown))
		return end_early(teardown, run, arena, "stopped", error);
	now_s = clock_wall_s();
	if (r >= 0)
		r = marker_stopped(teardown, now_s);
	if (r < 0)
		return end_unfinished(teardown, run, arena, error);
	r = runs_stopped(teardown->application->world->store, teardown->application->pass, run,
		now_s, error);
	if (r < 0)
		return r;
	run->failures = NULL;
	tell(run, arena, RESULT_KEPT, NULL);
	return APPLY_DONE;
}

static bool run_has_proven(const struct run *run, const struct resource *resource)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (resource_is(&run->resources[i], resource) &&
			resource_proven(&run->resources[i]))
			return true;
	return false;
}

/* What was set aside under this very claim, by this pass or one before. */
static bool set_aside_by_claim(
	const struct teardown *teardown, const struct run *planned, const struct resource *resource)
{
	return resource->proof == PROOF_TRASH && planned->facts.claim == CLAIM_BEGUN_REAP &&
	       planned->row && planned->row->generation == resource->generation &&
	       teardown->run->row && teardown->run->row->generation == resource->generation;
}

/*
 * MUST 9. A tree that only its place proves is left alone; anything else that is new is a reason to
 * come back: it may be alive in the tree. The text says what it is; NULL: nothing.
 */
static const char *leave_unplanned(struct teardown *teardown, const struct run *planned)
{
	for (size_t i = 0; i < teardown->run->resource_count; i++) {
		struct resource *resource = &teardown->run->resources[i];

		if (!resource_proven(resource) || run_has_proven(planned, resource) ||
			set_aside_by_claim(teardown, planned, resource))
			continue;
		if (resource->proof != PROOF_ADOPTED)
			return arena_printf(&teardown->seen.arena, "it has a new %s, %s",
				kind_name(resource->kind), resource->locator);
		resource->proof = PROOF_NONE;
	}
	return NULL;
}

/* MUST 1: looks again at this run alone. What is unsaved is asked after everything is stopped. */
static int look_again(struct teardown *teardown, const struct run *planned, struct error *error)
{
	const struct world *world = teardown->application->world;
	char *id = arena_dup(&teardown->seen.arena, planned->id);
	const struct text_list early = { .items = &id, .count = planned->facts.requested };
	const struct inventory_request request = {
		.only = planned->id,
		.early = &early,
		.work = WORK_LEAVE,
	};
	int r = inventory_gather(&teardown->seen, world, &request, error);
	struct question question;

	if (r < 0)
		return r;
	teardown->run = inventory_run(&teardown->seen, planned->id);
	teardown->run->facts.work = planned->facts.work;
	teardown->run->facts.pressed = planned->decision.reason == REASON_PRESSURE;
	question = inventory_question(&teardown->seen, world, teardown->run);
	teardown->run->decision = policy_decide(&question);
	return 0;
}

/* What the second look said, in words. */
static const char *changed_text(struct teardown *teardown)
{
	const struct run *run = teardown->run;
	const char *why = run->fault ? run->fault : run->live_note;

	return arena_printf(&teardown->seen.arena, "now it is %s, %s%s%s",
		verdict_name(run->decision.verdict), reason_name(run->decision.reason),
		why ? ": " : "", why ? why : "");
}

/*
 * What was not as it had been is `changed`, and the next pass decides anew. But what could not be seen
 * the second time, or needs a person now, says so itself: the exit code has to tell.
 */
static enum reason reason_of_change(const struct run *seen)
{
	static const enum reason telling[] = { REASON_UNKNOWN, REASON_REFUSED, REASON_PIN_UNKNOWN,
		REASON_CLOCK };

	for (size_t i = 0; i < ARRAY_SIZE(telling); i++)
		if (seen->decision.reason == telling[i])
			return telling[i];
	return REASON_CHANGED;
}

static enum claim goal_of(const struct run *run)
{
	return run->decision.verdict == VERDICT_STOP ? CLAIM_BEGUN_STOP : CLAIM_BEGUN_REAP;
}

static int apply_claimed(
	struct teardown *teardown, struct run *run, struct arena *arena, struct error *error)
{
	const struct application *application = teardown->application;
	int r = look_again(teardown, run, error);
	const char *unplanned = r < 0 ? NULL : leave_unplanned(teardown, run);
	enum tri changed;

	if (r < 0)
		return r;
	teardown->stopped =
		signals_stop_wanted(); /* what did not answer may have been broken off */
	if (teardown->stopped)
		return end_early(teardown, run, arena, "looked at again", error);
	if (unplanned)
		return keep_changed(teardown, run, arena, REASON_CHANGED, unplanned, error);
	if (teardown->run->decision.verdict != run->decision.verdict)
		return keep_changed(teardown, run, arena, reason_of_change(teardown->run),
			changed_text(teardown), error);
	changed = marker_says_same(teardown->run->marker, run->marker) ? marker_changed(teardown)
								       : TRI_YES;
	teardown->marker_changed = changed != TRI_NO;
	teardown->unread = changed == TRI_UNKNOWN;
	if (teardown->marker_changed) {
		const struct ending *ending = ending_of(teardown);

		return keep_changed(teardown, run, arena, ending->reason, ending->why, error);
	}
	r = runs_begin(application->world->store, application->pass, run->id, goal_of(run),
		clock_wall_s(), error); /* MUST 2 */
	if (r == -EPERM || r == -ESTALE) {
		const char *why = r == -ESTALE ? arena_dup(arena, error->text) : NULL;

		*error = (struct error){ 0 };
		return keep_changed(teardown, run, arena,
			r == -EPERM ? REASON_PINNED : REASON_CHANGED, why, error);
	}
	if (r < 0)
		return r;
	return run->decision.verdict == VERDICT_STOP ? stop_begun(teardown, run, arena, error)
						     : reap_begun(teardown, run, arena, error);
}

int apply_run(const struct application *application, struct run *run, struct arena *arena,
	struct error *error)
{
	struct application own = *application;
	struct teardown teardown = { .application = &own };
	int r = runs_claim(application->world->store, application->pass, run, goal_of(run),
		clock_wall_s(), error);

	if (r == -EPERM || r == -ESTALE || r == -EADDRINUSE) {
		tell(run, arena, RESULT_KEPT, error->text);
		*error = (struct error){ 0 };
		run->decision.verdict = VERDICT_KEEP;
		run->decision.reason = r == -EPERM    ? REASON_PINNED
				       : r == -ESTALE ? REASON_CHANGED
						      : REASON_REFUSED;
		return 0;
	}
	if (r < 0)
		return r;
	r = apply_claimed(&teardown, run, arena, error);
	if (teardown.salvaged)
		run->salvaged = arena_dup(arena, teardown.salvaged);
	inventory_done(&teardown.seen);
	return r;
}
