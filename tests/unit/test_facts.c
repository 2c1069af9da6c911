#include "unit.h"

#include "facts.h"

#define NOW INT64_C(1800000000)

static const struct settings settings = { .policy = { .lease_s = 900 } };

/* An inventory of one run on record with a tree in place, as a starting point. */
static struct run *run_with_tree(struct inventory *inventory)
{
	const struct resource tree = {
		.kind = KIND_WORKTREE, .locator = "/r/r1", .proof = PROOF_ROW, .present = TRI_YES
	};
	struct run *run = inventory_run(inventory, "r1");

	inventory->now_s = NOW;
	run->facts.recorded = true;
	run->facts.created_s = NOW - 86400;
	run->facts.finished_s = NOW - 7200;
	(void)run_add_resource(inventory, run, &tree);
	return run;
}

static void a_run_seen_whole_is_not_blind(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct run *run = run_with_tree(&inventory);

	(void)state;
	inventory_add_source(&inventory, "containers", "unix:///e", TRI_YES, NULL);
	facts_derive(&inventory, run, &settings);
	assert_false(run->facts.blind);
	assert_false(run->facts.refused);
	assert_true(run->facts.proven);
	assert_false(run->facts.others_present);
	assert_null(run->fault);
}

static void an_engine_that_does_not_answer_blinds(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct run *run = run_with_tree(&inventory);

	(void)state;
	inventory_add_source(&inventory, "containers", "unix:///e", TRI_NO, "refused");
	facts_derive(&inventory, run, &settings);
	assert_true(run->facts.blind);
	assert_string_equal(run->fault, "containers at unix:///e: refused");
}

static void an_engine_does_not_matter_to_a_run_without_containers(void **state)
{
	static const struct record without = { .registered = true, .no_container = true };
	static const struct record cleared = { .registered = true, .engine_clear_s = NOW - 7200 };
	static const struct record cleared_before_its_end = { .registered = true,
		.engine_clear_s = NOW - 7201 };
	static const struct {
		const struct record *row;
		bool blind;
	} cases[] = { { &without, false }, { &cleared, false }, { &cleared_before_its_end, true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct run *run = run_with_tree(&inventory);

		run->row = cases[i].row;
		inventory_add_source(&inventory, "containers", "unix:///e", TRI_NO, "refused");
		facts_derive(&inventory, run, &settings);
		assert_int_equal(run->facts.blind, cases[i].blind);
	}
}

static void an_unreadable_resource_blinds_and_is_named(void **state)
{
	const struct resource box = {
		.kind = KIND_CGROUP, .locator = "/s/r1", .proof = PROOF_ROW, .note = "no cgroup v2"
	};
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct run *run = run_with_tree(&inventory);

	(void)state;
	(void)run_add_resource(&inventory, run, &box);
	facts_derive(&inventory, run, &settings);
	assert_true(run->facts.blind);
	assert_string_equal(run->fault, "cgroup /s/r1: no cgroup v2");
	assert_true(run->facts.others_present);
}

static void processes_unseen_blind_only_where_there_is_a_tree(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct run *with = run_with_tree(&inventory), *without = inventory_run(&inventory, "r2");

	(void)state;
	without->facts.recorded = true;
	inventory_add_source(&inventory, "processes", NULL, TRI_NO, "3 cannot be looked at");
	facts_derive(&inventory, with, &settings);
	facts_derive(&inventory, without, &settings);
	assert_true(with->facts.blind);
	assert_false(without->facts.blind);
}

static void a_contradiction_refuses_and_says_why(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct run *run = run_with_tree(&inventory);

	(void)state;
	run->resources[0].contradicts = true;
	run->resources[0].note = "another directory stands there";
	facts_derive(&inventory, run, &settings);
	assert_true(run->facts.refused);
	assert_string_equal(run->fault, "worktree /r/r1: another directory stands there");
}

static void a_lock_counts_only_when_held(void **state)
{
	static const struct {
		enum lock lock;
		bool locked;
	} cases[] = { { LOCK_NONE, false }, { LOCK_HELD, true }, { LOCK_STALE, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct run *run = run_with_tree(&inventory);

		run->resources[0].lock = cases[i].lock;
		facts_derive(&inventory, run, &settings);
		assert_int_equal(run->facts.locked, cases[i].locked);
	}
}

static void trash_proves_a_begun_claim_of_its_own_generation_only(void **state)
{
	static const struct record row = { .registered = true, .generation = 1700000000 };
	static const struct record marker = { .created_s = 1750000000 };
	static const struct {
		const char *sentence;
		const struct record *row, *marker;
		int64_t generation;
		enum claim claim;
	} cases[] = {
		{ "the row's own", &row, NULL, 1700000000, CLAIM_BEGUN_REAP },
		{ "an earlier run's of that name", &row, NULL, 1600000000, CLAIM_NONE },
		{ "nothing else is known", NULL, NULL, 1600000000, CLAIM_BEGUN_REAP },
		{ "set aside after the marker was made", NULL, &marker, 1760000000,
			CLAIM_BEGUN_REAP },
		{ "set aside before the marker was made", NULL, &marker, 1740000000, CLAIM_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
		struct run *run = inventory_run(&inventory, "r1");
		const struct resource trash = { .kind = KIND_PATH,
			.locator = "/r/.sbx-trash/r1:1:0",
			.set_aside = "/r/.sbx-trash/r1:1:0",
			.generation = cases[i].generation,
			.proof = PROOF_TRASH,
			.present = TRI_YES };

		run->row = cases[i].row;
		run->marker = cases[i].marker;
		run->facts.recorded = run->row || run->marker;
		(void)run_add_resource(&inventory, run, &trash);
		facts_derive(&inventory, run, &settings);
		if (run->facts.claim != cases[i].claim)
			fail_msg("%s: claim %d", cases[i].sentence, run->facts.claim);
		assert_true(run->facts.proven);
	}
}

static void old_trash_does_not_claim_what_has_no_record(void **state)
{
	const struct resource trash = { .kind = KIND_PATH,
		.locator = "/r/.sbx-trash/r1:1:0",
		.set_aside = "/r/.sbx-trash/r1:1:0",
		.generation = 1,
		.proof = PROOF_TRASH,
		.present = TRI_YES };
	const struct resource container = { .kind = KIND_CONTAINER,
		.locator = "c0ffee",
		.proof = PROOF_LABEL,
		.present = TRI_YES };
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
	struct run *run = inventory_run(&inventory, "r1");

	(void)state;
	(void)run_add_resource(&inventory, run, &trash);
	(void)run_add_resource(&inventory, run, &container);
	facts_derive(&inventory, run, &settings);
	assert_int_equal(run->facts.claim, CLAIM_NONE);
	assert_true(run->facts.proven);
}

static void a_root_that_cannot_be_read_blinds_what_may_be_told_of_there(void **state)
{
	static const struct {
		const char *sentence, *root;
		bool blind;
	} cases[] = {
		{ "its root is not known", NULL, true },
		{ "it lies in that root", "/lost", true },
		{ "it lies in another root", "/r", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct run *run = run_with_tree(&inventory);

		run->root = cases[i].root;
		inventory_add_source(&inventory, "markers", "/r", TRI_YES, NULL);
		inventory_add_source(&inventory, "markers", "/lost", TRI_NO, "not mounted");
		facts_derive(&inventory, run, &settings);
		if (run->facts.blind != cases[i].blind)
			fail_msg("%s: blind %d", cases[i].sentence, run->facts.blind);
	}
}

static void what_begins_in_the_future_has_no_age(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct run *run = run_with_tree(&inventory);
	static const struct record row = { .registered = true, .created_s = NOW + 3600 };

	(void)state;
	run->row = &row;
	run->facts.created_s = NOW + 3600;
	facts_derive(&inventory, run, &settings);
	assert_int_equal(run->age_since_s, NOW);
	assert_int_equal(run->active_s, NOW);
	assert_int_equal(run->facts.created_s, NOW + 3600);
}

static void a_branch_that_policy_keeps_is_no_leftover(void **state)
{
	const struct resource kept = {
		.kind = KIND_BRANCH, .present = TRI_YES, .note = "kept: not merged"
	};
	const struct resource left = { .kind = KIND_BRANCH, .present = TRI_YES };
	const struct resource record = {
		.kind = KIND_WORKTREE, .present = TRI_NO, .record = "/g/worktrees/r1"
	};

	(void)state;
	assert_false(resource_left(&kept));
	assert_true(resource_left(&left));
	assert_true(resource_left(&record));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_seen_whole_is_not_blind),
		cmocka_unit_test(an_engine_that_does_not_answer_blinds),
		cmocka_unit_test(an_engine_does_not_matter_to_a_run_without_containers),
		cmocka_unit_test(an_unreadable_resource_blinds_and_is_named),
		cmocka_unit_test(processes_unseen_blind_only_where_there_is_a_tree),
		cmocka_unit_test(a_contradiction_refuses_and_says_why),
		cmocka_unit_test(a_lock_counts_only_when_held),
		cmocka_unit_test(trash_proves_a_begun_claim_of_its_own_generation_only),
		cmocka_unit_test(old_trash_does_not_claim_what_has_no_record),
		cmocka_unit_test(a_root_that_cannot_be_read_blinds_what_may_be_told_of_there),
		cmocka_unit_test(what_begins_in_the_future_has_no_age),
		cmocka_unit_test(a_branch_that_policy_keeps_is_no_leftover),
	};

	return cmocka_run_group_tests_name("facts", tests, NULL, NULL);
}
