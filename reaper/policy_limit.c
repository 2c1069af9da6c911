#include "policy_limit.h"

static bool is_due(const struct plan_item *item)
{
	return item->decision.verdict != VERDICT_KEEP;
}

static void keep(struct plan_item *item, enum reason reason, unsigned rule)
{
	item->decision.verdict = VERDICT_KEEP;
	item->decision.reason = reason;
	item->decision.rule = rule;
}

/* ---- rule 9 */

enum { RETRY_FIRST_S = 5 * 60, RETRY_LAST_S = 6 * 60 * 60 };

int64_t policy_retry_s(int64_t failed_count, int64_t failed_last_s, int64_t now_s)
{
	int64_t wait_s = RETRY_FIRST_S;

	if (failed_count < 2 || failed_last_s > now_s)
		return 0;
	for (int64_t i = 2; i < failed_count && wait_s < RETRY_LAST_S; i++)
		wait_s *= 2;
	return failed_last_s + (wait_s < RETRY_LAST_S ? wait_s : RETRY_LAST_S);
}

/* Until when it waits after its failures; 0: it does not. */
static int64_t backoff_end_s(const struct plan_item *item, int64_t now_s)
{
	int64_t retry_s = policy_retry_s(item->failed_count, item->failed_last_s, now_s);

	return !item->early && retry_s > now_s ? retry_s : 0;
}

static void back_off(struct plan_item *item, int64_t now_s)
{
	int64_t end_s = backoff_end_s(item, now_s);

	if (!end_s || !is_due(item))
		return;
	keep(item, REASON_BACKOFF, 9);
	item->decision.due_s = end_s;
}

static void hold_and_filter_and_back_off(
	const struct whole_plan *plan, const struct plan_limits *limits)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct plan_item *item = &plan->items[i];

		item->decision = item->own;
		item->wanted = false;
		if (!item->selected)
			keep(item, REASON_FILTERED, 9);
		else if (limits->held && is_due(item))
			keep(item, REASON_HELD, 9);
		else if (item->changed && is_due(item))
			keep(item, REASON_CHANGED, 9);
		else
			back_off(item, limits->now_s);
	}
}

/* ---- rule 10 */

/* Compares without a product that could overflow: what a filesystem says of itself may be huge. */
static bool exceeds(int64_t used, int64_t total, int64_t percent)
{
	return (__int128)used * 100 > (__int128)total * percent;
}

static bool reaches(int64_t used, int64_t total, int64_t percent)
{
	return (__int128)used * 100 >= (__int128)total * percent;
}

static bool bytes_full(const struct filesystem *fs, int64_t high)
{
	return fs->total_bytes > 0 && exceeds(fs->used_bytes, fs->total_bytes, high);
}

static bool inodes_full(const struct filesystem *fs, int64_t high)
{
	return fs->total_inodes > 0 && exceeds(fs->used_inodes, fs->total_inodes, high);
}

bool policy_is_full(const struct filesystem *fs, int64_t high)
{
	return bytes_full(fs, high) || inodes_full(fs, high);
}

/* What was too much is still not below low. */
static bool bytes_lack(const struct filesystem *fs, const struct plan_limits *limits)
{
	return bytes_full(fs, limits->disk_high) &&
	       reaches(fs->left_bytes, fs->total_bytes, limits->disk_low);
}

static bool inodes_lack(const struct filesystem *fs, const struct plan_limits *limits)
{
	return inodes_full(fs, limits->disk_high) &&
	       reaches(fs->left_inodes, fs->total_inodes, limits->disk_low);
}

static bool lacks(const struct filesystem *fs, const struct plan_limits *limits)
{
	return bytes_lack(fs, limits) || inodes_lack(fs, limits);
}

static void filesystems_begin(const struct whole_plan *plan, const struct plan_limits *limits)
{
	for (size_t i = 0; i < plan->filesystem_count; i++) {
		struct filesystem *fs = &plan->filesystems[i];

		fs->left_bytes = fs->used_bytes;
		fs->left_inodes = fs->used_inodes;
		fs->full = !limits->filtered && policy_is_full(fs, limits->disk_high);
		fs->relieved = false;
	}
}

static bool lies_on_full(const struct whole_plan *plan, const struct plan_item *item)
{
	for (size_t i = 0; i < item->share_count; i++)
		if (plan->filesystems[item->shares[i].filesystem].full)
			return true;
	return false;
}

static void count_as_gone(const struct whole_plan *plan, const struct plan_item *item)
{
	for (size_t i = 0; i < item->share_count; i++) {
		struct filesystem *fs = &plan->filesystems[item->shares[i].filesystem];

		fs->left_bytes -= item->shares[i].bytes;
		fs->left_inodes -= item->shares[i].inodes;
	}
}

/* Whether it would free what is lacking somewhere. */
static bool would_help(const struct whole_plan *plan, const struct plan_limits *limits,
	const struct plan_item *item)
{
	for (size_t i = 0; i < item->share_count; i++) {
		const struct share *share = &item->shares[i];
		const struct filesystem *fs = &plan->filesystems[share->filesystem];

		if (fs->full &&
			((bytes_lack(fs, limits) && (share->bytes > 0 || !item->looked)) ||
				(inodes_lack(fs, limits) && (share->inodes > 0 || !item->looked))))
			return true;
	}
	return false;
}

static bool frees_its_trees(const struct decision *decision)
{
	return decision->verdict == VERDICT_REAP &&
	       (decision->fate == FATE_GOES || decision->fate == FATE_SALVAGED);
}

/* What goes anyway. Answers how many of it have yet to be measured. */
static size_t count_due(const struct whole_plan *plan)
{
	size_t wanted = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct plan_item *item = &plan->items[i];

		if (!frees_its_trees(&item->decision) || !lies_on_full(plan, item))
			continue;
		item->wanted = !item->looked;
		wanted += item->wanted;
		if (item->looked)
			count_as_gone(plan, item);
	}
	return wanted;
}

/*
 * Takes retained runs in turn until nothing lacks. Looking into a tree is expensive, so only the
 * next one is wanted at a time. Answers whether one is.
 */
static size_t press(const struct whole_plan *plan, const struct plan_limits *limits)
{
	for (size_t i = 0; i < plan->by_end_count; i++) {
		struct plan_item *item = &plan->items[plan->by_end[i]];

		if (item->decision.reason != REASON_RETAINED || item->decision.rule != 6 ||
			backoff_end_s(item, limits->now_s) || !would_help(plan, limits, item))
			continue;
		item->wanted = !item->looked;
		if (item->wanted)
			return 1;
		if (item->changed || !frees_its_trees(&item->pressed))
			continue;
		item->decision = item->pressed;
		count_as_gone(plan, item);
	}
	return 0;
}

static size_t relieve(const struct whole_plan *plan, const struct plan_limits *limits)
{
	size_t wanted;

	filesystems_begin(plan, limits);
	if (limits->filtered || limits->held)
		return 0;
	wanted = count_due(plan);
	if (wanted == 0)
		wanted = press(plan, limits);
	return wanted;
}

/* ---- rule 11 */

static void count_runs(const struct whole_plan *plan, struct brake *brake)
{
	for (size_t i = 0; i < plan->count; i++) {
		brake->due += is_due(&plan->items[i]);
		brake->proven += plan->items[i].proven;
	}
}

static bool is_too_much(const struct brake *brake, const struct plan_limits *limits)
{
	return (int64_t)brake->due > limits->brake_runs &&
	       exceeds((int64_t)brake->due, (int64_t)brake->proven, limits->brake_share);
}

static struct brake brake_judge(const struct whole_plan *plan, const struct plan_limits *limits)
{
	struct brake brake = { .tripped_s = limits->brake_tripped_s };
	int64_t since_s;

	count_runs(plan, &brake);
	if (limits->held || limits->filtered || limits->approved)
		return brake;
	if (limits->brake_runs == 0 || 2 * (int64_t)brake.due < limits->brake_runs)
		brake.tripped_s = 0;
	if (brake.tripped_s > limits->now_s)
		brake.tripped_s = limits->now_s;
	since_s = brake.tripped_s;
	if (limits->brake_runs && !since_s && is_too_much(&brake, limits))
		since_s = limits->now_s;
	if (since_s && limits->now_s - since_s < limits->brake_hold_s) {
		brake.state = limits->confirmed ? BRAKE_PASSED : BRAKE_HOLDS;
		brake.until_s = since_s + limits->brake_hold_s;
	}
	if (!limits->confirmed)
		brake.tripped_s = since_s;
	return brake;
}

static void brake_apply(const struct whole_plan *plan, const struct brake *brake)
{
	for (size_t i = 0; i < plan->count; i++)
		if (brake->state == BRAKE_HOLDS && is_due(&plan->items[i]))
			keep(&plan->items[i], REASON_BRAKE, 11);
}

/* Those of which it is not known yet whether they go take what places the others leave. */
static void defer(const struct whole_plan *plan, int64_t max_runs)
{
	int64_t acted = 0;

	for (int unasked = 0; max_runs && unasked < 2; unasked++)
		for (size_t i = 0; i < plan->count; i++) {
			struct plan_item *item = &plan->items[i];

			if (is_due(item) &&
				(item->decision.fate == FATE_UNASKED) == (unasked != 0) &&
				acted++ >= max_runs)
				keep(item, REASON_DEFERRED, 11);
		}
}

/* Told last: what the brake keeps relieves nothing; what is deferred goes in a pass to come. */
static void filesystems_end(
	const struct whole_plan *plan, const struct plan_limits *limits, const struct brake *brake)
{
	for (size_t i = 0; i < plan->filesystem_count; i++) {
		struct filesystem *fs = &plan->filesystems[i];

		fs->relieved = fs->full && brake->state != BRAKE_HOLDS && !lacks(fs, limits);
	}
}

size_t policy_limit(
	const struct whole_plan *plan, const struct plan_limits *limits, struct brake *ret_brake)
{
	size_t wanted;

	hold_and_filter_and_back_off(plan, limits);
	wanted = relieve(plan, limits);
	*ret_brake = brake_judge(plan, limits);
	brake_apply(plan, ret_brake);
	defer(plan, limits->max_runs);
	filesystems_end(plan, limits, ret_brake);
	return wanted;
}
