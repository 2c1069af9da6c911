#include "unit.h"

#include "base/text.h"
#include "why_change.h"
#include "whys.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

static void whys_done(struct whys *whys)
{
	inventory_done(&whys->inventory);
}

static void ask(const struct whys *whys, struct arena *arena, struct why_changes *ret_changes)
{
	const struct why_subject subject = whys_subject(whys);

	why_changes(&subject, arena, ret_changes);
}

/* The one that says this; it must be there. */
static const struct why_change *find(const struct why_changes *changes, const char *what)
{
	for (size_t i = 0; i < changes->count; i++)
		if (strstr(changes->items[i].what, what))
			return &changes->items[i];
	fail_msg("nothing says '%s'", what);
	return NULL;
}

static void expect(const struct why_changes *changes, const char *what, int64_t at_s,
	enum verdict verdict, enum reason reason)
{
	const struct why_change *change = find(changes, what);

	assert_int_equal(change->at_s, at_s);
	assert_true(change->decided);
	assert_string_equal(reason_name(change->then.reason), reason_name(reason));
	assert_int_equal(change->then.verdict, verdict);
}

/* Whether something on the list leads elsewhere, or nobody knows where. */
static bool leads_elsewhere(const struct whys *whys, const struct why_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		if (!changes->items[i].decided ||
			changes->items[i].then.reason != whys->run->decision.reason)
			return true;
	return false;
}

static void every_reason_has_something_that_would_change_it(void **state)
{
	(void)state;
	for (enum reason reason = 0; reason < REASON_COUNT; reason++) {
		struct whys whys CLEANUP(whys_done);
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct why_changes changes;

		whys_make(&whys, reason);
		ask(&whys, &arena, &changes);
		if (changes.count == 0 || !leads_elsewhere(&whys, &changes))
			fail_msg("nothing changes '%s'", reason_name(reason));
		for (size_t i = 0; i < changes.count; i++) {
			assert_true(strlen(changes.items[i].what) > 0);
			assert_true(
				changes.items[i].at_s == 0 || changes.items[i].at_s > WHYS_NOW_S);
		}
	}
}

static void a_pin_ends_by_itself_or_by_somebody(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_PINNED);
	ask(&whys, &arena, &changes);
	expect(&changes, "the pin by anna ends", WHYS_NOW_S + 3 * DAY, VERDICT_REAP,
		REASON_ABANDONED);
	expect(&changes, "unpins it", 0, VERDICT_REAP, REASON_ABANDONED);
}

/* It is three days until then: what is in its time now may not be then. */
static void what_follows_is_decided_for_that_moment(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_PINNED);
	whys.run->facts.deadline_s = WHYS_NOW_S;
	ask(&whys, &arena, &changes);
	expect(&changes, "the pin by anna ends", WHYS_NOW_S + 3 * DAY, VERDICT_REAP,
		REASON_ABANDONED);
	expect(&changes, "unpins it", 0, VERDICT_KEEP, REASON_RETAINED);
}

static void a_lease_is_over_by_then(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_LIVE);
	whys.run->resource_count = 1; /* nobody works there */
	whys.run->facts.occupied = false;
	ask(&whys, &arena, &changes);
	expect(&changes, "no further sign of life", WHYS_NOW_S + 14 * MINUTE, VERDICT_KEEP,
		REASON_RETAINED);
}

static void who_lives_is_named_and_a_stranger_is_not_stopped(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_LIVE);
	ask(&whys, &arena, &changes);
	assert_non_null(find(&changes, "process 4711 (node server.js"));
	expect(&changes, "alive still", WHYS_NOW_S + HOUR + 5 * MINUTE, VERDICT_KEEP, REASON_LIVE);
	expect(&changes, "nothing of that is left", WHYS_NOW_S + 14 * MINUTE, VERDICT_KEEP,
		REASON_RETAINED);
	whys.run->resources[1].proof = PROOF_ROW;
	whys.run->facts.occupied = false;
	ask(&whys, &arena, &changes);
	expect(&changes, "alive still", WHYS_NOW_S + HOUR + 5 * MINUTE, VERDICT_STOP,
		REASON_OVER_DEADLINE);
}

static void what_is_retained_goes_when_it_is_due(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_RETAINED);
	ask(&whys, &arena, &changes);
	expect(&changes, "long enough", WHYS_NOW_S + 23 * HOUR, VERDICT_REAP,
		REASON_FINISHED_FAILED);
	expect(&changes, "too full", 0, VERDICT_REAP, REASON_PRESSURE);
	expect(&changes, "--early", 0, VERDICT_REAP, REASON_REQUESTED);
}

static void unsaved_work_is_tried_again_or_saved(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_UNSAVED_WORK);
	ask(&whys, &arena, &changes);
	expect(&changes, "salvage is tried again", WHYS_NOW_S + 59 * MINUTE, VERDICT_REAP,
		REASON_ABANDONED);
	assert_int_equal(find(&changes, "tried again")->then.fate, FATE_SALVAGED);
	expect(&changes, "2 files are changed", 0, VERDICT_REAP, REASON_ABANDONED);
}

static void a_marker_that_nobody_can_read_may_say_anything(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_REFUSED);
	ask(&whys, &arena, &changes);
	expect(&changes, "not the one that was registered", 0, VERDICT_REAP, REASON_ABANDONED);
	whys.run->marker_path = "/srv/sbx/workspaces/r1.sbx";
	ask(&whys, &arena, &changes);
	assert_false(find(&changes, "not the one that was registered")->decided);
}

static void what_is_foreign_can_be_registered_or_adopted(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	(void)state;
	whys_make(&whys, REASON_FOREIGN);
	ask(&whys, &arena, &changes);
	assert_non_null(find(&changes, "registers it"));
	assert_non_null(find(&changes, "adopt = worktrees"));
	whys.run->resources[0].record = NULL; /* no worktree of a repository that is known */
	ask(&whys, &arena, &changes);
	assert_int_equal(changes.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_something_that_would_change_it),
		cmocka_unit_test(a_pin_ends_by_itself_or_by_somebody),
		cmocka_unit_test(what_follows_is_decided_for_that_moment),
		cmocka_unit_test(a_lease_is_over_by_then),
		cmocka_unit_test(who_lives_is_named_and_a_stranger_is_not_stopped),
		cmocka_unit_test(what_is_retained_goes_when_it_is_due),
		cmocka_unit_test(unsaved_work_is_tried_again_or_saved),
		cmocka_unit_test(a_marker_that_nobody_can_read_may_say_anything),
		cmocka_unit_test(what_is_foreign_can_be_registered_or_adopted),
	};

	return cmocka_run_group_tests_name("why_change", tests, NULL, NULL);
}
