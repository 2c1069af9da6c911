#include "unit.h"

#include "base/text.h"
#include "state/history.h"

#include "database.h"

#include <errno.h>

#define WORKTREE(path)                                   \
	{                                                \
		.kind = KIND_WORKTREE, .locator = (path) \
	}

static const struct resource everything[] = {
	{ .kind = KIND_WORKTREE,
		.locator = "/ws/r1",
		.repo = "/git/app/.git",
		.base = "0123456789abcdef0123456789abcdef01234567",
		.branch = "sbx/r1",
		.dev = 0xfedcba9876543210,
		.ino = 42 },
	{ .kind = KIND_BRANCH, .locator = "sbx/r1", .repo = "/git/app/.git" },
	{ .kind = KIND_CONTAINER, .locator = "abc", .token = "abcdef", .at = "unix:///run/x.sock" },
	{ .kind = KIND_CGROUP, .locator = "/sbx.slice/r1", .dev = 1, .ino = 2 },
	{ .kind = KIND_SCOPE, .locator = "sbx-r1.scope" },
	{ .kind = KIND_PATH, .locator = "/tmp/\xff r1;\"'" },
	{ .kind = KIND_PROCESS, .locator = "77", .token = "boot:99" },
	{ .kind = KIND_VOLUME, .locator = "v1" },
};

static void register_all(struct store *store)
{
	struct error error = { 0 };

	if (database_register(store, "r1", everything, ARRAY_SIZE(everything), &error) != 1)
		fail_msg("%s", error.text);
}

static int tell(struct store *store, const struct record *record, struct error *error)
{
	return runs_register(store, record, TTL, NOW + 10, error);
}

static void what_was_registered_is_loaded_whole(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct record *row;

	register_all(database(state));
	row = database_row(database(state), "r1", &inventory);
	assert_non_null(row);
	assert_string_equal(row->run, "r1");
	assert_true(row->registered);
	assert_true(row->generation >= NOW);
	assert_int_equal(row->created_s, NOW);
	assert_int_equal(row->ttl_s, TTL);
	assert_int_equal(row->deadline_s, NOW + TTL);
	assert_int_equal(row->last_sign_s, NOW);
	assert_int_equal(row->finished_s, 0);
	assert_int_equal(row->outcome, OUTCOME_NONE);
	assert_int_equal(row->claim, CLAIM_NONE);
	assert_int_equal(row->resource_count, ARRAY_SIZE(everything));
	for (size_t i = 0; i < row->resource_count; i++) {
		const struct resource *was = &everything[i], *is = &row->resources[i];

		assert_int_equal(is->kind, was->kind);
		assert_string_equal(is->locator, was->locator);
		assert_true(text_equal(is->repo, was->repo) && text_equal(is->base, was->base));
		assert_true(text_equal(is->branch, was->branch));
		assert_true(text_equal(is->token, was->token) && text_equal(is->at, was->at));
		assert_true(is->dev == was->dev && is->ino == was->ino);
		assert_int_equal(is->proof, PROOF_ROW);
		assert_int_equal(is->generation, row->generation);
		assert_int_equal(is->span_from_s, NOW);
		assert_string_equal(is->run, "r1");
	}
}

static void all_runs_are_loaded_each_with_its_own(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	for (int i = 0; i < 30; i++) {
		char run[16], path[32];
		struct resource resource = { .kind = KIND_WORKTREE, .locator = path };

		(void)snprintf(run, sizeof(run), "r%d", i);
		(void)snprintf(path, sizeof(path), "/ws/%s", run);
		assert_int_equal(
			database_register(database(state), run, &resource, (size_t)(i % 2), NULL),
			1);
	}
	assert_int_equal(runs_load(database(state), &inventory, NULL, NULL), 0);
	assert_int_equal(inventory.run_count, 30);
	for (size_t i = 0; i < 30; i++) {
		const struct record *row = inventory.runs[i]->row;

		assert_int_equal(row->resource_count, strtol(row->run + 1, NULL, 10) % 2);
		if (row->resource_count)
			assert_string_equal(row->resources[0].locator + 4, row->run);
	}
}

static void the_same_call_twice_changes_nothing(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *history CLEANUP(mem_done) = NULL;

	register_all(database(state));
	assert_int_equal(
		database_register(database(state), "r1", everything, ARRAY_SIZE(everything), NULL),
		0);
	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), 0);
	assert_int_equal(database_row(database(state), "r1", &inventory)->resource_count,
		ARRAY_SIZE(everything));
	history = database_history(database(state), "r1");
	assert_string_equal(history, "registered");
}

static void resources_are_added_and_completed(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct resource bare = WORKTREE("/ws/r1");
	const struct record *row;

	assert_int_equal(database_register(database(state), "r1", &bare, 1, NULL), 1);
	register_all(database(state));
	row = database_row(database(state), "r1", &inventory);
	assert_int_equal(row->resource_count, ARRAY_SIZE(everything));
	assert_string_equal(row->resources[0].repo, "/git/app/.git");
	assert_int_equal(row->resources[0].ino, 42);
	assert_int_equal(database_register(database(state), "r1", &bare, 1, NULL), 0);
}

static void told_twice_in_one_call_is_told_once(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct resource twice[] = { { .kind = KIND_CONTAINER, .locator = "c" },
		{ .kind = KIND_CONTAINER, .locator = "c" } };

	assert_int_equal(database_register(database(state), "r1", twice, 2, NULL), 1);
	assert_int_equal(database_row(database(state), "r1", &inventory)->resource_count, 1);
}

static void a_contradiction_is_an_error_that_names_both_and_changes_nothing(void **state)
{
	struct resource tree = WORKTREE("/ws/other"), repo = everything[0], inode = everything[0],
			branch = everything[0], second = everything[1], container = everything[2],
			added[2] = { { .kind = KIND_PATH, .locator = "/tmp/new" }, tree };
	const struct {
		struct record record;
		const char *one, *other;
	} cases[] = {
		{ { .created_s = NOW - 5 }, "2026-11-29T15:33:00Z", "2026-11-29T15:32:55Z" },
		{ { .ttl_s = 60 }, "2h", "1min" },
		{ { .resources = &tree, .resource_count = 1 }, "/ws/r1", "/ws/other" },
		{ { .resources = &repo, .resource_count = 1 }, "/git/app/.git", "/git/b" },
		{ { .resources = &inode, .resource_count = 1 }, "42", "43" },
		{ { .resources = &branch, .resource_count = 1 }, "sbx/r1", "main" },
		{ { .resources = &second, .resource_count = 1 }, "sbx/r1", "sbx/r2" },
		{ { .resources = &container, .resource_count = 1 }, "abcdef", "fedcba" },
		{ { .no_container = true }, "abc", "no container" },
		{ { .resources = added, .resource_count = 2 }, "/ws/r1", "/ws/other" },
	};

	repo.repo = "/git/b";
	inode.ino = 43;
	branch.branch = "main";
	second.locator = "sbx/r2";
	container.token = "fedcba";
	register_all(database(state));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct record record = cases[i].record;
		struct error error = { 0 };

		record.run = "r1";
		assert_int_equal(tell(database(state), &record, &error), -EEXIST);
		if (!strstr(error.text, cases[i].one) || !strstr(error.text, cases[i].other))
			fail_msg("%zu: %s", i, error.text);
		assert_int_equal(database_row(database(state), "r1", &inventory)->resource_count,
			ARRAY_SIZE(everything));
	}
}

static void a_container_after_none_was_promised_is_a_contradiction(void **state)
{
	struct resource container = everything[2];

	assert_int_equal(
		tell(database(state), &(struct record){ .run = "r1", .no_container = true }, NULL),
		1);
	assert_int_equal(tell(database(state), &(struct record){ .run = "r1" }, NULL), 0);
	assert_int_equal(database_register(database(state), "r1", &container, 1, NULL), -EEXIST);
	assert_int_equal(database_register(database(state), "r2", NULL, 0, NULL), 1);
	assert_int_equal(
		tell(database(state), &(struct record){ .run = "r2", .no_container = true }, NULL),
		1);
}

static void a_moved_head_and_a_used_again_pid_are_no_contradiction(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct resource moved = everything[0], again = everything[6];
	const struct record *row;

	register_all(database(state));
	moved.base = "ffffffffffffffffffffffffffffffffffffffff";
	again.token = "boot:100";
	assert_int_equal(database_register(database(state), "r1", &moved, 1, NULL), 0);
	assert_int_equal(database_register(database(state), "r1", &again, 1, NULL), 1);
	row = database_row(database(state), "r1", &inventory);
	assert_string_equal(row->resources[0].base, everything[0].base);
	assert_string_equal(row->resources[6].token, "boot:100");
}

static void what_one_run_owns_no_other_can_register(void **state)
{
	register_all(database(state));
	for (size_t i = 0; i < ARRAY_SIZE(everything); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { 0 };
		struct error error = { 0 };
		bool shared =
			everything[i].kind == KIND_PROCESS || everything[i].kind == KIND_VOLUME;
		int r = database_register(database(state), "r2", &everything[i], 1, &error);

		assert_int_equal(r, shared ? 1 : -EADDRINUSE);
		if (shared)
			continue;
		assert_non_null(strstr(error.text, "run 'r1'"));
		assert_null(database_row(database(state), "r2", &inventory));
	}
}

static void the_same_branch_of_another_repository_is_another_branch(void **state)
{
	struct resource branch = {
		.kind = KIND_BRANCH, .locator = "sbx/r1", .repo = "/git/b/.git"
	};

	register_all(database(state));
	assert_int_equal(database_register(database(state), "r2", &branch, 1, NULL), 1);
}

static void rubbish_is_not_registered(void **state)
{
	struct resource two[] = { WORKTREE("/a"), WORKTREE("/b") };
	struct resource nameless = WORKTREE("");
	const struct record bad[] = {
		{ .run = "../r1" },
		{ .run = "" },
		{ .run = "r1", .created_s = -1 },
		{ .run = "r1", .created_s = INT64_MAX },
		{ .run = "r1", .ttl_s = -1 },
		{ .run = "r1", .ttl_s = INT64_MAX },
		{ .run = "r1", .resources = two, .resource_count = 2 },
		{ .run = "r1", .resources = &nameless, .resource_count = 1 },
	};
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = { 0 };

		assert_int_equal(tell(database(state), &bad[i], &error), -EINVAL);
		assert_int_not_equal(error.text[0], 0);
	}
	assert_int_equal(runs_load(database(state), &inventory, NULL, NULL), 0);
	assert_int_equal(inventory.run_count, 0);
}

static void a_given_creation_time_is_also_the_sign_of_life(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct resource path = { .kind = KIND_PATH, .locator = "/tmp/x" };
	struct record record = { .run = "r1", .created_s = NOW - 86400, .ttl_s = 60 };
	const struct record *row;

	assert_int_equal(tell(database(state), &record, NULL), 1);
	record.resources = &path;
	record.resource_count = 1;
	assert_int_equal(tell(database(state), &record, NULL), 1);
	row = database_row(database(state), "r1", &inventory);
	assert_int_equal(row->last_sign_s, NOW - 86400);
	assert_int_equal(row->deadline_s, NOW - 86400 + 60);
	path.locator = "/tmp/y";
	record.created_s = 0;
	assert_int_equal(tell(database(state), &record, NULL), 1);
	assert_int_equal(database_row(database(state), "r1", &inventory)->last_sign_s, NOW + 10);
}

static void a_heartbeat_is_a_sign_of_life_and_a_ttl_moves_the_deadline(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *history CLEANUP(mem_done) = NULL;
	const struct record *row;

	register_all(database(state));
	assert_int_equal(runs_renew(database(state), "r1", NOW + 100, 0, NULL), 1);
	row = database_row(database(state), "r1", &inventory);
	assert_int_equal(row->last_sign_s, NOW + 100);
	assert_int_equal(row->deadline_s, NOW + TTL);
	assert_int_equal(runs_renew(database(state), "r1", NOW + 200, 60, NULL), 1);
	row = database_row(database(state), "r1", &inventory);
	assert_int_equal(row->deadline_s, NOW + 260);
	assert_int_equal(row->ttl_s, TTL); /* the same registration is still the same */
	assert_int_equal(runs_renew(database(state), "no", NOW, 0, NULL), -ENOENT);
	history = database_history(database(state), "r1");
	assert_string_equal(history, "registered renewed");
}

static void the_end_is_recorded_once(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct error error = { 0 };
	char *history CLEANUP(mem_done) = NULL;
	const struct record *row;

	register_all(database(state));
	assert_int_equal(
		runs_finish(database(state), "r1", OUTCOME_OK, NOW - 1, NOW + 60, NULL), -EEXIST);
	assert_int_equal(
		runs_finish(database(state), "r1", OUTCOME_OK, NOW + 50, NOW + 60, NULL), 1);
	assert_int_equal(
		runs_finish(database(state), "r1", OUTCOME_OK, NOW + 50, NOW + 70, NULL), 0);
	assert_int_equal(runs_finish(database(state), "r1", OUTCOME_OK, 0, NOW + 70, NULL), 0);
	assert_int_equal(
		runs_finish(database(state), "r1", OUTCOME_OK, NOW + 70, NOW + 70, NULL), 0);
	assert_int_equal(
		runs_finish(database(state), "r1", OUTCOME_OK, NOW + 51, NOW + 70, NULL), -EEXIST);
	assert_int_equal(
		runs_finish(database(state), "r1", OUTCOME_FAILED, 0, NOW + 70, &error), -EEXIST);
	assert_non_null(strstr(error.text, "(ok) at 2026-11-29T15:33:50Z"));
	row = database_row(database(state), "r1", &inventory);
	assert_int_equal(row->outcome, OUTCOME_OK);
	assert_int_equal(row->finished_s, NOW + 50);
	assert_int_equal(row->resources[0].span_to_s, NOW + 50);
	assert_int_equal(runs_renew(database(state), "r1", NOW + 70, 0, NULL), -EALREADY);
	assert_int_equal(database_register(database(state), "r1", NULL, 0, NULL), -EEXIST);
	assert_int_equal(runs_finish(database(state), "no", OUTCOME_OK, 0, NOW, NULL), -ENOENT);
	history = database_history(database(state), "r1");
	assert_string_equal(history, "registered finished");
}

static void forgetting_drops_one_resource_or_all(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	char *history CLEANUP(mem_done) = NULL;

	register_all(database(state));
	assert_int_equal(runs_forget(database(state), "r1", KIND_VOLUME, "v1", NOW, NULL), 1);
	assert_int_equal(runs_forget(database(state), "r1", KIND_VOLUME, "v1", NOW, NULL), 0);
	assert_int_equal(database_row(database(state), "r1", &inventory)->resource_count,
		ARRAY_SIZE(everything) - 1);
	assert_int_equal(runs_forget(database(state), "r1", 0, NULL, NOW, NULL), 1);
	assert_null(database_row(database(state), "r1", &inventory));
	assert_int_equal(runs_forget(database(state), "r1", 0, NULL, NOW, NULL), 0);
	assert_int_equal(database_register(database(state), "r2", everything, 3, NULL), 1);
	history = database_history(database(state), "r1");
	assert_string_equal(history, "registered forgotten forgotten");
}

static void a_generation_is_never_used_again(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	int64_t last = 0;

	for (int i = 0; i < 5; i++) {
		int64_t generation;

		register_all(database(state));
		generation = database_row(database(state), "r1", &inventory)->generation;
		assert_true(generation > last);
		last = generation;
		assert_int_equal(runs_forget(database(state), "r1", 0, NULL, NOW, NULL), 1);
	}
	/* A database that knows of no tombstone gives later ones too, when it is later. */
	assert_int_equal(history_trim(database(state), NOW + 1, NULL), 0);
	assert_int_equal(runs_register(database(state), &(struct record){ .run = "r1" }, TTL,
				 NOW + 3600, NULL),
		1);
	assert_true(database_row(database(state), "r1", &inventory)->generation > last);
}

static void a_good_answer_of_the_engines_counts_from_the_end_on(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	register_all(database(state));
	assert_int_equal(runs_note_engine_clear(database(state), "r1", NOW + 5, NULL), 0);
	assert_int_equal(database_row(database(state), "r1", &inventory)->engine_clear_s, 0);
	assert_int_equal(runs_finish(database(state), "r1", OUTCOME_OK, 0, NOW + 6, NULL), 1);
	assert_int_equal(runs_note_engine_clear(database(state), "r1", NOW + 7, NULL), 0);
	assert_int_equal(runs_note_engine_clear(database(state), "r1", NOW + 8, NULL), 0);
	assert_int_equal(database_row(database(state), "r1", &inventory)->engine_clear_s, NOW + 7);
}

static void sightings_keep_the_first_moment_until_they_are_gone(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct run *seen = inventory_run(&inventory, "o1");

	assert_int_equal(runs_note_sighting(database(state), "o1", NOW, NULL), 0);
	assert_int_equal(runs_note_sighting(database(state), "o1", NOW + 5, NULL), 0);
	assert_int_equal(runs_note_sighting(database(state), "o2", NOW + 5, NULL), 0);
	assert_int_equal(runs_load_sightings(database(state), &inventory, NULL), 0);
	assert_int_equal(seen->facts.first_seen_s, NOW);
	assert_null(inventory_find(&inventory, "o2"));
	assert_int_equal(runs_drop_sightings(database(state), &inventory, NULL), 0);
	seen->facts.first_seen_s = 0;
	inventory_run(&inventory, "o2");
	assert_int_equal(runs_load_sightings(database(state), &inventory, NULL), 0);
	assert_int_equal(seen->facts.first_seen_s, NOW);
	assert_int_equal(inventory_find(&inventory, "o2")->facts.first_seen_s, 0);
}

/* Twenty runs registered and finished by two processes, while this one claims what it sees. */
static int harness(struct workdir *workdir, void *context)
{
	struct store *store = database_open(workdir, STORE_WRITE);
	const char *name = context;
	int failed = 0;

	for (int i = 0; i < 10 && !failed; i++) {
		char run[16], path[32];
		struct resource resource = { .kind = KIND_WORKTREE, .locator = path };

		(void)snprintf(run, sizeof(run), "%s%d", name, i);
		(void)snprintf(path, sizeof(path), "/ws/%s", run);
		failed = database_register(store, run, &resource, 1, NULL) != 1       ? 1
			 : runs_renew(store, run, NOW + 1, 0, NULL) != 1              ? 2
			 : runs_finish(store, run, OUTCOME_OK, 0, NOW + 2, NULL) != 1 ? 3
										      : 0;
	}
	store_close(store);
	return failed;
}

static void reap_finished(struct store *store, size_t *reaped)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	assert_int_equal(runs_load(store, &inventory, NULL, NULL), 0);
	for (size_t i = 0; i < inventory.run_count; i++) {
		struct run *run = inventory.runs[i];
		int r;

		if (!run->row->finished_s)
			continue;
		r = runs_claim(store, "p1", run, CLAIM_BEGUN_REAP, NOW + 3, NULL);
		assert_int_equal(r, 1);
		assert_int_equal(
			runs_begin(store, "p1", run->id, CLAIM_BEGUN_REAP, NOW + 3, NULL), 1);
		assert_int_equal(runs_reaped(store, "p1", run, NOW + 3, NULL), 0);
		(*reaped)++;
	}
}

static void harnesses_and_a_pass_work_at_once(void **state)
{
	struct workdir *workdir = *state;
	char a[] = "a", b[] = "b";
	pid_t pids[2];
	size_t reaped = 0;

	/* A connection must not be carried across a fork: sqlite.org/howtocorrupt.html, 2.6 */
	store_close(workdir->more);
	workdir->more = NULL;
	pids[0] = workdir_fork(harness, workdir, a);
	pids[1] = workdir_fork(harness, workdir, b);
	workdir->more = database_open(workdir, STORE_WRITE);
	for (int i = 0; i < 10; i++)
		reap_finished(database(state), &reaped);
	assert_int_equal(workdir_wait(pids[0]), 0);
	assert_int_equal(workdir_wait(pids[1]), 0);
	reap_finished(database(state), &reaped);
	assert_int_equal(reaped, 20);
	assert_int_equal(store_verify(database(state), NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_registered_is_loaded_whole),
		TEST(all_runs_are_loaded_each_with_its_own),
		TEST(the_same_call_twice_changes_nothing),
		TEST(resources_are_added_and_completed),
		TEST(told_twice_in_one_call_is_told_once),
		TEST(a_contradiction_is_an_error_that_names_both_and_changes_nothing),
		TEST(a_container_after_none_was_promised_is_a_contradiction),
		TEST(a_moved_head_and_a_used_again_pid_are_no_contradiction),
		TEST(what_one_run_owns_no_other_can_register),
		TEST(the_same_branch_of_another_repository_is_another_branch),
		TEST(rubbish_is_not_registered),
		TEST(a_given_creation_time_is_also_the_sign_of_life),
		TEST(a_heartbeat_is_a_sign_of_life_and_a_ttl_moves_the_deadline),
		TEST(the_end_is_recorded_once),
		TEST(forgetting_drops_one_resource_or_all),
		TEST(a_generation_is_never_used_again),
		TEST(a_good_answer_of_the_engines_counts_from_the_end_on),
		TEST(sightings_keep_the_first_moment_until_they_are_gone),
		TEST(harnesses_and_a_pass_work_at_once),
	};

	return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
