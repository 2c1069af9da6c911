#include "unit.h"

#include "base/text.h"
#include "state/history.h"
#include "state/salvages.h"
#include "state/schema.h"
#include "state/tally.h"

#include "database.h"

#include <errno.h>

static const struct salvage commit = {
	.run = "r1",
	.generation = 7,
	.made_s = NOW,
	.form = SALVAGE_COMMIT,
	.tree = "/srv/ws/r1 \xff",
	.branch = "sbx/r1",
	.repo = "/srv/git/app/.git",
	.ref = "refs/sbx/salvage/r1",
	.commit = "0123456789012345678901234567890123456789",
	.bytes = INT64_C(5) << 30,
};

static const struct salvage archive = {
	.run = "r2",
	.generation = 8,
	.made_s = NOW + 10,
	.form = SALVAGE_ARCHIVE,
	.tree = "/srv/ws/r2",
	.path = "/var/lib/sbx/salvage/r2,8.tar.zst",
	.bytes = 3,
};

static int show(void *context, const struct salvage *salvage)
{
	struct text *text = context;

	text_addf(text, "%s %lld %lld %d %s %s %s %s %s %s %lld\n", salvage->run,
		(long long)salvage->generation, (long long)salvage->made_s, (int)salvage->form,
		salvage->tree, salvage->branch ? salvage->branch : "-",
		salvage->repo ? salvage->repo : "-", salvage->ref ? salvage->ref : "-",
		salvage->commit ? salvage->commit : "-", salvage->path ? salvage->path : "-",
		(long long)salvage->bytes);
	return 0;
}

static int count(void *context, const struct salvage *salvage)
{
	(void)salvage;
	return ++*(int *)context == 1 ? 1 : -ECANCELED;
}

static int count_all(void *context, const struct salvage *salvage)
{
	(void)salvage;
	++*(int *)context;
	return 0;
}

static char *listing(struct store *store, const char *run, int64_t before_s)
{
	struct text text = { 0 };

	text_add(&text, "");
	assert_int_equal(salvages_each(store, run, before_s, show, &text, NULL), 0);
	return text.data;
}

#define COMMIT_LINE                                                                       \
	"r1 7 1795966380 0 /srv/ws/r1 \xff sbx/r1 /srv/git/app/.git refs/sbx/salvage/r1 " \
	"0123456789012345678901234567890123456789 - 5368709120\n"
#define ARCHIVE_LINE "r2 8 1795966390 1 /srv/ws/r2 - - - - /var/lib/sbx/salvage/r2,8.tar.zst 3\n"

static void what_is_added_is_listed_newest_first(void **state)
{
	char *all CLEANUP(mem_done) = NULL, *one CLEANUP(mem_done) = NULL;
	char *old CLEANUP(mem_done) = NULL, *none CLEANUP(mem_done) = NULL;

	assert_int_equal(salvages_add(database(state), "p1", &commit, NULL), 1);
	assert_int_equal(salvages_add(database(state), "p1", &archive, NULL), 1);
	all = listing(database(state), NULL, 0);
	assert_string_equal(all, ARCHIVE_LINE COMMIT_LINE);
	one = listing(database(state), "r1", 0);
	assert_string_equal(one, COMMIT_LINE);
	old = listing(database(state), NULL, NOW + 10);
	assert_string_equal(old, COMMIT_LINE);
	none = listing(database(state), "r1", NOW);
	assert_string_equal(none, "");
}

static void a_negative_answer_ends_the_list(void **state)
{
	int calls = 0;

	assert_int_equal(salvages_add(database(state), "p1", &commit, NULL), 1);
	assert_int_equal(salvages_add(database(state), "p1", &archive, NULL), 1);
	assert_int_equal(salvages_each(database(state), NULL, 0, count, &calls, NULL), -ECANCELED);
	assert_int_equal(calls, 2);
}

static void adding_and_dropping_are_idempotent_and_in_the_history(void **state)
{
	char *history CLEANUP(mem_done) = NULL, *left CLEANUP(mem_done) = NULL;

	assert_int_equal(salvages_add(database(state), "p1", &commit, NULL), 1);
	assert_int_equal(salvages_add(database(state), "p2", &commit, NULL), 0);
	assert_int_equal(salvages_drop(database(state), &archive, "old", NOW, NULL), 0);
	assert_int_equal(salvages_drop(database(state), &commit, "old", NOW, NULL), 1);
	assert_int_equal(salvages_drop(database(state), &commit, "old", NOW, NULL), 0);
	history = database_history(database(state), "r1");
	assert_string_equal(history, "salvaged salvage ended");
	left = listing(database(state), NULL, 0);
	assert_string_equal(left, "");
}

static void the_same_ref_of_another_repository_is_another_salvage(void **state)
{
	struct salvage other = commit;
	char *left CLEANUP(mem_done) = NULL;

	other.repo = "/srv/git/lib.git";
	assert_int_equal(salvages_add(database(state), "p1", &commit, NULL), 1);
	assert_int_equal(salvages_add(database(state), "p1", &other, NULL), 1);
	assert_int_equal(salvages_drop(database(state), &other, "old", NOW, NULL), 1);
	left = listing(database(state), NULL, 0);
	assert_string_equal(left, COMMIT_LINE);
}

/* Its ref was deleted by hand, and a later run of that name got it. */
static void what_took_its_place_voids_it_and_is_not_dropped_for_it(void **state)
{
	struct salvage later = commit;
	int calls = 0;

	later.generation = 9;
	later.commit = "9999999999999999999999999999999999999999";
	assert_int_equal(salvages_add(database(state), "p1", &commit, NULL), 1);
	assert_int_equal(salvages_add(database(state), "p2", &later, NULL), 1);
	assert_int_equal(salvages_drop(database(state), &commit, "old", NOW, NULL), 0);
	assert_int_equal(salvages_each(database(state), NULL, 0, count_all, &calls, NULL), 0);
	assert_int_equal(calls, 1);
}

static void no_salvage_without_an_identifier(void **state)
{
	struct salvage odd = commit;

	odd.run = "../x";
	assert_int_equal(salvages_add(database(state), "p1", &odd, NULL), -EINVAL);
}

static void assert_failure(void **state, int64_t failed_s, const char *why)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
	const struct record *row = database_row(database(state), "r1", &inventory);

	assert_int_equal(row->salvage_failed_s, failed_s);
	if (why)
		assert_string_equal(row->salvage_failed, why);
	else
		assert_null(row->salvage_failed);
}

static void a_failure_is_noted_until_the_run_is_heard_of_again(void **state)
{
	const struct resource path = { .kind = KIND_PATH, .locator = "/tmp/r1" };
	struct store *store = database(state);

	assert_int_equal(database_register(store, "r1", NULL, 0, NULL), 1);
	assert_failure(state, 0, NULL);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(salvages_note_failure(store, "r1", NOW + 5, "full", NULL), 0);
		assert_failure(state, NOW + 5, "full");
		if (i == 0)
			assert_int_equal(salvages_note_failure(store, "r1", NOW, NULL, NULL), 0);
		if (i == 1)
			assert_int_equal(runs_renew(store, "r1", NOW, 0, NULL), 1);
		if (i == 2)
			assert_int_equal(database_register(store, "r1", &path, 1, NULL), 1);
		if (i == 3) {
			assert_int_equal(runs_forget(store, "r1", 0, NULL, NOW, NULL), 1);
			assert_int_equal(database_register(store, "r1", NULL, 0, NULL), 1);
		}
		assert_failure(state, 0, NULL);
	}
	assert_int_equal(salvages_note_failure(store, "r9", NOW, "full", NULL), 0);
}

/* Takes the tables of later versions away again, as a database of the first is. */
static void back_to_the_first_version(struct store *store)
{
	static const char sql[] =
		"DROP TABLE size; DROP TRIGGER history_tally_day; DROP TABLE tally_day; DROP TABLE "
		"duty;"
		"DROP TRIGGER history_tally; DROP TABLE tally; DROP TABLE probe_result;"
		"DROP INDEX pass_done; DROP INDEX pass_moment; DROP TABLE failure; DROP TABLE "
		"unfinished; DROP TABLE "
		"lock_held;"
		"DROP TABLE salvage; DROP TABLE hold; DROP TABLE brake; DROP TABLE probe;"
		"ALTER TABLE run DROP COLUMN salvage_failed_s;"
		"ALTER TABLE run DROP COLUMN salvage_failed; PRAGMA user_version = 1";
	struct error error = { 0 };

	if (db_exec(store, sql, "go back", &error) < 0)
		fail_msg("%s", error.text);
}

static void check_tally(void *context, const struct tally *tally)
{
	int64_t *runs = context;

	assert_string_equal(tally->action, "reaped");
	assert_string_equal(tally->cause, "orphan");
	assert_int_equal(tally->bytes, 7);
	*runs += tally->runs;
}

static void a_database_of_the_first_version_keeps_its_rows(void **state)
{
	const struct resource tree = { .kind = KIND_WORKTREE, .locator = "/srv/ws/r1", .ino = 5 };
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
	struct workdir *workdir = *state;
	const struct record *row;
	struct store *store = database(state);
	char *history CLEANUP(mem_done) = NULL;
	int64_t reaped = 0;

	assert_int_equal(database_register(store, "r1", &tree, 1, NULL), 1);
	assert_int_equal(runs_finish(store, "r1", OUTCOME_FAILED, NOW, NOW, NULL), 1);
	assert_int_equal(history_add(store,
				 &(struct history_entry){ .at_s = NOW,
					 .run = "r0",
					 .action = "reaped",
					 .reason = "orphan",
					 .bytes = 7 },
				 NULL),
		0);
	back_to_the_first_version(store);
	store_close(store);
	assert_int_equal(
		store_open(workdir_path(workdir, "state.db"), STORE_READ, &store, NULL), -EPROTO);
	workdir->more = store = database_open(workdir, STORE_WRITE);
	row = database_row(store, "r1", &inventory);
	assert_int_equal(row->outcome, OUTCOME_FAILED);
	assert_int_equal(row->resources[0].ino, 5);
	assert_int_equal(row->salvage_failed_s, 0);
	history = database_history(store, "r1");
	assert_string_equal(history, "registered finished");
	assert_int_equal(tally_each(store, check_tally, &reaped, NULL), 0);
	assert_int_equal(reaped, 1);
	assert_int_equal(salvages_add(store, "p1", &commit, NULL), 1);
	assert_int_equal(salvages_note_failure(store, "r1", NOW, "full", NULL), 0);
	assert_int_equal(store_verify(store, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_added_is_listed_newest_first),
		TEST(a_negative_answer_ends_the_list),
		TEST(adding_and_dropping_are_idempotent_and_in_the_history),
		TEST(the_same_ref_of_another_repository_is_another_salvage),
		TEST(what_took_its_place_voids_it_and_is_not_dropped_for_it),
		TEST(no_salvage_without_an_identifier),
		TEST(a_failure_is_noted_until_the_run_is_heard_of_again),
		TEST(a_database_of_the_first_version_keeps_its_rows),
	};

	return cmocka_run_group_tests_name("salvages", tests, NULL, NULL);
}
