#include "unit.h"

#include "state/history.h"
#include "state/pins.h"

#include "database.h"

#include <errno.h>

static const struct resource tree = { .kind = KIND_WORKTREE, .locator = "/ws/r1" };

/* The run as an inventory shows it, registered before. */
static struct run *look(struct store *store, struct inventory *inventory, const char *run)
{
	inventory_done(inventory);
	if (runs_load(store, inventory, NULL, NULL) < 0)
		abort();
	inventory->now_s = NOW;
	return inventory_run(inventory, run);
}

static struct run *registered(struct store *store, struct inventory *inventory)
{
	assert_int_equal(database_register(store, "r1", &tree, 1, NULL), 1);
	return look(store, inventory, "r1");
}

static int claim(struct store *store, const struct run *run, struct error *error)
{
	return runs_claim(store, "p1", run, CLAIM_BEGUN_REAP, NOW + 5, error);
}

static int begin(struct store *store)
{
	return runs_begin(store, "p1", "r1", CLAIM_BEGUN_REAP, NOW + 6, NULL);
}

static int pin(struct store *store, int64_t until_s)
{
	bool known;

	return pins_set(store, &(struct pin){ .run = "r1", .since_s = NOW, .until_s = until_s },
		&known, NULL);
}

static void a_claimed_and_begun_run_is_reaped_and_leaves_a_tombstone(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);
	struct run *run = registered(store, &inventory);
	char *history CLEANUP(mem_done) = NULL;

	run->decision.reason = REASON_FINISHED_OK;
	assert_int_equal(claim(store, run, NULL), 1);
	assert_int_equal(look(store, &inventory, "r1")->row->claim, CLAIM_OPEN);
	assert_int_equal(begin(store), 1);
	run = look(store, &inventory, "r1");
	assert_int_equal(run->row->claim, CLAIM_BEGUN_REAP);
	assert_string_equal(run->row->claim_pass, "p1");
	assert_int_equal(runs_reaped(store, "p1", run, NOW + 7, NULL), 0);
	assert_null(look(store, &inventory, "r1")->row);
	assert_int_equal(
		runs_reaped(store, "p1", look(store, &inventory, "r1"), NOW + 7, NULL), -ESTALE);
	history = database_history(store, "r1");
	assert_string_equal(history, "registered claimed reaped");
}

/* Told after the plan was made: the second look is at this run alone. */
static void a_run_whose_tree_another_claims_is_not_begun(void **state)
{
	static const char *const shared[] = { "/ws/r1", "/ws/r1/sub/tree", "/ws" };
	const struct resource beside[] = { { .kind = KIND_PATH, .locator = "/ws/r10" },
		{ .kind = KIND_PATH, .locator = "/ws/r" } };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);

	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		const struct resource path = { .kind = KIND_PATH, .locator = shared[i] };

		assert_int_equal(claim(store, registered(store, &inventory), NULL), 1);
		assert_int_equal(database_register(store, "r2", &path, 1, NULL), 1);
		assert_int_equal(begin(store), -ESTALE);
		assert_int_equal(runs_forget(store, "r1", 0, NULL, NOW, NULL), 1);
		assert_int_equal(runs_forget(store, "r2", 0, NULL, NOW, NULL), 1);
	}
	assert_int_equal(claim(store, registered(store, &inventory), NULL), 1);
	assert_int_equal(database_register(store, "r2", beside, ARRAY_SIZE(beside), NULL), 1);
	assert_int_equal(begin(store), 1);
}

static void what_happened_since_the_look_makes_the_claim_stale(void **state)
{
	struct store *store = database(state);
	struct resource more = { .kind = KIND_PATH, .locator = "/tmp/x" };

	for (int i = 0; i < 6; i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct error error = { 0 };
		struct run *run = registered(store, &inventory);

		switch (i) {
		case 0:
			assert_int_equal(runs_renew(store, "r1", NOW + 1, 0, NULL), 1);
			break;
		case 1:
			assert_int_equal(runs_renew(store, "r1", NOW, 60, NULL), 1);
			break;
		case 2:
			assert_int_equal(runs_finish(store, "r1", OUTCOME_OK, 0, NOW + 1, NULL), 1);
			break;
		case 3:
			assert_int_equal(database_register(store, "r1", &more, 1, NULL), 1);
			break;
		case 4:
			assert_int_equal(runs_forget(store, "r1", 0, NULL, NOW, NULL), 1);
			assert_int_equal(database_register(store, "r1", &tree, 1, NULL), 1);
			break;
		default:
			assert_int_equal(runs_forget(store, "r1", 0, NULL, NOW, NULL), 1);
		}
		assert_int_equal(claim(store, run, &error), -ESTALE);
		assert_non_null(strstr(error.text, "'r1'"));
		(void)runs_forget(store, "r1", 0, NULL, NOW, NULL);
	}
}

static void a_sign_from_the_run_voids_a_claim_that_has_not_begun(void **state)
{
	struct store *store = database(state);

	for (int i = 0; i < 5; i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct error error = { 0 };
		struct run *run = registered(store, &inventory);

		assert_int_equal(claim(store, run, &error), 1);
		switch (i) {
		case 0:
			assert_int_equal(runs_renew(store, "r1", NOW + 1, 0, NULL), 1);
			break;
		case 1:
			assert_int_equal(runs_finish(store, "r1", OUTCOME_OK, 0, NOW + 1, NULL), 1);
			break;
		case 2:
			assert_int_equal(database_register(store, "r1", NULL, 0, NULL), 0);
			break;
		case 3:
			assert_int_equal(
				runs_forget(store, "r1", tree.kind, tree.locator, NOW, NULL), 1);
			break;
		default:
			assert_int_equal(pin(store, 0), 1);
			assert_int_equal(begin(store), -EPERM);
			assert_int_equal(pins_drop(store, "r1", NULL), 1);
		}
		assert_int_equal(begin(store), -ESTALE);
		assert_int_equal(look(store, &inventory, "r1")->row->claim, CLAIM_NONE);
		assert_int_equal(runs_forget(store, "r1", 0, NULL, NOW, NULL), 1);
	}
}

static void a_run_that_is_being_taken_apart_cannot_be_changed(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);
	struct error error = { 0 };

	assert_int_equal(claim(store, registered(store, &inventory), NULL), 1);
	assert_int_equal(begin(store), 1);
	assert_int_equal(database_register(store, "r1", &tree, 1, &error), -EBUSY);
	assert_non_null(strstr(error.text, "is being taken apart since 2026-11-29T15:33:06Z"));
	assert_int_equal(runs_renew(store, "r1", NOW, 0, NULL), -EBUSY);
	assert_int_equal(runs_finish(store, "r1", OUTCOME_OK, 0, NOW, NULL), -EBUSY);
	assert_int_equal(runs_forget(store, "r1", 0, NULL, NOW, NULL), -EBUSY);
	assert_int_equal(pin(store, 0), -EBUSY);
	assert_int_equal(pins_drop(store, "r1", NULL), 0);
}

static void a_pinned_run_is_neither_claimed_nor_begun(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);
	struct error error = { 0 };
	struct run *run = registered(store, &inventory);

	assert_int_equal(pin(store, NOW + 100), 1);
	assert_int_equal(claim(store, run, &error), -EPERM);
	assert_non_null(strstr(error.text, "pinned until"));
	assert_int_equal(pin(store, NOW + 5), 1); /* that is when the claim comes */
	assert_int_equal(claim(store, run, NULL), 1);
}

static void a_begun_claim_of_a_dead_pass_becomes_ours(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);
	char *history CLEANUP(mem_done) = NULL;

	assert_int_equal(claim(store, registered(store, &inventory), NULL), 1);
	assert_int_equal(begin(store), 1);
	assert_int_equal(runs_void_claims(store, NULL), 0);
	assert_int_equal(runs_claim(store, "p2", look(store, &inventory, "r1"), CLAIM_BEGUN_STOP,
				 NOW + 50, NULL),
		1);
	assert_int_equal(look(store, &inventory, "r1")->row->claim, CLAIM_BEGUN_REAP);
	assert_string_equal(look(store, &inventory, "r1")->row->claim_pass, "p2");
	assert_int_equal(begin(store), -ESTALE);
	assert_int_equal(
		runs_reaped(store, "p1", look(store, &inventory, "r1"), NOW, NULL), -ESTALE);
	assert_int_equal(runs_release(store, "p1", "r1", NULL), 0);
	assert_int_equal(look(store, &inventory, "r1")->row->claim, CLAIM_BEGUN_REAP);
	assert_int_equal(runs_release(store, "p2", "r1", NULL), 0);
	assert_int_equal(look(store, &inventory, "r1")->row->claim, CLAIM_NONE);
	history = database_history(store, "r1");
	assert_string_equal(history, "registered claimed resumed");
}

static void an_open_claim_of_a_dead_pass_is_void(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);

	assert_int_equal(claim(store, registered(store, &inventory), NULL), 1);
	assert_int_equal(runs_void_claims(store, NULL), 0);
	assert_int_equal(look(store, &inventory, "r1")->row->claim, CLAIM_NONE);
	assert_int_equal(begin(store), -ESTALE);
}

static void a_stopped_run_is_recorded_as_failed_now(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);
	struct run *run = registered(store, &inventory);

	assert_int_equal(runs_claim(store, "p1", run, CLAIM_BEGUN_STOP, NOW + 5, NULL), 1);
	assert_int_equal(runs_begin(store, "p1", "r1", CLAIM_BEGUN_STOP, NOW + 6, NULL), 1);
	assert_int_equal(look(store, &inventory, "r1")->row->claim, CLAIM_BEGUN_STOP);
	assert_int_equal(
		runs_stopped(store, "p1", look(store, &inventory, "r1"), NOW + 7, NULL), 0);
	run = look(store, &inventory, "r1");
	assert_int_equal(run->row->claim, CLAIM_NONE);
	assert_int_equal(run->row->outcome, OUTCOME_FAILED);
	assert_int_equal(run->row->finished_s, NOW + 7);
	assert_int_equal(run->row->resource_count, 1);
}

/* An orphan as an inventory shows it: proven by label, and something that is not proven. */
static struct run *orphan(struct store *store, struct inventory *inventory)
{
	struct run *run = look(store, inventory, "o1");

	run_add_resource(inventory, run,
		&(struct resource){
			.kind = KIND_CONTAINER, .locator = "c1", .proof = PROOF_LABEL });
	run_add_resource(
		inventory, run, &(struct resource){ .kind = KIND_WORKTREE, .locator = "/ws/o1" });
	run->facts.first_seen_s = NOW - 1000;
	run->decision.reason = REASON_ORPHAN;
	return run;
}

static void an_orphan_gets_a_row_of_what_is_proven_until_the_claim_ends(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);
	struct run *run = orphan(store, &inventory);

	assert_int_equal(claim(store, run, NULL), 1);
	assert_int_equal(runs_begin(store, "p1", "o1", CLAIM_BEGUN_REAP, NOW + 6, NULL), 1);
	assert_int_equal(runs_void_claims(store, NULL), 0);
	run = look(store, &inventory, "o1");
	assert_non_null(run->row);
	assert_int_equal(run->row->resource_count, 1);
	assert_false(run->row->registered);
	assert_string_equal(run->row->resources[0].locator, "c1");
	assert_int_equal(run->row->created_s, NOW - 1000);
	assert_int_equal(runs_renew(store, "o1", NOW, 0, NULL), -EBUSY);
	assert_int_equal(runs_release(store, "p1", "o1", NULL), 0);
	assert_null(look(store, &inventory, "o1")->row);
}

static void an_orphan_that_is_registered_or_pinned_meanwhile_is_let_go(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct store *store = database(state);
	struct run *run = orphan(store, &inventory);
	bool known = true;

	assert_int_equal(claim(store, run, NULL), 1);
	assert_int_equal(database_register(store, "o1", &tree, 1, NULL), 1);
	assert_int_equal(runs_begin(store, "p1", "o1", CLAIM_BEGUN_REAP, NOW, NULL), -ESTALE);
	assert_string_equal(look(store, &inventory, "o1")->row->resources[0].locator, tree.locator);
	assert_int_equal(claim(store, orphan(store, &inventory), NULL), 1);
	assert_int_equal(runs_forget(store, "o1", 0, NULL, NOW, NULL), 1);

	assert_int_equal(claim(store, orphan(store, &inventory), NULL), 1);
	assert_int_equal(pins_set(store, &(struct pin){ .run = "o1" }, &known, NULL), 1);
	assert_false(known);
	assert_null(look(store, &inventory, "o1")->row);
	assert_int_equal(pins_drop(store, "o1", NULL), 1);

	run = orphan(store, &inventory);
	assert_int_equal(database_register(store, "o1", &tree, 1, NULL), 1);
	assert_int_equal(claim(store, run, NULL), -ESTALE);
	assert_int_equal(runs_forget(store, "o1", 0, NULL, NOW, NULL), 1);

	/* And never with what another run has registered. */
	run = orphan(store, &inventory);
	assert_int_equal(
		database_register(store, "r2",
			&(struct resource){ .kind = KIND_CONTAINER, .locator = "c1" }, 1, NULL),
		1);
	assert_int_equal(claim(store, run, NULL), -EADDRINUSE);
	assert_null(look(store, &inventory, "o1")->row);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_claimed_and_begun_run_is_reaped_and_leaves_a_tombstone),
		TEST(a_run_whose_tree_another_claims_is_not_begun),
		TEST(what_happened_since_the_look_makes_the_claim_stale),
		TEST(a_sign_from_the_run_voids_a_claim_that_has_not_begun),
		TEST(a_run_that_is_being_taken_apart_cannot_be_changed),
		TEST(a_pinned_run_is_neither_claimed_nor_begun),
		TEST(a_begun_claim_of_a_dead_pass_becomes_ours),
		TEST(an_open_claim_of_a_dead_pass_is_void),
		TEST(a_stopped_run_is_recorded_as_failed_now),
		TEST(an_orphan_gets_a_row_of_what_is_proven_until_the_claim_ends),
		TEST(an_orphan_that_is_registered_or_pinned_meanwhile_is_let_go),
	};

	return cmocka_run_group_tests_name("runs_claim", tests, NULL, NULL);
}
