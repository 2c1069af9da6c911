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

#define BREAKS(statement)                                                                     \
	do {                                                                                  \
		char before[SEAL_TEXT], after[SEAL_TEXT];                                     \
		struct sealed sealed;                                                         \
		struct run *run = &sealed.run;                                                \
		struct facts *facts = &run->facts;                                            \
		struct resource *resource = &sealed.resources[1];                             \
                                                                                              \
		make(&sealed);                                                                \
		(void)facts;                                                                  \
		(void)resource;                                                               \
		(void)seal_of(run, before);                                                   \
		statement;                                                                    \
		if ((strcmp(before, seal_of(run, after)) != 0) != breaks)                     \
			fail_msg("%s: %s", #statement, breaks ? "the same seal" : "another"); \
	} while (0)

static void what_a_decision_rests_on_breaks_it(void **state)
{
	const bool breaks = true;

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
	const bool breaks = true;

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
	struct resource other;
	const bool breaks = false;

	(void)state;
	BREAKS(run->bytes = 12);
	BREAKS(run->active_s = 12);
	BREAKS(facts->first_seen_s = 12);
	BREAKS(facts->failed_count = 3);
	BREAKS(facts->failed_last_s = 3);
	BREAKS(facts->requested = true);
	BREAKS(facts->pressed = true);
	BREAKS(run->decision.verdict = VERDICT_REAP);
	BREAKS(resource->note = "pid 12 (sh)");
	BREAKS(resource->bytes = 12);
	BREAKS(other = *resource; *resource = sealed.resources[0]; sealed.resources[0] = other);
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
