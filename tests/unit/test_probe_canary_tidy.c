/* Only what probes leave: what they find is seen in a booted unit (tests/system/test-probe.sh). */
#include "unit.h"

#include "base/text.h"
#include "database.h"
#include "os/mounts.h"
#include "probe_canary.h"
#include "state/pins.h"
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ID "0123abcd"

/* Whatever of the set-up and of the tidying can leave a trace; of the database, what commits. */
static const long changing[] = { SYS_mkdir, SYS_mkdirat, SYS_rmdir, SYS_unlink, SYS_unlinkat,
	SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat, SYS_symlink, SYS_symlinkat,
	SYS_mount, SYS_umount2, SYS_ftruncate };

/* In place of systemd, which does not run here; the Makefile has the linker do it. */
int __wrap_bus_mount_wait(
	struct bus *bus, const char *point, int64_t deadline_ms, struct error *error);

int __wrap_bus_mount_wait(
	struct bus *bus, const char *point, int64_t deadline_ms, struct error *error)
{
	(void)bus, (void)point, (void)deadline_ms, (void)error;
	return 0;
}

struct bench {
	struct workdir *workdir;
	struct settings settings;
	char *roots[1];
	size_t at, calls; /* the call that is the last, from 1; so far */
};

static void shell(const struct bench *bench, const char *commands)
{
	char *command CLEANUP(mem_done) =
		mem_printf("cd '%s' && { %s; } 2>/dev/null", bench->workdir->path, commands);

	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a shell of the test's own */
}

/* The repository and a database, which take long to make, are the same for each start. */
static void bench_up(struct bench *bench, void **state)
{
	struct workdir *workdir = *state;

	workdir_in_memory(workdir);
	store_close(workdir->more);
	workdir->more = database_open(workdir, STORE_WRITE);
	bench->workdir = workdir;
	bench->roots[0] = mem_printf("%s/ws", workdir->path);
	bench->settings = (struct settings){
		.roots = { .items = bench->roots, .count = 1 },
		.database = mem_printf("%s/state.db", workdir->path),
		.policy = { .keep_ok_s = 600, .pin_for_s = 86400 },
	};
	shell(bench, "mkdir ws && cp state.db fresh.db && cp state.db.stamp fresh.db.stamp");
	assert_int_equal(
		worktree_canary_repository(workdir_path(workdir, "probe/repo.git"), NULL), 0);
}

static void bench_done(struct bench *bench)
{
	free(bench->roots[0]);
	free(bench->settings.database);
}

/* For tracer_run: a whole set-up, by a process of its own. */
static int make(void *context)
{
	struct bench *bench = context;
	struct store *store = database_open(bench->workdir, STORE_WRITE);
	struct probe_canaries canaries = {
		.settings = &bench->settings,
		.store = store,
		.now_s = NOW,
	};
	struct error error = { 0 };
	int r = probe_canaries_make(&canaries, ID, &error);

	if (r < 0)
		fprintf(stderr, "%s\n", error.text);
	probe_canaries_done(&canaries);
	store_close(store);
	return r < 0;
}

/* For tracer_run: what the next probe does of it. */
static int mend(void *context)
{
	struct bench *bench = context;
	struct store *store = database_open(bench->workdir, STORE_WRITE);
	struct probe_findings findings CLEANUP(probe_findings_done) = { 0 };

	probe_remains_mend(&bench->settings, store, &findings);
	store_close(store);
	for (size_t i = 0; i < findings.count; i++)
		fprintf(stderr, "%s\n", findings.list[i].why);
	return findings.count != 0;
}

static int kill_at(void *context, const struct tracer_call *call)
{
	struct bench *bench = context;

	(void)call;
	return ++bench->calls == bench->at ? TRACER_KILL_ALL : TRACER_GO_ON;
}

/* Whether it was killed at its so manieth call, which it need not have. */
static bool killed(struct bench *bench, int (*program)(void *bench), size_t at)
{
	int status;

	bench->at = at;
	bench->calls = 0;
	status = tracer_run(&(struct trace){
		.calls = changing,
		.call_count = ARRAY_SIZE(changing),
		.program = program,
		.program_context = bench,
		.on_call = kill_at,
		.context = bench,
		.limit_s = 60,
	});
	if (WIFSIGNALED(status))
		return true;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

/* A pins_each callback. */
static void count_pin(void *context, const struct pin *pin)
{
	(void)pin;
	(*(size_t *)context)++;
}

static size_t pins(struct store *store)
{
	size_t count = 0;

	assert_int_equal(pins_each(store, count_pin, &count, NULL), 0);
	return count;
}

static const char *around(struct bench *bench)
{
	return workdir_path(bench->workdir, ".sbx-probe");
}

static bool is_mounted_below(const char *path)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	assert_int_equal(mounts_read(&table, NULL), 0);
	return mounts_below(&table, path);
}

static void nothing_is_left(struct bench *bench, const char *what, size_t at)
{
	const char *keep = "ws/sbx-probe-pinned-" ID ".keep";

	if (is_mounted_below(around(bench)))
		fail_msg("%s at call %zu leaves a mount", what, at);
	if (workdir_has(bench->workdir, ".sbx-probe"))
		fail_msg("%s at call %zu leaves %s", what, at, around(bench));
	if (workdir_has(bench->workdir, keep) || pins(bench->workdir->more))
		fail_msg("%s at call %zu leaves the pin", what, at);
}

/* The runs are the next pass's; here they go by force. What takes long to make is as it was. */
static void start_over(struct bench *bench)
{
	store_close(bench->workdir->more);
	shell(bench, "umount ws/*/bound .sbx-probe/*/shown; rm -rf .sbx-probe ws state.db*"
		     " probe/repo.git/worktrees probe/repo.git/refs/heads/sbx-probe-*;"
		     " mkdir ws && cp fresh.db state.db && cp fresh.db.stamp state.db.stamp");
	bench->workdir->more = database_open(bench->workdir, STORE_WRITE);
}

static void wherever_a_set_up_is_killed_the_next_probe_takes_it_away(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };
	size_t at = 1;

	bench_up(&bench, state);
	for (; killed(&bench, make, at); at++) {
		assert_int_equal(mend(&bench), 0);
		nothing_is_left(&bench, "a set-up killed", at);
		start_over(&bench);
	}
	assert_true(at > 30); /* what is looked at are the calls that it makes */
	assert_int_equal(mend(&bench), 0);
	nothing_is_left(&bench, "a set-up that was not killed", at);
	start_over(&bench);
}

/* For tracer_run. */
static int make_repository(void *context)
{
	struct bench *bench = context;
	struct error error = { 0 };
	int r = worktree_canary_repository(workdir_path(bench->workdir, "probe/repo.git"), &error);

	if (r < 0)
		fprintf(stderr, "%s\n", error.text);
	return r < 0;
}

/* A lock that stays would be in the way of every probe from then on. */
static void wherever_making_the_repository_is_killed_the_next_probe_makes_it(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };
	bool is_killed = true;

	bench_up(&bench, state);
	for (size_t at = 1; is_killed; at++) {
		shell(&bench, "rm -rf probe");
		is_killed = killed(&bench, make_repository, at);
		assert_int_equal(make(&bench), 0);
		start_over(&bench);
	}
}

static void wherever_taking_it_away_is_killed_the_next_one_goes_on(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };
	bool is_killed = true;

	bench_up(&bench, state);
	for (size_t at = 1; is_killed; at++) {
		assert_int_equal(make(&bench), 0);
		is_killed = killed(&bench, mend, at);
		assert_int_equal(mend(&bench), 0);
		nothing_is_left(&bench, "taking it away, killed", at);
		start_over(&bench);
	}
}

/* Counts them by what they are. */
static void count_remains(
	void *context, const char *id, const char *outside, enum probe_remains remains)
{
	size_t *counts = context;

	assert_string_equal(id, ID);
	assert_true(text_ends(outside, "/.sbx-probe/" ID));
	counts[remains]++;
}

static void what_a_probe_that_failed_left_stays_for_a_person(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct probe_findings findings CLEANUP(probe_findings_done) = { 0 };
	struct probe_canaries canaries CLEANUP(probe_canaries_done) = { .now_s = NOW };
	size_t counts[PROBE_LEFT + 1] = { 0 };

	bench_up(&bench, state);
	canaries.settings = &bench.settings;
	canaries.store = database(state);
	assert_int_equal(probe_canaries_make(&canaries, ID, NULL), 0);
	probe_canaries_leave(&canaries, &findings);
	assert_int_equal(findings.count, 0);
	assert_int_equal(mend(&bench), 0);
	assert_true(is_mounted_below(around(&bench)));
	assert_int_equal(pins(database(state)), 1);
	assert_int_equal(probe_remains_each(database(state), count_remains, counts, NULL), 0);
	assert_int_equal(counts[PROBE_BROKEN_OFF], 0);
	assert_int_equal(counts[PROBE_LEFT], 1);
	start_over(&bench);
}

static void pin_as(void **state, const char *run, const char *by)
{
	char *reason CLEANUP(mem_done) = mem_printf(
		"a canary that must stay, as must %s/.sbx-probe/" ID, workdir_path(*state, ""));
	const struct pin pin = { .run = run, .by = by, .reason = reason, .since_s = NOW };
	bool known;

	assert_int_equal(pins_set(database(state), &pin, &known, NULL), 1);
}

static void pins_of_others_are_none_of_its_business(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };

	bench_up(&bench, state);
	pin_as(state, "sbx-probe-pinned-" ID, "somebody");
	pin_as(state, "sbx-probe-pinned-else", "sbx-reap probe");
	pin_as(state, "r1", "sbx-reap probe");
	assert_int_equal(mend(&bench), 0);
	assert_int_equal(pins(database(state)), 3);
}

/* The pin is all that tells of them, whatever the settings say by then. */
static void it_is_found_when_another_root_is_the_first(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };

	bench_up(&bench, state);
	assert_int_equal(make(&bench), 0);
	shell(&bench, "mkdir -p else/ws");
	free(bench.roots[0]);
	bench.roots[0] = mem_printf("%s/else/ws", bench.workdir->path);
	assert_int_equal(mend(&bench), 0);
	assert_false(is_mounted_below(around(&bench)));
	assert_false(workdir_has(bench.workdir, ".sbx-probe"));
	assert_int_equal(pins(bench.workdir->more), 0);
	shell(&bench, "rmdir else/ws else");
	start_over(&bench);
}

/* A pins_each callback. */
static void expect_no_end(void *context, const struct pin *pin)
{
	assert_int_equal(pin->until_s, 0);
	(*(size_t *)context)++;
}

static void its_pin_does_not_end_before(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };
	size_t count = 0;

	bench_up(&bench, state);
	assert_int_equal(make(&bench), 0);
	assert_int_equal(pins_each(database(state), expect_no_end, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(mend(&bench), 0);
	start_over(&bench);
}

/* The parent of a root may be one in which others make what they like. */
static void what_others_made_in_its_place_is_left_alone(void **state)
{
	static const char *const theirs[] = {
		"mkdir .sbx-probe && mv victim .sbx-probe/" ID " && ln -s .sbx-probe/" ID " victim"
		" && chown 65534 .sbx-probe",
		"mkdir -m 700 .sbx-probe && ln -s \"$PWD\"/victim .sbx-probe/" ID,
		"mkdir -m 700 theirs && ln -s theirs .sbx-probe && ln -s \"$PWD\"/victim "
		"theirs/" ID,
	};
	struct bench bench CLEANUP(bench_done) = { 0 };

	bench_up(&bench, state);
	for (size_t i = 0; i < ARRAY_SIZE(theirs); i++) {
		struct probe_findings findings CLEANUP(probe_findings_done) = { 0 };

		shell(&bench, "mkdir -p victim/kept victim/shown && touch victim/kept/canary &&"
			      " mount --bind victim/kept victim/shown");
		shell(&bench, theirs[i]);
		pin_as(state, "sbx-probe-pinned-" ID, "sbx-reap probe");
		probe_remains_mend(&bench.settings, bench.workdir->more, &findings);
		assert_int_equal(findings.count, 1);
		assert_int_equal(findings.list[0].outcome, PROBE_FAILED);
		assert_int_equal(pins(bench.workdir->more), 1);
		assert_true(workdir_has(bench.workdir, "victim/shown/canary"));
		assert_true(workdir_has(bench.workdir, "victim/kept/canary"));
		assert_int_not_equal(make(&bench), 0);
		assert_true(workdir_has(bench.workdir, "victim/kept/canary"));
		shell(&bench, "umount victim/shown; rm -rf victim theirs");
		start_over(&bench);
	}
}

static void what_cannot_be_taken_away_is_a_finding_and_tried_again(void **state)
{
	struct bench bench CLEANUP(bench_done) = { 0 };
	struct probe_findings findings CLEANUP(probe_findings_done) = { 0 };

	bench_up(&bench, state);
	assert_int_equal(make(&bench), 0);
	workdir_make(bench.workdir, ".sbx-probe/" ID "/notes");
	probe_remains_mend(&bench.settings, database(state), &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.list[0].outcome, PROBE_FAILED);
	assert_non_null(strstr(findings.list[0].why, "is not empty"));
	assert_return_code(rmdir(workdir_path(bench.workdir, ".sbx-probe/" ID "/notes")), errno);
	assert_int_equal(mend(&bench), 0);
	nothing_is_left(&bench, "the second try", 0);
	start_over(&bench);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(wherever_a_set_up_is_killed_the_next_probe_takes_it_away),
		TEST(wherever_making_the_repository_is_killed_the_next_probe_makes_it),
		TEST(wherever_taking_it_away_is_killed_the_next_one_goes_on),
		TEST(what_a_probe_that_failed_left_stays_for_a_person),
		TEST(pins_of_others_are_none_of_its_business),
		TEST(it_is_found_when_another_root_is_the_first),
		TEST(its_pin_does_not_end_before),
		TEST(what_others_made_in_its_place_is_left_alone),
		TEST(what_cannot_be_taken_away_is_a_finding_and_tried_again),
	};

	return cmocka_run_group_tests_name("probe_canary_tidy", tests, workdir_own_mounts, NULL);
}
