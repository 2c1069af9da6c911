/*
 * Promise P9: one stuck run, engine or group delays only itself. Each test puts something that does
 * not answer, end or finish beside runs that have nothing to do with it: the pass ends within its
 * limits and says what it was, everything else is gone, and when the cause is gone the next pass
 * finishes. No test waits for an exact time: a limit that does not hold at all is what fails.
 */
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "child.h"
#include "exit_code.h"
#include "fake_engine.h"
#include "fuse.h"
#include "group.h"
#include "program.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/*
 * A pass that has no end is killed, and fails its test. Under load all takes many times longer than
 * alone, so this says "at all", not "how fast".
 */
enum { LIMIT_S = 120 };

struct world {
	struct workdir *workdir;
	struct program program;
};

static const char *name(const char *format, ...) PRINTF_LIKE(1, 2);
static const char *name(const char *format, ...)
{
	static char names[8][256];
	static unsigned turn;
	char *buffer = names[turn++ % ARRAY_SIZE(names)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(buffer, sizeof(names[0]), format, args);
	va_end(args);
	return buffer;
}

/* A world below a directory of the workdir, so that one test may have several. */
static struct program world_in(struct world *world, const char *place, const char *more)
{
	const char *path = workdir_path(world->workdir, place);
	char *text CLEANUP(mem_done) =
		mem_printf("[state]\ndatabase = %s/reap.db\n[workspaces]\nroot = %s/ws\n"
			   "[policy]\nkeep_ok = 1h\nkeep_abandoned = 0s\ndeadline_grace = 0s\n"
			   "unsaved = discard\n[cgroups]\nroot = %s\n%s",
			path, path, groups_root() + 1, more);

	workdir_make(world->workdir, place);
	workdir_make(world->workdir, name("%s/ws", place));
	workdir_write(world->workdir, name("%s/reap.ini", place), text, strlen(text));
	return (struct program){
		.config = workdir_path(world->workdir, name("%s/reap.ini", place)),
		.output = workdir_path(world->workdir, name("%s/output", place)),
		.limit_s = LIMIT_S,
	};
}

static int world_make(void **state)
{
	struct world *world = mem_new(sizeof(*world));
	void *workdir = NULL;

	if (groups_set_up() != 0 || workdir_setup(&workdir) != 0)
		return -1;
	world->workdir = workdir;
	workdir_in_memory(world->workdir);
	world->program = world_in(world, "w", "[limits]\nkill_timeout = 1s\nbrake_runs = 1000\n");
	*state = world;
	return 0;
}

static int world_drop(void **state)
{
	struct world *world = *state;
	void *workdir = world->workdir;

	groups_tear_down();
	free(world);
	return workdir_teardown(&workdir);
}

static bool there(struct world *world, const char *place, const char *run)
{
	return workdir_has(world->workdir, name("%s/ws/%s", place, run));
}

static void must(const struct program *program, int code)
{
	char *said CLEANUP(mem_done) = program_said(program);

	if (code != EXIT_DONE)
		fail_msg("exit %d: %s", code, said);
}

/* A run that ended well long enough ago, with a tree of one file; `more`: options of register. */
static void run_make(struct world *world, const struct program *program, const char *place,
	const char *run, const char *more)
{
	workdir_make(world->workdir, name("%s/ws/%s", place, run));
	workdir_fill(world->workdir, name("%s/ws/%s/file", place, run));
	must(program, program_run(program, "register %s --created -5h --ttl 1h %s", run, more));
	must(program, program_run(program, "finish %s --ok --at -4h", run));
}

static void expect_field(const char *said, const char *run, const char *field, const char *expected)
{
	const char *value = program_run_field(said, run, field);

	if (!strstr(value, expected))
		fail_msg(
			"'%s' of run %s is %s, not %s, in:\n%s", field, run, value, expected, said);
}

/* ---- engines ---- */

/* What a misbehaving engine makes of the pass over three runs: `sick` has a container on it, `well`
 * one on another engine, `bare` was registered with --no-container. */
struct sickness {
	const char *title;
	enum fake_engine_way way;
	const char *request; /* that is answered so */
	bool blind;          /* it cannot be listed: what may have containers is kept */
	const char *says;    /* in the report: the engine's answer */
};

static const struct sickness sicknesses[] = {
	{ "hang", FAKE_ENGINE_HANG, "", true, "no complete reply in time" },
	{ "drip", FAKE_ENGINE_DRIP, "", true, "no complete reply in time" },
	{ "fail", FAKE_ENGINE_FAIL, "", true, "is no container engine" },
	{ "absent", FAKE_ENGINE_ABSENT, "", true, "No such file or directory" },
	{ "full", FAKE_ENGINE_FULL, "", true, "queue of connections is full" },
	{ "list-hang", FAKE_ENGINE_HANG, "GET /containers/json", true, "no complete reply" },
	{ "list-drip", FAKE_ENGINE_DRIP, "GET /containers/json", true, "no complete reply" },
	{ "list-fail", FAKE_ENGINE_FAIL, "GET /containers/json", true,
		"answered 500 to GET /containers/json: out of order" },
	{ "list-half", FAKE_ENGINE_HALF, "GET /containers/json", true, "answer is no JSON" },
	{ "volumes-half", FAKE_ENGINE_HALF, "GET /volumes", true, "answer is no JSON" },
	{ "networks-hang", FAKE_ENGINE_HANG, "GET /networks", true, "no complete reply" },
	{ "delete-hang", FAKE_ENGINE_HANG, "DELETE /containers/", false, "no complete reply" },
	{ "delete-drip", FAKE_ENGINE_DRIP, "DELETE /containers/", false, "no complete reply" },
	{ "delete-fail", FAKE_ENGINE_FAIL, "DELETE /containers/", false,
		"answered 500 to DELETE /containers/" },
	{ "delete-busy", FAKE_ENGINE_BUSY, "DELETE /containers/", false, "already in progress" },
	{ "kill-hang", FAKE_ENGINE_HANG, "POST /containers/", false, "no complete reply" },
	{ "delete-half", FAKE_ENGINE_HALF, "GET /containers/", true, "answer is no JSON" },
};

/* One engine that misbehaves, its neighbour, and a database of its own. */
struct ward {
	const struct sickness *sickness;
	struct fake_engine sick, well;
	struct program program;
	pid_t pass;
};

static void ward_container(struct world *world, struct ward *ward, struct fake_engine *engine,
	const char *run, bool running)
{
	const struct fake_thing thing = { .kind = KIND_CONTAINER,
		.run = run,
		.running = running,
		.created_s = clock_wall_s() - 17000 };

	(void)fake_engine_add(engine, &thing);
	run_make(world, &ward->program, ward->sickness->title, run, "");
}

static void ward_open(struct world *world, struct ward *ward, const struct sickness *sickness,
	const char *engine_timeout)
{
	char *more CLEANUP(mem_done) = NULL;

	ward->sickness = sickness;
	fake_engine_start(&ward->sick);
	fake_engine_start(&ward->well);
	more = mem_printf("[containers]\nengine = %s\nengine = %s\n"
			  "[limits]\nengine_timeout = %s\nkill_timeout = 2s\n",
		ward->sick.url, ward->well.url, engine_timeout);
	ward->program = world_in(world, sickness->title, more);
	ward_container(world, ward, &ward->sick, "sick", true);
	ward_container(world, ward, &ward->well, "well", true);
	run_make(world, &ward->program, sickness->title, "bare", "--no-container");
	fake_engine_behave(&ward->sick, sickness->way, sickness->request);
}

static void ward_judge_blind(struct world *world, struct ward *ward, const char *said, int code)
{
	const char *title = ward->sickness->title;

	if (code != EXIT_BLIND)
		fail_msg("%s: exit %d: %s", title, code, said);
	expect_field(said, "sick", "reason", "\"unknown\"");
	expect_field(said, "well", "reason", "\"unknown\"");
	assert_true(there(world, title, "well"));
	assert_true(fake_engine_count(&ward->well) == 1);
}

static void ward_judge_failed(struct world *world, struct ward *ward, const char *said, int code)
{
	const char *title = ward->sickness->title;

	if (code != EXIT_ATTENTION)
		fail_msg("%s: exit %d: %s", title, code, said);
	/* Partial: it was stopped, and then its share of the time ran out. */
	if (!text_equal(program_run_field(said, "sick", "result"), "\"partial\""))
		expect_field(said, "sick", "result", "\"failed\"");
	expect_field(said, "sick", "error", ward->sickness->says);
	expect_field(said, "well", "result", "\"reaped\"");
	assert_false(there(world, title, "well"));
	assert_true(fake_engine_count(&ward->well) == 0);
}

static void ward_judge(struct world *world, struct ward *ward)
{
	const char *title = ward->sickness->title;
	int code = program_end(ward->pass);
	char *said CLEANUP(mem_done) = program_said(&ward->program);

	(void)(ward->sickness->blind ? ward_judge_blind : ward_judge_failed)(
		world, ward, said, code);
	if (!strstr(said, ward->sickness->says))
		fail_msg("%s: '%s' is not said: %s", title, ward->sickness->says, said);
	expect_field(said, "bare", "result", "\"reaped\"");
	assert_false(there(world, title, "bare"));
	assert_true(there(world, title, "sick"));
	assert_true(fake_engine_count(&ward->sick) == 1);
}

static void ward_recover(struct world *world, struct ward *ward)
{
	const char *title = ward->sickness->title;
	char *said = NULL;
	int code = program_end(ward->pass);

	said = program_said(&ward->program);
	if (code != EXIT_DONE || there(world, title, "sick") || there(world, title, "well") ||
		fake_engine_count(&ward->sick) || fake_engine_count(&ward->well))
		fail_msg("%s: exit %d after the engine was well again: %s", title, code, said);
	free(said);
}

/* All at once, since they only wait. */
static void an_engine_that_misbehaves_delays_only_what_it_may_know_of(void **state)
{
	enum { COUNT = ARRAY_SIZE(sicknesses) };
	struct world *world = *state;
	struct ward wards[COUNT] = { 0 };

	for (size_t i = 0; i < COUNT; i++)
		ward_open(world, &wards[i], &sicknesses[i], "1s");
	for (size_t i = 0; i < COUNT; i++)
		wards[i].pass = program_start(&wards[i].program, "--json --time-budget 60s");
	for (size_t i = 0; i < COUNT; i++)
		ward_judge(world, &wards[i]);
	for (size_t i = 0; i < COUNT; i++) {
		fake_engine_behave(&wards[i].sick, FAKE_ENGINE_WELL, "");
		wards[i].pass = program_start(&wards[i].program, "--json");
	}
	for (size_t i = 0; i < COUNT; i++) {
		ward_recover(world, &wards[i]);
		fake_engine_stop(&wards[i].sick);
		fake_engine_stop(&wards[i].well);
	}
}

/* As if so many tries had failed, the last one so long ago. */
static void ward_age(struct world *world, struct ward *ward, int count, int ago_s)
{
	const char *database =
		workdir_path(world->workdir, name("%s/reap.db", ward->sickness->title));
	char *command CLEANUP(mem_done) = mem_printf(
		"sqlite3 '%s' 'UPDATE failure SET count = %d, last_s = unixepoch() - %d'", database,
		count, ago_s);

	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the command is our own */
}

static void expect_failures(const char *said, const char *run, int count, const char *says)
{
	const char *at = strstr(said, name("\"run\": \"%s\"", run));
	const char *counted = name("\"count\": %d,", count);

	at = at ? strstr(at, "\"failures\": {") : NULL;
	if (!at || !strstr(at, counted) || !strstr(at, says))
		fail_msg("not %s of %s, '%s', in:\n%s", counted, run, says, said);
}

/* One pass, beside a run that nothing is wrong with. What `sick` came to, `count` times by then. */
static void ward_pass(
	struct world *world, struct ward *ward, const char *other, const char *expected, int count)
{
	const char *title = ward->sickness->title;
	char *said = NULL;
	int code;

	run_make(world, &ward->program, title, other, "--no-container");
	code = program_run(&ward->program, "--json --time-budget 60s");
	said = program_said(&ward->program);
	if (code != EXIT_ATTENTION)
		fail_msg("%s: exit %d: %s", other, code, said);
	expect_field(said, "sick", text_equal(expected, "backoff") ? "reason" : "result", expected);
	expect_failures(said, "sick", count, ward->sickness->says);
	expect_field(said, other, "result", "\"reaped\"");
	assert_false(there(world, title, other));
	free(said);
}

static void an_engine_that_answers_409_for_ever_is_asked_ever_less_and_named_each_time(void **state)
{
	enum { HOUR_S = 3600, CAP_S = 6 * HOUR_S, MARGIN_S = 600 };
	static const struct sickness busy = { "busy", FAKE_ENGINE_BUSY, "DELETE /containers/",
		false, "already in progress" };
	struct world *world = *state;
	struct ward ward = { 0 };

	ward_open(world, &ward, &busy, "1s");
	ward_pass(world, &ward, "other1", "failed", 1);
	ward_pass(world, &ward, "other2", "failed", 2); /* the first failure delays nothing */
	ward_pass(world, &ward, "other3", "backoff", 2);
	ward_age(world, &ward, 40, CAP_S - MARGIN_S);
	ward_pass(world, &ward, "other4", "backoff", 40);
	ward_age(world, &ward, 40, CAP_S + MARGIN_S);
	ward_pass(world, &ward, "other5", "failed", 41);
	ward_pass(world, &ward, "other6", "backoff", 41);
	fake_engine_behave(&ward.sick, FAKE_ENGINE_WELL, "");
	ward_age(world, &ward, 41, CAP_S + MARGIN_S);
	ward.pass = program_start(&ward.program, "--json");
	ward_recover(world, &ward);
	fake_engine_stop(&ward.sick);
	fake_engine_stop(&ward.well);
}

/* An engine that answers none of them before four wait: one after another, each would wait in vain. */
static void the_containers_of_a_run_are_killed_and_removed_side_by_side(void **state)
{
	static const struct sickness sicknesses_of_company[] = {
		{ "kill-together", FAKE_ENGINE_TOGETHER, "POST /containers/", false, "" },
		{ "delete-together", FAKE_ENGINE_TOGETHER, "DELETE /containers/", false, "" },
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sicknesses_of_company); i++) {
		const struct sickness *sickness = &sicknesses_of_company[i];
		const struct fake_thing more = { .kind = KIND_CONTAINER,
			.run = "sick",
			.running = true,
			.created_s = clock_wall_s() - 17000 };
		struct ward ward = { 0 };

		ward_open(world, &ward, sickness, "30s");
		while (fake_engine_count(&ward.sick) < 2 * FAKE_ENGINE_COMPANY)
			(void)fake_engine_add(&ward.sick, &more);
		ward.pass = program_start(&ward.program, "--json");
		ward_recover(world, &ward);
		assert_int_equal(
			fake_engine_asked(&ward.sick, sickness->request), 2 * FAKE_ENGINE_COMPANY);
		fake_engine_stop(&ward.sick);
		fake_engine_stop(&ward.well);
	}
}

static void an_engine_that_restarts_in_the_middle_of_a_removal_is_asked_again(void **state)
{
	static const struct sickness restart = { "restart", FAKE_ENGINE_RESTART, "DELETE ", false,
		"" };
	struct world *world = *state;
	struct ward ward = { 0 };
	char *said = NULL;
	int code;

	ward_open(world, &ward, &restart, "1s");
	code = program_run(&ward.program, "--json");
	said = program_said(&ward.program);
	expect_field(said, "bare", "result", "\"reaped\"");
	assert_true(fake_engine_asked(&ward.sick, "DELETE ") >= 1);
	if (code != EXIT_DONE) /* it was down for longer than one look takes */
		expect_field(said, "sick", "error", "engine.sock");
	free(said);
	while (access(ward.sick.socket, F_OK) != 0)
		(void)poll(NULL, 0, 10);
	ward.pass = program_start(&ward.program, "--json");
	ward_recover(world, &ward);
	fake_engine_stop(&ward.sick);
	fake_engine_stop(&ward.well);
}

/* Its time-out is longer than any test may take, so that only the signal can be what ends the pass. */
static void a_pass_that_is_told_to_stop_while_it_looks_reports_and_does_nothing(void **state)
{
	static const struct sickness listing = { "stop", FAKE_ENGINE_HANG, "GET /containers/json",
		true, "" };
	struct world *world = *state;
	struct ward ward = { 0 };
	char *said = NULL;
	int code;

	ward_open(world, &ward, &listing, "10m");
	ward.pass = program_start(&ward.program, "--yes --json");
	while (fake_engine_asked(&ward.sick, "GET /containers/json") == 0)
		(void)poll(NULL, 0, 10);
	assert_return_code(kill(ward.pass, SIGTERM), errno);
	code = program_end(ward.pass);
	said = program_said(&ward.program);
	if (code != EXIT_BLIND)
		fail_msg("exit %d: %s", code, said);
	expect_field(said, "bare", "reason", "\"deferred\"");
	expect_field(said, "bare", "error", "asked to stop while it looked");
	expect_field(said, "sick", "reason", "\"deferred\"");
	free(said);
	assert_true(there(world, "stop", "bare") && there(world, "stop", "sick"));
	must(&ward.program, program_run(&ward.program, "log --json"));
	said = program_said(&ward.program);
	assert_non_null(strstr(said, "0 reaped, 0 partly, 0 failed, 0 stopped; exit code 69"));
	free(said);
	fake_engine_behave(&ward.sick, FAKE_ENGINE_WELL, "");
	ward.pass = program_start(&ward.program, "--json");
	ward_recover(world, &ward);
	fake_engine_stop(&ward.sick);
	fake_engine_stop(&ward.well);
}

/* ---- groups ---- */

/* A run with a cgroup of that name in it. */
static void run_with_group(struct world *world, const char *run)
{
	group_make(run);
	run_make(world, &world->program, "w", run, name("--cgroup %s", group_path(run)));
}

static void groups_that_are_frozen_threaded_or_deep_end_in_one_pass(void **state)
{
	enum { DEPTH = 24 };
	struct world *world = *state;
	char deep[512] = "deep";
	pid_t frozen = child_start(NULL), threaded = child_start(NULL), nested[DEPTH];
	int code;
	char *said = NULL;

	run_with_group(world, "frozen");
	group_put("frozen", frozen);
	group_write("frozen", "cgroup.freeze", "1");

	run_with_group(world, "threaded");
	group_make("threaded/part");
	group_write("threaded/part", "cgroup.type", "threaded");
	group_put("threaded", threaded);
	group_put("threaded/part", threaded);

	run_with_group(world, "deep");
	for (size_t i = 0; i < DEPTH; i++) {
		(void)snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/%zu", i);
		group_make(deep);
		nested[i] = child_start(NULL);
		group_put(deep, nested[i]);
	}
	group_write("deep/0/1/2", "cgroup.freeze", "1");

	code = program_run(&world->program, "--json");
	said = program_said(&world->program);
	expect_field(said, "frozen", "result", "\"reaped\"");
	expect_field(said, "threaded", "result", "\"reaped\"");
	expect_field(said, "deep", "result", "\"reaped\"");
	assert_int_equal(code, EXIT_DONE);
	assert_false(group_exists("frozen") || group_exists("threaded") || group_exists("deep"));
	assert_false(there(world, "w", "frozen") || there(world, "w", "threaded") ||
		     there(world, "w", "deep"));
	free(said);
	child_end(frozen);
	child_end(threaded);
	for (size_t i = 0; i < DEPTH; i++)
		child_end(nested[i]);
}

/* A child that waits for a mount which took its request and never answers: no SIGKILL ends it. */
static pid_t start_unkillable(const char *point, const char *group, const struct fuse *fuse)
{
	pid_t pid = fork();

	assert_return_code(pid, errno);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, "sbx-in-d-state");
		(void)close(fuse->fd); /* or we would keep alive what we wait for */
		group_put(group, getpid());
		_exit(open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0);
	}
	fuse_await(fuse);
	return pid;
}

static void a_process_that_cannot_be_killed_is_named_and_delays_only_its_run(void **state)
{
	struct world *world = *state;
	struct fuse fuse;
	const char *point;
	pid_t stuck;
	char *said = NULL;
	int code;

	workdir_make(world->workdir, "hung");
	point = workdir_path(world->workdir, "hung");
	fuse = fuse_mount(point);
	fuse_swallow(&fuse);
	run_with_group(world, "stuck");
	group_make("stuck/below");
	stuck = start_unkillable(point, "stuck/below", &fuse);
	run_with_group(world, "other");

	code = program_run(&world->program, "--json");
	said = program_said(&world->program);
	expect_field(said, "stuck", "result", "\"failed\"");
	expect_field(said, "stuck", "error", name("pid %d", stuck));
	expect_field(said, "stuck", "error", "sbx-in-d-state");
	expect_field(said, "other", "result", "\"reaped\"");
	assert_int_equal(code, EXIT_ATTENTION);
	assert_true(there(world, "w", "stuck"));
	assert_false(there(world, "w", "other"));
	free(said);

	fuse_kill(&fuse);
	child_end(stuck);
	code = program_run(&world->program, "--json");
	said = program_said(&world->program);
	if (code != EXIT_DONE || there(world, "w", "stuck") || group_exists("stuck"))
		fail_msg("exit %d: %s", code, said);
	free(said);
}

/* ---- a tree that is too large for its time ---- */

/* How many of its files are left; it may lie in the trash by now. */
static size_t files_left(struct world *world)
{
	struct statvfs before;

	assert_return_code(fstatvfs(world->workdir->dir, &before), errno);
	return before.f_files - before.f_ffree;
}

/* `link`: of one file, which needs a tenth of the memory and is as many names to delete. */
static void make_files(int dir, unsigned count, bool link)
{
	char file[16];

	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(file, sizeof(file), "%u", i);
		if (link && i > 0)
			assert_return_code(linkat(dir, "0", dir, file, 0), errno);
		else
			assert_return_code(mknodat(dir, file, S_IFREG | 0644, 0), errno);
	}
}

static void run_with_large_tree(struct world *world, const char *run, unsigned count, bool link)
{
	enum { IN_A_DIRECTORY = 5000 };

	assert_return_code(
		mount(NULL, world->workdir->path, NULL, MS_REMOUNT, "nr_inodes=20m"), errno);
	run_make(world, &world->program, "w", run, "");
	for (unsigned i = 0; i < count / IN_A_DIRECTORY; i++) {
		const char *place = name("w/ws/%s/%u", run, i);
		int dir CLEANUP(fd_done) = -EBADF;

		workdir_make(world->workdir, place);
		dir = openat(world->workdir->dir, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		make_files(dir, IN_A_DIRECTORY, link);
	}
}

/* On a busy machine a pass may have no time left when it comes to the tree: so many may be. */
enum { SMALL = 3, IDLE_MOST = 20 };

/* One more pass. Whether something of the tree went. */
static bool large_goes_on(struct world *world, unsigned pass, const char *budget, int *ret_code)
{
	size_t before = files_left(world), left;
	char *said CLEANUP(mem_done) = NULL;
	const char *result;

	*ret_code = program_run(&world->program, "--json --time-budget %s", budget);
	said = program_said(&world->program);
	left = files_left(world);
	result = program_run_field(said, "a-large", "result");
	print_message(
		"pass %u: exit %d, %s, %zu of %zu left\n", pass, *ret_code, result, left, before);
	if (*ret_code != EXIT_DONE && *ret_code != EXIT_ATTENTION)
		fail_msg("exit %d: %s", *ret_code, said);
	if (text_equal(result, "\"partial\"")) {
		expect_field(said, "a-large", "error", "time ran out");
		if (left >= before)
			fail_msg("nothing went: %s", said);
	}
	/* What took all the time of the pass before comes behind the others from then on. */
	if (pass > 0 && pass < SMALL && !text_equal(result, "null"))
		expect_field(said, name("small%u", pass), "result", "\"reaped\"");
	return left < before;
}

/* In CI a tree that takes a few passes of two seconds; SBX_LONG: ten million names, ten seconds. */
static void a_tree_too_large_for_one_pass_goes_bit_by_bit_beside_the_others(void **state)
{
	bool large = getenv("SBX_LONG") != NULL;
	struct world *world = *state;
	unsigned idle = 0, pass = 0;
	int code;

	run_with_large_tree(world, "a-large", large ? 10000000 : 400000, large);
	do {
		if (pass < SMALL)
			run_make(world, &world->program, "w", name("small%u", pass), "");
		if (!large_goes_on(world, pass++, large ? "10s" : "2s", &code))
			idle++;
		assert_true(idle <= IDLE_MOST);
	} while (code != EXIT_DONE || pass < SMALL);
	assert_false(there(world, "w", "a-large"));
	for (unsigned i = 0; i < SMALL; i++)
		assert_false(there(world, "w", name("small%u", i)));
}

int main(void)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_make, world_drop)
	const struct CMUnitTest tests[] = {
		IN_WORLD(an_engine_that_misbehaves_delays_only_what_it_may_know_of),
		IN_WORLD(
			an_engine_that_answers_409_for_ever_is_asked_ever_less_and_named_each_time),
		IN_WORLD(the_containers_of_a_run_are_killed_and_removed_side_by_side),
		IN_WORLD(an_engine_that_restarts_in_the_middle_of_a_removal_is_asked_again),
		IN_WORLD(a_pass_that_is_told_to_stop_while_it_looks_reports_and_does_nothing),
		IN_WORLD(groups_that_are_frozen_threaded_or_deep_end_in_one_pass),
		IN_WORLD(a_process_that_cannot_be_killed_is_named_and_delays_only_its_run),
		IN_WORLD(a_tree_too_large_for_one_pass_goes_bit_by_bit_beside_the_others),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
