/*
 * What is made of a whole plan: a row or two for each boundary of rules 9 to 11, and then a hundred
 * thousand small plans at random against a second statement of the rules.
 */
#include "unit.h"

#include "policy_limit.h"

#define NOW INT64_C(1800000000)

enum { ITEMS = 80, DISKS = 2, HOLD_S = 900 };

/* A plan to play with: items have a share each on disk 0 unless a test says otherwise. */
struct play {
	struct plan_item items[ITEMS];
	struct share shares[ITEMS][DISKS];
	size_t by_end[ITEMS];
	struct filesystem disks[DISKS];
	struct whole_plan plan;
	struct plan_limits limits;
	struct brake brake;
};

static const struct plan_limits usual = {
	.now_s = NOW,
	.brake_runs = 50,
	.brake_share = 80,
	.brake_hold_s = HOLD_S,
	.disk_high = 85,
	.disk_low = 75,
};

static const struct decision reaped = { VERDICT_REAP, REASON_FINISHED_OK, 6, NOW - 5, FATE_GOES };
static const struct decision stopped = { VERDICT_STOP, REASON_OVER_DEADLINE, 7, NOW - 5,
	FATE_GOES };
static const struct decision retained = { VERDICT_KEEP, REASON_RETAINED, 6, NOW + 5, FATE_GOES };
static const struct decision pressed = { VERDICT_REAP, REASON_PRESSURE, 10, NOW + 5, FATE_GOES };
static const struct decision pinned = { VERDICT_KEEP, REASON_PINNED, 2, 0, FATE_GOES };

static struct play play_new(void)
{
	struct play play = { .limits = usual };

	for (size_t i = 0; i < DISKS; i++)
		play.disks[i] = (struct filesystem){
			.used_bytes = 50, .total_bytes = 100, .used_inodes = 50, .total_inodes = 100
		};
	return play;
}

static void add(struct play *play, struct decision own, int64_t bytes, int64_t inodes)
{
	size_t i = play->plan.count++;

	assert_true(i < ITEMS);
	play->shares[i][0] = (struct share){ 0, bytes, inodes, 0 };
	play->items[i] = (struct plan_item){
		.own = own,
		.pressed = own.reason == REASON_RETAINED ? pressed : own,
		.selected = true,
		.proven = true,
		.looked = true,
		.share_count = 1,
	};
	if (own.reason == REASON_RETAINED && own.rule == 6)
		play->by_end[play->plan.by_end_count++] = i;
}

static size_t limit(struct play *play)
{
	struct whole_plan *plan = &play->plan;

	for (size_t i = 0; i < plan->count; i++)
		plan->items[i].shares = play->shares[i];
	return policy_limit(plan, &play->limits, &play->brake);
}

/* Where the pointers go: a struct play is handed around by value until then. */
static void settle(struct play *play)
{
	play->plan.items = play->items;
	play->plan.by_end = play->by_end;
	play->plan.filesystems = play->disks;
	play->plan.filesystem_count = DISKS;
}

static size_t count_of(const struct play *play, enum reason reason)
{
	size_t count = 0;

	for (size_t i = 0; i < play->plan.count; i++)
		count += play->items[i].decision.reason == reason;
	return count;
}

/* ---- rule 9 */

static void a_hold_keeps_all_that_is_due_and_nothing_else_changes(void **state)
{
	static const enum reason wanted[] = { REASON_HELD, REASON_HELD, REASON_RETAINED,
		REASON_PINNED, REASON_FILTERED };
	struct play play = play_new();

	(void)state;
	settle(&play);
	add(&play, reaped, 0, 0);
	add(&play, stopped, 0, 0);
	add(&play, retained, 0, 0);
	add(&play, pinned, 0, 0);
	add(&play, reaped, 0, 0);
	play.items[4].selected = false;
	play.limits.held = true;
	for (int confirmed = 0; confirmed < 2; confirmed++) {
		play.limits.confirmed = confirmed;
		assert_int_equal(limit(&play), 0);
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
			assert_int_equal(play.items[i].decision.reason, wanted[i]);
			assert_int_equal(play.items[i].decision.verdict, VERDICT_KEEP);
		}
		assert_int_equal(play.items[0].decision.rule, 9);
		assert_int_equal(play.items[0].decision.due_s, reaped.due_s);
	}
}

static void what_is_not_asked_for_is_filtered_and_then_the_plan_is_cut(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	add(&play, reaped, 0, 0);
	add(&play, reaped, 0, 0);
	add(&play, pinned, 0, 0);
	add(&play, stopped, 0, 0);
	add(&play, reaped, 0, 0);
	play.items[0].selected = false;
	play.limits.max_runs = 2;
	(void)limit(&play);
	assert_int_equal(play.items[0].decision.reason, REASON_FILTERED);
	assert_int_equal(play.items[1].decision.reason, REASON_FINISHED_OK);
	assert_int_equal(play.items[2].decision.reason, REASON_PINNED);
	assert_int_equal(play.items[3].decision.reason, REASON_OVER_DEADLINE);
	assert_int_equal(play.items[4].decision.reason, REASON_DEFERRED);
	assert_int_equal(play.items[4].decision.rule, 11);
	play.limits.max_runs = 0;
	(void)limit(&play);
	assert_int_equal(play.items[4].decision.reason, REASON_FINISHED_OK);
}

/* Also rather than under rule 10; whatever else keeps it says more. */
static void what_changed_since_it_was_approved_does_not_go(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = 90;
	add(&play, reaped, 0, 0);
	add(&play, stopped, 0, 0);
	add(&play, pinned, 0, 0);
	add(&play, retained, 20, 1);
	add(&play, retained, 20, 1);
	for (int i = 0; i < 4; i++)
		play.items[i].changed = true;
	play.limits.approved = true;
	(void)limit(&play);
	assert_int_equal(play.items[0].decision.reason, REASON_CHANGED);
	assert_int_equal(play.items[1].decision.reason, REASON_CHANGED);
	assert_int_equal(play.items[1].decision.verdict, VERDICT_KEEP);
	assert_int_equal(play.items[1].decision.rule, 9);
	assert_int_equal(play.items[2].decision.reason, REASON_PINNED);
	assert_int_equal(play.items[3].decision.reason, REASON_RETAINED);
	assert_int_equal(play.items[4].decision.reason, REASON_PRESSURE);
}

struct retry_row {
	const char *sentence;
	int64_t count, last_s, retry_s; /* moments from now; 0: at once */
};

enum { MIN = 60, HOUR = 3600 };

static const struct retry_row retry_rows[] = {
	{ "what never failed waits for nothing", 0, 0, 0 },
	{ "the first failure does not delay", 1, -1, 0 },
	{ "the second waits five minutes", 2, -1, 5 * MIN - 1 },
	{ "since the last failure", 2, -4 * MIN, 1 * MIN },
	{ "to the second", 2, 1 - 5 * MIN, 1 },
	{ "the third waits ten", 3, -1, 10 * MIN - 1 },
	{ "the fourth twenty", 4, -1, 20 * MIN - 1 },
	{ "the eighth five hours and a third", 8, -1, 320 * MIN - 1 },
	{ "the ninth six hours", 9, -1, 6 * HOUR - 1 },
	{ "and so for ever", INT64_MAX, -1, 6 * HOUR - 1 },
	{ "what failed just now waits whole", 2, 0, 5 * MIN },
	{ "a failure in the future makes nothing wait", 5, 1, 0 },
	{ "however far", 5, INT64_MAX - NOW, 0 },
};

static void each_row_of_the_backoff_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(retry_rows); i++) {
		const struct retry_row *row = &retry_rows[i];
		struct play play = play_new();
		int64_t retry_s = policy_retry_s(row->count, NOW + row->last_s, NOW);

		if (retry_s != (row->retry_s ? NOW + row->retry_s : 0))
			fail_msg("%s: %lld s from now", row->sentence, (long long)(retry_s - NOW));
		for (int early = 0; early < 2; early++) {
			bool waits = row->retry_s && !early;

			settle(&play);
			play.plan.count = play.plan.by_end_count = 0;
			add(&play, early ? stopped : reaped, 0, 0);
			add(&play, pinned, 0, 0);
			for (int j = 0; j < 2; j++) {
				play.items[j].failed_count = row->count;
				play.items[j].failed_last_s = NOW + row->last_s;
				play.items[j].early = early;
			}
			(void)limit(&play);
			if ((play.items[0].decision.reason == REASON_BACKOFF) != waits)
				fail_msg("%s: %s", row->sentence,
					reason_name(play.items[0].decision.reason));
			assert_int_equal(play.items[0].decision.due_s,
				waits ? NOW + row->retry_s : reaped.due_s);
			assert_int_equal(play.items[1].decision.reason, REASON_PINNED);
		}
	}
}

static void what_waits_after_failures_keeps_neither_place_nor_brake(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	for (size_t i = 0; i < 60; i++)
		add(&play, reaped, 0, 0);
	for (size_t i = 0; i < 20; i++) {
		play.items[i].failed_count = 2;
		play.items[i].failed_last_s = NOW - 1;
	}
	play.limits.max_runs = 40;
	(void)limit(&play);
	assert_int_equal(play.brake.state, BRAKE_OFF); /* 40 are due, not 60 */
	assert_int_equal(count_of(&play, REASON_BACKOFF), 20);
	assert_int_equal(count_of(&play, REASON_FINISHED_OK), 40);
	assert_int_equal(play.items[0].decision.rule, 9);
	play.limits.held = true;
	(void)limit(&play);
	assert_int_equal(count_of(&play, REASON_HELD), 60);
}

static void a_full_disk_does_not_press_what_waits_after_failures(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = 90;
	add(&play, retained, 50, 1);
	add(&play, retained, 50, 1);
	play.items[0].failed_count = 3;
	play.items[0].failed_last_s = NOW - 5;
	(void)limit(&play);
	assert_int_equal(play.items[0].decision.reason, REASON_RETAINED);
	assert_int_equal(play.items[1].decision.reason, REASON_PRESSURE);
}

/* ---- rule 10 */

struct disk_row {
	const char *sentence;
	int64_t used_bytes, total_bytes, used_inodes, total_inodes;
	const struct decision *first; /* of the run that ended first */
	int64_t first_bytes, first_inodes;
	size_t pressed; /* of three retained runs of 8 bytes and 4 inodes behind it */
	bool full, relieved;
};

static const struct disk_row disk_rows[] = {
	{ "at high it is not full", 85, 100, 0, 100, &pinned, 0, 0, 0, false, false },
	{ "above high it goes until it is below low", 86, 100, 0, 100, &pinned, 0, 0, 2, true,
		true },
	{ "at low is not below low", 91, 100, 0, 100, &pinned, 0, 0, 3, true, true },
	{ "what cannot reach low is not relieved", 99, 100, 0, 100, &pinned, 0, 0, 3, true, false },
	{ "exactly low is not enough", 99, 100, 0, 100, &retained, 0, 0, 3, true, false },
	{ "what is due counts first", 86, 100, 0, 100, &reaped, 12, 0, 0, true, true },
	{ "and the rest comes from others", 86, 100, 0, 100, &reaped, 11, 0, 1, true, true },
	{ "what is stopped frees nothing", 86, 100, 0, 100, &stopped, 50, 50, 2, true, true },
	{ "inodes count like bytes", 0, 100, 86, 100, &pinned, 0, 0, 3, true, true },
	{ "at high inodes are not full", 0, 100, 85, 100, &pinned, 0, 0, 0, false, false },
	{ "without a number of inodes only bytes count", 0, 100, 900, 0, &pinned, 0, 0, 0, false,
		false },
	{ "without a size only inodes count", 900, 0, 86, 100, &pinned, 0, 0, 3, true, true },
	{ "what was not full need not be below low", 86, 100, 80, 100, &pinned, 0, 0, 2, true,
		true },
	{ "both must come below low", 86, 100, 86, 100, &pinned, 0, 0, 3, true, true },
	{ "what has no bytes there does not help", 86, 100, 0, 100, &retained, 0, 40, 2, true,
		true },
	{ "what has no inodes there does not help", 0, 100, 86, 100, &retained, 40, 0, 3, true,
		true },
	{ "the one that ended first goes first", 86, 100, 0, 100, &retained, 12, 0, 0, true, true },
	{ "the largest numbers do not overflow", INT64_MAX - 1, INT64_MAX, 0, 0, &pinned, 0, 0, 3,
		true, false },
};

static void each_row_of_a_disk_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(disk_rows); i++) {
		const struct disk_row *row = &disk_rows[i];
		struct play play = play_new();
		size_t first;

		settle(&play);
		add(&play, *row->first, row->first_bytes, row->first_inodes);
		for (int j = 0; j < 3; j++)
			add(&play, retained, 8, 4);
		play.disks[0] = (struct filesystem){ .used_bytes = row->used_bytes,
			.total_bytes = row->total_bytes,
			.used_inodes = row->used_inodes,
			.total_inodes = row->total_inodes };
		assert_int_equal(limit(&play), 0);
		first = play.items[0].decision.reason == REASON_PRESSURE;
		if (count_of(&play, REASON_PRESSURE) - first != row->pressed ||
			play.disks[0].full != row->full || play.disks[0].relieved != row->relieved)
			fail_msg("%s: %zu pressed besides the first (%zu), full %d, relieved %d",
				row->sentence, count_of(&play, REASON_PRESSURE) - first, first,
				play.disks[0].full, play.disks[0].relieved);
		for (size_t j = 1; j <= row->pressed; j++) /* oldest end first, none left out */
			assert_int_equal(play.items[j].decision.reason, REASON_PRESSURE);
		assert_false(play.disks[1].full);
	}
}

static void what_would_not_go_when_pressed_stays(void **state)
{
	static const struct decision unsaved = { VERDICT_KEEP, REASON_UNSAVED_WORK, 6, 0,
		FATE_GOES };
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = 90;
	for (int i = 0; i < 3; i++)
		add(&play, retained, 20, 1);
	play.items[0].pressed = unsaved;
	play.items[1].pressed.fate = FATE_STAYS; /* the rest of it would go, the tree not */
	assert_int_equal(limit(&play), 0);
	assert_int_equal(play.items[0].decision.reason, REASON_RETAINED);
	assert_int_equal(play.items[1].decision.reason, REASON_RETAINED);
	assert_int_equal(play.items[2].decision.reason, REASON_PRESSURE);
	assert_int_equal(play.items[2].decision.rule, 10);
	assert_true(play.disks[0].relieved);
}

/* Nobody knows yet whether they go: they take no place from one that does, and free no disk. */
static void what_nobody_has_looked_into_comes_last_and_frees_nothing(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = 90;
	for (int i = 0; i < 4; i++)
		add(&play, i == 3 ? retained : reaped, 20, 1);
	play.items[0].own.fate = play.items[1].own.fate = FATE_UNASKED;
	play.items[2].own.fate = FATE_STAYS;
	play.limits.max_runs = 2;
	assert_int_equal(limit(&play), 0);
	assert_int_equal(play.items[0].decision.reason, REASON_DEFERRED);
	assert_int_equal(play.items[1].decision.reason, REASON_DEFERRED);
	assert_int_equal(play.items[2].decision.reason, REASON_FINISHED_OK);
	assert_int_equal(play.items[3].decision.reason, REASON_PRESSURE);
}

/* Only what the rules retain by the end of a run: not the young, the live, the pinned. */
static void what_is_kept_for_another_reason_is_never_pressed(void **state)
{
	(void)state;
	for (enum reason reason = 0; reason < REASON_COUNT; reason++)
		for (unsigned rule = 1; rule <= 8; rule++) {
			struct play play = play_new();
			const struct decision own = {
				.verdict = VERDICT_KEEP, .reason = reason, .rule = rule
			};
			bool may = reason == REASON_RETAINED && rule == 6;

			settle(&play);
			play.disks[0].used_bytes = 100;
			add(&play, own, 50, 1);
			play.items[0].pressed = pressed;
			play.by_end[0] = 0; /* also when whoever lists them is wrong */
			play.plan.by_end_count = 1;
			(void)limit(&play);
			assert_int_equal(
				play.items[0].decision.verdict, may ? VERDICT_REAP : VERDICT_KEEP);
		}
}

static void a_tree_that_stays_frees_nothing(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = 90;
	add(&play, reaped, 50, 1);
	add(&play, retained, 20, 1);
	play.items[0].own.fate = FATE_STAYS;
	(void)limit(&play);
	assert_int_equal(play.items[1].decision.reason, REASON_PRESSURE);
}

static void a_disk_takes_only_what_lies_on_it(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[1].used_bytes = 90;
	add(&play, retained, 50, 1);
	add(&play, retained, 16, 1);
	play.shares[1][0].filesystem = 1;
	(void)limit(&play);
	assert_int_equal(play.items[0].decision.reason, REASON_RETAINED);
	assert_int_equal(play.items[1].decision.reason, REASON_PRESSURE);
	assert_false(play.disks[0].full);
	assert_true(play.disks[1].relieved);
}

static void what_frees_two_disks_counts_on_both(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = play.disks[1].used_bytes = 90;
	add(&play, retained, 16, 1);
	add(&play, retained, 16, 1);
	play.items[0].share_count = 2;
	play.shares[0][1] = (struct share){ 1, 16, 1, 0 };
	play.shares[1][0].filesystem = 1;
	(void)limit(&play);
	assert_int_equal(play.items[0].decision.reason, REASON_PRESSURE);
	assert_int_equal(play.items[1].decision.reason, REASON_RETAINED);
	assert_true(play.disks[0].relieved && play.disks[1].relieved);
}

static void neither_a_hold_nor_a_wish_for_some_runs_presses(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = 90;
	add(&play, retained, 50, 1);
	play.items[0].looked = false;
	play.limits.held = true;
	assert_int_equal(limit(&play), 0);
	assert_int_equal(play.items[0].decision.reason, REASON_RETAINED);
	assert_true(play.disks[0].full);
	assert_false(play.disks[0].relieved);
	play.limits.held = false;
	play.limits.filtered = true;
	assert_int_equal(limit(&play), 0);
	assert_int_equal(play.items[0].decision.reason, REASON_RETAINED);
	assert_false(play.disks[0].full);
}

static void only_what_decides_is_looked_at_and_one_after_the_other(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	add(&play, reaped, 8, 1);
	add(&play, reaped, 8, 1);
	add(&play, retained, 8, 1);
	add(&play, retained, 8, 1);
	for (size_t i = 0; i < play.plan.count; i++)
		play.items[i].looked = false;
	assert_int_equal(limit(&play), 0); /* no disk is full */
	play.disks[0].used_bytes = 95;
	assert_int_equal(limit(&play), 2); /* first what is due anyway */
	assert_true(play.items[0].wanted && play.items[1].wanted);
	assert_int_equal(count_of(&play, REASON_PRESSURE), 0);
	play.items[0].looked = play.items[1].looked = true;
	assert_int_equal(limit(&play), 1);
	assert_true(play.items[2].wanted && !play.items[3].wanted);
	play.items[2].looked = true;
	assert_int_equal(limit(&play), 0); /* 95 - 24 is below low */
	assert_int_equal(play.items[2].decision.reason, REASON_PRESSURE);
	assert_int_equal(play.items[3].decision.reason, REASON_RETAINED);
	play.limits.disk_high = 100; /* off */
	play.items[2].looked = play.items[0].looked = false;
	play.disks[0].used_bytes = 100;
	assert_int_equal(limit(&play), 0);
}

/* ---- rule 11 */

struct brake_row {
	const char *sentence;
	size_t due, kept; /* proven runs */
	int64_t runs, share;
	int64_t tripped_s; /* from now; 0: not */
	bool confirmed;
	enum brake_state state;
	int64_t remembered_s; /* from now; 1: nothing */
};

enum { NOTHING = 1 };

static const struct brake_row brake_rows[] = {
	{ "as many as brake_runs go", 50, 0, 50, 80, 0, false, BRAKE_OFF, NOTHING },
	{ "one more trips it", 51, 0, 50, 80, 0, false, BRAKE_HOLDS, 0 },
	{ "not when it is the share of all", 52, 13, 50, 80, 0, false, BRAKE_OFF, NOTHING },
	{ "but above the share", 52, 12, 50, 80, 0, false, BRAKE_HOLDS, 0 },
	{ "no brake with 0 runs", 70, 0, 0, 80, 0, false, BRAKE_OFF, NOTHING },
	{ "with 0% brake_runs alone decides", 51, 20, 50, 0, 0, false, BRAKE_HOLDS, 0 },
	{ "more than 100% is never", 70, 0, 50, 100, 0, false, BRAKE_OFF, NOTHING },
	{ "it holds to the last second", 60, 0, 50, 80, 1 - HOLD_S, false, BRAKE_HOLDS,
		1 - HOLD_S },
	{ "then they go", 60, 0, 50, 80, -HOLD_S, false, BRAKE_OFF, -HOLD_S },
	{ "and may go for long", 60, 0, 50, 80, -9 * HOLD_S, false, BRAKE_OFF, -9 * HOLD_S },
	{ "it holds what is left of them too", 30, 40, 50, 80, -5, false, BRAKE_HOLDS, -5 },
	{ "half of brake_runs is still the backlog", 25, 0, 50, 80, -5, false, BRAKE_HOLDS, -5 },
	{ "fewer end it", 24, 0, 50, 80, -5, false, BRAKE_OFF, NOTHING },
	{ "half of an odd number counts whole", 3, 0, 7, 80, -5, false, BRAKE_OFF, NOTHING },
	{ "nor less", 4, 0, 7, 80, -5, false, BRAKE_HOLDS, -5 },
	{ "a trip in the future counts from now", 60, 0, 50, 80, 86400, false, BRAKE_HOLDS, 0 },
	{ "switched off it is forgotten", 60, 0, 0, 80, -5, false, BRAKE_OFF, NOTHING },
	{ "a person passes it, and trips nothing", 60, 0, 50, 80, 0, true, BRAKE_PASSED, NOTHING },
	{ "also one that has tripped", 60, 0, 50, 80, -5, true, BRAKE_PASSED, -5 },
	{ "a person ends it as well", 24, 0, 50, 80, -5, true, BRAKE_OFF, NOTHING },
};

static void each_row_of_the_brake_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(brake_rows); i++) {
		const struct brake_row *row = &brake_rows[i];
		struct play play = play_new();
		bool holds = row->state == BRAKE_HOLDS;

		settle(&play);
		for (size_t j = 0; j < row->due; j++)
			add(&play, j % 2 ? reaped : stopped, 0, 0);
		for (size_t j = 0; j < row->kept; j++)
			add(&play, pinned, 0, 0);
		play.limits.brake_runs = row->runs;
		play.limits.brake_share = row->share;
		play.limits.brake_tripped_s = row->tripped_s ? NOW + row->tripped_s : 0;
		play.limits.confirmed = row->confirmed;
		(void)limit(&play);
		if (play.brake.state != row->state ||
			play.brake.tripped_s !=
				(row->remembered_s == NOTHING ? 0 : NOW + row->remembered_s) ||
			count_of(&play, REASON_BRAKE) != (holds ? row->due : 0))
			fail_msg("%s: state %d, remembered %lld, %zu kept", row->sentence,
				play.brake.state, (long long)(play.brake.tripped_s - NOW),
				count_of(&play, REASON_BRAKE));
		assert_int_equal(count_of(&play, REASON_PINNED), row->kept);
		assert_int_equal(play.brake.due, row->due);
		assert_int_equal(play.brake.proven, row->due + row->kept);
		if (holds)
			assert_true(play.brake.until_s > NOW && play.brake.until_s <= NOW + HOLD_S);
	}
}

static void what_nobody_proves_counts_for_no_share(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	for (size_t i = 0; i < 51; i++)
		add(&play, reaped, 0, 0);
	for (size_t i = 0; i < 20; i++) {
		add(&play, pinned, 0, 0);
		play.items[51 + i].proven = false;
	}
	(void)limit(&play);
	assert_int_equal(play.brake.state, BRAKE_HOLDS);
}

static void neither_a_hold_nor_a_wish_for_some_runs_moves_the_brake(void **state)
{
	(void)state;
	for (int held = 0; held < 2; held++)
		for (int64_t tripped_s = NOW - 5; tripped_s >= 0; tripped_s -= NOW - 5) {
			struct play play = play_new();

			settle(&play);
			for (size_t i = 0; i < 60; i++)
				add(&play, reaped, 0, 0);
			play.limits.held = held;
			play.limits.filtered = !held;
			play.limits.brake_tripped_s = tripped_s;
			(void)limit(&play);
			assert_int_equal(play.brake.state, BRAKE_OFF);
			assert_int_equal(play.brake.tripped_s, tripped_s);
			assert_int_equal(count_of(&play, REASON_BRAKE), 0);
		}
}

static void what_pressure_chose_is_due_for_the_brake(void **state)
{
	struct play play = play_new();

	(void)state;
	settle(&play);
	play.disks[0].used_bytes = 100;
	for (size_t i = 0; i < 60; i++)
		add(&play, i % 2 ? retained : reaped, 0, 1);
	for (size_t i = 1; i < 60; i += 2)
		play.shares[i][0].bytes = 1;
	(void)limit(&play);
	assert_int_equal(play.brake.due, 56); /* 30, and 26 more bring it from 100 to 74 */
	assert_int_equal(count_of(&play, REASON_BRAKE), 56);
	assert_false(play.disks[0].relieved); /* nothing goes */
}

/* ---- a second statement of the rules, on plans at random */

static uint64_t seed = 1;

static unsigned any(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 20) % below);
}

static void play_at_random(struct play *play)
{
	const struct decision owns[] = { reaped, stopped, retained, retained, retained, pinned };

	*play = play_new();
	settle(play);
	for (unsigned n = any(8); n > 0; n--) {
		size_t i = play->plan.count;

		add(play, owns[any(ARRAY_SIZE(owns))], any(9), any(5));
		play->shares[i][0].filesystem = any(DISKS);
		play->shares[i][1] = (struct share){ any(DISKS), any(9), any(5), 0 };
		play->items[i].share_count = any(DISKS + 1);
		play->items[i].selected = any(8) != 0;
		play->items[i].proven = any(4) != 0;
		play->items[i].changed = any(6) == 0;
		play->items[i].early = any(6) == 0;
		play->items[i].failed_count = any(2) * any(12);
		play->items[i].failed_last_s = NOW + 1 - any(25000);
		if (any(4) == 0)
			play->items[i].pressed = pinned;
		if (any(4) == 0)
			play->items[i].own.fate = play->items[i].pressed.fate = FATE_STAYS;
	}
	for (size_t i = 1; i < play->plan.by_end_count; i++) {
		size_t other = any((unsigned)i + 1), end = play->by_end[i];

		play->by_end[i] = play->by_end[other];
		play->by_end[other] = end;
	}
	for (size_t i = 0; i < DISKS; i++)
		play->disks[i] = (struct filesystem){ .used_bytes = any(101),
			.total_bytes = any(4) ? 100 : 0,
			.used_inodes = any(21),
			.total_inodes = any(4) ? 20 : 0 };
	play->limits.held = any(8) == 0;
	play->limits.filtered = any(8) == 0;
	play->limits.approved = any(6) == 0;
	play->limits.confirmed = any(4) == 0;
	play->limits.max_runs = any(4);
	play->limits.brake_runs = any(5);
	play->limits.brake_share = any(5) * 25;
	play->limits.brake_tripped_s = any(2) ? NOW + 2 - any(8) : 0;
	play->limits.brake_hold_s = 3;
	play->limits.disk_low = any(100);
	play->limits.disk_high =
		play->limits.disk_low + 1 + any(100 - (unsigned)play->limits.disk_low);
}

struct model {
	enum reason reasons[ITEMS];
	bool goes[ITEMS];
	bool full[DISKS], relieved[DISKS];
	struct brake brake;
};

/* What would still be used of a disk, of bytes or of inodes. */
static double left_of(const struct play *play, const struct model *model, size_t disk, bool inodes)
{
	double left =
		(double)(inodes ? play->disks[disk].used_inodes : play->disks[disk].used_bytes);

	for (size_t i = 0; i < play->plan.count; i++)
		for (size_t j = 0; j < play->items[i].share_count; j++) {
			const struct share *share = &play->shares[i][j];
			const struct decision *how = model->reasons[i] == REASON_PRESSURE
							     ? &play->items[i].pressed
							     : &play->items[i].own;

			if (model->goes[i] && share->filesystem == disk &&
				how->verdict == VERDICT_REAP && how->fate != FATE_STAYS)
				left -= (double)(inodes ? share->inodes : share->bytes);
		}
	return left;
}

static bool too_much(const struct play *play, size_t disk, bool inodes)
{
	const struct filesystem *fs = &play->disks[disk];
	double used = (double)(inodes ? fs->used_inodes : fs->used_bytes);
	double total = (double)(inodes ? fs->total_inodes : fs->total_bytes);

	return total > 0 && used * 100 > total * (double)play->limits.disk_high;
}

static bool still_lacks(
	const struct play *play, const struct model *model, size_t disk, bool inodes)
{
	const struct filesystem *fs = &play->disks[disk];
	double total = (double)(inodes ? fs->total_inodes : fs->total_bytes);

	return too_much(play, disk, inodes) &&
	       left_of(play, model, disk, inodes) * 100 >= total * (double)play->limits.disk_low;
}

/* 5 minutes for the second failure, twice that for each more, 6 hours at most. */
static bool model_waits(const struct plan_item *item)
{
	double minutes = 5;

	for (int64_t i = item->failed_count; i > 2; i--)
		minutes *= 2;
	return item->failed_count > 1 && !item->early && item->failed_last_s <= NOW &&
	       (double)(NOW - item->failed_last_s) < (minutes > 360 ? 360 : minutes) * 60;
}

/* The next that goes for a disk, by its place; ITEMS: none. */
static size_t model_next(const struct play *play, const struct model *model)
{
	for (size_t k = 0; k < play->plan.by_end_count; k++) {
		size_t i = play->by_end[k];
		const struct plan_item *item = &play->items[i];

		if (!item->selected || item->changed || model->goes[i] || model_waits(item) ||
			item->pressed.verdict != VERDICT_REAP || item->pressed.fate == FATE_STAYS)
			continue;
		for (size_t j = 0; j < item->share_count; j++) {
			const struct share *share = &play->shares[i][j];

			if ((share->bytes && still_lacks(play, model, share->filesystem, false)) ||
				(share->inodes &&
					still_lacks(play, model, share->filesystem, true)))
				return i;
		}
	}
	return ITEMS;
}

static void model_begin(const struct play *play, struct model *model)
{
	for (size_t i = 0; i < play->plan.count; i++) {
		const struct plan_item *item = &play->items[i];
		bool due = item->own.verdict != VERDICT_KEEP;

		model->goes[i] = item->selected && due && !play->limits.held && !item->changed &&
				 !model_waits(item);
		model->reasons[i] = !item->selected            ? REASON_FILTERED
				    : due && play->limits.held ? REASON_HELD
				    : due && item->changed     ? REASON_CHANGED
				    : due && model_waits(item) ? REASON_BACKOFF
							       : item->own.reason;
	}
}

static void model_press(const struct play *play, struct model *model)
{
	size_t next;

	while (!play->limits.held && !play->limits.filtered &&
		(next = model_next(play, model)) != ITEMS) {
		model->goes[next] = true;
		model->reasons[next] = REASON_PRESSURE;
	}
	for (size_t i = 0; i < DISKS; i++) {
		model->full[i] = !play->limits.filtered &&
				 (too_much(play, i, false) || too_much(play, i, true));
		model->relieved[i] = model->full[i] && !still_lacks(play, model, i, false) &&
				     !still_lacks(play, model, i, true);
	}
}

static void model_brake(const struct play *play, struct model *model)
{
	const struct plan_limits *limits = &play->limits;
	double due = 0, proven = 0;
	int64_t since_s = limits->brake_tripped_s;
	bool trips;

	for (size_t i = 0; i < play->plan.count; i++) {
		due += model->goes[i];
		proven += play->items[i].proven;
	}
	model->brake.tripped_s = since_s;
	if (limits->held || limits->filtered || limits->approved)
		return;
	if (limits->brake_runs == 0 || due < (double)limits->brake_runs / 2)
		since_s = 0;
	if (since_s > NOW)
		since_s = NOW;
	model->brake.tripped_s = since_s;
	trips = limits->brake_runs && due > (double)limits->brake_runs &&
		due * 100 > proven * (double)limits->brake_share;
	if (since_s == 0 && trips)
		since_s = NOW;
	if (!limits->confirmed)
		model->brake.tripped_s = since_s;
	if (since_s && NOW < since_s + limits->brake_hold_s)
		model->brake.state = limits->confirmed ? BRAKE_PASSED : BRAKE_HOLDS;
}

static void model_end(const struct play *play, struct model *model)
{
	int64_t acted = 0;

	for (size_t i = 0; i < play->plan.count; i++) {
		if (model->goes[i] && model->brake.state == BRAKE_HOLDS) {
			model->goes[i] = false;
			model->reasons[i] = REASON_BRAKE;
		}
		if (model->goes[i] && play->limits.max_runs && ++acted > play->limits.max_runs) {
			model->goes[i] = false;
			model->reasons[i] = REASON_DEFERRED;
		}
	}
	for (size_t i = 0; i < DISKS; i++)
		model->relieved[i] &= model->brake.state != BRAKE_HOLDS;
}

static void compare(const struct play *play, const struct model *model, unsigned round)
{
	for (size_t i = 0; i < play->plan.count; i++)
		if (play->items[i].decision.reason != model->reasons[i] ||
			(play->items[i].decision.verdict != VERDICT_KEEP) != model->goes[i])
			fail_msg("plan %u, run %zu: it is %s, the rules say %s", round, i,
				reason_name(play->items[i].decision.reason),
				reason_name(model->reasons[i]));
	for (size_t i = 0; i < DISKS; i++)
		if (play->disks[i].full != model->full[i] ||
			play->disks[i].relieved != model->relieved[i])
			fail_msg("plan %u, disk %zu: full %d, relieved %d", round, i,
				play->disks[i].full, play->disks[i].relieved);
	if (play->brake.state != model->brake.state ||
		play->brake.tripped_s != model->brake.tripped_s)
		fail_msg("plan %u: brake %d", round, play->brake.state);
}

/* Answers what was looked at. */
static size_t limit_as_far_as_needed(struct play *play)
{
	size_t looks = 0;

	for (size_t i = 0; i < play->plan.count; i++)
		play->items[i].looked = false;
	while (limit(play) > 0)
		for (size_t i = 0; i < play->plan.count; i++) {
			looks += play->items[i].wanted;
			play->items[i].looked |= play->items[i].wanted;
		}
	return looks;
}

static void a_hundred_thousand_plans_are_limited_as_the_rules_say(void **state)
{
	unsigned seen[REASON_COUNT] = { 0 };
	size_t looks = 0, runs = 0;

	(void)state;
	for (unsigned round = 0; round < 100000; round++) {
		struct model model = { 0 };
		struct play play;

		play_at_random(&play);
		settle(&play);
		assert_int_equal(limit(&play), 0);
		model_begin(&play, &model);
		model_press(&play, &model);
		model_brake(&play, &model);
		model_end(&play, &model);
		compare(&play, &model, round);
		looks += limit_as_far_as_needed(&play);
		compare(&play, &model, round); /* whatever was looked at */
		for (size_t i = 0; i < play.plan.count; i++)
			seen[model.reasons[i]]++;
		runs += play.plan.count;
	}
	print_message("# %u pressed, %u braked, %u held, %u deferred; %zu looks at %zu runs\n",
		seen[REASON_PRESSURE], seen[REASON_BRAKE], seen[REASON_HELD], seen[REASON_DEFERRED],
		looks, runs);
	assert_true(seen[REASON_PRESSURE] > 5000 && seen[REASON_BRAKE] > 5000);
	assert_true(seen[REASON_HELD] > 5000 && seen[REASON_DEFERRED] > 5000);
	assert_true(seen[REASON_BACKOFF] > 5000);
	assert_true(looks < runs / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hold_keeps_all_that_is_due_and_nothing_else_changes),
		cmocka_unit_test(what_is_not_asked_for_is_filtered_and_then_the_plan_is_cut),
		cmocka_unit_test(what_changed_since_it_was_approved_does_not_go),
		cmocka_unit_test(each_row_of_the_backoff_holds),
		cmocka_unit_test(what_waits_after_failures_keeps_neither_place_nor_brake),
		cmocka_unit_test(a_full_disk_does_not_press_what_waits_after_failures),
		cmocka_unit_test(each_row_of_a_disk_holds),
		cmocka_unit_test(what_would_not_go_when_pressed_stays),
		cmocka_unit_test(what_nobody_has_looked_into_comes_last_and_frees_nothing),
		cmocka_unit_test(what_is_kept_for_another_reason_is_never_pressed),
		cmocka_unit_test(a_tree_that_stays_frees_nothing),
		cmocka_unit_test(a_disk_takes_only_what_lies_on_it),
		cmocka_unit_test(what_frees_two_disks_counts_on_both),
		cmocka_unit_test(neither_a_hold_nor_a_wish_for_some_runs_presses),
		cmocka_unit_test(only_what_decides_is_looked_at_and_one_after_the_other),
		cmocka_unit_test(each_row_of_the_brake_holds),
		cmocka_unit_test(what_nobody_proves_counts_for_no_share),
		cmocka_unit_test(neither_a_hold_nor_a_wish_for_some_runs_moves_the_brake),
		cmocka_unit_test(what_pressure_chose_is_due_for_the_brake),
		cmocka_unit_test(a_hundred_thousand_plans_are_limited_as_the_rules_say),
	};

	return cmocka_run_group_tests_name("policy_limit", tests, NULL, NULL);
}
