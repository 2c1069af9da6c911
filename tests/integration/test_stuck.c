/*
 * Promise P9 over many passes: what cannot be taken apart is tried less and less often, said each time
 * and delays nobody; what only takes long gets on a little in each pass. The passes run in a child,
 * through the same functions as the real program, by clocks of this test's own.
 */
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "options.h"
#include "simclock.h"
#include "verbs.h"
#include "workdir.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <jansson.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { WORDS_MAX = 16, FAILED_TO_END = 200, MIN = 60, HOUR = 3600, BIG = 600, FILE_BYTES = 8192 };

/* ---- clocks, and what happens while something is deleted ---- */

/* Shared by the test, the passes and their errands, like the clock. */
static struct {
	int64_t unlink_ms; /* how long each removal takes */
	pid_t pass;
	int signal, signal_after; /* sent to the pass after so many removals; 0: none */
	int64_t hash_ms;          /* how long each file takes that is salvaged */
	int64_t look_ms,
		fork_ms;  /* how long the pass's looks at the wall clock take, and its errands */
	unsigned stop_at; /* SIGTERM at the pass's so manieth look at the wall clock; 0: none */
} * sim;

static void pass_ms(int64_t ms)
{
	simclock->wall_ns += ms * 1000000;
	simclock->boot_ns += ms * 1000000;
	simclock->awake_ns += ms * 1000000;
}

/* Stands in front of libc's in this program. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): a name without underscores */
int unlinkat(int dir, const char *name, int flags)
{
	if (sim && sim->signal && sim->signal_after-- == 0) {
		(void)kill(sim->pass, sim->signal);
		sim->signal = 0;
	}
	if (sim)
		pass_ms(sim->unlink_ms);
	if (text_equal(name, "hangs"))
		for (;;)
			(void)pause();
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

pid_t fork(void)
{
	if (sim && getpid() == sim->pass)
		pass_ms(sim->fork_ms);
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* The same, in front of the library's. */
int git_odb_open_wstream(
	git_odb_stream **out, git_odb *db, git_object_size_t size, git_object_t type)
{
	int (*next)(git_odb_stream **, git_odb *, git_object_size_t, git_object_t);

	*(void **)&next = dlsym(RTLD_NEXT, "git_odb_open_wstream");
	if (sim)
		pass_ms(sim->hash_ms);
	return next(out, db, size, type);
}

/* Of simclock_looked. Before the pass holds the signal it would only die of it. */
static void stop_in_time(void)
{
	sigset_t held;

	if (getpid() == sim->pass)
		pass_ms(sim->look_ms);
	if (!sim->stop_at || getpid() != sim->pass || sigprocmask(SIG_BLOCK, NULL, &held) != 0 ||
		!sigismember(&held, SIGTERM) || --sim->stop_at > 0)
		return;
	(void)kill(sim->pass, SIGTERM);
}

/* ---- the world ---- */

struct world {
	struct workdir *workdir;
	char *config, *output;
	unsigned others; /* runs that nothing is wrong with */
	json_t *report;  /* of the last pass */
};

/* Runs `sbx-reap WORDS` in a child. */
static void verb_child(struct world *world, char *words)
{
	char *argv[WORDS_MAX] = { (char[]){ "sbx-reap" } };
	int argc = 1, output = open(world->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct options options;
	struct error error = { 0 };
	enum exit_code code;

	if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(FAILED_TO_END);
	for (char *word; argc < WORDS_MAX - 3 && (word = strsep(&words, " "));)
		argv[argc++] = word;
	argv[argc++] = (char[]){ "--config" };
	argv[argc++] = world->config;
	if (options_parse(argc, argv, clock_wall_s(), &options, &error) < 0) {
		(void)fprintf(stderr, "%s\n", error.text);
		_exit(EXIT_USAGE);
	}
	sim->pass = getpid();
	simclock_looked = stop_in_time;
	code = options.verb->act(&options);
	(void)fflush(stdout);
	_exit((int)code);
}

static pid_t verb_start(struct world *world, const char *words)
{
	char *copy CLEANUP(mem_done) = mem_dup(words);
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		verb_child(world, copy);
	return pid;
}

static int ended(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* What the last verb said; good until the next call. */
static const char *said(struct world *world)
{
	static char text[64 * 1024];
	int output CLEANUP(fd_done) = open(world->output, O_RDONLY | O_CLOEXEC);
	ssize_t length = output < 0 ? 0 : read(output, text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = 0;
	return text;
}

static void verb(struct world *world, const char *words)
{
	int code = ended(verb_start(world, words));

	if (code)
		fail_msg("%s: exit %d: %s", words, code, said(world));
}

static void settings_write(struct world *world, const char *unsaved)
{
	const char *path = world->workdir->path;
	char *text CLEANUP(mem_done) =
		mem_printf("[state]\ndatabase = %s/reap.db\n"
			   "[workspaces]\nroot = %s/ws\npath_root = %s/good\npath_root = %s/bad\n"
			   "repo = %s/repo\n"
			   "[policy]\nkeep_abandoned = 0s\ndeadline_grace = 0s\nunsaved = %s\n"
			   "[disk]\nhigh = 100%%\nlow = 99%%\n",
			path, path, path, path, path, unsaved);

	workdir_write(world->workdir, "reap.ini", text, strlen(text));
}

static int sim_share(void **state)
{
	(void)state;
	sim = mmap(NULL, sizeof(*sim), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return sim == MAP_FAILED ? -1 : workdir_own_mounts(NULL);
}

static int world_make(void **state)
{
	struct world *world = mem_new(sizeof(*world));
	void *workdir = NULL;

	memset(sim, 0, sizeof(*sim));
	simclock_start();
	if (workdir_setup(&workdir) != 0)
		return -1;
	world->workdir = workdir;
	workdir_in_memory(world->workdir);
	workdir_make(world->workdir, "ws");
	workdir_make(world->workdir, "good");
	workdir_make(world->workdir, "bad");
	world->output = mem_dup(workdir_path(world->workdir, "output"));
	world->config = mem_dup(workdir_path(world->workdir, "reap.ini"));
	settings_write(world, "discard");
	*state = world;
	return 0;
}

static int world_drop(void **state)
{
	struct world *world = *state;
	void *workdir = world->workdir;

	json_decref(world->report);
	free(world->output);
	free(world->config);
	free(world);
	return workdir_teardown(&workdir);
}

/* A run that is due for so many hours, with a path of some files. */
static void add(struct world *world, const char *run, const char *root, unsigned files, int hours)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", root, run);
	char *words CLEANUP(mem_done) =
		mem_printf("register %s --created -%dh --ttl 1h --path %s/%s", run, hours + 1,
			world->workdir->path, path);

	workdir_make(world->workdir, path);
	for (unsigned i = 0; i < files; i++) {
		char *file CLEANUP(mem_done) = mem_printf("%s/%u", path, i);

		workdir_fill(world->workdir, file);
	}
	verb(world, words);
}

/* Nothing keeps this one: it must go in the next pass, whatever else there is. */
static const char *add_other(struct world *world)
{
	static char name[16];

	(void)snprintf(name, sizeof(name), "other%u", world->others++);
	add(world, name, "good", 2, 2);
	return name;
}

/* A pass; its exit code. */
static int pass(struct world *world, const char *options)
{
	char *words CLEANUP(mem_done) = mem_printf("--json %s", options);
	int code;

	if (words[strlen(words) - 1] == ' ')
		words[strlen(words) - 1] = 0;
	code = ended(verb_start(world, words));
	json_decref(world->report);
	world->report = json_load_file(world->output, JSON_DISABLE_EOF_CHECK, NULL);
	if (!world->report)
		fail_msg("exit %d: %s", code, said(world));
	return code;
}

static json_t *report_of(const struct world *world, const char *run)
{
	const json_t *runs = json_object_get(world->report, "runs");

	for (size_t i = 0; i < json_array_size(runs); i++) {
		json_t *entry = json_array_get(runs, i);

		if (text_equal(json_string_value(json_object_get(entry, "run")), run))
			return entry;
	}
	fail_msg("%s is not in the report", run);
	return NULL;
}

static const char *told(const struct world *world, const char *run, const char *key)
{
	const char *text = json_string_value(json_object_get(report_of(world, run), key));

	return text ? text : "null";
}

static int failures(const struct world *world, const char *run)
{
	json_t *found = json_object_get(report_of(world, run), "failures");

	return json_is_null(found) ? 0 : (int)json_integer_value(json_object_get(found, "count"));
}

static void check(const struct world *world, const char *run, const char *result,
	const char *reason, int count)
{
	if (!text_equal(told(world, run, "result"), result) ||
		!text_equal(told(world, run, "reason"), reason) || failures(world, run) != count)
		fail_msg("%s: %s %s, %d failures, not %s %s, %d: %s", run,
			told(world, run, "result"), told(world, run, "reason"),
			failures(world, run), result, reason, count, told(world, run, "error"));
}

static bool has(const struct world *world, const char *name)
{
	return workdir_has(world->workdir, name);
}

/* ---- stuck ---- */

/* A pass that tries it, and one a second before the next try that does not. */
static void fails_again(struct world *world, int count, int64_t wait_s, const char *reason)
{
	const char *other = add_other(world);

	assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	check(world, "stuck", "failed", reason, count);
	check(world, other, "reaped", "abandoned", 0);
	assert_true(has(world, "bad/stuck/0"));
	if (!wait_s)
		return;
	simclock_advance(wait_s - MIN);
	other = add_other(world);
	assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	check(world, "stuck", "null", "backoff", count);
	check(world, other, "reaped", "abandoned", 0);
	simclock_advance(MIN);
}

/* The trash of its root is a file, and so nothing in it can be set aside. */
static void add_stuck(struct world *world)
{
	add(world, "stuck", "bad", 1, 3);
	workdir_write(world->workdir, "bad/.sbx-trash", "", 0);
}

static void what_fails_waits_ever_longer_and_delays_nobody(void **state)
{
	struct world *world = *state;

	add_stuck(world);
	fails_again(world, 1, 0, "abandoned");
	simclock_advance(MIN); /* the first failure delays nothing */
	for (int count = 2; count < 11; count++) {
		int64_t wait_s = (int64_t)5 * MIN << (count - 2);

		fails_again(world, count, wait_s < 6 * HOUR ? wait_s : 6 * HOUR, "resumed");
	}
	assert_int_equal(pass(world, "--run stuck --early"), EXIT_ATTENTION);
	check(world, "stuck", "failed", "resumed", 11);
	assert_int_equal(pass(world, "--run stuck"), EXIT_ATTENTION);
	check(world, "stuck", "null", "backoff", 11);
	assert_int_equal(unlink(workdir_path(world->workdir, "bad/.sbx-trash")), 0);
	assert_int_equal(pass(world, "--run stuck --early"), EXIT_DONE);
	check(world, "stuck", "reaped", "resumed", 0);
	assert_false(has(world, "bad/stuck"));
}

static void every_report_says_how_often_since_when_and_why(void **state)
{
	struct world *world = *state;
	json_t *told_failures;

	add_stuck(world);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	for (int i = 0; i < 2; i++) { /* of a pass, and of a look */
		assert_int_equal(pass(world, i ? "--dry-run" : ""), EXIT_ATTENTION);
		check(world, "stuck", "null", "backoff", 2);
		told_failures = json_object_get(report_of(world, "stuck"), "failures");
		assert_non_null(json_string_value(json_object_get(told_failures, "since")));
		assert_non_null(json_string_value(json_object_get(told_failures, "last")));
		assert_string_equal(json_string_value(json_object_get(told_failures, "retry")),
			told(world, "stuck", "due"));
		assert_non_null(strstr(
			json_string_value(json_object_get(told_failures, "error")), ".sbx-trash"));
		assert_non_null(strstr(json_string_value(json_object_get(told_failures, "error")),
			"/bad/stuck: "));
	}
	assert_int_equal(ended(verb_start(world, "--max 9")), EXIT_ATTENTION);
	assert_non_null(strstr(said(world), "stuck: failed 2 times in a row since "));
	assert_non_null(strstr(said(world), ".sbx-trash"));
	verb(world, "why stuck");
	assert_non_null(strstr(said(world), "failed 2 times in a row since "));
	assert_non_null(strstr(said(world), ".sbx-trash"));
	assert_int_equal(ended(verb_start(world, "list")), EXIT_ATTENTION);
	assert_non_null(strstr(said(world), "backoff"));
	verb(world, "forget stuck");
	assert_int_equal(pass(world, ""), EXIT_DONE);
	assert_false(json_array_size(json_object_get(world->report, "runs")));
}

static void a_clock_that_went_back_does_not_make_it_wait_for_ever(void **state)
{
	struct world *world = *state;

	add_stuck(world);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	simclock_step(-(int64_t)72 * HOUR);
	assert_int_equal(pass(world, "--dry-run"), EXIT_ATTENTION);
	check(world, "stuck", "null", "resumed", 2); /* it failed in the future, so: at once */
	assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	check(world, "stuck", "failed", "resumed", 3);
	assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	check(world, "stuck", "null", "backoff", 3);
	simclock_advance(10 * MIN);
	assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	check(world, "stuck", "failed", "resumed", 4);
}

static void a_pin_is_no_failure_and_ends_none(void **state)
{
	struct world *world = *state;

	add_stuck(world);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	workdir_write(world->workdir, "ws/stuck.keep", "", 0);
	simclock_advance(HOUR);
	assert_int_equal(pass(world, ""), EXIT_DONE);
	check(world, "stuck", "null", "pinned", 2);
	assert_int_equal(unlink(workdir_path(world->workdir, "ws/stuck.keep")), 0);
	assert_int_equal(pass(world, ""), EXIT_ATTENTION);
	check(world, "stuck", "failed", "resumed", 3);
}

/* ---- shares of the time ---- */

static int64_t freed(const struct world *world)
{
	return json_integer_value(
		json_object_get(json_object_get(world->report, "totals"), "bytes_freed"));
}

static void what_is_too_large_for_a_pass_gets_on_in_each_and_delays_nobody(void **state)
{
	struct world *world = *state;
	const char *other;
	int64_t bytes;

	add(world, "big", "good", BIG, 9); /* due for longest, so it would come first */
	other = add_other(world);
	sim->unlink_ms = 1000;
	assert_int_equal(pass(world, "--time-budget 400s"), EXIT_ATTENTION);
	check(world, "big", "partial", "abandoned", 0);
	assert_non_null(strstr(told(world, "big", "error"), "its time ran out after "));
	check(world, other, "reaped", "abandoned", 0);
	bytes = freed(world);
	/* Its share was half of the time; with what the other one left it is nearly all. */
	assert_in_range(bytes, (int64_t)300 * FILE_BYTES, (int64_t)420 * FILE_BYTES);
	other = add_other(world);
	assert_int_equal(pass(world, "--time-budget 400s"), EXIT_DONE);
	check(world, other, "reaped", "abandoned", 0);
	check(world, "big", "reaped", "resumed", 0);
	assert_int_equal(bytes + freed(world), (BIG + 4) * FILE_BYTES);
	sim->unlink_ms = 0;
	assert_int_equal(pass(world, ""), EXIT_DONE);
	assert_false(has(world, "good/.sbx-trash/big"));
}

static void what_ran_out_of_time_comes_last_in_the_next_pass(void **state)
{
	struct world *world = *state;
	const char *other;

	add(world, "big", "good", BIG, 9);
	sim->unlink_ms = 1000;
	assert_int_equal(pass(world, "--time-budget 100s"), EXIT_ATTENTION);
	check(world, "big", "partial", "abandoned", 0);
	other = add_other(world);
	assert_int_equal(pass(world, "--time-budget 50s"), EXIT_ATTENTION);
	check(world, other, "reaped", "abandoned", 0);
	check(world, "big", "partial", "resumed", 0);
	other = add_other(world); /* takes all of the time */
	sim->unlink_ms = 100 * 1000;
	assert_int_equal(pass(world, "--time-budget 60s"), EXIT_DONE);
	check(world, other, "reaped", "abandoned", 0);
	check(world, "big", "null", "deferred", 0);
}

static void all_the_time_of_a_pass_is_for_the_one_that_needs_it(void **state)
{
	struct world *world = *state;

	add(world, "big", "good", BIG, 9);
	for (int i = 0; i < 5; i++)
		(void)add_other(world);
	sim->unlink_ms = 1000;
	assert_int_equal(pass(world, "--time-budget 700s"), EXIT_DONE);
	check(world, "big", "reaped", "abandoned", 0);
	assert_int_equal(freed(world), (BIG + 10) * FILE_BYTES);
}

/* Its process hangs in the kernel, as far as anybody can tell. */
static void what_does_nothing_in_its_time_has_failed(void **state)
{
	struct world *world = *state;
	const char *other;

	add(world, "stuck", "good", 0, 9);
	workdir_fill(world->workdir, "good/stuck/hangs");
	other = add_other(world);
	/* Setting it aside is a step; from the next pass on there is nothing but what hangs. */
	assert_int_equal(pass(world, "--time-budget 5s"), EXIT_ATTENTION);
	check(world, "stuck", "partial", "abandoned", 0);
	assert_int_equal(pass(world, "--time-budget 8s"), EXIT_ATTENTION);
	check(world, other, "reaped", "abandoned", 0);
	check(world, "stuck", "failed", "resumed", 1);
	assert_non_null(strstr(told(world, "stuck", "error"), "its time ran out after 0 steps"));
}

static void what_a_signal_ended_is_no_failure(void **state)
{
	struct world *world = *state;

	add(world, "big", "good", BIG, 9);
	(void)add_other(world);
	sim->unlink_ms = 100;
	sim->signal_after = 20;
	sim->signal = SIGTERM;
	assert_int_equal(pass(world, "--time-budget 40s"), EXIT_ATTENTION);
	check(world, "big", "partial", "abandoned", 0);
	assert_non_null(strstr(told(world, "big", "error"), "asked to stop"));
	check(world, "other0", "null", "deferred", 0);
	sim->unlink_ms = 0;
	assert_int_equal(pass(world, ""), EXIT_DONE);
	check(world, "big", "reaped", "resumed", 0);
}

/* ---- trees with unsaved work ---- */

enum { UNSAVED_FILES = 4 };

static void sh(const struct world *world, const char *command)
{
	char *line CLEANUP(mem_done) = mem_printf("cd %s && %s", world->workdir->path, command);

	if (system(line) != 0)
		fail_msg("%s", line);
}

static void make_repo(struct world *world)
{
	settings_write(world, "salvage");
	sh(world, "git init -q -b main repo && cd repo && git -c user.name=t -c user.email=t@t "
		  "commit -q --allow-empty -m first");
}

/* A run that is due, with a worktree of some new files. */
static void add_tree(struct world *world, const char *run)
{
	char *make CLEANUP(mem_done) = mem_printf(
		"git -C repo worktree add -q ../ws/%s -b %s && cd ws/%s && for i in $(seq %d); "
		"do echo $i of %s >$i; done",
		run, run, run, UNSAVED_FILES, run);
	char *words CLEANUP(mem_done) =
		mem_printf("register %s --created -9h --ttl 1h --worktree %s/ws/%s", run,
			world->workdir->path, run);

	sh(world, make);
	verb(world, words);
}

static void a_salvage_that_never_ends_within_a_pass_fails_and_ends_in_a_longer_one(void **state)
{
	struct world *world = *state;

	make_repo(world);
	add_tree(world, "tree");
	sim->hash_ms = 25 * 1000;
	assert_int_equal(pass(world, "--time-budget 60s"), EXIT_ATTENTION);
	check(world, "tree", "failed", "abandoned", 1);
	assert_non_null(strstr(told(world, "tree", "error"), "its time ran out after 0 steps"));
	assert_non_null(strstr(told(world, "tree", "error"), "salvaging it was broken off"));
	assert_true(has(world, "ws/tree/1"));
	sim->hash_ms = 0;
	assert_int_equal(pass(world, "--time-budget 60s"), EXIT_DONE);
	check(world, "tree", "reaped", "resumed", 0);
	assert_false(has(world, "ws/tree"));
	sh(world, "git -C repo cat-file -e refs/sbx/salvage/tree:1");
}

static void too_little_time_is_no_failure(void **state)
{
	struct world *world = *state;

	make_repo(world);
	add_tree(world, "tree1");
	add_tree(world, "tree2");
	sim->hash_ms =
		30 * 1000; /* two of them, and 20 of 80 seconds are left for the second one */
	assert_int_equal(pass(world, "--time-budget 80s"), EXIT_ATTENTION);
	check(world, "tree1", "failed", "abandoned", 1);
	check(world, "tree2", "partial", "abandoned", 0);
	assert_non_null(strstr(told(world, "tree2", "error"), "its time ran out after 0 steps"));
	sim->hash_ms = 0;
	assert_int_equal(pass(world, ""), EXIT_DONE);
	check(world, "tree1", "reaped", "resumed", 0);
	check(world, "tree2", "reaped", "resumed", 0);
}

/* What is left of `stop_at` after a pass over a tree, and whether it is reaped by the next one at most. */
static unsigned stop_at(struct world *world, unsigned at)
{
	unsigned left;

	add_tree(world, "tree");
	sim->stop_at = at;
	(void)pass(world, "--yes");
	left = sim->stop_at;
	sim->stop_at = 0;
	if (text_equal(told(world, "tree", "result"), "failed") ||
		text_equal(told(world, "tree", "reason"), "unknown") || failures(world, "tree"))
		fail_msg("stopped at look %u: %s %s: %s", at, told(world, "tree", "result"),
			told(world, "tree", "reason"), told(world, "tree", "error"));
	if (!text_equal(told(world, "tree", "result"), "reaped")) {
		assert_int_equal(pass(world, "--yes"), EXIT_DONE);
		check(world, "tree", "reaped", told(world, "tree", "reason"), 0);
	}
	sh(world, "git -C repo branch -q -D tree 2>/dev/null || true");
	return left;
}

/*
 * Wherever it comes, also while things are looked at: nothing failed then, and nobody is blind. In CI
 * only at the looks around the second one, and at the last ones.
 */
static void a_signal_at_any_moment_is_no_failure(void **state)
{
	enum { NEVER = 10000, SECOND_LOOK = 5, LAST_LOOKS = 5 };
	struct world *world = *state;
	unsigned looks;

	make_repo(world);
	looks = NEVER - stop_at(world, NEVER);
	assert_in_range(looks, SECOND_LOOK + LAST_LOOKS, NEVER / 10);
	for (unsigned at = 1; at <= looks; at++)
		if (getenv("SBX_LONG") || at == SECOND_LOOK || at + LAST_LOOKS > looks)
			(void)stop_at(world, at);
}

/* ---- time for looking ---- */

static void a_pass_that_had_no_time_for_any_run_says_so(void **state)
{
	struct world *world = *state;

	(void)add_other(world);
	sim->look_ms = 2000;
	assert_int_equal(ended(verb_start(world, "--yes --time-budget 1s")), EXIT_ATTENTION);
	assert_non_null(strstr(said(world), "none of 1 due run had a turn"));
	sim->look_ms = 0;
	assert_int_equal(ended(verb_start(world, "--yes")), EXIT_DONE);
	assert_null(strstr(said(world), "had a turn"));
}

/* Each tree takes long; whatever is looked into first, in the end it is everybody's turn. */
static void slow_trees_keep_no_other_from_being_looked_into_for_ever(void **state)
{
	static const char *const runs[] = { "tree1", "tree2", "tree3", "tree4" };
	bool asked[ARRAY_SIZE(runs)] = { false };
	struct world *world = *state;
	size_t left = ARRAY_SIZE(runs), unasked = 0;

	make_repo(world);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		add_tree(world, runs[i]);
	for (int look = 0; look < 20 && left > 0; look++) {
		sim->fork_ms = 14 * 1000; /* a look takes two children, and half a minute at most */
		(void)pass(world, "--dry-run");
		for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
			bool known = !text_equal(told(world, runs[i], "work"), "unknown");

			unasked += !known;
			left -= known && !asked[i];
			asked[i] |= known;
		}
	}
	assert_int_equal(left, 0);
	assert_true(unasked > 0);
	assert_int_equal(ended(verb_start(world, "--dry-run")), EXIT_DONE);
	assert_non_null(strstr(said(world), "it is looked into when its turn comes"));
}

/* ---- the lock ---- */

static void a_stopped_pass_that_holds_the_lock_is_named_from_the_third_time_on(void **state)
{
	struct world *world = *state;
	char *who CLEANUP(mem_done) = NULL;
	int status;
	pid_t pid;

	(void)add_other(world);
	sim->signal = SIGSTOP;
	pid = verb_start(world, "--json");
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	who = mem_printf("by pid %d (", pid);
	for (int i = 1; i <= 4; i++) {
		char *times CLEANUP(mem_done) = mem_printf("%d passes in a row found the lock", i);

		assert_int_equal(ended(verb_start(world, "--json")), EXIT_LOCKED);
		assert_int_equal(strstr(said(world), times) != NULL, i >= 3);
		assert_non_null(strstr(said(world), who));
		assert_non_null(strstr(said(world), "stopped by a signal"));
	}
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(ended(pid), EXIT_DONE);
	(void)add_other(world);
	sim->signal_after = 0;
	sim->signal = SIGSTOP;
	pid = verb_start(world, "--json");
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(ended(verb_start(world, "--json")), EXIT_LOCKED);
	assert_null(strstr(said(world), "in a row")); /* there was one that had it */
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(ended(pid), EXIT_DONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_drop)
	const struct CMUnitTest tests[] = {
		TEST(what_fails_waits_ever_longer_and_delays_nobody),
		TEST(every_report_says_how_often_since_when_and_why),
		TEST(a_clock_that_went_back_does_not_make_it_wait_for_ever),
		TEST(a_pin_is_no_failure_and_ends_none),
		TEST(what_is_too_large_for_a_pass_gets_on_in_each_and_delays_nobody),
		TEST(what_ran_out_of_time_comes_last_in_the_next_pass),
		TEST(all_the_time_of_a_pass_is_for_the_one_that_needs_it),
		TEST(what_does_nothing_in_its_time_has_failed),
		TEST(what_a_signal_ended_is_no_failure),
		TEST(a_salvage_that_never_ends_within_a_pass_fails_and_ends_in_a_longer_one),
		TEST(too_little_time_is_no_failure),
		TEST(a_signal_at_any_moment_is_no_failure),
		TEST(a_pass_that_had_no_time_for_any_run_says_so),
		TEST(slow_trees_keep_no_other_from_being_looked_into_for_ever),
		TEST(a_stopped_pass_that_holds_the_lock_is_named_from_the_third_time_on),
	};

	return cmocka_run_group_tests_name("stuck", tests, sim_share, NULL);
}
