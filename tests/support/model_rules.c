/* What is due, and what is to be expected of a pass. */
#include "model_parts.h"

/* ---- what is due */

/* What a boot or a suspend may add to the end of a lease or deadline. */
static int64_t at_most(const struct model *model, int64_t end_s)
{
	if (!model->disturbed)
		return end_s;
	return later(end_s + GRACE_S,
		(model->disturbance_seen ? model->disturbed_s : model->now_s) + GRACE_S);
}

/* What the first pass after a suspend surely adds. */
static int64_t at_least(const struct model *model, int64_t end_s)
{
	return later(end_s, model->suspended ? model->now_s + GRACE_S : model->graced_s);
}

static enum maybe finished_is_due(
	const struct model *model, const struct model_run *run, const struct pass_way *way)
{
	int64_t end_s = model_created_s(run);
	bool failed = false;

	if (run->row.there) {
		end_s = later(end_s, run->row.finished_s);
		failed |= run->row.failed;
	}
	if (run->marker == MARKER_GOOD) {
		end_s = later(end_s, run->mark.finished_s);
		failed |= run->mark.failed;
	}
	end_s += failed ? KEEP_FAILED_S : KEEP_OK_S;
	return way->early ? YES : since(model->now_s, end_s, end_s);
}

struct activity {
	int64_t sign_least_s, sign_most_s, deadline_s;
	enum maybe lease, past_deadline;
};

static struct activity activity_of(const struct model *model, const struct model_run *run)
{
	struct activity activity = { 0 };
	int64_t end_s;

	if (run->row.there) {
		activity.sign_least_s = run->row.sign_least_s;
		activity.sign_most_s = run->row.sign_most_s;
		activity.deadline_s = run->row.deadline_s;
	}
	if (run->marker == MARKER_GOOD) {
		activity.sign_least_s = later(activity.sign_least_s, run->mark.sign_least_s);
		activity.sign_most_s = later(activity.sign_most_s, run->mark.sign_most_s);
		activity.deadline_s = later(activity.deadline_s, run->mark.deadline_s);
	}
	activity.lease = YES - since(model->now_s, at_least(model, activity.sign_least_s + LEASE_S),
				       at_most(model, activity.sign_most_s + LEASE_S));
	end_s = activity.deadline_s + GRACE_S;
	activity.past_deadline = since(model->now_s, at_least(model, end_s), at_most(model, end_s));
	return activity;
}

/* Neither finished nor orphaned: it goes when it is quiet, and is stopped when it is not. */
static void active_is_due(const struct model *model, const struct model_run *run,
	const struct sight *sight, const struct pass_way *way, struct expectation *ret)
{
	struct activity activity = activity_of(model, run);
	enum maybe box = sight->runs ? model_owns_container(run, sight) : NO;
	enum maybe own = most(run->owner && sight->owner ? YES : NO, box);
	enum maybe live = most(most(own, activity.lease), model_is_occupied(model, run, sight));
	int64_t due_s = later(model_created_s(run), activity.deadline_s);
	enum maybe quiet =
		since(model->now_s, later(due_s, activity.sign_least_s) + KEEP_ABANDONED_S,
			later(due_s, activity.sign_most_s) + KEEP_ABANDONED_S);

	if (way->early)
		quiet = YES;
	ret->stop = least(activity.past_deadline, most(own, activity.lease));
	ret->reap = least(quiet, YES - live);
}

static enum maybe orphan_is_due(const struct model *model, const struct model_run *run,
	const struct sight *sight, const struct pass_way *way)
{
	enum maybe owns = model_owns_tree(model, run, sight);
	int64_t least_s = model->true_s - run->seen_most_s,
		most_s = model->true_s - run->seen_least_s;

	if (sight->container && (!sight->tree || owns == NO) && run->begun == NO &&
		(!sight->record || !model->adopt))
		return run->seen_least_s && most_s >= KEEP_ORPHAN_S - UNSEEN_S ? MAYBE
		       : way->early                                            ? MAYBE
									       : NO;
	if (!sight->tree) /* git's record alone, or what lies in the trash, may be what is seen */
		return (sight->record && model->adopt) || run->begun != NO ? MAYBE : NO;
	if (owns == NO || way->early)
		return least(owns, MAYBE);
	if (!run->seen_least_s || most_s < KEEP_ORPHAN_S - UNSEEN_S)
		return NO;
	return run->seen_most_s && least_s >= KEEP_ORPHAN_S + UNSEEN_S ? owns : MAYBE;
}

/* ---- both */

/* Whether something in the tree exists nowhere else. */
static enum maybe is_unsaved(
	const struct model *model, const struct model_run *run, const struct sight *sight)
{
	bool whole = sight->gitfile && sight->record && sight->branch && run->record;

	if (!sight->tree)
		return NO;
	if (!run->linked)
		return MAYBE; /* nothing says what of it was saved */
	if (sight->dirty || sight->fresh)
		return whole ? YES : MAYBE;
	if (!whole)
		return MAYBE;
	return sight->ahead && model->branch == BRANCH_GOES ? MAYBE : NO;
}

static enum maybe what_keeps(const struct model *model, unsigned number, const struct sight *sight,
	const struct pass_way *way, const char **ret_why)
{
	const struct model_run *run = &model->runs[number];
	const struct {
		enum maybe keeps;
		const char *why;
	} all[] = {
		{ way->only >= 0 && way->only != (int)number ? YES : NO, "another was asked for" },
		{ model_is_held(model), "passes are held" },
		{ model_is_refused(run, sight), "record and world contradict each other" },
		{ model_is_pinned(model, run), "it is pinned" },
		{ model_is_locked(run, sight), "its worktree is locked" },
		{ model_clock_keeps(model, run), "the clock" },
		{ model_is_unseen(model, run, sight), "its engine does not answer" },
		{ run->failed ? MAYBE : NO, "it failed, and waits" },
		{ way->some ? MAYBE : NO, "there may be more than may go" },
	};
	enum maybe keeps = NO;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].keeps > keeps) {
			keeps = all[i].keeps;
			*ret_why = all[i].why;
		}
	return keeps;
}

struct expectation model_expect(const struct model *model, unsigned number,
	const struct sight *sight, const struct pass_way *way)
{
	const struct model_run *run = &model->runs[number];
	struct expectation expected = { .why = "it is due" };
	enum maybe keeps = what_keeps(model, number, sight, way, &expected.why);
	enum maybe unsaved = is_unsaved(model, run, sight);
	enum maybe occupied = model_is_occupied(model, run, sight);

	if (keeps == NO)
		expected.why = "it is not due";
	if (model_is_finished(run))
		expected.reap = finished_is_due(model, run, way);
	else if (model_is_recorded(run))
		active_is_due(model, run, sight, way, &expected);
	else
		expected.reap = orphan_is_due(model, run, sight, way);
	if (run->begun != NO)
		expected.reap = most(expected.reap, MAYBE);
	if (run->begun_stop) {
		expected.reap = least(expected.reap, MAYBE);
		expected.stop = most(expected.stop, MAYBE);
	}
	if (model_is_in_future(model, run) != NO) {
		expected.reap = MAYBE; /* by whatever it is aged by then */
		expected.stop = MAYBE;
	}
	expected.reap = least(expected.reap, YES - keeps);
	expected.stop = least(expected.stop, YES - keeps);
	if (occupied != NO && keeps == NO)
		expected.why = "a process works in its tree";
	expected.reap =
		least(expected.reap, YES - (run->begun != NO ? least(occupied, MAYBE) : occupied));
	if (model->unsaved == UNSAVED_KEPT && unsaved == MAYBE)
		expected.reap = least(expected.reap, MAYBE);
	if (model->engine != ENGINE_WELL && sight->container)
		expected.reap = least(expected.reap, MAYBE); /* it cannot */
	expected.tree_stays = (model->unsaved == UNSAVED_KEPT && unsaved == YES) ||
			      model_owns_tree(model, run, sight) == NO;
	expected.boxed = !model_is_recorded(run) && sight->container &&
			 model_owns_tree(model, run, sight) != YES;
	expected.stuck = model_is_refused(run, sight) != NO;
	expected.stays_whole = expected.reap == NO && expected.stop == NO;
	return expected;
}
