#include "unit.h"

#include "hooks.h"

#include "base/clock.h"
#include "database.h"
#include "state/duties.h"
#include "state/history.h"
#include "state/hold.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { LONG_MS = 60000 };

/* A site whose hooks write "HOOK RUN" to a file, and fail when there is a file "fail"; "more" is run. */
struct site {
	struct workdir *workdir;
	struct store *store;
	char *program;
	struct settings settings;
	struct hooks hooks;
};

static void site_done(struct site *site)
{
	free(site->program);
}

static void site_open(struct site *site, void **state)
{
	char *script CLEANUP(mem_done) = NULL;

	*site = (struct site){ .workdir = *state, .store = database(state) };
	script = mem_printf("#!/bin/sh\necho \"$SBX_HOOK $SBX_RUN $SBX_TRY\" >>%s/calls\n"
			    "[ ! -e %s/more ] || . %s/more\n"
			    "[ ! -e %s/fail ] || { echo no vault; exit 1; }\n",
		site->workdir->path, site->workdir->path, site->workdir->path, site->workdir->path);
	workdir_write(site->workdir, "hook", script, strlen(script));
	assert_int_equal(fchmodat(site->workdir->dir, "hook", 0755, 0), 0);
	site->program = mem_dup(workdir_path(site->workdir, "hook"));
	site->settings.hooks = (struct hook_settings){ site->program, site->program };
	site->settings.limits.hook_timeout_ms = LONG_MS;
	site->hooks = (struct hooks){
		.settings = &site->settings,
		.store = site->store,
		.pass = "p1",
		.left_ms = LONG_MS,
	};
}

/* What the hook does to the database while it is run. */
static void add_to_hook(struct site *site, const char *sql)
{
	char *more CLEANUP(mem_done) =
		mem_printf("sqlite3 %s/state.db \"%s\"\n", site->workdir->path, sql);

	workdir_write(site->workdir, "more", more, strlen(more));
}

static void assert_calls(struct site *site, const char *wanted)
{
	char bytes[256] = "";
	int fd CLEANUP(fd_done) = openat(site->workdir->dir, "calls", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		assert_true(read(fd, bytes, sizeof(bytes) - 1) >= 0);
	assert_string_equal(bytes, wanted);
}

/* A run on record that has finished and is retained, as an inventory shows it. */
static struct run *load_run_until(
	struct site *site, struct inventory *inventory, const char *id, int64_t deadline_s)
{
	struct run *run;

	inventory_done(inventory);
	*inventory = (struct inventory){ .now_s = NOW };
	run = inventory_run(inventory, id);
	assert_int_equal(runs_load(site->store, inventory, id, NULL), 0);
	run->facts = (struct facts){
		.recorded = run->row != NULL,
		.proven = true,
		.deadline_s = deadline_s,
		.finished_s = NOW - 1,
		.outcome = OUTCOME_FAILED,
	};
	assert_int_equal(duties_load(site->store, inventory, NULL), 0);
	run->decision = (struct decision){ .verdict = VERDICT_KEEP, .reason = REASON_RETAINED };
	return run;
}

static struct run *load_run(struct site *site, struct inventory *inventory, const char *id)
{
	return load_run_until(site, inventory, id, 0);
}

/* One that has not finished: its deadline, which row or marker may move, is over. */
static struct run *load_late_run(struct site *site, struct inventory *inventory, int64_t deadline_s)
{
	struct run *run = load_run_until(site, inventory, "r1", deadline_s);

	inventory->now_s = deadline_s + 1;
	run->facts.finished_s = 0;
	return run;
}

static struct run *new_run(struct site *site, struct inventory *inventory)
{
	assert_true(database_register(site->store, "r1", NULL, 0, NULL) >= 0);
	return load_run(site, inventory, "r1");
}

static void a_revocation_is_tried_once_when_it_succeeds(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	run = new_run(&site, &inventory);
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_PENDING);
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 1);
	run = load_run(&site, &inventory, "r1");
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_REVOKED);
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 0);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "revoke r1 1\n");
}

static void what_failed_is_tried_again_when_its_time_comes(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	workdir_make(site.workdir, "fail");
	run = new_run(&site, &inventory);
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 1);
	run = load_run(&site, &inventory, "r1");
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_FAILED);
	assert_non_null(strstr(run->revocation->error, "exit code 1: no vault"));
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 1); /* at once after the first */
	run = load_run(&site, &inventory, "r1");
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 0); /* but not after the second */
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "revoke r1 1\nrevoke r1 2\n");
}

static void the_waits_grow_to_forty_minutes(void **state)
{
	static const int64_t waits_s[] = { 0, 300, 600, 1200, 2400, 2400, 2400 };

	(void)state;
	for (int64_t i = 0; i < (int64_t)ARRAY_SIZE(waits_s); i++) {
		const struct duty duty = { .state = DUTY_FAILED, .count = i + 1, .last_s = NOW };

		assert_int_equal(hooks_retry_s(&duty, NOW + 1), waits_s[i] ? NOW + waits_s[i] : 0);
	}
	assert_int_equal(hooks_retry_s(&(struct duty){ .state = DUTY_PENDING }, NOW), 0);
}

static void without_time_it_stays_owed_and_is_not_forgotten(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	run = new_run(&site, &inventory);
	hooks_begin(&site.hooks, 0);
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 0);
	assert_calls(&site, "");
	run = load_run(&site, &inventory, "r1");
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_PENDING);
	assert_int_equal(inventory.duty_count, 1);
	hooks_begin(&site.hooks, LONG_MS);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "revoke r1 1\n");
}

static void what_a_hook_takes_is_taken_from_the_time_for_hooks(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);

	site_open(&site, state);
	hooks_begin(&site.hooks, 1);
	assert_int_equal(hooks_revoke(&site.hooks, new_run(&site, &inventory), NULL), 1);
	assert_true(site.hooks.left_ms <= 0);
}

static void only_what_is_over_and_kept_for_sure_is_revoked_before_it_goes(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	run = new_run(&site, &inventory);
	for (enum reason reason = 0; reason < REASON_COUNT; reason++) {
		bool sure = reason == REASON_PINNED || reason == REASON_PIN_UNKNOWN ||
			    reason == REASON_LOCKED || reason == REASON_LIVE ||
			    reason == REASON_RETAINED || reason == REASON_UNKNOWN ||
			    reason == REASON_UNSAVED_WORK || reason == REASON_BACKOFF ||
			    reason == REASON_DEFERRED;

		run->decision.reason = reason;
		assert_int_equal(hooks_revocation(&site.settings, &inventory, run),
			sure ? REVOCATION_PENDING : REVOCATION_NONE);
	}
	run->decision.reason = REASON_LIVE;
	run->facts.finished_s = 0; /* and no deadline */
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_NONE);
	run->decision.verdict = VERDICT_REAP;
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_PENDING);
	site.settings.hooks.revoke = NULL;
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_NONE);
}

static void while_another_run_has_the_name_an_earlier_one_waits(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;
	struct duty earlier;

	site_open(&site, state);
	run = new_run(&site, &inventory);
	earlier = (struct duty){
		.run = "r1",
		.generation = run->row->generation - 1,
		.since_s = NOW,
		.reason = "finished_ok",
	};
	assert_int_equal(duties_expect(site.store, &earlier, NULL), 0);
	run = load_run(&site, &inventory, "r1");
	run->facts.finished_s = 0;
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "");
	assert_int_equal(runs_forget(site.store, "r1", KIND_WORKTREE, NULL, NOW + 1, NULL), 1);
	(void)load_run(&site, &inventory, "r1");
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "revoke r1 1\n");
}

static void one_that_was_registered_since_the_look_is_left_alone(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct duty gone = {
		.run = "r1", .generation = 1, .since_s = NOW, .reason = "finished_ok"
	};
	struct site site CLEANUP(site_done);

	site_open(&site, state);
	assert_int_equal(duties_expect(site.store, &gone, NULL), 0);
	(void)load_run(&site, &inventory, "r1");
	assert_true(database_register(site.store, "r1", NULL, 0, NULL) >= 0);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "");
}

static void one_that_was_renewed_is_left_alone(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	workdir_make(site.workdir, "fail");
	run = new_run(&site, &inventory);
	run->facts.finished_s = 0;
	run->facts.deadline_s = NOW - 1;
	assert_int_equal(runs_renew(site.store, "r1", NOW, TTL + 60, NULL), 1); /* since the look */
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "");
	(void)load_run(&site, &inventory, "r1");
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0); /* fails */
	run = load_run(&site, &inventory, "r1");
	run->facts.finished_s = 0;
	run->facts.deadline_s = NOW + TTL; /* it lives again */
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "revoke r1 1\n");
}

/* It may have been given a new credential with its new time, and that one has an end, too. */
static void one_that_was_renewed_is_revoked_again_when_it_is_over_again(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	assert_true(database_register(site.store, "r1", NULL, 0, NULL) >= 0);
	(void)load_late_run(&site, &inventory, NOW + TTL);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	run = load_late_run(&site, &inventory, NOW + TTL);
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_REVOKED);
	run = load_late_run(&site, &inventory, NOW + 2 * TTL);
	run->decision.reason = REASON_LIVE;
	inventory.now_s = NOW + TTL;
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_NONE);
	run = load_late_run(&site, &inventory, NOW + 2 * TTL);
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_PENDING);
	hooks_begin(&site.hooks, 0);
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 0);
	run = load_late_run(&site, &inventory, NOW + 2 * TTL);
	assert_int_equal(run->revocation->state, DUTY_PENDING);
	hooks_begin(&site.hooks, LONG_MS);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	run = load_late_run(&site, &inventory, NOW + 2 * TTL);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_int_equal(hooks_revocation(&site.settings, &inventory, run), REVOCATION_REVOKED);
	assert_calls(&site, "revoke r1 1\nrevoke r1 1\n");
}

static void a_run_registered_anew_is_not_revoked_yet(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	assert_int_equal(hooks_revoke(&site.hooks, new_run(&site, &inventory), NULL), 1);
	assert_int_equal(runs_forget(site.store, "r1", KIND_WORKTREE, NULL, NOW + 1, NULL), 1);
	run = new_run(&site, &inventory);
	assert_null(run->revocation);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "revoke r1 1\nrevoke r1 1\n");
}

static void after_is_run_for_what_has_its_tombstone(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;
	struct history_entry entry = { .at_s = NOW, .run = "r1", .action = "reaped" };

	site_open(&site, state);
	run = new_run(&site, &inventory);
	entry.generation = run->row->generation;
	assert_int_equal(hooks_expect_after(&site.hooks, run, NULL), 0);
	assert_int_equal(hooks_run_after(&site.hooks, &inventory, NULL, NULL), 0);
	assert_calls(&site, "");
	assert_int_equal(history_add(site.store, &entry, NULL), 0);
	inventory.hold = &(struct hold){ 0 };
	assert_int_equal(hooks_run_after(&site.hooks, &inventory, NULL, NULL), 0);
	assert_calls(&site, "");
	inventory.hold = NULL;
	assert_int_equal(hooks_run_after(&site.hooks, &inventory, NULL, NULL), 0);
	assert_calls(&site, "after r1 1\n");
	assert_int_equal(inventory.duty_count, 0);
}

static void hold_passes(struct site *site)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	const struct hold hold = { .by = "eve", .reason = "a fire", .since_s = NOW };
	struct hold *before;

	assert_int_equal(hold_set(site->store, &hold, &arena, &before, NULL), 1);
}

static void a_hold_since_the_look_holds_what_is_kept_and_what_failed(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct duty gone = {
		.run = "r2", .generation = 1, .since_s = NOW, .reason = "finished_ok"
	};
	struct site site CLEANUP(site_done);

	site_open(&site, state);
	assert_int_equal(duties_expect(site.store, &gone, NULL), 0);
	(void)new_run(&site, &inventory);
	hold_passes(&site);
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "");
	assert_string_equal(inventory.hold->by, "eve"); /* so the report says so */
}

static void a_hold_since_the_look_holds_what_comes_after(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct history_entry entry = { .at_s = NOW, .run = "r1", .action = "reaped" };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	run = new_run(&site, &inventory);
	entry.generation = run->row->generation;
	assert_int_equal(hooks_expect_after(&site.hooks, run, NULL), 0);
	assert_int_equal(history_add(site.store, &entry, NULL), 0);
	hold_passes(&site);
	assert_int_equal(hooks_run_after(&site.hooks, &inventory, NULL, NULL), 0);
	assert_calls(&site, "");
}

/* A hook takes seconds: the hold is looked for before each of them. */
static void a_hold_that_begins_during_a_hook_holds_the_next_one(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct duty gone = { .generation = 1, .since_s = NOW, .reason = "finished_ok" };
	struct site site CLEANUP(site_done);

	site_open(&site, state);
	add_to_hook(&site,
		"INSERT INTO hold (id, held_by, reason, since_s) VALUES (1, 'eve', 'a fire', 1)");
	gone.run = "r2";
	assert_int_equal(duties_expect(site.store, &gone, NULL), 0);
	gone.run = "r3";
	assert_int_equal(duties_expect(site.store, &gone, NULL), 0);
	(void)load_run(&site, &inventory, "r1");
	assert_int_equal(hooks_revoke_all(&site.hooks, &inventory, NULL), 0);
	assert_calls(&site, "revoke r2 1\n");
}

static void where_there_are_no_hooks_nothing_is_written_down(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct site site CLEANUP(site_done);
	struct run *run;

	site_open(&site, state);
	site.settings.hooks = (struct hook_settings){ 0 };
	run = new_run(&site, &inventory);
	assert_int_equal(hooks_revoke(&site.hooks, run, NULL), 0);
	assert_int_equal(hooks_revoke(NULL, run, NULL), 0);
	assert_int_equal(hooks_expect_after(&site.hooks, run, NULL), 0);
	(void)load_run(&site, &inventory, "r1");
	assert_int_equal(inventory.duty_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_revocation_is_tried_once_when_it_succeeds),
		TEST(what_failed_is_tried_again_when_its_time_comes),
		cmocka_unit_test(the_waits_grow_to_forty_minutes),
		TEST(without_time_it_stays_owed_and_is_not_forgotten),
		TEST(what_a_hook_takes_is_taken_from_the_time_for_hooks),
		TEST(only_what_is_over_and_kept_for_sure_is_revoked_before_it_goes),
		TEST(while_another_run_has_the_name_an_earlier_one_waits),
		TEST(one_that_was_registered_since_the_look_is_left_alone),
		TEST(one_that_was_renewed_is_left_alone),
		TEST(one_that_was_renewed_is_revoked_again_when_it_is_over_again),
		TEST(a_run_registered_anew_is_not_revoked_yet),
		TEST(after_is_run_for_what_has_its_tombstone),
		TEST(a_hold_since_the_look_holds_what_is_kept_and_what_failed),
		TEST(a_hold_since_the_look_holds_what_comes_after),
		TEST(a_hold_that_begins_during_a_hook_holds_the_next_one),
		TEST(where_there_are_no_hooks_nothing_is_written_down),
	};

	return cmocka_run_group_tests_name("hooks", tests, NULL, NULL);
}
