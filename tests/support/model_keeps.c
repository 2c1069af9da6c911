/* What keeps a run. */
#include "model_parts.h"

enum maybe model_is_pinned(const struct model *model, const struct model_run *run)
{
	int64_t now_s = model->now_s;
	enum maybe by_row = run->pinned;

	if (run->pin_until_s && run->pin_until_s <= now_s)
		by_row = NO;
	if (run->keep == KEEP_BAD)
		return YES;
	if (run->keep == KEEP_BY_HAND && (!run->keep_until_s || run->keep_until_s > now_s))
		return YES;
	return by_row;
}

/* Whether the tree that stands is the run's. */
enum maybe model_owns_tree(
	const struct model *model, const struct model_run *run, const struct sight *sight)
{
	bool adopted = model->adopt && run->linked;

	if (run->row.there && run->tree && !run->loose)
		return run->tree == sight->tree ? YES : NO;
	if (run->marker == MARKER_GOOD)
		return YES;
	if (run->loose)
		return MAYBE;
	if (run->row.there || run->begun != NO)
		return adopted ? MAYBE : NO;
	if (!adopted)
		return NO;
	return sight->gitfile && sight->record ? YES : MAYBE;
}

/* Row and world contradict each other, or a record is none. */
enum maybe model_is_refused(const struct model_run *run, const struct sight *sight)
{
	bool other = (run->tree && sight->tree && run->tree != sight->tree) ||
		     (run->group && sight->group && run->group != sight->group) ||
		     (run->scratch && sight->scratch && run->scratch != sight->scratch);

	if (run->marker == MARKER_BAD)
		return YES;
	if (run->replaced)
		return MAYBE; /* its row had come to know the first one */
	if (!run->row.there || !other)
		return NO;
	return run->loose ? MAYBE : YES;
}

enum maybe model_is_locked(const struct model_run *run, const struct sight *sight)
{
	if (!sight->locked)
		return NO;
	return run->linked && run->record && sight->tree && sight->gitfile ? YES : MAYBE;
}

enum maybe model_is_occupied(
	const struct model *model, const struct model_run *run, const struct sight *sight)
{
	if (!sight->guest || !run->guest_tree)
		return NO;
	if (run->guest_tree != sight->tree)
		return run->begun != NO ? MAYBE : NO;
	return model_owns_tree(model, run, sight) == YES ? YES : MAYBE;
}

static int64_t earlier_end_s(const struct model_run *run)
{
	int64_t row_s = run->row.there ? run->row.finished_s : 0;
	int64_t mark_s = run->marker == MARKER_GOOD ? run->mark.finished_s : 0;

	if (!row_s || !mark_s)
		return later(row_s, mark_s);
	return row_s < mark_s ? row_s : mark_s;
}

/* By its record, or by its label and because it was made while the run went on. */
enum maybe model_owns_container(const struct model_run *run, const struct sight *sight)
{
	int64_t end_s = earlier_end_s(run);

	if (!sight->container)
		return NO;
	if (run->loose || !model_is_recorded(run) || run->begun != NO)
		return MAYBE;
	if (run->row.there && run->container == sight->container)
		return YES;
	return run->container_s > model_created_s(run) && (!end_s || run->container_s < end_s)
		       ? YES
		       : MAYBE;
}

/* P4: of what an engine does not tell, nothing is known, but of a run that it once had nothing of. */
enum maybe model_is_unseen(
	const struct model *model, const struct model_run *run, const struct sight *sight)
{
	bool seen = model->engine == ENGINE_WELL || model->engine >= ENGINE_REMOVAL_FAILS;

	if (!model->engaged || seen)
		return NO;
	if (run->begun != NO || !model_is_recorded(run))
		return MAYBE;
	return !model_is_finished(run) || model_owns_container(run, sight) == YES ? YES : MAYBE;
}

enum maybe model_is_in_future(const struct model *model, const struct model_run *run)
{
	int64_t limit_s = model->now_s + STEP_S, surely_s = model_created_s(run), perhaps_s;

	if (!model_is_recorded(run))
		return NO;
	perhaps_s = surely_s;
	if (run->row.there) {
		surely_s = later(surely_s, run->row.sign_least_s);
		perhaps_s = later(perhaps_s, run->row.sign_most_s);
		perhaps_s = later(perhaps_s, run->row.finished_s);
	}
	if (run->marker == MARKER_GOOD)
		perhaps_s = later(perhaps_s, run->mark.finished_s);
	if (model_is_finished(run))
		surely_s = later(
			surely_s, later(run->row.there ? run->row.finished_s : 0,
					  run->marker == MARKER_GOOD ? run->mark.finished_s : 0));
	if (surely_s > limit_s)
		return YES;
	return perhaps_s > limit_s ? MAYBE : NO;
}

enum maybe model_clock_keeps(const struct model *model, const struct model_run *run)
{
	enum maybe keeps = model_clock_stepped(model);

	if (model_is_in_future(model, run) != NO &&
		(!run->future_s || model->true_s - run->future_s < FUTURE_WAIT_S + UNSEEN_S))
		keeps = most(keeps,
			run->future_s && model->true_s - run->future_s >= FUTURE_WAIT_S - UNSEEN_S
				? MAYBE
				: model_is_in_future(model, run));
	return run->begun != NO ? least(keeps, MAYBE) : keeps; /* a begun claim comes first */
}
