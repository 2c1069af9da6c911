/* Each thing that a decision rests on breaks the seal; what moves by itself does not. */
#include "unit.h"

#include "seal.h"

struct sealed {
	struct run run;
	struct resource resources[2];
};

static void make(struct sealed *sealed)
{
	*sealed = (struct sealed){
		.run = { .id = "r1", .root = "/srv/w", .resource_count = 2, .bytes = -1 },
		.resources = { { .kind = KIND_WORKTREE,
				       .locator = "/srv/w/r1",
				       .proof = PROOF_ROW },
			{ .kind = KIND_CGROUP, .locator = "/sbx.slice/r1", .proof = PROOF_ROW } },
	};
	sealed->run.resources = sealed->resources;
}

/* The run that is changed, as BREAKS() made it anew, and what changes in it. */
static struct sealed changed;
static struct run *const run = &changed.run;
static struct facts *const facts = &changed.run.facts;
static struct resource *const resource = &changed.resources[1];

static void compare(const char *change, bool breaks)
{
	struct sealed sealed;
	char before[SEAL_TEXT], after[SEAL_TEXT];

	make(&sealed);
	(void)seal_of(&sealed.run, before);
	if ((strcmp(before, seal_of(run, after)) != 0) != breaks)
		fail_msg("%s: %s", change, breaks ? "the same seal" : "another");
}

#define CHANGE(assignment, breaks) \
	(make(&changed), (void)(assignment), compare(#assignment, breaks))
#define BREAKS(assignment) CHANGE(assignment, true)
#define LEAVES(assignment) CHANGE(assignment, false)

static int swap_resources(void)
{
	const struct resource first = changed.resources[0];

	changed.resources[0] = changed.resources[1];
	changed.resources[1] = first;
	return 0;
}

static void what_a_decision_rests_on_breaks_it(void **state)
{
	(void)state;
	BREAKS(run->id = "r2");
	BREAKS(run->root = "/srv/v");
	BREAKS(run->work_note = "one file is changed");
	BREAKS(facts->refused = true);
	BREAKS(facts->recorded = true);
	BREAKS(facts->proven = true);
	BREAKS(facts->pin = PIN_HELD);
	BREAKS(facts->locked = true);
	BREAKS(facts->claim = CLAIM_OPEN);
	BREAKS(facts->created_s = 1);
	BREAKS(facts->deadline_s = 1);
	BREAKS(facts->last_sign_s = 1);
	BREAKS(facts->finished_s = 1);
	BREAKS(facts->outcome = OUTCOME_OK);
	BREAKS(facts->blind = true);
	BREAKS(facts->live = TRI_NO);
	BREAKS(facts->live_is_own = true);
	BREAKS(facts->occupied = true);
	BREAKS(facts->work = WORK_CLEAN);
	BREAKS(facts->work_unasked = true);
	BREAKS(facts->salvage_failed_s = 1);
}

static void so_does_every_resource(void **state)
{
	(void)state;
	BREAKS(run->resource_count = 1);
	BREAKS(resource->kind = KIND_SCOPE);
	BREAKS(resource->proof = PROOF_MARKER);
	BREAKS(resource->generation = 2);
	BREAKS(resource->locator = "/sbx.slice/r2");
	BREAKS(resource->repo = "/srv/git/app");
	BREAKS(resource->base = "0123");
	BREAKS(resource->branch = "sbx/r1");
	BREAKS(resource->token = "1.2");
	BREAKS(resource->at = "unix:///run/x.sock");
	BREAKS(resource->dev = 1);
	BREAKS(resource->ino = 1);
	BREAKS(resource->silent = "nobody answers");
	BREAKS(resource->present = TRI_YES);
	BREAKS(resource->alive = TRI_YES);
	BREAKS(resource->contradicts = true);
	BREAKS(resource->record = "/srv/git/app/.git/worktrees/r1");
	BREAKS(resource->head = "0123");
	BREAKS(resource->lock = LOCK_STALE);
	BREAKS(resource->group = "/sbx.slice/x");
	BREAKS(resource->set_aside = "/srv/w/.sbx-trash/r1:1:0");
}

static void what_moves_by_itself_does_not(void **state)
{
	(void)state;
	LEAVES(run->bytes = 12);
	LEAVES(run->active_s = 12);
	LEAVES(facts->first_seen_s = 12);
	LEAVES(facts->failed_count = 3);
	LEAVES(facts->failed_last_s = 3);
	LEAVES(facts->requested = true);
	LEAVES(facts->pressed = true);
	LEAVES(run->decision.verdict = VERDICT_REAP);
	LEAVES(resource->note = "pid 12 (sh)");
	LEAVES(resource->bytes = 12);
	LEAVES(swap_resources());
}

static void one_text_is_not_taken_for_two(void **state)
{
	struct sealed sealed;
	char one[SEAL_TEXT], two[SEAL_TEXT];

	(void)state;
	make(&sealed);
	sealed.resources[0].repo = "ab";
	sealed.resources[0].base = "c";
	(void)seal_of(&sealed.run, one);
	sealed.resources[0].repo = "a";
	sealed.resources[0].base = "bc";
	assert_string_not_equal(one, seal_of(&sealed.run, two));
	sealed.resources[0].repo = NULL;
	(void)seal_of(&sealed.run, one);
	sealed.resources[0].repo = "";
	assert_string_not_equal(one, seal_of(&sealed.run, two));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_decision_rests_on_breaks_it),
		cmocka_unit_test(so_does_every_resource),
		cmocka_unit_test(what_moves_by_itself_does_not),
		cmocka_unit_test(one_text_is_not_taken_for_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
