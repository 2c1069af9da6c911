/* What was told: by a harness, a person, and by hand. */
#include "model_parts.h"

int64_t model_created_s(const struct model_run *run)
{
	int64_t row_s = run->row.there ? run->row.created_s : 0;

	return later(row_s, run->marker == MARKER_GOOD ? run->mark.created_s : 0);
}

bool model_is_known(const struct model_run *run)
{
	return run->row.there || run->marker != MARKER_NONE || run->begun != NO;
}

bool model_is_recorded(const struct model_run *run)
{
	return run->row.there || run->marker == MARKER_GOOD;
}

/* The end counts when every record tells it. */
bool model_is_finished(const struct model_run *run)
{
	return model_is_recorded(run) && (!run->row.there || run->row.finished_s) &&
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

void model_finish(struct model_record *record, int64_t now_s, bool failed)
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
		model_finish(&run->row, model->now_s, failed);
		run->begun = NO;
		run->begun_stop = false;
	}
	if (code != 0 || run->marker == MARKER_BAD)
		return;
	if (!run->row.there) {
		if (!run->mark.finished_s)
			model_finish(&run->mark, model->now_s, failed);
		return;
	}
	if (run->marker == MARKER_NONE)
		run->mark = run->row;
	run->marker = MARKER_GOOD;
	model_finish(&run->mark, run->row.finished_s, run->row.failed);
}

void model_forget(struct model_run *run)
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
	if (model_is_recorded(run)) {
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
		model_forget(run);
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
			model_forget(run);
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
