/* The host: its boots and clocks, and what a pass can know of them. */
#include "model_parts.h"

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

enum maybe model_clock_stepped(const struct model *model)
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
