#include "model_rules.h"

/* The settings that model_world.c writes; of four runs three are more than half. */
enum { BRAKE_RUNS = 2, BRAKE_HOLD_S = 15 * 60 };

static bool is_asked(const struct model *model, const struct pass_way *way)
{
	return model->braking && way->only < 0 && model_is_held(model) == NO;
}

static void count(const struct expectation *runs, struct model_braking *braking)
{
	for (unsigned run = 0; run < OP_RUNS; run++) {
		const struct expectation *due = &runs[run];

		braking->surely += due->stop == YES || (due->reap == YES && !due->tree_stays);
		braking->perhaps += due->stop != NO || due->reap != NO;
	}
}

/* Held back from when it trips for so long; then all goes until nearly nothing is due any more. */
static enum maybe holds(const struct model *model, const struct model_braking *braking)
{
	if (braking->perhaps == 0)
		return NO;
	switch (model->brake) {
	case UNTRIPPED:
		if (braking->surely > BRAKE_RUNS)
			return YES;
		return braking->perhaps > BRAKE_RUNS ? MAYBE : NO;
	case TRIPPED:
		if (braking->surely == 0)
			return MAYBE;
		return model->now_s - model->brake_s < BRAKE_HOLD_S ? YES : NO;
	case PERHAPS_TRIPPED:
		break;
	}
	return MAYBE;
}

static void hold_back(struct expectation *run, enum maybe held)
{
	enum maybe at_most = YES - held;

	if (held == NO || (run->reap == NO && run->stop == NO))
		return;
	run->why = "the brake";
	run->reap = run->reap < at_most ? run->reap : at_most;
	run->stop = run->stop < at_most ? run->stop : at_most;
	run->stays_whole = run->reap == NO && run->stop == NO;
}

struct model_braking model_brake_expect(
	const struct model *model, const struct pass_way *way, struct expectation *runs)
{
	struct model_braking braking = { .holds = NO };

	if (!is_asked(model, way))
		return braking;
	count(runs, &braking);
	braking.holds = holds(model, &braking);
	for (unsigned run = 0; run < OP_RUNS; run++)
		hold_back(&runs[run], braking.holds);
	return braking;
}

/* What of it a pass wrote down that was killed, nobody knows. */
static enum model_brake brake_after(
	const struct model *model, const struct model_braking *braking, enum pass_end end)
{
	if (end != PASS_WHOLE)
		return model->brake == UNTRIPPED && braking->holds == NO ? UNTRIPPED
									 : PERHAPS_TRIPPED;
	if (braking->perhaps == 0)
		return UNTRIPPED;
	if (model->brake == UNTRIPPED)
		return braking->holds == YES  ? TRIPPED
		       : braking->holds == NO ? UNTRIPPED
					      : PERHAPS_TRIPPED;
	return model->brake == TRIPPED && braking->surely > 0 ? TRIPPED : PERHAPS_TRIPPED;
}

void model_brake_passed(struct model *model, const struct pass_way *way,
	const struct model_braking *braking, enum pass_end end)
{
	enum model_brake before = model->brake;

	if (!is_asked(model, way))
		return;
	model->brake = brake_after(model, braking, end);
	if (before == UNTRIPPED && model->brake == TRIPPED)
		model->brake_s = model->now_s;
}
