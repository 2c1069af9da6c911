/*
 * Rows, markers and pins joined by run, with a real database and real files.
 */
#include "unit.h"

#include "database.h"
#include "state/marker.h"
#include "state/pins.h"
#include "told.h"

#include <sys/stat.h>

/* A root beside the database, and what was told about it. */
struct telling {
	struct workdir *workdir;
	struct store *store;
	char *root;
	char *roots[1];
	struct settings settings;
	struct inventory inventory;
};

static void telling_start(struct telling *telling, void **state)
{
	*telling = (struct telling){ .workdir = *state, .store = database(state) };
	telling->root = mem_printf("%s/ws", telling->workdir->path);
	assert_int_equal(mkdir(telling->root, 0755), 0);
	telling->roots[0] = telling->root;
	telling->settings = (struct settings){
		.database = telling->root,
		.roots = { .items = telling->roots, .count = 1 },
		.policy = { .ttl_s = TTL, .keep_ok_s = 600, .keep_failed_s = 86400 },
	};
}

static void telling_done(struct telling *telling)
{
	inventory_done(&telling->inventory);
	free(telling->root);
}

/* Writes a marker as a shell would: a line in a file. */
static void mark(struct telling *telling, const char *run, const char *more)
{
	char *name CLEANUP(mem_done) = mem_printf("ws/%s.sbx", run);
	char *text CLEANUP(mem_done) =
		mem_printf("[run]\nid = %s\ncreated = @%d\n%s", run, NOW, more);

	workdir_write(telling->workdir, name, text, strlen(text));
}

static void keep(struct telling *telling, const char *run, const char *text)
{
	char *name CLEANUP(mem_done) = mem_printf("ws/%s.keep", run);

	workdir_write(telling->workdir, name, text, strlen(text));
}

static void enter(struct telling *telling, const char *run, const char *tree, const char *repo)
{
	const struct resource worktree = { .kind = KIND_WORKTREE, .locator = tree, .repo = repo };

	assert_int_equal(database_register(telling->store, run, &worktree, tree ? 1 : 0, NULL), 1);
}

static const struct run *tell(struct telling *telling, const char *run)
{
	const struct world world = { .settings = &telling->settings, .store = telling->store };
	struct error error = { 0 };

	inventory_done(&telling->inventory);
	telling->inventory.now_s = NOW + 60;
	if (told_load(&telling->inventory, &world, NULL, &error) < 0)
		fail_msg("%s", error.text);
	return inventory_find(&telling->inventory, run);
}

static void a_row_alone_is_a_record(void **state)
{
	struct telling telling CLEANUP(telling_done);
	const struct run *run;

	telling_start(&telling, state);
	enter(&telling, "r1", NULL, NULL);
	run = tell(&telling, "r1");
	assert_true(run->facts.recorded);
	assert_int_equal(run->facts.created_s, NOW);
	assert_int_equal(run->facts.deadline_s, NOW + TTL);
	assert_int_equal(run->facts.last_sign_s, NOW);
	assert_int_equal(run->facts.finished_s, 0);
}

static void a_marker_alone_is_a_record_with_the_default_tree_and_ttl(void **state)
{
	struct telling telling CLEANUP(telling_done);
	const struct run *run;
	char *tree CLEANUP(mem_done) = NULL;

	telling_start(&telling, state);
	mark(&telling, "r1", "");
	run = tell(&telling, "r1");
	tree = mem_printf("%s/r1", telling.root);
	assert_true(run->facts.recorded);
	assert_false(run->facts.refused);
	assert_int_equal(run->facts.deadline_s, NOW + TTL);
	assert_int_equal(run->resource_count, 1);
	assert_string_equal(run->resources[0].locator, tree);
	assert_int_equal(run->resources[0].proof, PROOF_MARKER);
}

/* What a pass does to a run that nobody registered, until it dies. */
static void begin(struct telling *telling, const char *run)
{
	const struct run *found = tell(telling, run);

	assert_int_equal(runs_claim(telling->store, "p1", found, CLAIM_BEGUN_REAP, NOW, NULL), 1);
	assert_int_equal(runs_begin(telling->store, "p1", run, CLAIM_BEGUN_REAP, NOW, NULL), 1);
}

static void a_begun_claim_is_not_on_a_later_run_of_that_name(void **state)
{
	struct telling telling CLEANUP(telling_done);
	char *later CLEANUP(mem_done) = mem_printf("[run]\nid = r1\ncreated = @%d\n", NOW + 1);

	telling_start(&telling, state);
	mark(&telling, "r1", "");
	begin(&telling, "r1");
	assert_int_equal(tell(&telling, "r1")->facts.claim, CLAIM_BEGUN_REAP);
	workdir_write(telling.workdir, "ws/r1.sbx", later, strlen(later));
	assert_int_equal(tell(&telling, "r1")->facts.claim, CLAIM_NONE);
	assert_true(tell(&telling, "r1")->row_outlived);
	assert_null(tell(&telling, "r1")->row);
	assert_int_equal(runs_drop_claimed(telling.store, "r1", NULL), 1);
	assert_int_equal(runs_drop_claimed(telling.store, "r1", NULL), 0);
	assert_false(tell(&telling, "r1")->row_outlived);
}

/* The pass reads the row that the last one left, and then voids it. */
static void a_voided_row_of_a_run_that_nobody_registered_does_not_stop_its_claim(void **state)
{
	struct telling telling CLEANUP(telling_done);
	const struct run *run;

	telling_start(&telling, state);
	mark(&telling, "r1", "");
	assert_int_equal(
		runs_claim(telling.store, "p1", tell(&telling, "r1"), CLAIM_BEGUN_REAP, NOW, NULL),
		1);
	run = tell(&telling, "r1");
	assert_non_null(run->row);
	assert_int_equal(runs_void_claims(telling.store, NULL), 0);
	assert_int_equal(runs_claim(telling.store, "p2", run, CLAIM_BEGUN_REAP, NOW + 1, NULL), 1);
}

static void of_times_the_one_that_keeps_longer_holds(void **state)
{
	struct telling telling CLEANUP(telling_done);

	telling_start(&telling, state);
	enter(&telling, "r1", NULL, NULL);
	mark(&telling, "r1", "ttl = 9h\n");
	assert_int_equal(tell(&telling, "r1")->facts.deadline_s, NOW + 9 * 3600);
}

static void an_end_counts_only_when_every_record_says_so(void **state)
{
	struct telling telling CLEANUP(telling_done);
	char *end CLEANUP(mem_done) = mem_printf("finished = @%d\noutcome = failed\n", NOW + 20);

	telling_start(&telling, state);
	enter(&telling, "r1", NULL, NULL);
	assert_int_equal(runs_finish(telling.store, "r1", OUTCOME_OK, NOW + 10, NOW + 10, NULL), 1);
	assert_int_equal(tell(&telling, "r1")->facts.finished_s, NOW + 10);
	mark(&telling, "r1", "");
	assert_int_equal(tell(&telling, "r1")->facts.finished_s, 0);
	mark(&telling, "r1", end);
	assert_int_equal(tell(&telling, "r1")->facts.finished_s, NOW + 20);
	assert_int_equal(tell(&telling, "r1")->facts.outcome, OUTCOME_FAILED);
}

static void row_and_marker_must_name_the_same_tree_and_repository(void **state)
{
	struct telling telling CLEANUP(telling_done);
	char *tree CLEANUP(mem_done) = NULL, *other CLEANUP(mem_done) = NULL;

	telling_start(&telling, state);
	tree = mem_printf("%s/r1", telling.root);
	other = mem_printf("worktree = %s/other\n", telling.root);
	enter(&telling, "r1", tree, "/git/app/.git");
	mark(&telling, "r1", "repo = /git/app\n");
	assert_false(tell(&telling, "r1")->facts.refused);
	mark(&telling, "r1", "repo = /git/elsewhere\n");
	assert_true(tell(&telling, "r1")->facts.refused);
	mark(&telling, "r1", other);
	assert_true(tell(&telling, "r1")->facts.refused);
}

static void two_records_for_one_tree_refuse_both(void **state)
{
	struct telling telling CLEANUP(telling_done);
	char *same CLEANUP(mem_done) = NULL, *within CLEANUP(mem_done) = NULL;

	telling_start(&telling, state);
	same = mem_printf("worktree = %s/r1\n", telling.root);
	within = mem_printf("worktree = %s/r1/sub\n", telling.root);
	mark(&telling, "r1", "");
	mark(&telling, "r10", "");
	mark(&telling, "r2", same);
	assert_true(tell(&telling, "r1")->facts.refused);
	assert_true(tell(&telling, "r2")->facts.refused);
	assert_false(tell(&telling, "r10")->facts.refused);
	mark(&telling, "r2", within);
	assert_true(tell(&telling, "r1")->facts.refused);
	assert_true(tell(&telling, "r2")->facts.refused);
}

static void a_marker_that_is_not_trusted_is_not_missing(void **state)
{
	static const char *const bad[] = { "rubbish\n", "id2 = x\n", "ttl = soon\n" };
	struct telling telling CLEANUP(telling_done);

	telling_start(&telling, state);
	enter(&telling, "r1", NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		mark(&telling, "r1", bad[i]);
		assert_true(tell(&telling, "r1")->facts.refused);
		assert_non_null(telling.inventory.runs[0]->fault);
	}
	mark(&telling, "no run", "");
	assert_true(tell(&telling, "no run")->facts.refused);
}

static void any_keep_pins_and_an_unreadable_one_is_unknown(void **state)
{
	struct telling telling CLEANUP(telling_done);
	char *ended CLEANUP(mem_done) = mem_printf("[pin]\nuntil = @%d\n", NOW + 60);
	char *ends CLEANUP(mem_done) = mem_printf("[pin]\nuntil = @%d\n", NOW + 61);

	telling_start(&telling, state);
	keep(&telling, "r1", "");
	assert_int_equal(tell(&telling, "r1")->facts.pin, PIN_HELD);
	assert_int_equal(telling.inventory.runs[0]->pin->until_s, 0);
	keep(&telling, "r1", ended);
	assert_int_equal(tell(&telling, "r1")->facts.pin, PIN_NONE);
	keep(&telling, "r1", ends);
	assert_int_equal(tell(&telling, "r1")->facts.pin, PIN_HELD);
	keep(&telling, "r1", "rubbish\n");
	assert_int_equal(tell(&telling, "r1")->facts.pin, PIN_UNREADABLE);
}

static void of_two_pins_the_longer_holds(void **state)
{
	struct telling telling CLEANUP(telling_done);
	const struct pin row = { .run = "r1", .by = "ada", .since_s = NOW, .until_s = NOW + 500 };
	char *longer CLEANUP(mem_done) = mem_printf("[pin]\nuntil = @%d\n", NOW + 900);
	bool known;

	telling_start(&telling, state);
	assert_int_equal(pins_set(telling.store, &row, &known, NULL), 1);
	assert_int_equal(tell(&telling, "r1")->pin->until_s, NOW + 500);
	keep(&telling, "r1", longer);
	assert_int_equal(tell(&telling, "r1")->pin->until_s, NOW + 900);
	keep(&telling, "r1", "");
	assert_int_equal(tell(&telling, "r1")->pin->until_s, 0);
}

static void a_lost_root_is_a_source_that_cannot_be_read(void **state)
{
	struct telling telling CLEANUP(telling_done);
	char lost[] = "/nonexistent/ws", *list[] = { lost };
	const struct source *last;

	telling_start(&telling, state);
	telling.settings.lost_roots = (struct text_list){ .items = list, .count = 1 };
	(void)tell(&telling, "r1");
	last = &telling.inventory.sources[telling.inventory.source_count - 1];
	assert_string_equal(last->name, "markers");
	assert_int_equal(last->ok, TRI_NO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_alone_is_a_record),
		TEST(a_marker_alone_is_a_record_with_the_default_tree_and_ttl),
		TEST(a_begun_claim_is_not_on_a_later_run_of_that_name),
		TEST(a_voided_row_of_a_run_that_nobody_registered_does_not_stop_its_claim),
		TEST(of_times_the_one_that_keeps_longer_holds),
		TEST(an_end_counts_only_when_every_record_says_so),
		TEST(row_and_marker_must_name_the_same_tree_and_repository),
		TEST(two_records_for_one_tree_refuse_both),
		TEST(a_marker_that_is_not_trusted_is_not_missing),
		TEST(any_keep_pins_and_an_unreadable_one_is_unknown),
		TEST(of_two_pins_the_longer_holds),
		TEST(a_lost_root_is_a_source_that_cannot_be_read),
	};

	return cmocka_run_group_tests_name("told", tests, NULL, NULL);
}
