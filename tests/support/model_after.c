/* What a pass leaves the model with. */
#include "model_parts.h"

bool model_is_gone(const struct model *model, unsigned number, const struct sight *sight)
{
	const struct model_run *run = &model->runs[number];

	return model_owns_container(run, sight) != YES &&
	       (!sight->tree || model_owns_tree(model, run, sight) == NO) &&
	       (!sight->scratch || !run->scratch || run->loose) && !sight->marker &&
	       (!sight->group || !run->group || run->loose) && (!sight->record || !run->record);
}

static void note_sighting(
	struct model *model, struct model_run *run, const struct sight *sight, enum pass_end end)
{
	bool by_sight = !model_is_recorded(run) &&
			(sight->tree || sight->record || sight->container || run->begun != NO);
	bool future = model_is_in_future(model, run) != NO;

	if (by_sight && !run->seen_least_s)
		run->seen_least_s = model->true_s;
	if (by_sight && !run->seen_most_s && end != PASS_KILLED)
		run->seen_most_s = model->true_s;
	if (!by_sight && end != PASS_KILLED)
		run->seen_least_s = run->seen_most_s = 0;
	if (future && !run->future_s)
		run->future_s = model->true_s;
	if (!future && end != PASS_KILLED)
		run->future_s = 0;
}

static void note_pin_end(struct model *model, struct model_run *run, enum pass_end end)
{
	if (run->pinned == NO || !run->pin_until_s || run->pin_until_s > model->now_s)
		return;
	if (end == PASS_KILLED || model_clock_stepped(model) != NO) {
		run->pinned = MAYBE; /* it is over, but perhaps still on record */
		return;
	}
	run->pinned = NO;
	if (run->keep == KEEP_MIRROR)
		run->keep = KEEP_NONE;
}

static void note_stop(struct model *model, struct model_run *run)
{
	if (run->row.there)
		model_finish(&run->row, model->now_s, true);
	if (run->marker == MARKER_GOOD)
		model_finish(&run->mark, model->now_s, true);
	run->begun_stop = false;
}

/* What no run owns, a group of that name say, may still be listed under its name. */
static bool went_unseen(
	const struct model_run *run, const struct told_run *told, const struct sight *after)
{
	bool was = model_is_recorded(run) ||
		   (run->seen_least_s && !after->tree && !after->record && !after->container);

	if (!told)
		return was;
	return was && text_equal(told->state, "unregistered") &&
	       (text_equal(told->reason, "foreign") || after->container);
}

/* What is left of a run that was but its container is a tree that is nobody's. */
static bool container_went(
	const struct expectation *expected, const struct told_run *told, const struct sight *after)
{
	return expected->boxed && !after->container && told &&
	       text_equal(told->state, "unregistered") && text_equal(told->reason, "foreign");
}

static void went(struct model_run *run)
{
	run->untold += run->begun_untold;
	model_forget(run);
	run->gone++;
	run->tombstones++;
}

void model_run_passed(struct model *model, unsigned number, const struct expectation *expected,
	const struct told_run *told, const struct sight *after, enum pass_end end)
{
	struct model_run *run = &model->runs[number];

	note_pin_end(model, run, end);
	if (told && text_equal(told->result, "reaped") && end != PASS_KILLED) {
		went(run);
	} else if (end == PASS_KILLED && expected->reap != NO &&
		   ((went_unseen(run, told, after) && model_is_gone(model, number, after)) ||
			   container_went(expected, told, after))) {
		went(run);
	} else if (end != PASS_KILLED && told && text_equal(told->verdict, "stop") &&
		   text_equal(told->result, "kept")) {
		note_stop(model, run);
		run->begun = NO;
	} else if (end == PASS_KILLED && told && text_equal(told->state, "finished") &&
		   !model_is_finished(run) && expected->stop != NO) {
		note_stop(model, run);
	} else if (end != PASS_KILLED && (!told || (text_equal(told->verdict, "keep") &&
							   !text_equal(told->state, "claimed") &&
							   !text_equal(told->result, "partial")))) {
		run->begun = NO; /* nothing was, or it was void */
		run->begun_stop = false;
	} else if (end == PASS_KILLED || (told && (text_equal(told->result, "failed") ||
							  text_equal(told->result, "partial")))) {
		if (!expected->stays_whole)
			run->begun = most(run->begun, MAYBE);
		run->begun_stop |= expected->stop != NO;
	}
	if (told && text_equal(told->result, "failed"))
		run->failed = true;
	if (end == PASS_KILLED && expected->reap != NO && after->container)
		run->failed = true;
	note_sighting(model, run, after, end);
}
