/*
 * P1 to P12 as a property: random worlds with random histories (support/model_op.h), in which the
 * program's verbs run on a clock that the test moves, and a model that is written from the
 * description alone (support/model_rules.h) says after each pass what may be gone and what must be.
 *
 *	test_model			the histories that were kept, and WORLDS random ones, always the same
 *					(SBX_WORLDS: so many); in make check-long other ones for half an
 *					hour
 *	test_model SECONDS [SEED]	worlds from that seed on, for so long
 *	test_model FILE...		these histories
 *
 * Each world has a number of its own, its seed, and can be played again. One that fails is made
 * shorter, and printed as it would stand in tests/fixtures/model.
 */
#include "unit.h"

#include "backend/worktree_git.h"
#include "child.h"
#include "group.h"
#include "inplace.h"
#include "model_rules.h"
#include "model_shrink.h"
#include "options.h"
#include "simgate.h"
#include "small_host.h"
#include "verbs.h"
#include "workdir.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <nss.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	SECONDS_LONG = 1800,
	WORLDS = 300,
	SEED = 4,
	WORKERS = 2,
	WORDS_MAX = 32,
	CODE_SANITIZER = 99,
	FAILED_TO_END = 200,
	VERB_MS = 120000,
	SHRINK_TRIES = 200,
	FAULT_MAX = 600,
	NOW_MAX = 80,
	HEAP_KEPT = 256 << 20,
	HEAP_STEP = 16 << 20,
	UP_S = 30
};

/* One history in the world, and the first thing that is wrong with it. */
struct play {
	struct model_world *world;
	struct model model, saved;                        /* saved: when its books were copied */
	enum { SAVED_NONE, SAVED_OWN, SAVED_OTHER } copy; /* other: of books that were lost since */
	struct told told, forecast;
	unsigned at; /* the operation */
	unsigned passes;
	bool loud;
	char fault[FAULT_MAX];
	const char *kind; /* of fault; while it is made shorter, it stays of this kind */
};

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "exitcode=99:detect_leaks=0";
}

static PRINTF_LIKE(2, 3) void fault(struct play *play, const char *format, ...)
{
	va_list args;

	if (*play->fault)
		return;
	play->kind = format;
	va_start(args, format);
	(void)vsnprintf(play->fault, sizeof(play->fault), format, args);
	va_end(args);
}

/* ---- verbs */

static char *output_path(const struct play *play, const char *name)
{
	return mem_printf("%s/output.%s", play->world->path, name);
}

/* What a verb is to write to instead of the first three descriptors. */
static void redirect(const struct play *play)
{
	char *out CLEANUP(mem_done) = output_path(play, "out");
	char *err CLEANUP(mem_done) = output_path(play, "err");
	int in_fd CLEANUP(fd_done) = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out_fd CLEANUP(fd_done) = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err_fd CLEANUP(fd_done) = open(err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (dup2(in_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
		dup2(err_fd, STDERR_FILENO) < 0)
		_exit(FAILED_TO_END);
}

/* `sbx-reap WORDS`, by this process. */
static int act(const struct play *play, char *words)
{
	char *argv[WORDS_MAX] = { (char[]){ "sbx-reap" } };
	char *config CLEANUP(mem_done) = mem_printf("%s/reap.ini", play->world->path);
	struct options options;
	struct error error = { 0 };
	int argc = 1, code = EXIT_USAGE;

	for (char *word; argc < WORDS_MAX - 3 && (word = strsep(&words, " "));)
		if (*word)
			argv[argc++] = word;
	argv[argc++] = (char[]){ "--config" };
	argv[argc++] = config;
	if (options_parse(argc, argv, simclock_now_s(), &options, &error) < 0)
		(void)fprintf(stderr, "%s\n", error.text);
	else
		code = (int)options.verb->act(&options);
	options_done(&options);
	(void)fflush(stdout);
	return code;
}

/* The same in a process of its own; never returns. */
static void verb_child(const struct play *play, char *words)
{
	redirect(play);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(FAILED_TO_END);
	_exit(act(play, words));
}

/*
 * What nobody kills needs no process of its own: forks and the pages that are copied after them took
 * most of a world's time. What a verb leaves of its own in the process is undone.
 */
static int verb_here(const struct play *play, char *words)
{
	enum { STREAMS = 3 };
	int saved[STREAMS], code;
	sigset_t signals;

	(void)fflush(stdout);
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &signals), 0);
	for (int i = 0; i < STREAMS; i++)
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, STREAMS);
	redirect(play);
	(void)alarm(VERB_MS / 1000);
	code = act(play, words);
	(void)alarm(0);
	for (int i = 0; i < STREAMS; i++) {
		assert_int_equal(dup2(saved[i], i), i);
		(void)close(saved[i]);
	}
	assert_int_equal(sigprocmask(SIG_SETMASK, &signals, NULL), 0);
	return code;
}

/* Its exit code, or minus the signal that ended it. */
static int ended(struct play *play, pid_t pid, const char *words)
{
	int pidfd CLEANUP(fd_done) = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };
	int status;

	if (pidfd >= 0 && poll(&poll_fd, 1, VERB_MS) == 0) {
		fault(play, "'%s' does not end", words);
		(void)kill(pid, SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void check_code(struct play *play, int code, const char *words)
{
	char *err CLEANUP(mem_done) = output_path(play, "err");
	char said[400] = "";
	int fd CLEANUP(fd_done) = -EBADF;

	if (code == 0 || code == 1 || code == 69)
		return;
	fd = open(err, O_RDONLY | O_CLOEXEC);
	(void)!read(fd, said, sizeof(said) - 1);
	fault(play, "'%s' answers %d: %s", words, code, said);
}

static void tell_loudly(const struct play *play, const char *words, int code)
{
	char *err CLEANUP(mem_done) = output_path(play, "err");
	char text[1000] = "";
	int fd CLEANUP(fd_done) = open(err, O_RDONLY | O_CLOEXEC);

	(void)!read(fd, text, sizeof(text) - 1);
	print_message("#   %s -> %d\n%s", words, code, text);
}

/* What it answers, whatever that is. */
static int answer(struct play *play, const char *words)
{
	char *own CLEANUP(mem_done) = mem_dup(words);
	int code = verb_here(play, own);

	if (play->loud)
		tell_loudly(play, words, code);
	return code;
}

static PRINTF_LIKE(2, 3) int verb(struct play *play, const char *format, ...)
{
	char words[512];
	va_list args;
	int code;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	code = answer(play, words);
	check_code(play, code, words);
	return code;
}

/* Whether the last verb said that on `stream`. */
static bool said(const struct play *play, const char *stream, const char *what)
{
	char *path CLEANUP(mem_done) = output_path(play, stream);
	char text[2000] = "";
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_CLOEXEC);

	(void)!read(fd, text, sizeof(text) - 1);
	return strstr(text, what) != NULL;
}

static void read_told(struct play *play, struct told *told)
{
	char *out CLEANUP(mem_done) = output_path(play, "out");

	told_read(told, out);
	if (*told->fault)
		fault(play, "%s", told->fault);
}

/* ---- what a harness and a person do */

static int do_register(struct play *play, const struct op *op, const struct sight *sight)
{
	const struct model_run *run = &play->model.runs[op->run];
	char *path CLEANUP(mem_done) =
		mem_printf("--path %s/scratch/r%u", play->world->path, op->run);
	char *group CLEANUP(mem_done) = mem_printf("--cgroup %s/r%u", groups_root(), op->run);
	char *box CLEANUP(mem_done) =
		mem_printf("--container %s", play->world->containers[op->run]);
	char *owner CLEANUP(mem_done) = mem_printf("--pid %d", play->world->owner[op->run]);
	char *ttl CLEANUP(mem_done) = mem_printf("--ttl %llds", (long long)op->value);
	char *words CLEANUP(mem_done) = mem_printf("register r%u %s %s %s %s %s", op->run,
		run->row.there ? "" : ttl, sight->scratch ? path : "", sight->group ? group : "",
		sight->owner ? owner : "", sight->container ? box : "");
	int code;

	if (!sight->tree && !sight->scratch && !run->row.there)
		return 1; /* there is nothing to register yet */
	code = answer(play, words);
	/* A worktree whose repository does not know it cannot be told from a forged one. */
	if (code != EXIT_USAGE || !sight->gitfile || sight->record)
		check_code(play, code, words);
	return code;
}

static int do_pin(struct play *play, const struct op *op)
{
	const struct model_run *run = &play->model.runs[op->run];
	int code = verb(play, op->value ? "pin r%u --for %llds" : "pin r%u --for never", op->run,
		(long long)op->value);

	if (code == 1 && said(play, "err", "pin of"))
		return 0; /* only its mirror is missing */
	if (code == 1 && (run->begun == NO || !said(play, "err", "being taken apart")))
		fault(play, "pin of r%u is refused, and nothing had begun", op->run);
	return code;
}

/* What the program answers; -1: it is not asked. */
static int do_verb(struct play *play, const struct op *op, const struct sight *sight)
{
	switch ((int)op->kind) {
	case OP_REGISTER:
		return do_register(play, op, sight);
	case OP_RENEW:
		return verb(play, op->value ? "renew r%u --ttl %llds" : "renew r%u", op->run,
			(long long)op->value);
	case OP_FINISH_OK:
		return verb(play, "finish r%u --ok", op->run);
	case OP_FINISH_FAILED:
		return verb(play, "finish r%u --failed", op->run);
	case OP_FORGET:
		return verb(play, "forget r%u", op->run);
	case OP_PIN:
		return do_pin(play, op);
	case OP_UNPIN:
		return verb(play, "unpin r%u", op->run);
	default:
		model_world_apply(play->world, op, play->model.now_s);
		return -1;
	}
}

static void do_to_run(struct play *play, const struct op *op)
{
	struct sight before = model_world_look(play->world, op->run), after;
	int code = do_verb(play, op, &before);

	after = model_world_look(play->world, op->run);
	model_run_told(&play->model, op, code, &before, &after);
	if (play->loud)
		print_message("#   r%u: tree %d, marker %d, record %d, branch %d, keep %d\n",
			op->run, after.tree != 0, after.marker != 0, after.record != 0,
			after.branch != 0, after.keep != 0);
}

/* ---- what the host does */

static void look_at_all(const struct play *play, struct sight *ret_sights)
{
	for (unsigned run = 0; run < OP_RUNS; run++)
		ret_sights[run] = model_world_look(play->world, run);
}

static bool is_as_it_was(const struct play *play, const struct sight *sights)
{
	bool same = true;

	for (unsigned run = 0; run < OP_RUNS; run++) {
		struct sight now = model_world_look(play->world, run);

		same &= sight_equal(&now, &sights[run]) && now.keep == sights[run].keep;
	}
	return same;
}

/* Without the database that has been there nothing can be done. */
static void refuse_all(struct play *play)
{
	static const char *const verbs[] = { "--json", "list --json", "--dry-run", "pin r0",
		"register r1", "finish r2 --ok", "unpin r3" };
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		code = answer(play, verbs[i]);
		if (code != EXIT_STATE)
			fault(play, "'%s' answers %d without the database", verbs[i], code);
	}
}

/* A database that is missing where one has been is no empty one: all say so until a person says it. */
static void do_lose_books(struct play *play)
{
	struct sight sights[OP_RUNS];

	if (!model_world_lose_books(play->world))
		return;
	look_at_all(play, sights);
	refuse_all(play);
	(void)verb(play, "check --new-database");
	if (!is_as_it_was(play, sights))
		fault(play, "something changed while there was no database, or with a new one");
	model_books_lost(&play->model, sights);
	if (play->copy == SAVED_OWN)
		play->copy = SAVED_OTHER;
}

static void do_save_books(struct play *play)
{
	if (!model_world_save_books(play->world))
		return;
	play->saved = play->model;
	play->copy = SAVED_OWN;
}

/* An old copy is the database as it was; one of another is not this database. */
static void do_old_books(struct play *play)
{
	struct sight sights[OP_RUNS];

	if (play->copy == SAVED_NONE)
		return;
	look_at_all(play, sights);
	model_world_swap_books(play->world);
	if (play->copy == SAVED_OTHER) {
		refuse_all(play);
		model_world_swap_books(play->world);
	} else {
		model_books_old(&play->model, &play->saved, sights);
	}
	if (!is_as_it_was(play, sights))
		fault(play, "something changed when a copy of the database was put back");
	play->copy = SAVED_NONE;
}

static void do_host(struct play *play, const struct op *op)
{
	switch ((int)op->kind) {
	case OP_ADVANCE:
		simclock_advance(op->value);
		break;
	case OP_STEP:
		simclock_step(op->value);
		break;
	case OP_SUSPEND:
		simclock_suspend(op->value);
		break;
	case OP_REBOOT:
		for (unsigned run = 0; run < OP_RUNS; run++)
			model_world_end_processes(play->world, run);
		model_world_end_containers(play->world);
		simclock_reboot(op->value, UP_S);
		break;
	case OP_HOLD:
		(void)verb(play, op->value ? "hold --for %llds" : "hold", (long long)op->value);
		break;
	case OP_RESUME:
		(void)verb(play, "resume");
		break;
	case OP_ENGINE_WAY:
		model_world_engine(play->world, (enum model_engine)op->value);
		break;
	case OP_ENGINE_RESTART:
		model_world_end_containers(play->world);
		break;
	case OP_LOSE_BOOKS:
		do_lose_books(play);
		return;
	case OP_SAVE_BOOKS:
		do_save_books(play);
		return;
	case OP_OLD_BOOKS:
		do_old_books(play);
		return;
	default:
		abort();
	}
	model_host(&play->model, op, simclock_now_s());
}

/* ---- passes */

struct pass {
	struct pass_way way;
	char words[128];
	struct sight before[OP_RUNS], after[OP_RUNS];
	struct expectation expected[OP_RUNS];
	struct model_braking braking;
};

static const char *name_of(unsigned run)
{
	static const char *const names[OP_RUNS] = { "r0", "r1", "r2", "r3" };

	return names[run];
}

static void pass_prepare(struct play *play, const struct op *op, struct pass *ret)
{
	*ret = (struct pass){ .way = {
				      .only = op->kind == OP_PASS_RUN || op->kind == OP_PASS_EARLY
						      ? (int)op->run
						      : -1,
				      .early = op->kind == OP_PASS_EARLY,
				      .some = op->kind == OP_PASS_MAX,
			      } };
	(void)snprintf(ret->words, sizeof(ret->words), "--json");
	if (ret->way.some)
		(void)snprintf(ret->words, sizeof(ret->words), "--json --max %d", (int)op->value);
	if (ret->way.only >= 0)
		(void)snprintf(ret->words, sizeof(ret->words), "--json --run r%u%s", op->run,
			ret->way.early ? " --early" : "");
	for (unsigned run = 0; run < OP_RUNS; run++) {
		ret->before[run] = model_world_look(play->world, run);
		ret->expected[run] = model_expect(&play->model, run, &ret->before[run], &ret->way);
	}
	ret->braking = model_brake_expect(&play->model, &ret->way, ret->expected);
}

static void look_after(struct play *play, struct pass *pass)
{
	const char *harmed = model_world_harmed(play->world);

	for (unsigned run = 0; run < OP_RUNS; run++)
		pass->after[run] = model_world_look(play->world, run);
	if (harmed)
		fault(play, "%s is nobody's, and is not what it was", harmed);
}

/*
 * Whether another ref may contain the branch, so that it is not needed any more: the branch of another
 * run (all have the same second commit), or a salvage, which contains what it was made upon.
 */
static bool is_contained(const struct play *play, const struct pass *pass, unsigned number)
{
	const struct sight *sight = &pass->before[number];

	for (unsigned run = 0; run < OP_RUNS; run++)
		if (run != number && pass->before[run].ahead)
			return true;
	return play->model.unsaved == UNSAVED_SALVAGED &&
	       (sight->dirty || sight->fresh || play->model.runs[number].gone || !sight->gitfile ||
		       !sight->record);
}

/* What must hold after any pass, however it ended: nothing went that may not go. */
static void check_kept(struct play *play, const struct pass *pass, unsigned run)
{
	const struct sight *before = &pass->before[run], *after = &pass->after[run];
	const struct expectation *expected = &pass->expected[run];

	if (expected->stays_whole && !sight_equal(before, after))
		fault(play, "r%u was to stay whole: %s", run, expected->why);
	if ((expected->reap == NO || expected->tree_stays) &&
		(before->tree != after->tree || before->tree_sum != after->tree_sum))
		fault(play, "the tree of r%u was to stay: %s", run, expected->why);
	if ((expected->reap == NO ||
		    (!play->model.runs[run].scratch && !play->model.runs[run].loose)) &&
		(before->scratch != after->scratch || before->scratch_sum != after->scratch_sum))
		fault(play, "the path of r%u was to stay: %s", run, expected->why);
	if (expected->reap == NO && before->container != after->container)
		fault(play, "the container of r%u was to stay: %s", run, expected->why);
	if (before->guest && !after->guest)
		fault(play, "a process that is not the run's was killed in r%u", run);
	if (before->owner && !after->owner && !play->model.runs[run].owner)
		fault(play, "a process that was not registered was killed for r%u", run);
	if (before->branch && !after->branch &&
		(play->model.branch == BRANCH_STAYS ||
			(play->model.branch == BRANCH_MERGED_GOES && before->ahead &&
				!is_contained(play, pass, run))))
		fault(play, "the branch of r%u was to stay", run);
}

static void check_salvaged(struct play *play, const struct pass *pass, unsigned run)
{
	const struct sight *before = &pass->before[run];

	if (play->model.unsaved == UNSAVED_LOST || !play->model.runs[run].linked || !before->tree ||
		pass->after[run].tree == before->tree)
		return;
	if (before->dirty && !model_world_salvaged(play->world, run, play->world->dirty))
		fault(play, "a changed file of r%u went and was not salvaged", run);
	if (before->fresh && !model_world_salvaged(play->world, run, play->world->fresh))
		fault(play, "a new file of r%u went and was not salvaged", run);
}

/* What is told agrees with what was to be, in forecasts too. */
static void check_told(struct play *play, const struct pass *pass, unsigned run,
	const struct told_run *told, const char *who)
{
	const struct expectation *expected = &pass->expected[run];
	bool reaps = told && text_equal(told->verdict, "reap");
	bool stops = told && text_equal(told->verdict, "stop");

	if (reaps && expected->reap == NO)
		fault(play, "%s: r%u goes (%s), but %s", who, run, told->reason, expected->why);
	if (stops && expected->stop == NO)
		fault(play, "%s: r%u is stopped (%s), but %s", who, run, told->reason,
			expected->why);
	if (expected->reap == YES && !expected->tree_stays && !reaps &&
		(told || !model_is_gone(&play->model, run, &pass->before[run])))
		fault(play, "%s: r%u was to go, but is %s, %s: %s", who, run,
			told ? told->verdict : "not told", told ? told->reason : "",
			told ? told->error : "");
	if (expected->stop == YES && !stops)
		fault(play, "%s: r%u was to be stopped, but is %s, %s: %s", who, run,
			told ? told->verdict : "not told", told ? told->reason : "",
			told ? told->error : "");
}

static void check_done(struct play *play, const struct pass *pass, unsigned run)
{
	const struct told_run *told = told_find(&play->told, name_of(run));
	const struct expectation *expected = &pass->expected[run];
	bool gone = model_is_gone(&play->model, run, &pass->after[run]);

	check_told(play, pass, run, told, "pass");
	gone |= expected->boxed && !pass->after[run].container; /* a tree that is nobody's stays */
	if (told && text_equal(told->result, "reaped") && !gone)
		fault(play, "r%u is told to be reaped, and is not gone", run);
	if (expected->reap == YES && !expected->tree_stays && !gone)
		fault(play, "r%u was to go, and is not gone: %s, %s, %s: %s", run,
			told ? told->verdict : "not told", told ? told->reason : "",
			told ? told->result : "", told ? told->error : "");
	if (expected->stop == YES && pass->after[run].owner && play->model.runs[run].owner)
		fault(play, "the process of r%u was to be stopped", run);
	if (expected->stop == YES && pass->after[run].runs && play->model.runs[run].container)
		fault(play, "the container of r%u was to be stopped", run);
}

/*
 * All runs have the same second commit, so the branch of each may be what saves the other's, until the
 * first has gone.
 */
static bool lost_its_other(
	const struct play *play, const struct told_run *was, const struct told_run *did)
{
	return play->model.branch == BRANCH_GOES && text_equal(was->verdict, "reap") &&
	       text_equal(did->reason, "unsaved_work");
}

/* P10: a forecast changes nothing, and says what the pass then does. */
static void forecast(struct play *play, const struct pass *pass)
{
	uint64_t sum = model_world_sum(play->world);
	int code = verb(play, "--dry-run %s", pass->words);

	read_told(play, &play->forecast);
	if (code != play->forecast.code && play->forecast.code == 0 && code != 1)
		fault(play, "a dry run answers %d, its report says %d", code, play->forecast.code);
	for (unsigned run = 0; run < OP_RUNS; run++)
		check_told(play, pass, run, told_find(&play->forecast, name_of(run)), "dry run");
	if (sum != model_world_sum(play->world))
		fault(play, "a dry run changed something");
}

static void check_forecast(struct play *play)
{
	for (unsigned i = 0; i < play->told.count; i++) {
		const struct told_run *did = &play->told.runs[i];
		const struct told_run *was = told_find(&play->forecast, did->run);

		if (!was)
			fault(play, "%s was not in the dry run", did->run);
		else if ((!text_equal(was->verdict, did->verdict) ||
				 !text_equal(was->reason, did->reason)) &&
			 !lost_its_other(play, was, did))
			fault(play, "%s: the dry run said %s, %s, the pass %s, %s: %s", did->run,
				was->verdict, was->reason, did->verdict, did->reason, did->error);
	}
}

static void take_note(
	struct play *play, struct pass *pass, const struct told *told, enum pass_end end)
{
	for (unsigned run = 0; run < OP_RUNS; run++)
		model_run_passed(&play->model, run, &pass->expected[run],
			told_find(told, name_of(run)), &pass->after[run], end);
	model_brake_passed(&play->model, &pass->way, &pass->braking, end);
	model_passed(&play->model, end);
}

/* What a pass answered and did that nobody killed or halted. */
static void judge_pass(struct play *play, struct pass *pass, int code)
{
	read_told(play, &play->told);
	look_after(play, pass);
	if (code != play->told.code)
		fault(play, "a pass answers %d, its report says %d", code, play->told.code);
	for (unsigned run = 0; run < OP_RUNS; run++) {
		check_kept(play, pass, run);
		check_salvaged(play, pass, run);
		check_done(play, pass, run);
	}
	take_note(play, pass, &play->told, PASS_WHOLE);
}

static void do_pass(struct play *play, const struct op *op)
{
	bool foretold = play->passes++ % 2 == 0; /* it takes as long as the pass */
	struct pass pass;
	int code;

	pass_prepare(play, op, &pass);
	if (foretold)
		forecast(play, &pass);
	code = verb(play, "%s", pass.words);
	judge_pass(play, &pass, code);
	if (foretold)
		check_forecast(play);
}

/* ---- passes that are killed or halted */

/* What is left is told by a list. It only reads, so a verb that may write mends the database before. */
static void look_at_rest(struct play *play, struct pass *pass)
{
	(void)verb(play, "unpin nobody");
	(void)verb(play, "list --json");
	read_told(play, &play->told);
	take_note(play, pass, &play->told, PASS_KILLED);
}

struct halted {
	pid_t pid;
	int reached, go;
};

static struct halted start_pass(
	struct play *play, const struct pass *pass, unsigned nth, enum simgate_end end)
{
	struct halted halted;
	int reached[2], go[2];
	char words[128];

	assert_int_equal(pipe2(reached, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	(void)snprintf(words, sizeof(words), "%s", pass->words);
	(void)fflush(stdout);
	halted.pid = fork();
	assert_true(halted.pid >= 0);
	if (halted.pid == 0) {
		(void)close(reached[0]);
		(void)close(go[1]);
		simgate_set(nth, end, reached[1], go[0]);
		verb_child(play, words);
	}
	(void)close(reached[1]);
	(void)close(go[0]);
	halted.reached = reached[0];
	halted.go = go[1];
	return halted;
}

/* Whether it halts; false: it came to its end before that. */
static bool is_reached(const struct halted *halted)
{
	char byte;

	return read(halted->reached, &byte, 1) == 1;
}

static int end_pass(struct play *play, const struct halted *halted, bool go)
{
	if (go)
		assert_int_equal(write(halted->go, "", 1), 1);
	(void)close(halted->reached);
	(void)close(halted->go);
	return ended(play, halted->pid, "a pass with gates");
}

static void do_killed(struct play *play, const struct op *op)
{
	struct pass pass;
	struct halted halted;
	int code;

	pass_prepare(play, op, &pass);
	halted = start_pass(play, &pass, (unsigned)op->value, SIMGATE_DIES);
	code = end_pass(play, &halted, false);
	if (code != -SIGKILL)
		check_code(play, code, "a pass to be killed");
	if (play->loud)
		print_message("#   killed: %d\n", code);
	look_after(play, &pass);
	for (unsigned run = 0; run < OP_RUNS; run++) {
		check_kept(play, &pass, run);
		check_salvaged(play, &pass, run);
	}
	look_at_rest(play, &pass);
}

static struct op what_comes_between(const struct op *op)
{
	static const enum op_kind kinds[OP_COUNT] = {
		[OP_PASS_PIN] = OP_PIN,
		[OP_PASS_KEEP] = OP_PASS_KEEP,
		[OP_PASS_RENEW] = OP_RENEW,
		[OP_PASS_FINISH] = OP_FINISH_OK,
		[OP_PASS_TWICE] = OP_PASS,
		[OP_PASS_GUEST] = OP_GUEST,
		[OP_PASS_LOCK] = OP_LOCK,
		[OP_PASS_RECREATE] = OP_PASS_RECREATE,
	};

	return (struct op){ .kind = kinds[op->kind], .run = op->run };
}

static bool same_things(const struct sight *a, const struct sight *b)
{
	return a->tree == b->tree && a->tree_sum == b->tree_sum && a->scratch == b->scratch &&
	       a->scratch_sum == b->scratch_sum && a->record == b->record &&
	       a->branch == b->branch && a->group == b->group;
}

/* What holds for the rest of the pass, since it did not see this when it decided. */
enum promise {
	PROMISE_NOTHING,
	PROMISE_MARKER, /* it is not taken to its end */
	PROMISE_TREE,   /* what stands there is not the run's, and stays */
	PROMISE_WHOLE   /* nothing of the run goes */
};

static void check_between(
	struct play *play, const struct pass *pass, const struct op *between, enum promise promise)
{
	const struct sight *then = &pass->before[between->run], *after = &pass->after[between->run];

	if (promise == PROMISE_WHOLE && !same_things(then, after))
		fault(play, "r%u: after %s meanwhile something went", between->run,
			op_name(between->kind));
	if (promise == PROMISE_MARKER && then->marker != after->marker)
		fault(play, "r%u: a .keep appeared, and it was taken to its end", between->run);
	if (promise == PROMISE_TREE &&
		(then->tree != after->tree || then->tree_sum != after->tree_sum))
		fault(play, "r%u: the directory that was made meanwhile is not as it was",
			between->run);
}

/* P2: a verb that was answered with 0 means that nothing of the run had gone, and nothing does. */
static enum promise verb_promises(
	struct play *play, const struct op *between, bool first, const struct sight *then)
{
	if (between->kind == OP_PIN)
		return !said(play, "out", "no such run is known") && then->tree ? PROMISE_WHOLE
										: PROMISE_NOTHING;
	return first ? PROMISE_WHOLE : PROMISE_NOTHING;
}

/*
 * By hand: a pass that has not claimed the run yet looks at it once more before it does anything to it
 * (MUST 1 of apply.h). And whatever was made where a registered tree was is not that tree.
 */
static enum promise hand_promises(struct play *play, const struct op *between, bool claimed,
	const struct sight *then, const struct sight *after)
{
	const struct model_run *run = &play->model.runs[between->run];
	bool own = run->row.there && run->tree && run->begun == NO;
	bool same = own && !claimed && then->tree == run->tree;

	switch ((int)between->kind) {
	case OP_PASS_KEEP:
		if (same)
			return PROMISE_WHOLE;
		return own && then->tree == run->tree && then->marker ? PROMISE_MARKER
								      : PROMISE_NOTHING;
	case OP_PASS_RECREATE:
		return own ? PROMISE_TREE : PROMISE_NOTHING;
	case OP_GUEST:
		return same && !then->guest && after->guest ? PROMISE_WHOLE : PROMISE_NOTHING;
	case OP_LOCK:
		return same && run->linked && run->record && then->gitfile && after->locked
			       ? PROMISE_WHOLE
			       : PROMISE_NOTHING;
	default:
		return PROMISE_NOTHING;
	}
}

/* Whether the pass that halts has claimed it, as anybody may ask. */
static bool is_claimed(struct play *play, unsigned run)
{
	const struct told_run *told;

	(void)verb(play, "list --json");
	read_told(play, &play->told);
	told = told_find(&play->told, name_of(run));
	return told && text_equal(told->state, "claimed");
}

/* The pass that halts may have decided by what was so before, and by what is so now. */
static void expect_both(struct play *play, struct pass *pass, unsigned run)
{
	struct expectation now = model_expect(&play->model, run, &pass->before[run], &pass->way);
	struct expectation *expected = &pass->expected[run];

	expected->reap = expected->reap > now.reap ? expected->reap : now.reap;
	expected->stop = expected->stop > now.stop ? expected->stop : now.stop;
	expected->tree_stays &= now.tree_stays;
	expected->stays_whole &= now.stays_whole;
}

/* The pass halts; what comes then, and what that promises. */
static enum promise do_between(struct play *play, struct pass *pass, const struct op *between)
{
	struct model_run *run = &play->model.runs[between->run];
	bool first = run->row.there && !run->row.finished_s;
	enum maybe begun = run->begun;
	struct sight then = model_world_look(play->world, between->run), after;
	bool whole = same_things(&then, &pass->before[between->run]);
	bool claimed = false;
	enum promise promise = PROMISE_NOTHING;
	int code;

	look_after(play, pass);
	check_kept(play, pass, between->run);
	if (between->kind == OP_GUEST || between->kind == OP_LOCK || between->kind == OP_PASS_KEEP)
		claimed = is_claimed(play, between->run);
	if (!pass->expected[between->run].stays_whole)
		run->begun = MAYBE;
	code = do_verb(play, between, &then);
	after = model_world_look(play->world, between->run);
	if (code == 0)
		promise = verb_promises(play, between, first, &then);
	if (code != 1)
		run->begun = begun;
	if (between->kind == OP_PASS_RECREATE && then.tree != after.tree)
		run->replaced |= !pass->expected[between->run].stays_whole;
	if (code < 0)
		promise = hand_promises(play, between, claimed, &then, &after);
	if (promise == PROMISE_WHOLE && !whole && begun == NO)
		fault(play, "r%u: %s came when something was gone already, and nothing had begun",
			between->run, op_name(between->kind));
	model_run_told(&play->model, between, code, &then, &after);
	pass->before[between->run] = after;
	expect_both(play, pass, between->run);
	if (play->loud)
		print_message("#   halted; then %d, promise %d\n", code, (int)promise);
	return promise;
}

/*
 * One pass at a time: another is turned away and changes nothing. One that is not came before the one
 * that halts had begun, and is a pass as any other.
 */
static enum promise do_pass_between(
	struct play *play, struct pass *halted, const struct op *halted_op)
{
	bool begun = !is_as_it_was(play, halted->before);
	struct pass pass;
	int code;

	look_after(play, halted);
	for (unsigned run = 0; run < OP_RUNS; run++)
		check_kept(play, halted, run);
	pass_prepare(play, &(struct op){ .kind = OP_PASS }, &pass);
	code = answer(play, pass.words);
	if (code == EXIT_LOCKED) {
		if (!is_as_it_was(play, pass.before))
			fault(play, "a pass that was turned away changed something");
		return PROMISE_NOTHING;
	}
	if (begun)
		fault(play, "a pass answers %d while another is at work", code);
	check_code(play, code, "another pass");
	judge_pass(play, &pass, code);
	pass_prepare(play, halted_op, halted);
	return PROMISE_NOTHING;
}

static void do_disturbed(struct play *play, const struct op *op)
{
	struct op between = what_comes_between(op);
	struct pass pass;
	struct halted halted;
	enum promise promise = PROMISE_NOTHING;
	bool reached;
	int code;

	pass_prepare(play, op, &pass);
	halted = start_pass(play, &pass, (unsigned)op->value, SIMGATE_HALTS);
	reached = is_reached(&halted);
	if (reached)
		promise = between.kind == OP_PASS ? do_pass_between(play, &pass, op)
						  : do_between(play, &pass, &between);
	code = end_pass(play, &halted, reached);
	check_code(play, code, "a pass that halts");
	/* The verb wrote what the pass writes to while it halted: what it says is lost. */
	look_after(play, &pass);
	for (unsigned run = 0; run < OP_RUNS; run++) {
		check_kept(play, &pass, run);
		check_salvaged(play, &pass, run);
	}
	check_between(play, &pass, &between, promise);
	look_at_rest(play, &pass);
}

/* ---- a whole history */

static void do_op(struct play *play, const struct op *op)
{
	if (play->loud) {
		(void)printf("# ");
		op_print(op, stdout);
	}
	if (op->kind == OP_PASS_KILLED)
		do_killed(play, op);
	else if (op->kind >= OP_PASS_PIN)
		do_disturbed(play, op);
	else if (op->kind >= OP_PASS)
		do_pass(play, op);
	else if (op->kind >= OP_ADVANCE)
		do_host(play, op);
	else if (op->kind > OP_ENGINE)
		do_to_run(play, op);
}

static bool trash_is_empty(const struct play *play)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/ws/.sbx-trash", play->world->path);
	DIR *directory = opendir(path);
	bool empty = true;

	for (const struct dirent *entry; directory && (entry = readdir(directory));)
		empty &= *entry->d_name == '.';
	if (directory)
		(void)closedir(directory);
	return empty;
}

/* P7: whatever was, when nothing keeps them any more all runs go, and nothing is left behind. */
static void check_end(struct play *play)
{
	char *out CLEANUP(mem_done) = output_path(play, "out");
	const struct pass_way way = { .only = -1 };
	bool all = true;

	(void)verb(play, "log --json");
	for (unsigned run = 0; run < OP_RUNS; run++) {
		const struct model_run *known = &play->model.runs[run];
		struct sight sight = model_world_look(play->world, run);
		struct expectation expected = model_expect(&play->model, run, &sight, &way);
		int tombstones = told_tombstones(out, name_of(run));

		all &= !model_is_known(known);
		if (model_is_known(known) && expected.reap != NO && !expected.stuck &&
			!expected.tree_stays && play->model.unsaved != UNSAVED_KEPT)
			fault(play, "r%u never goes", run);
		if (tombstones > (int)known->tombstones ||
			tombstones < (int)(known->tombstones - known->untold))
			fault(play, "r%u went %u times and has %d tombstones", run,
				known->tombstones, tombstones);
	}
	if (all && !trash_is_empty(play))
		fault(play, "the trash is not empty at the end");
}

static void drain(struct play *play)
{
	static const struct op after[] = { { OP_ADVANCE, 0, 30 * 86400 }, { OP_PASS, 0, 0 },
		{ OP_ADVANCE, 0, 2 * 86400 }, { OP_PASS, 0, 0 }, { OP_PASS, 0, 0 } };
	static const struct op released[] = { { OP_ADVANCE, 0, 2 * 86400 }, { OP_PASS, 0, 0 } };

	for (unsigned run = 0; run < OP_RUNS; run++) {
		const struct model_run *known = &play->model.runs[run];

		do_op(play, &(struct op){ OP_CRASH, run, 0 });
		do_op(play, &(struct op){ OP_UNLOCK, run, 0 });
		if (known->pinned != NO || known->keep != KEEP_NONE)
			do_op(play, &(struct op){ OP_UNPIN, run, 0 });
	}
	if (play->model.held)
		do_op(play, &(struct op){ OP_RESUME, 0, 0 });
	do_op(play, &(struct op){ OP_ENGINE_WAY, 0, ENGINE_WELL });
	do_op(play, &(struct op){ OP_ENGINE_RESTART, 0, 0 });
	for (size_t i = 0; i < ARRAY_SIZE(after) && !*play->fault; i++)
		do_op(play, &after[i]);
	for (size_t i = 0; play->model.braking && i < ARRAY_SIZE(released) && !*play->fault; i++)
		do_op(play, &released[i]);
	if (!*play->fault)
		check_end(play);
}

/* Whether all was as it must be. */
static bool play_ops(struct play *play, const struct ops *ops)
{
	*play->fault = 0;
	play->passes = 0;
	play->copy = SAVED_NONE;
	simclock_start();
	simclock_freeze_wall();
	model_world_begin(play->world, ops);
	model_begin(&play->model, ops, simclock_now_s());
	for (play->at = 0; play->at < ops->count && !*play->fault; play->at++)
		do_op(play, &ops->items[play->at]);
	if (!*play->fault)
		drain(play);
	return !*play->fault;
}

static bool fails(void *context, const struct ops *ops)
{
	struct play *play = context;
	const char *kind = play->kind;
	bool same = !play_ops(play, ops) && play->kind == kind;

	play->kind = kind;
	return same;
}

static void show(struct play *play, const struct ops *ops)
{
	struct ops shorter = *ops;

	(void)printf("# %s\n", play->fault);
	while (shorter.count > play->at) /* what comes after it does not matter */
		shorter.count--;
	if (!fails(play, &shorter))
		shorter = *ops;
	ops_shrink(&shorter, fails, play, SHRINK_TRIES);
	(void)fails(play, &shorter);
	(void)printf(
		"# made shorter: %s\n", *play->fault ? play->fault : "it does not always fail");
	for (unsigned i = 0; i < shorter.count; i++)
		op_print(&shorter.items[i], stdout);
	(void)fflush(stdout);
}

/* ---- worlds in namespaces of their own */

/* What all workers share. */
static struct {
	uint64_t seed;
	int64_t seconds;
	unsigned limit; /* so many worlds, however long they take; 0: seconds decide */
	unsigned worlds[WORKERS], gone[WORKERS];
	char now[WORKERS][NOW_MAX]; /* what a worker is at */
} * task;

static int64_t real_s(void)
{
	return simclock_real_ns(CLOCK_MONOTONIC) / SIMCLOCK_NS_OF_S;
}

static struct ops *kept;
static unsigned kept_count;

/* The worlds that a worker has to do are done, or the time is over. */
static bool is_enough(unsigned done, int64_t end_s)
{
	return task->limit ? done >= task->limit / WORKERS : real_s() >= end_s;
}

/* Goes on when one fails, since the next may say more; the first is made shorter in the end. */
static int work(struct play *play, unsigned number)
{
	int64_t end_s = real_s() + task->seconds;
	struct ops failed = { 0 };

	for (unsigned done = 0; !is_enough(done, end_s); done++) {
		uint64_t seed = task->seed + number + (uint64_t)done * WORKERS;
		struct ops ops;

		ops_random(&ops, seed);
		task->worlds[number]++;
		(void)snprintf(task->now[number], NOW_MAX, "world %llu", (unsigned long long)seed);
		if (play_ops(play, &ops)) {
			for (unsigned run = 0; run < OP_RUNS; run++)
				task->gone[number] += play->model.runs[run].gone;
			continue;
		}
		(void)printf("# world %llu failed: %s\n", (unsigned long long)seed, play->fault);
		(void)fflush(stdout);
		if (failed.count == 0)
			failed = ops;
	}
	if (failed.count == 0)
		return 0;
	(void)play_ops(play, &failed);
	show(play, &failed);
	return 1;
}

static int replay(struct play *play, unsigned number)
{
	for (unsigned i = number; i < kept_count; i += WORKERS) {
		(void)snprintf(task->now[number], NOW_MAX, "kept history %u", i);
		if (play_ops(play, &kept[i]))
			continue;
		(void)printf("# kept history %u failed: %s\n", i, play->fault);
		return 1;
	}
	return 0;
}

typedef int work_function(struct play *play, unsigned number);

/* A processor for each worker: one that moves has a tenth of its time go to waking the other's cache. */
static void stay_on_a_processor(unsigned number)
{
	cpu_set_t allowed, own;
	int left;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	left = (int)number % CPU_COUNT(&allowed);
	for (int processor = 0; processor < CPU_SETSIZE; processor++)
		if (CPU_ISSET(processor, &allowed) && left-- == 0) {
			CPU_ZERO(&own);
			CPU_SET(processor, &own);
			(void)sched_setaffinity(0, sizeof(own), &own);
		}
}

/* Each verb begins as a copy of this process: what libraries do first need not be done in each. */
static void warm_up(void)
{
	(void)worktree_git_begin(NULL); /* or its settings would be the default ones */
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	(void)__nss_configure_lookup("passwd", "files");
	(void)__nss_configure_lookup("group", "files");
	(void)getpwuid(0);
	/* What was freed is used again at once, without asking the kernel for it. */
	(void)mallopt(M_MMAP_THRESHOLD, HEAP_KEPT);
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	(void)mallopt(M_TOP_PAD, HEAP_STEP);
}

static int work_inside(struct workdir *workdir, unsigned number, work_function *function)
{
	char *name CLEANUP(mem_done) = mem_printf("%u", number);
	struct model_world world;
	struct play play = { .world = &world, .loud = getenv("SBX_LOUD") != NULL };
	int code;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || mount("proc", "/proc", "proc", 0, NULL) != 0)
		return FAILED_TO_END;
	small_host_make(workdir->path);
	model_world_open(&world, workdir->more, name);
	warm_up();
	code = function(&play, number);
	model_world_done(&world);
	return code;
}

/* A verb that crashes or hangs takes the worker along that does it. */
static void tell_death(struct workdir *workdir, unsigned number)
{
	char *err CLEANUP(mem_done) = mem_printf("%s/%u/output.err", workdir->path, number);
	char said[4000] = "";
	int fd CLEANUP(fd_done) = open(err, O_RDONLY | O_CLOEXEC);

	(void)!read(fd, said, sizeof(said) - 1);
	(void)printf("# in %s the program died or hung: %s\n", task->now[number], said);
}

/* Of all processes it sees only its own, so that a pass has few to look at; they end with it. */
static int work_apart(struct workdir *workdir, unsigned number, work_function *function)
{
	int code = FAILED_TO_END;
	pid_t pid;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || groups_set_up() != 0)
		return FAILED_TO_END;
	stay_on_a_processor(number);
	if (unshare(CLONE_NEWNS | CLONE_NEWPID) == 0 && (pid = fork()) >= 0) {
		if (pid == 0) {
			code = work_inside(workdir, number, function);
			(void)fflush(stdout);
			_exit(code);
		}
		code = workdir_wait(pid);
	}
	if (code != 0 && code != 1)
		tell_death(workdir, number);
	groups_tear_down();
	return code;
}

/* Whether all went well. */
static bool work_all(struct workdir *workdir, work_function *function)
{
	pid_t pids[WORKERS];
	bool failed = false;

	(void)fflush(stdout);
	for (unsigned i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			int code = work_apart(workdir, i, function);

			(void)fflush(stdout);
			_exit(code);
		}
	}
	for (unsigned i = 0; i < WORKERS; i++)
		failed |= workdir_wait(pids[i]) != 0;
	return !failed;
}

static void what_was_found_before_is_right(void **state)
{
	assert_true(kept_count > 0);
	assert_true(work_all(*state, replay));
	print_message("# %u histories\n", kept_count);
}

static void random_worlds_go_as_the_model_says(void **state)
{
	unsigned worlds = 0, gone = 0;
	int64_t began_s = real_s();
	bool well = work_all(*state, work);

	for (unsigned i = 0; i < WORKERS; i++) {
		worlds += task->worlds[i];
		gone += task->gone[i];
	}
	print_message("# %u worlds, %u runs reaped, in %lld s\n", worlds, gone,
		(long long)(real_s() - began_s));
	assert_true(well && worlds > 0 && gone > 0);
}

static int in_memory(void **state)
{
	struct workdir *workdir;

	if (workdir_setup(state) != 0)
		return -1;
	workdir = *state;
	workdir_in_memory(workdir);
	workdir->more = mem_new(sizeof(struct model_world));
	model_world_prepare(workdir->more, workdir->path);
	return 0;
}

static int not_in_memory(void **state)
{
	struct workdir *workdir = *state;

	model_world_done(workdir->more);
	free(workdir->more);
	return workdir_teardown(state);
}

/* ---- */

static void keep_history(const char *path)
{
	struct error error = { 0 };

	kept = mem_grow(kept, kept_count + 1, sizeof(*kept));
	if (ops_read(path, &kept[kept_count++], &error) < 0) {
		(void)fprintf(stderr, "%s\n", error.text);
		exit(EXIT_USAGE);
	}
}

static void keep_all(void)
{
	static const char path[] = "tests/fixtures/model";
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		char *name CLEANUP(mem_done) = mem_printf("%s/%s", path, entries[i]->d_name);

		if (*entries[i]->d_name != '.')
			keep_history(name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

/* What is to be done without a word about it: the same each time, or in make check-long much. */
static int task_begin(void)
{
	const char *worlds = getenv("SBX_WORLDS");

	task = mmap(NULL, sizeof(*task), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (task == MAP_FAILED)
		return -1;
	task->seed = getenv("SBX_LONG") ? (uint64_t)time(NULL) : SEED;
	task->seconds = SECONDS_LONG;
	task->limit = getenv("SBX_LONG") ? 0
		      : worlds           ? (unsigned)strtoul(worlds, NULL, 10)
					 : WORLDS;
	return 0;
}

static void task_told(int argc, char **argv)
{
	task->limit = 0;
	task->seconds = strtoll(argv[1], NULL, 10);
	task->seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
}

static int run_kept(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_was_found_before_is_right, in_memory, not_in_memory),
	};

	return cmocka_run_group_tests_name("model", tests, workdir_own_mounts, NULL);
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_was_found_before_is_right, in_memory, not_in_memory),
		cmocka_unit_test_setup_teardown(
			random_worlds_go_as_the_model_says, in_memory, not_in_memory),
	};

	(void)printf("# seed %llu\n", (unsigned long long)task->seed);
	return cmocka_run_group_tests_name("model", tests, workdir_own_mounts, NULL);
}

int main(int argc, char **argv)
{
	bool files = argc > 1 && strspn(argv[1], "0123456789") != strlen(argv[1]);
	int failed;

	if (task_begin() != 0)
		return 1;
	if (argc > 1 && !files)
		task_told(argc, argv);
	for (int i = 1; files && i < argc; i++)
		keep_history(argv[i]);
	if (!files)
		keep_all();
	failed = files ? run_kept() : run_all();
	free(kept);
	return failed;
}
