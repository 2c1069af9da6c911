/*
 * P7: whatever is killed at any of its system calls that change something is finished by the next pass,
 * or by the same call again. Every such call, of the pass and of its children, in a world with every
 * kind of resource; by SIGKILL, by SIGTERM, and by a power cut, after which only what was synced is left.
 */
#include "exit_code.h"
#include "inplace.h"
#include "power.h"
#include "sweep.h"
#include "sweep_books.h"
#include "sweep_report.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* main() of the program, by another name: see the Makefile. */
int program_main(int argc, char **argv);

/* Whatever can leave a trace: in files, in names, in processes, at an engine. */
static const long changing[] = { SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2,
	SYS_fsync, SYS_fdatasync, SYS_syncfs, SYS_sync_file_range, SYS_ftruncate, SYS_truncate,
	SYS_fallocate, SYS_creat, SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2,
	SYS_link, SYS_linkat, SYS_symlink, SYS_symlinkat, SYS_mkdir, SYS_mkdirat, SYS_rmdir,
	SYS_mknodat, SYS_chmod, SYS_fchmod, SYS_fchmodat, SYS_chown, SYS_fchown, SYS_fchownat,
	SYS_utimensat, SYS_setxattr, SYS_fsetxattr, SYS_kill, SYS_tgkill, SYS_pidfd_send_signal,
	SYS_mount, SYS_umount2, SYS_sendto, SYS_sendmsg, SYS_ioctl, SYS_copy_file_range,
	SYS_sendfile };

enum { LIMIT_S = 300 };

enum way {
	WAY_KILL,       /* all of it */
	WAY_KILL_CHILD, /* a process that the pass has started */
	WAY_TERMINATE,  /* SIGTERM for the pass */
	WAY_POWER       /* all of it, and what was not synced is lost */
};

/* One sequence of points: the words of a call, and how it ends. */
struct series {
	const char *name, *words;
	enum way way;
};

#define PASS "--json"
#define RENEWAL "check --new-database"

static const struct series all_series[] = {
	{ "a pass, killed", PASS, WAY_KILL },
	{ "a pass, its power cut", PASS, WAY_POWER },
	{ "a pass, terminated", PASS, WAY_TERMINATE },
	{ "a child of a pass, killed", PASS, WAY_KILL_CHILD },
	{ "register, killed",
		"register fresh --repo REPO --branch sbx/fresh --created @1700000000 --ttl 1h",
		WAY_KILL },
	{ "finish, killed", "finish live --failed", WAY_KILL },
	{ "pin, killed", "pin live --for never --reason why --by me", WAY_KILL },
	{ "unpin, killed", "unpin pinned", WAY_KILL },
	{ "register, its power cut",
		"register fresh --repo REPO --branch sbx/fresh --created @1700000000 --ttl 1h",
		WAY_POWER },
	{ "pin, its power cut", "pin live --for never --reason why --by me", WAY_POWER },
	{ "unpin, its power cut", "unpin pinned", WAY_POWER },
	{ "check --new-database, killed", RENEWAL, WAY_KILL },
	{ "check --new-database, its power cut", RENEWAL, WAY_POWER },
};

static const char *series_name(size_t series)
{
	return all_series[series].name;
}

static bool is_pass(const struct series *series)
{
	return text_equal(series->words, PASS);
}

/* The database is lost before that. */
static bool is_renewal(const struct series *series)
{
	return text_equal(series->words, RENEWAL);
}

static char *words_of(const struct sweep_world *world, const struct series *series)
{
	const char *repo = strstr(series->words, "REPO");

	if (!repo)
		return mem_dup(series->words);
	return mem_printf("%.*s%s%s", (int)(repo - series->words), series->words, world->repo,
		repo + strlen("REPO"));
}

/* ----------------------------------------------------------------------------------- the killing */

/* Where the last call wrote to, and how many in a row have. */
struct written {
	pid_t pid;
	int fd;
	size_t times;
};

/* A call that is killed at one of its calls. */
struct victim {
	struct sweep_world *world;
	const struct series *series;
	char *words;
	const char *end;  /* what is left when nobody disturbs it */
	size_t at, calls; /* from 1; so far */
	struct written written;
	struct power_watch watches[3];
	struct power power;
	struct text what;    /* the call at which it happened */
	struct text partial; /* what the books say of runs that it left in the middle */
};

static void victim_done(struct victim *victim)
{
	power_done(&victim->power);
	text_done(&victim->what);
	text_done(&victim->partial);
	free(victim->words);
}

static void complain(const struct victim *victim, const char *what, const char *detail)
{
	sweep_complain("%s at %zu, %s: %s%s%s", victim->series->name, victim->at, victim->what.data,
		what, detail ? ": " : "", detail ? detail : "");
}

static int act_of(enum way way)
{
	switch (way) {
	case WAY_KILL:
	case WAY_POWER:
		return TRACER_KILL_ALL;
	case WAY_KILL_CHILD:
		return TRACER_KILL_ONE;
	case WAY_TERMINATE:
		return TRACER_TERMINATE;
	}
	abort();
}

static bool is_sync(const struct tracer_call *call)
{
	return call->number == SYS_fsync || call->number == SYS_fdatasync ||
	       call->number == SYS_syncfs || call->number == SYS_sync_file_range;
}

/* Of a database's dozens of writes in a row those before which none and one was made tell all kinds. */
static bool is_one_of_many(struct written *written, const struct tracer_call *call)
{
	int fd = (int)call->args[0];

	if (call->number != SYS_pwrite64 || call->pid != written->pid || fd != written->fd)
		*written = (struct written){ call->pid, fd, 0 };
	if (call->number == SYS_pwrite64)
		written->times++;
	return written->times > 2 && !getenv("SBX_LONG");
}

/* Before a call that changes nothing all is as it was before the next one. */
static bool is_point(struct victim *victim, const struct tracer_call *call)
{
	enum way way = victim->series->way;

	if (is_one_of_many(&victim->written, call))
		return false;
	if (call->number == SYS_ioctl && call->args[1] == TCGETS)
		return false;
	if (way == WAY_KILL_CHILD && !call->of_child)
		return false;
	return way == WAY_POWER || !is_sync(call);
}

static int on_call(void *context, const struct tracer_call *call)
{
	struct victim *victim = context;
	enum way way = victim->series->way;

	if (!is_point(victim, call) || ++victim->calls != victim->at) {
		if (way == WAY_POWER)
			power_note(&victim->power, call);
		return TRACER_GO_ON;
	}
	tracer_describe(&victim->what, call);
	return act_of(way);
}

/* What shall happen to children, and what breaks off a wait for one, needs all of them. */
static bool needs_children(enum way way)
{
	return way == WAY_KILL_CHILD || way == WAY_TERMINATE;
}

static int run_victim(struct victim *victim)
{
	const struct trace trace = {
		.calls = changing,
		.call_count = ARRAY_SIZE(changing),
		.on_call = on_call,
		.context = victim,
		.limit_s = LIMIT_S,
	};
	int status;

	inplace_off = needs_children(victim->series->way);
	status = sweep_world_trace(victim->world, victim->words, &trace);
	inplace_off = false;
	return status;
}

/* ------------------------------------------------------------------------------------ power cuts */

static bool is_marker(const char *name)
{
	return text_ends(name, ".sbx") || text_ends(name, ".keep") || strstr(name, ".sbx-new-");
}

static bool is_database(const char *name)
{
	return text_equal(name, "reap.db");
}

static bool is_journal(const char *name)
{
	return text_equal(name, "reap.db-journal");
}

static void power_watch(struct victim *victim)
{
	const struct sweep_world *world = victim->world;

	victim->watches[0] = (struct power_watch){ .top = world->state, .whole = true };
	victim->watches[1] = (struct power_watch){ .top = world->repo, .whole = true };
	victim->watches[2] = (struct power_watch){ .top = world->root, .concerns = is_marker };
	power_begin(&victim->power, victim->watches, ARRAY_SIZE(victim->watches));
}

/*
 * A disk may have come to some of what was not synced. One way at a point, in turn; all of them at every
 * point when there is time.
 */
static void cut(struct victim *victim, size_t turn)
{
	static bool (*const spared[])(const char *name) = { NULL, is_database, is_journal };

	power_cut(&victim->power, spared[turn % ARRAY_SIZE(spared)]);
}

/* ------------------------------------------------------------------------- what has to be the end */

static void expect_protected(const struct victim *victim, const char *when)
{
	char *now CLEANUP(mem_done) = sweep_world_protected(victim->world);
	char *difference CLEANUP(mem_done) =
		sweep_world_difference(victim->world->protected_before, now);

	if (difference)
		complain(victim, when, difference);
}

/*
 * Passes are minutes apart, so the locks that a process left on refs are old by the next one. That on all
 * packed refs waits for a person, who has read in the report that it is there.
 */
static void age_locks(const struct sweep_world *world)
{
	static const char *const refs[] = { "refs/heads/sbx/all", "refs/heads/sbx/unsaved",
		"refs/sbx/salvage/unsaved" };
	const struct timespec then = { .tv_sec = time(NULL) - 120 }, times[] = { then, then };
	char *packed CLEANUP(mem_done) = mem_printf("%s/packed-refs.lock", world->repo);

	for (size_t i = 0; i < ARRAY_SIZE(refs); i++) {
		char *lock CLEANUP(mem_done) = mem_printf("%s/%s.lock", world->repo, refs[i]);

		(void)utimensat(AT_FDCWD, lock, times, AT_SYMLINK_NOFOLLOW);
	}
	(void)unlink(packed);
}

static void reset(struct sweep_world *world, const struct series *series)
{
	char *database CLEANUP(mem_done) = mem_printf("%s/reap.db", world->state);

	sweep_world_reset(world);
	if (is_renewal(series))
		assert_int_equal(unlink(database), 0);
}

/* The call, and when it was not a pass one behind it: 0, or the exit code that is not. */
static int call_and_pass(struct sweep_world *world, const struct series *series, const char *words)
{
	int code = sweep_world_run(world, words);

	/* It may have been killed behind the last step: then there is a database, as the pass tells. */
	if (code == EXIT_STATE && is_renewal(series))
		code = EXIT_DONE;
	return code != EXIT_DONE || is_pass(series) ? code : sweep_world_run(world, PASS);
}

/* A call that nobody disturbs, once in each world: what it leaves, and how many points it has. */
struct undisturbed {
	char *end;
	size_t points;
};

static size_t count_points(struct sweep_world *world, const struct series *series)
{
	struct victim victim CLEANUP(victim_done) = {
		.world = world,
		.series = series,
		.words = words_of(world, series),
	};
	char *said CLEANUP(mem_done) = NULL;
	int status;

	reset(world, series);
	status = run_victim(&victim);
	said = sweep_report_said(world, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	if (victim.calls == 0)
		sweep_complain("%s: traced, it comes to no point: %s", series->name, said);
	return victim.calls;
}

static const struct undisturbed *undisturbed(struct sweep_world *world, const struct series *series)
{
	static struct undisturbed all[ARRAY_SIZE(all_series)];
	struct undisturbed *one = &all[series - all_series];
	char *words CLEANUP(mem_done) = words_of(world, series);
	char *said CLEANUP(mem_done) = NULL;
	int code;

	if (one->end)
		return one;
	one->points = count_points(world, series);
	reset(world, series);
	code = call_and_pass(world, series, words);
	said = sweep_report_said(world, code);
	if (code != 0)
		sweep_complain("%s: undisturbed: %s", words, said);
	one->end = sweep_world_describe(world);
	return one;
}

/* Cuts a whole line out of a text. */
static bool cut_line(char *text, const char *line, size_t length)
{
	char *at = text;

	while (*at && strncmp(at, line, length) != 0) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	if (!*at)
		return false;
	memmove(at, at + length, strlen(at + length) + 1);
	return true;
}

/* A pass that was asked to stop has left its traces on the books, once for each run. */
static void expect_partial(const struct victim *victim, char *description)
{
	size_t length;

	for (const char *line = victim->partial.data; line && *line; line += length) {
		length = strcspn(line, "\n") + 1;
		if (!cut_line(description, line, length))
			complain(victim, "not on the books", line);
	}
}

static void expect_end(const struct victim *victim, char *description)
{
	char *difference CLEANUP(mem_done) = NULL;

	expect_partial(victim, description);
	difference = sweep_world_difference(victim->end, description);
	if (difference)
		complain(victim, "after it was repeated", difference);
}

static void expect_repeated(const struct victim *victim)
{
	int code = call_and_pass(victim->world, victim->series, victim->words);
	char *now CLEANUP(mem_done) = sweep_world_describe(victim->world);
	char *said CLEANUP(mem_done) = sweep_report_said(victim->world, code);

	if (code != 0)
		complain(victim, "the next one does not end with 0", said);
	else
		expect_end(victim, now);
}

static void expect_books(const struct victim *victim)
{
	char *fault CLEANUP(mem_done) = sweep_books_fault(victim->world);

	if (fault)
		complain(victim, fault, NULL);
}

/* The pass of a child that was killed goes on, and may have done some of it another way. */
static void expect_finished(const struct victim *victim)
{
	char *left CLEANUP(mem_done) = sweep_report_end_fault(victim->world);

	if (left)
		complain(victim, left, NULL);
}

static void expect_victim(struct victim *victim, int status)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	char *fault CLEANUP(mem_done) = NULL;

	switch (victim->series->way) {
	case WAY_KILL:
	case WAY_POWER:
		if (signal != SIGKILL)
			complain(victim, "it lives on", NULL);
		return;
	case WAY_TERMINATE:
		if (signal == SIGTERM)
			return;
		fault = sweep_report_stop_fault(victim->world, status, &victim->partial);
		break;
	case WAY_KILL_CHILD:
		fault = sweep_report_fault(victim->world, status, false);
		break;
	}
	if (fault)
		complain(victim, fault, NULL);
}

/*
 * Whether it was killed there. On a busy machine a pass may find no time for something, once; and one
 * call more or less is a matter of which run comes first.
 */
static bool reach_point(struct victim *victim, int tries, int *ret_status)
{
	for (int i = 0; i < tries && victim->calls < victim->at; i++) {
		victim->calls = 0;
		victim->written = (struct written){ 0 };
		reset(victim->world, victim->series);
		if (victim->series->way == WAY_POWER)
			power_watch(victim);
		*ret_status = run_victim(victim);
	}
	return victim->calls >= victim->at;
}

static void judge(struct victim *victim, int status, size_t turn)
{
	bool pass = is_pass(victim->series);

	expect_victim(victim, status);
	if (victim->series->way == WAY_POWER)
		cut(victim, turn);
	if (pass) {
		expect_books(victim);
		expect_protected(victim, "it changes");
	}
	age_locks(victim->world);
	if (victim->series->way == WAY_KILL_CHILD)
		expect_finished(victim);
	else
		expect_repeated(victim);
	if (pass)
		expect_protected(victim, "the next pass changes");
}

static enum sweep_answer try_point(struct sweep_world *world, const struct series *series,
	const struct undisturbed *undisturbed, size_t number, size_t turn)
{
	enum { TRIES = 3, MORE_OR_LESS = 8 };
	struct victim victim CLEANUP(victim_done) = {
		.world = world,
		.series = series,
		.words = words_of(world, series),
		.end = undisturbed->end,
		.at = number,
	};
	bool beyond = number > undisturbed->points;
	int status = 0;

	if (reach_point(&victim, beyond ? 1 : TRIES, &status)) {
		judge(&victim, status, turn);
		return SWEEP_TRIED;
	}
	if (victim.calls + MORE_OR_LESS < undisturbed->points)
		sweep_complain("%s: it comes to %zu points of %zu only", series->name, victim.calls,
			undisturbed->points);
	return beyond ? SWEEP_PASSED : SWEEP_MISSED;
}

static enum sweep_answer point(struct sweep_world *world, size_t number_of_series, size_t number)
{
	const struct series *series = &all_series[number_of_series];
	const struct undisturbed *whole = undisturbed(world, series);
	size_t turns = getenv("SBX_LONG") && series->way == WAY_POWER ? 3 : 1;
	enum sweep_answer answer = SWEEP_PASSED;

	for (size_t turn = 0; turn < turns; turn++)
		answer = try_point(world, series, whole, number, number + turn);
	return answer;
}

static void what_is_killed_anywhere_is_finished_by_the_next(void **state)
{
	const struct sweep sweep = {
		.what = "killed",
		.program = program_main,
		.series = ARRAY_SIZE(all_series),
		.name = series_name,
		.point = point,
	};

	(void)state;
	sweep_run(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_killed_anywhere_is_finished_by_the_next),
	};

	return cmocka_run_group_tests_name(
		"killed everywhere", tests, sweep_set_up, sweep_tear_down);
}
