#include "model_rules.h"

/* The settings that model_world.c writes. */
enum {
	LEASE_S = 15 * 60,
	GRACE_S = 5 * 60,
	KEEP_OK_S = 10 * 60,
	KEEP_FAILED_S = 3600,
	KEEP_ABANDONED_S = 3600,
	KEEP_ORPHAN_S = 3600,
	MARK_TTL_S = 3600,
	/* DESIGN, 6.4 */
	STEP_S = 5 * 60,
	FUTURE_WAIT_S = 86400,
	/* Steps too small to be seen move what is counted on the wall clock. */
	UNSEEN_S = 1500
};

static enum maybe most(enum maybe a, enum maybe b)
{
	return a > b ? a : b;
}

static enum maybe least(enum maybe a, enum maybe b)
{
	return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* YES from `most_s` on, NO before `least_s`. */
static enum maybe since(int64_t now_s, int64_t least_s, int64_t most_s)
{
	if (now_s >= most_s)
		return YES;
	return now_s < least_s ? NO : MAYBE;
}

void model_begin(struct model *model, const struct ops *ops, int64_t now_s)
{
	*model = (struct model){
		.unsaved = ops_setting(ops, OP_UNSAVED) % 3,
		.branch = ops_setting(ops, OP_BRANCH) % 3,
		.adopt = ops_setting(ops, OP_ADOPT) != 0,
		.engaged = ops_setting(ops, OP_ENGINE) != 0,
		.braking = ops_setting(ops, OP_BRAKE) != 0,
		.now_s = now_s,
		.true_s = now_s,
		.never = true,
	};
}

/* ---- the host */

/* Else nothing tells how long it slept. */
static bool was_passed_in_this_boot(const struct model *model)
{
	bool all = !model->never;

	for (unsigned i = 0; i < model->clock_count; i++)
		all &= model->clocks[i].boots == model->boots;
	return all;
}

void model_host(struct model *model, const struct op *op, int64_t now_s)
{
	if (op->kind == OP_ENGINE_WAY || op->kind == OP_ENGINE_RESTART) {
		model->engine = op->kind == OP_ENGINE_WAY ? op->value : model->engine;
		return;
	}
	if (op->kind == OP_HOLD || op->kind == OP_RESUME) {
		model->held = op->kind == OP_HOLD;
		model->hold_ended = false;
		model->held_until_s = op->value ? now_s + op->value : 0;
		return;
	}
	if (op->kind == OP_STEP) {
		model->brake = model->brake == UNTRIPPED ? UNTRIPPED : PERHAPS_TRIPPED;
		if (op->value > 0)
			model->disturbed_s += op->value; /* at the latest */
	} else {
		model->true_s += now_s - model->now_s;
	}
	model->now_s = now_s;
	if (op->kind != OP_ADVANCE) {
		model->graced_s = 0;
		model->suspended = op->kind == OP_SUSPEND && was_passed_in_this_boot(model);
	}
	if (op->kind != OP_SUSPEND && op->kind != OP_REBOOT)
		return;
	model->disturbed = true;
	model->disturbance_seen = false;
	model->boots += op->kind == OP_REBOOT;
	for (unsigned run = 0; op->kind == OP_REBOOT && run < OP_RUNS; run++) {
		model->runs[run].owner = false;
		model->runs[run].guest_tree = 0;
	}
}

static enum maybe clock_stepped(const struct model *model)
{
	enum maybe any = NO, all = model->never ? NO : YES;

	for (unsigned i = 0; i < model->clock_count; i++) {
		const struct model_clock *last = &model->clocks[i];
		int64_t step_s = model->now_s - model->true_s - last->skew_s;
		bool stepped = last->boots != model->boots ? model->now_s < last->wall_s - STEP_S
							   : step_s > STEP_S || step_s < -STEP_S;

		any = stepped ? MAYBE : any;
		all = stepped ? all : NO;
	}
	return model->clock_count && all == YES ? YES : any;
}

enum maybe model_is_held(const struct model *model)
{
	if (!model->held || (model->held_until_s && model->held_until_s <= model->now_s))
		return NO;
	return model->hold_ended ? MAYBE : YES;
}

void model_passed(struct model *model, enum pass_end end)
{
	const struct model_clock now = { model->now_s, model->now_s - model->true_s, model->boots };

	if (end != PASS_KILLED) {
		model->clock_count = 0;
		model->never = false;
		if (model->disturbed && !model->disturbance_seen) {
			model->disturbance_seen = true;
			model->disturbed_s = model->now_s;
		}
	}
	if (model->held && model_is_held(model) == NO) {
		model->held = end == PASS_KILLED;
		model->hold_ended = true;
	}
	if (model->suspended)
		model->graced_s = model->now_s + GRACE_S;
	model->suspended = false;
	assert(model->clock_count < CLOCKS_MAX);
	model->clocks[model->clock_count++] = now;
}

/* ---- what was told */

static int64_t created_s(const struct model_run *run)
{
	int64_t row_s = run->row.there ? run->row.created_s : 0;

	return later(row_s, run->marker == MARKER_GOOD ? run->mark.created_s : 0);
}

bool model_is_known(const struct model_run *run)
{
	return run->row.there || run->marker != MARKER_NONE || run->begun != NO;
}

static bool is_recorded(const struct model_run *run)
{
	return run->row.there || run->marker == MARKER_GOOD;
}

/* The end counts when every record tells it. */
static bool is_finished(const struct model_run *run)
{
	return is_recorded(run) && (!run->row.there || run->row.finished_s) &&
	       (run->marker != MARKER_GOOD || run->mark.finished_s);
}

static void told_registered(
	struct model *model, struct model_run *run, const struct op *op, const struct sight *sight)
{
	int64_t now_s = model->now_s;
	bool marked = run->marker == MARKER_GOOD;

	if (!run->row.there) {
		run->row = (struct model_record){
			.there = true,
			.created_s = marked ? run->mark.created_s : now_s,
		};
		run->row.deadline_s = run->row.created_s + op->value;
		run->row.sign_least_s = run->row.created_s;
		run->tree = run->scratch = run->group = run->container = 0;
		run->owner = run->loose = run->failed = false;
	}
	run->row.sign_most_s = now_s;
	if (marked)
		run->mark.deadline_s = later(run->mark.deadline_s, run->row.deadline_s);
	else
		run->mark = run->row;
	run->mark.created_s = run->row.created_s;
	run->mark.sign_least_s = run->mark.sign_most_s = run->mark.created_s;
	run->marker = MARKER_GOOD;
	run->tree = run->tree ? run->tree : sight->tree;
	run->scratch = run->scratch ? run->scratch : sight->scratch;
	run->group = run->group ? run->group : sight->group;
	run->container = run->container ? run->container : sight->container;
	run->owner |= sight->owner;
	run->record |= sight->gitfile && sight->record;
	run->begun = NO;
	run->begun_stop = false;
}

static void told_marked(
	struct model *model, struct model_run *run, const struct op *op, const struct sight *sight)
{
	int64_t made_s = model->now_s - op->value;

	run->marker = MARKER_GOOD;
	run->mark = (struct model_record){
		.there = true,
		.created_s = made_s,
		.deadline_s = made_s + MARK_TTL_S,
		.finished_s = op->kind == OP_MARK_DONE ? model->now_s : 0,
		.sign_least_s = made_s,
		.sign_most_s = made_s,
	};
	run->record |= sight->gitfile && sight->record;
}

static void told_renewed(struct model *model, struct model_run *run, const struct op *op, int code)
{
	bool half = code == 1 && run->row.there && !run->row.finished_s &&
		    run->marker != MARKER_NONE && run->begun == NO;
	int64_t deadline_s = model->now_s + op->value;

	if (code != 0 && !half)
		return;
	if (run->row.there)
		run->row.sign_least_s = run->row.sign_most_s = model->now_s;
	if (op->value && run->row.there)
		run->row.deadline_s = deadline_s;
	if (op->value && code == 0 && run->marker == MARKER_GOOD)
		run->mark.deadline_s = deadline_s;
	run->begun = NO;
	run->begun_stop = false;
}

static void finish(struct model_record *record, int64_t now_s, bool failed)
{
	record->finished_s = now_s;
	record->failed = failed;
}

static void told_finished(struct model *model, struct model_run *run, const struct op *op, int code)
{
	bool failed = op->kind == OP_FINISH_FAILED;
	bool first = run->row.there && !run->row.finished_s;

	if (code == 1 && !(first && run->marker == MARKER_BAD && run->begun == NO))
		return;
	if (first) {
		finish(&run->row, model->now_s, failed);
		run->begun = NO;
		run->begun_stop = false;
	}
	if (code != 0 || run->marker == MARKER_BAD)
		return;
	if (!run->row.there) {
		if (!run->mark.finished_s)
			finish(&run->mark, model->now_s, failed);
		return;
	}
	if (run->marker == MARKER_NONE)
		run->mark = run->row;
	run->marker = MARKER_GOOD;
	finish(&run->mark, run->row.finished_s, run->row.failed);
}

static void forget(struct model_run *run)
{
	run->row.there = run->mark.there = false;
	run->marker = MARKER_NONE;
	run->tree = run->scratch = run->group = run->container = 0;
	run->owner = run->record = run->loose = run->begun_stop = run->failed = false;
	run->begun_untold = run->replaced = false;
	run->begun = NO;
}

static void told_pinned(struct model *model, struct model_run *run, const struct op *op)
{
	run->pinned = YES;
	run->pin_until_s = op->value ? model->now_s + op->value : 0;
	if (run->keep == KEEP_NONE || (run->keep == KEEP_BY_HAND && run->keep_until_s &&
					      run->keep_until_s <= model->now_s))
		run->keep = KEEP_MIRROR; /* what was made by hand is somebody's own */
	if (is_recorded(run)) {
		run->begun = NO;
		run->begun_stop = false;
	}
}

static void done_by_hand(struct model *model, struct model_run *run, const struct op *op,
	const struct sight *before, const struct sight *after)
{
	switch ((int)op->kind) {
	case OP_TREE:
	case OP_PLAIN:
	case OP_RECREATE:
	case OP_PASS_RECREATE:
		if (before->tree != after->tree)
			run->linked = op->kind == OP_TREE;
		break;
	case OP_CONTAINER:
		if (before->container != after->container)
			run->container_s = model->now_s;
		break;
	case OP_GUEST:
		if (!before->guest && after->guest)
			run->guest_tree = after->tree;
		break;
	case OP_CRASH:
		run->owner = false;
		run->guest_tree = 0;
		break;
	case OP_MARK:
	case OP_MARK_DONE:
		told_marked(model, run, op, after);
		break;
	case OP_MARK_FOREIGN:
	case OP_MARK_CUT:
	case OP_MARK_OTHER:
	case OP_MARK_RUBBISH:
		run->marker = after->marker ? MARKER_BAD : MARKER_NONE;
		break;
	case OP_LOSE_MARKER:
		run->marker = MARKER_NONE;
		break;
	case OP_KEEP:
	case OP_PASS_KEEP:
		run->keep = KEEP_BY_HAND;
		run->keep_until_s = op->value && op->kind == OP_KEEP ? model->now_s + op->value : 0;
		break;
	case OP_KEEP_RUBBISH:
		run->keep = KEEP_BAD;
		break;
	default: /* the world alone */
		break;
	}
}

/* Markers and pins are all that is left of what was told; a marker names no process and no inode. */
static void run_books_lost(struct model *model, struct model_run *run, const struct sight *sight)
{
	enum maybe begun = run->begun;
	bool marked = run->marker == MARKER_GOOD, bad = run->marker == MARKER_BAD;

	run->seen_least_s = run->seen_most_s = run->future_s = 0;
	run->tombstones = run->untold = 0;
	if (!sight->keep) {
		run->pinned = NO;
		run->keep = KEEP_NONE;
	} else if (run->keep == KEEP_BY_HAND) {
		run->pinned = MAYBE;
		run->pin_until_s = run->keep_until_s;
	}
	if (!marked) {
		forget(run);
		run->marker = bad ? MARKER_BAD : MARKER_NONE;
		run->begun = begun;
		run->begun_untold = begun != NO;
		return;
	}
	run->begun_untold = begun != NO && !sight->marker; /* only the tombstone was left to do */
	run->row = run->mark;
	run->row.sign_most_s = model->now_s;
	run->tree = 0;
	run->owner = false;
	run->loose = true;
}

void model_books_lost(struct model *model, const struct sight *sights)
{
	model->never = true;
	model->clock_count = 0;
	model->disturbance_seen = false;
	model->suspended = false;
	model->graced_s = 0;
	model->held = false;
	model->brake = UNTRIPPED;
	for (unsigned run = 0; run < OP_RUNS; run++)
		run_books_lost(model, &model->runs[run], &sights[run]);
}

void model_run_told(struct model *model, const struct op *op, int code, const struct sight *before,
	const struct sight *after)
{
	struct model_run *run = &model->runs[op->run];

	switch ((int)op->kind) {
	case OP_REGISTER:
		if (code == 0)
			told_registered(model, run, op, after);
		break;
	case OP_RENEW:
		told_renewed(model, run, op, code);
		break;
	case OP_FINISH_OK:
	case OP_FINISH_FAILED:
		told_finished(model, run, op, code);
		break;
	case OP_FORGET:
		if (code == 0)
			forget(run);
		break;
	case OP_PIN:
		if (code == 0)
			told_pinned(model, run, op);
		break;
	case OP_UNPIN:
		if (code == 0) {
			run->pinned = NO;
			run->keep = KEEP_NONE;
		}
		break;
	default:
		done_by_hand(model, run, op, before, after);
		break;
	}
}

/* ---- what keeps it */

static enum maybe is_pinned(const struct model *model, const struct model_run *run)
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
static enum maybe owns_tree(
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
static enum maybe is_refused(const struct model_run *run, const struct sight *sight)
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

static enum maybe is_locked(const struct model_run *run, const struct sight *sight)
{
	if (!sight->locked)
		return NO;
	return run->linked && run->record && sight->tree && sight->gitfile ? YES : MAYBE;
}

static enum maybe is_occupied(
	const struct model *model, const struct model_run *run, const struct sight *sight)
{
	if (!sight->guest || !run->guest_tree)
		return NO;
	if (run->guest_tree != sight->tree)
		return run->begun != NO ? MAYBE : NO;
	return owns_tree(model, run, sight) == YES ? YES : MAYBE;
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
static enum maybe owns_container(const struct model_run *run, const struct sight *sight)
{
	int64_t end_s = earlier_end_s(run);

	if (!sight->container)
		return NO;
	if (run->loose || !is_recorded(run) || run->begun != NO)
		return MAYBE;
	if (run->row.there && run->container == sight->container)
		return YES;
	return run->container_s > created_s(run) && (!end_s || run->container_s < end_s) ? YES
											 : MAYBE;
}

/* P4: of what an engine does not tell, nothing is known, but of a run that it once had nothing of. */
static enum maybe is_unseen(
	const struct model *model, const struct model_run *run, const struct sight *sight)
{
	bool seen = model->engine == ENGINE_WELL || model->engine >= ENGINE_REMOVAL_FAILS;

	if (!model->engaged || seen)
		return NO;
	if (run->begun != NO || !is_recorded(run))
		return MAYBE;
	return !is_finished(run) || owns_container(run, sight) == YES ? YES : MAYBE;
}

static enum maybe is_in_future(const struct model *model, const struct model_run *run)
{
	int64_t limit_s = model->now_s + STEP_S, surely_s = created_s(run), perhaps_s;

	if (!is_recorded(run))
		return NO;
	perhaps_s = surely_s;
	if (run->row.there) {
		surely_s = later(surely_s, run->row.sign_least_s);
		perhaps_s = later(perhaps_s, run->row.sign_most_s);
		perhaps_s = later(perhaps_s, run->row.finished_s);
	}
	if (run->marker == MARKER_GOOD)
		perhaps_s = later(perhaps_s, run->mark.finished_s);
	if (is_finished(run))
		surely_s = later(
			surely_s, later(run->row.there ? run->row.finished_s : 0,
					  run->marker == MARKER_GOOD ? run->mark.finished_s : 0));
	if (surely_s > limit_s)
		return YES;
	return perhaps_s > limit_s ? MAYBE : NO;
}

static enum maybe clock_keeps(const struct model *model, const struct model_run *run)
{
	enum maybe keeps = clock_stepped(model);

	if (is_in_future(model, run) != NO &&
		(!run->future_s || model->true_s - run->future_s < FUTURE_WAIT_S + UNSEEN_S))
		keeps = most(keeps,
			run->future_s && model->true_s - run->future_s >= FUTURE_WAIT_S - UNSEEN_S
				? MAYBE
				: is_in_future(model, run));
	return run->begun != NO ? least(keeps, MAYBE) : keeps; /* a begun claim comes first */
}

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
	int64_t end_s = created_s(run);
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
	enum maybe box = sight->runs ? owns_container(run, sight) : NO;
	enum maybe own = most(run->owner && sight->owner ? YES : NO, box);
	enum maybe live = most(most(own, activity.lease), is_occupied(model, run, sight));
	int64_t due_s = later(created_s(run), activity.deadline_s);
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
	enum maybe owns = owns_tree(model, run, sight);
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
		{ is_refused(run, sight), "record and world contradict each other" },
		{ is_pinned(model, run), "it is pinned" },
		{ is_locked(run, sight), "its worktree is locked" },
		{ clock_keeps(model, run), "the clock" },
		{ is_unseen(model, run, sight), "its engine does not answer" },
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
	enum maybe occupied = is_occupied(model, run, sight);

	if (keeps == NO)
		expected.why = "it is not due";
	if (is_finished(run))
		expected.reap = finished_is_due(model, run, way);
	else if (is_recorded(run))
		active_is_due(model, run, sight, way, &expected);
	else
		expected.reap = orphan_is_due(model, run, sight, way);
	if (run->begun != NO)
		expected.reap = most(expected.reap, MAYBE);
	if (run->begun_stop) {
		expected.reap = least(expected.reap, MAYBE);
		expected.stop = most(expected.stop, MAYBE);
	}
	if (is_in_future(model, run) != NO) {
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
			      owns_tree(model, run, sight) == NO;
	expected.boxed =
		!is_recorded(run) && sight->container && owns_tree(model, run, sight) != YES;
	expected.stuck = is_refused(run, sight) != NO;
	expected.stays_whole = expected.reap == NO && expected.stop == NO;
	return expected;
}

/* ---- after a pass */

bool model_is_gone(const struct model *model, unsigned number, const struct sight *sight)
{
	const struct model_run *run = &model->runs[number];

	return owns_container(run, sight) != YES &&
	       (!sight->tree || owns_tree(model, run, sight) == NO) &&
	       (!sight->scratch || !run->scratch || run->loose) && !sight->marker &&
	       (!sight->group || !run->group || run->loose) && (!sight->record || !run->record);
}

static void note_sighting(
	struct model *model, struct model_run *run, const struct sight *sight, enum pass_end end)
{
	bool by_sight = !is_recorded(run) &&
			(sight->tree || sight->record || sight->container || run->begun != NO);
	bool future = is_in_future(model, run) != NO;

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
	if (end == PASS_KILLED || clock_stepped(model) != NO) {
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
		finish(&run->row, model->now_s, true);
	if (run->marker == MARKER_GOOD)
		finish(&run->mark, model->now_s, true);
	run->begun_stop = false;
}

/* What no run owns, a group of that name say, may still be listed under its name. */
static bool went_unseen(
	const struct model_run *run, const struct told_run *told, const struct sight *after)
{
	bool was = is_recorded(run) ||
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
	forget(run);
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
		   !is_finished(run) && expected->stop != NO) {
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
