/*
 * P2 and P3 as a property: several processes at random register, renew, finish, pin, unpin and keep
 * by hand, each its own runs, while others do passes. What a pin answered must hold: 0 and the run
 * is whole until the pin ends, "already being taken apart" and it goes.
 *
 *	test_races [SECONDS [SEED]]
 */
#include "unit.h"

#include "base/clock.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
	OWNERS = 4,
	PASSERS = 2,
	RUNS = 3, /* of each owner at once */
	SECONDS = 30,
	PAUSE_MS = 60,
	CODE_SANITIZER = 99,
	CODE_LOCKED = 75
};

static int64_t seconds = SECONDS;
static uint64_t seed;

/* One process that works on the world; all of them only end with an error or at the deadline. */
struct worker {
	struct workdir *workdir;
	char *config;
	unsigned number;
	uint64_t random;
	int64_t deadline_ms;
	int log;
	char said[4096]; /* by the last call: what it said first */
};

/* What its owner knows of a run. */
struct owned {
	char name[24];
	bool registered, finished, pinned;
	bool kept;   /* by hand, since before it was finished */
	bool keep;   /* there is a .keep */
	bool doomed; /* a pin was told that it is being taken apart */
};

/* xorshift64*, Vigna 2016: any will do that a seed repeats. */
static unsigned choose(struct worker *worker, unsigned below)
{
	worker->random ^= worker->random >> 12;
	worker->random ^= worker->random << 25;
	worker->random ^= worker->random >> 27;
	return (unsigned)((worker->random * UINT64_C(2685821657736338717)) >> 33) % below;
}

static void note(struct worker *worker, const char *format, ...) PRINTF_LIKE(2, 3);
static void note(struct worker *worker, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	(void)dprintf(worker->log, "%lld.%03lld %u: %s\n", (long long)clock_boot_ms() / 1000,
		(long long)clock_boot_ms() % 1000, worker->number, line);
}

static _Noreturn void violated(struct worker *worker, const struct owned *run, const char *what)
{
	note(worker, "VIOLATED: %s %s (pinned %d, kept %d, finished %d, doomed %d)", run->name,
		what, run->pinned, run->kept, run->finished, run->doomed);
	_exit(1);
}

/* ---- calling the program ---- */

static void program_child(struct worker *worker, char *words, int said)
{
	char *program = getenv("SBX_REAP");
	char *argv[16] = { program };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), argc = 1;

	if (!program)
		_exit(127);
	for (char *word; argc < 12 && (word = strsep(&words, " "));)
		argv[argc++] = word;
	argv[argc++] = (char[]){ "--config" };
	argv[argc++] = worker->config;
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(said, STDOUT_FILENO);
	(void)dup2(said, STDERR_FILENO);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)execv(program, argv);
	_exit(127);
}

static void hear(struct worker *worker, int said)
{
	size_t length = 0;
	ssize_t got;
	char rest[4096];

	while ((got = read(said, rest, sizeof(rest))) > 0) {
		size_t room = sizeof(worker->said) - 1 - length;
		size_t taken = (size_t)got < room ? (size_t)got : room;

		memcpy(worker->said + length, rest, taken);
		length += taken;
	}
	worker->said[length] = 0;
}

/* Its exit code, which must be one of `codes` (each as a character, '0' + code). */
static int call(struct worker *worker, const char *codes, const char *format, ...)
	PRINTF_LIKE(3, 4);
static int call(struct worker *worker, const char *codes, const char *format, ...)
{
	char words[256], shown[256];
	int64_t start_ms = clock_boot_ms();
	int said[2], status = 0, code;
	va_list args;
	pid_t pid;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	(void)snprintf(shown, sizeof(shown), "%s", words);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		program_child(worker, words, said[1]);
	(void)close(said[1]);
	hear(worker, said[0]);
	(void)close(said[0]);
	(void)waitpid(pid, &status, 0);
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	note(worker, "%s -> %d after %lld ms", shown, code,
		(long long)(clock_boot_ms() - start_ms));
	if (code >= CODE_SANITIZER || (code != CODE_LOCKED && code > 9) ||
		!strchr(codes, '0' + code)) {
		note(worker, "VIOLATED: exit code %d: %s", code, worker->said);
		_exit(1);
	}
	return code;
}

static const char *const any_pass = (char[]){ '0', '1', '0' + CODE_LOCKED, 0 };

/* ---- a run and its owner ---- */

static const struct {
	const char *above, *behind;
} files[] = { { "ws", "/a" }, { "ws", "/deep/b" }, { "scratch", "/c" }, { "ws", ".sbx" } };

static char *name_of(const struct owned *run, const char *above, const char *behind)
{
	return mem_printf("%s/%s%s", above, run->name, behind);
}

static bool has(
	struct worker *worker, const struct owned *run, const char *above, const char *behind)
{
	char *name CLEANUP(mem_done) = name_of(run, above, behind);

	return faccessat(worker->workdir->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_whole(struct worker *worker, const struct owned *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!has(worker, run, files[i].above, files[i].behind))
			return false;
	return true;
}

static bool is_gone(struct worker *worker, const struct owned *run)
{
	return !has(worker, run, "ws", "") && !has(worker, run, "scratch", "") &&
	       !has(worker, run, "ws", ".sbx");
}

static void check(struct worker *worker, const struct owned *run)
{
	if (!run->registered || is_whole(worker, run))
		return;
	if (run->pinned)
		violated(worker, run, "is pinned and not whole");
	if (!run->finished)
		violated(worker, run, "has not finished and is not whole");
	if (run->kept)
		violated(worker, run, "was kept by hand before it ended, and is not whole");
}

static void begin(struct worker *worker, struct owned *run, unsigned count)
{
	*run = (struct owned){ 0 };
	(void)snprintf(run->name, sizeof(run->name), "o%u.%u", worker->number, count);
	for (size_t i = 0; i < 2; i++) {
		char *name CLEANUP(mem_done) = name_of(run, i ? "scratch" : "ws", "");

		workdir_make(worker->workdir, name);
	}
	{
		char *name CLEANUP(mem_done) = name_of(run, "ws", "/deep");

		workdir_make(worker->workdir, name);
	}
	for (size_t i = 0; i < 3; i++) {
		char *name CLEANUP(mem_done) = name_of(run, files[i].above, files[i].behind);

		workdir_fill(worker->workdir, name);
	}
	(void)call(worker, "0", "register %s --path %s/scratch/%s --ttl 1d", run->name,
		worker->workdir->path, run->name);
	run->registered = true;
}

static void do_pin(struct worker *worker, struct owned *run)
{
	int code = call(worker, run->finished ? "01" : "0", "pin %s", run->name);

	if (code == 0 && strstr(worker->said, "no such run is known")) {
		if (!run->finished || !is_gone(worker, run))
			violated(worker, run, "is not known to a pin");
		return; /* that came too late, and says so */
	}
	if (code == 0 && run->doomed && !run->keep)
		violated(worker, run, "was being taken apart, and then could be pinned");
	run->pinned |= code == 0;
	if (code == 1 && !strstr(worker->said, "being taken apart"))
		violated(worker, run, worker->said);
	run->doomed |= code == 1;
}

static void do_unpin(struct worker *worker, struct owned *run)
{
	run->pinned = run->kept = run->keep = false; /* it takes what was made by hand, too */
	(void)call(worker, "0", "unpin %s", run->name);
}

static void do_keep(struct worker *worker, struct owned *run)
{
	char *name CLEANUP(mem_done) = name_of(run, "ws", ".keep");

	workdir_write(worker->workdir, name, "", 0);
	run->keep = true;
	run->kept |= !run->finished;
	note(worker, "keep %s", run->name);
}

static void do_finish(struct worker *worker, struct owned *run)
{
	/* It counts from the moment of the call, not from its answer. */
	run->finished = true;
	(void)call(worker, "0", "finish %s --%s", run->name, choose(worker, 2) ? "ok" : "failed");
}

static void do_renew(struct worker *worker, struct owned *run)
{
	(void)call(worker, run->finished ? "1" : "0", "renew %s", run->name);
}

static void do_register(struct worker *worker, struct owned *run)
{
	int code = call(worker, run->finished ? "01" : "0", "register %s", run->name);

	if (code == 1 || !run->finished)
		return;
	/* It was gone since it was looked at; this is another run of that name. */
	if (has(worker, run, "ws", "") || has(worker, run, "scratch", ""))
		violated(worker, run, "was registered again before it was gone");
	do_finish(worker, run);
}

static void do_look(struct worker *worker, struct owned *run)
{
	if (choose(worker, 2))
		(void)call(worker, "01", "list");
	else
		(void)call(worker, "01", "why %s", run->name);
}

static void do_wait(struct worker *worker, struct owned *run)
{
	(void)run;
	(void)poll(NULL, 0, (int)choose(worker, PAUSE_MS));
}

/* What happens to a run at random; finished ones are mostly pinned, or left to go. */
static void step(struct worker *worker, struct owned *run)
{
	static void (*const acts[])(struct worker * worker, struct owned * run) = { do_pin, do_pin,
		do_pin, do_pin, do_finish, do_finish, do_finish, do_unpin, do_unpin, do_keep,
		do_renew, do_register, do_look, do_wait, do_wait, do_wait };
	void (*act)(struct worker * worker, struct owned * run) =
		acts[choose(worker, ARRAY_SIZE(acts))];

	if (run->finished && act == do_finish)
		act = do_wait;
	act(worker, run);
	check(worker, run);
}

/* Everything that holds its runs is taken away; then they have to go. */
static void leave(struct worker *worker, struct owned *runs)
{
	for (size_t i = 0; i < RUNS; i++)
		if (runs[i].registered) {
			check(worker, &runs[i]);
			do_unpin(worker, &runs[i]);
			if (!runs[i].finished)
				check(worker, &runs[i]);
			if (!runs[i].finished)
				do_finish(worker, &runs[i]);
		}
}

static void own(struct worker *worker)
{
	struct owned runs[RUNS] = { 0 };
	unsigned count = 0;

	while (deadline_left_ms(worker->deadline_ms) > 0) {
		struct owned *run = &runs[choose(worker, RUNS)];

		if (run->registered && run->finished && is_gone(worker, run)) {
			do_unpin(worker, run); /* what came too late is left otherwise */
			run->registered = false;
		}
		if (!run->registered)
			begin(worker, run, count++);
		else
			step(worker, run);
		for (size_t i = 0; i < RUNS; i++)
			check(worker, &runs[i]);
	}
	leave(worker, runs);
}

static void pass(struct worker *worker)
{
	while (deadline_left_ms(worker->deadline_ms) > 0) {
		if (call(worker, any_pass, "--json") == CODE_LOCKED)
			(void)poll(NULL, 0, PAUSE_MS);
	}
}

/* ---- all of them ---- */

static pid_t start(const struct worker *all, unsigned number)
{
	struct worker worker = *all;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	worker.number = number;
	worker.random = seed + number * UINT64_C(0x9E3779B97F4A7C15) + 1;
	number < OWNERS ? own(&worker) : pass(&worker);
	_exit(0);
}

static void settings_write(struct workdir *workdir)
{
	char *text CLEANUP(mem_done) =
		mem_printf("[state]\ndatabase = %s/reap.db\n"
			   "[workspaces]\nroot = %s/ws\npath_root = %s/scratch\n"
			   "[policy]\nkeep_ok = 0s\nkeep_failed = 0s\nunsaved = discard\n",
			workdir->path, workdir->path, workdir->path);

	workdir_write(workdir, "reap.ini", text, strlen(text));
}

/* What was noted about the violation, and what came before. */
static void show(struct workdir *workdir)
{
	char *command CLEANUP(mem_done) =
		mem_printf("cd '%s' && grep VIOLATED log && run=$(sed -n 's/.*VIOLATED: \\([^ "
			   "]*\\).*/\\1/p' log"
			   " | head -n 1) && grep -e \" $run \" -e json log | tail -n 40; "
			   "echo left:; ls ws scratch; \"$SBX_REAP\" list --config reap.ini; "
			   "tail -n 30 log",
			workdir->path);

	(void)fflush(stdout);
	(void)system(command);
}

static int count_of(struct workdir *workdir, const char *question)
{
	char *command CLEANUP(mem_done) = mem_printf("cd '%s' && %s", workdir->path, question);
	FILE *output CLEANUP(file_done) = popen(command, "re");
	int count = -1;

	assert_non_null(output);
	assert_int_equal(fscanf(output, "%d", &count), 1);
	return count;
}

static void what_a_pin_answered_holds_whoever_else_runs(void **state)
{
	struct workdir *workdir = *state;
	struct worker all = { .workdir = workdir, .deadline_ms = deadline_in_ms(seconds * 1000) };
	pid_t pids[OWNERS + PASSERS];
	bool failed = false;

	workdir_in_memory(workdir); /* where a sync costs nothing, so that more happens */
	workdir_make(workdir, "ws");
	workdir_make(workdir, "scratch");
	settings_write(workdir);
	all.config = mem_printf("%s/reap.ini", workdir->path);
	all.log = openat(workdir->dir, "log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_return_code(all.log, errno);
	all.random = 1;
	for (unsigned i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = start(&all, i);
	for (unsigned i = 0; i < ARRAY_SIZE(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		failed |= status != 0;
	}
	if (!failed) {
		all.number = OWNERS + PASSERS;
		assert_int_equal(call(&all, "0", "--yes"), 0);
		failed = count_of(workdir, "ls ws scratch | grep -c '^o'") != 0;
	}
	print_message("# %d calls, %d passes, %d pins, %d of them too late\n",
		count_of(workdir, "grep -c -e '->' log"), count_of(workdir, "grep -c json log"),
		count_of(workdir, "grep -c ': pin' log"),
		count_of(workdir, "grep -c ': pin.*-> 1' log"));
	if (failed)
		show(workdir);
	free(all.config);
	(void)close(all.log);
	if (failed)
		fail_msg("see above; again with %lld %llu", (long long)seconds,
			(unsigned long long)seed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_pin_answered_holds_whoever_else_runs,
			workdir_setup, workdir_teardown),
	};

	assert(getenv("SBX_REAP"));
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return 1;
	if (argc > 1)
		seconds = strtoll(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	(void)printf("# %lld seconds, seed %llu\n", (long long)seconds, (unsigned long long)seed);
	(void)setenv("ASAN_OPTIONS", "exitcode=99:detect_leaks=0", 1);
	return cmocka_run_group_tests_name("races", tests, workdir_own_mounts, NULL);
}
