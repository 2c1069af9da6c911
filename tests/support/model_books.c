#include "model_rules.h"

/*
 * What stands in the books is as it was then; what stands beside the tree, and the tree, is as it is.
 * A pin that the books do not know any more holds by its file, as if a person had made that.
 */
static void pin_old(struct model_run *run, const struct model_run *then, const struct sight *sight)
{
	bool same = then->pinned == run->pinned && then->pin_until_s == run->pin_until_s;

	if (!sight->keep) {
		run->keep = KEEP_NONE;
	} else if (run->keep == KEEP_MIRROR && !same) {
		run->keep = KEEP_BY_HAND;
		run->keep_until_s = run->pin_until_s;
	}
	run->pinned = then->pinned;
	run->pin_until_s = then->pin_until_s;
}

/* A marker that tells what the row does not is believed, but it names no inodes. */
static bool tells_more(const struct model_run *run, const struct model_run *then)
{
	return run->marker == MARKER_GOOD &&
	       (!then->row.there || (run->scratch && !then->scratch) ||
		       (run->group && !then->group));
}

static void run_old(struct model_run *run, const struct model_run *then, const struct sight *sight)
{
	run->loose = then->loose || tells_more(run, then);
	pin_old(run, then, sight);
	run->row = then->row;
	run->tree = then->tree;
	run->scratch = then->scratch;
	run->group = then->group;
	run->container = then->container;
	run->failed |= then->failed;
	run->owner = then->owner;
	run->record = then->record && run->record;
	run->begun = run->begun > then->begun ? run->begun : then->begun;
	run->begun_stop |= then->begun_stop;
	run->seen_least_s = then->seen_least_s;
	run->seen_most_s = then->seen_most_s;
	run->future_s = then->future_s;
	run->tombstones = then->tombstones;
	run->untold = then->untold;
}

void model_books_old(struct model *model, const struct model *then, const struct sight *sights)
{
	memcpy(model->clocks, then->clocks, sizeof(model->clocks));
	model->clock_count = then->clock_count;
	model->never = then->never;
	model->disturbance_seen = then->disturbance_seen && model->boots == then->boots;
	model->suspended = false;
	model->graced_s = 0;
	model->held = then->held;
	model->held_until_s = then->held_until_s;
	model->hold_ended = then->hold_ended;
	model->brake = then->brake;
	model->brake_s = then->brake_s;
	for (unsigned run = 0; run < OP_RUNS; run++)
		run_old(&model->runs[run], &then->runs[run], &sights[run]);
}
