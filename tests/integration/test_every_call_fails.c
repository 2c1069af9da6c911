/*
 * P1, P4, P7, P8: whatever call of a pass fails once, nothing goes that must stay, nothing is said to be
 * gone that is there, the exit code tells what was not done, and the next pass does it. Every call of
 * the pass and of its children, in a world with every kind of resource, with each error that it knows.
 */
#include "sweep.h"
#include "sweep_report.h"
#include "unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* main() of the program, by another name: see the Makefile. */
int program_main(int argc, char **argv);

enum { ERRORS_MAX = 8, LIMIT_S = 300 };

/* A call, and how it can fail: one series each. */
struct series {
	const char *name;
	long call;
	bool looks;             /* a pass makes many that are the same: see survey */
	int errors[ERRORS_MAX]; /* 0 ends them */
};

#define SERIES(name, looks, ...)          \
	{                                 \
#name, SYS_##name, looks, \
		{                         \
			__VA_ARGS__       \
		}                         \
	}
#define CALL(name, ...) SERIES(name, false, __VA_ARGS__)
#define LOOK(name, ...) SERIES(name, true, __VA_ARGS__)

static const struct series all_series[] = {
	LOOK(open, EIO, EMFILE, EACCES, ENOMEM),
	LOOK(openat, EIO, EMFILE, EACCES, ENOMEM, ENOSPC, EROFS),
	LOOK(openat2, EIO, EMFILE, EACCES, ENOMEM, EAGAIN),
	LOOK(read, EIO, EINTR, ENOMEM),
	LOOK(pread64, EIO, EINTR),
	CALL(write, EIO, ENOSPC, EINTR, EDQUOT),
	CALL(writev, EIO, ENOSPC, EINTR),
	CALL(pwrite64, EIO, ENOSPC, EINTR, EROFS),
	CALL(fsync, EIO, ENOSPC),
	CALL(fdatasync, EIO, ENOSPC),
	CALL(ftruncate, EIO, ENOSPC, EINTR),
	LOOK(stat, EIO, EACCES, ENOMEM),
	LOOK(lstat, EIO, EACCES, ENOMEM),
	LOOK(fstat, EIO, ENOMEM),
	LOOK(newfstatat, EIO, EACCES, ENOMEM),
	LOOK(statx, EIO, EACCES, ENOMEM),
	LOOK(statfs, EIO, EACCES),
	LOOK(fstatfs, EIO),
	LOOK(getdents64, EIO, ENOMEM),
	LOOK(readlink, EIO, EACCES, ENOMEM),
	LOOK(readlinkat, EIO, EACCES, ENOMEM),
	LOOK(access, EIO, EACCES, EROFS),
	LOOK(faccessat2, EIO, EACCES, EROFS),
	LOOK(getcwd, ENOENT),
	LOOK(lseek, EINVAL),
	LOOK(fcntl, EAGAIN, ENOLCK, EINTR),
	CALL(flock, EWOULDBLOCK, ENOLCK, EINTR),
	LOOK(mmap, ENOMEM, ENODEV),
	CALL(clone, EAGAIN, ENOMEM),
	CALL(clone3, EAGAIN, ENOMEM),
	CALL(waitid, EINTR),
	CALL(wait4, EINTR),
	CALL(pidfd_open, EMFILE, ENOMEM),
	CALL(pidfd_send_signal, EPERM),
	CALL(kill, EPERM),
	LOOK(prctl, EINVAL),
	LOOK(close_range, EINVAL),
	CALL(landlock_create_ruleset, ENOMEM, ENOSYS),
	CALL(landlock_add_rule, ENOMEM),
	CALL(landlock_restrict_self, ENOMEM, E2BIG),
	CALL(unlink, EIO, EACCES, EROFS, EBUSY),
	CALL(unlinkat, EIO, EACCES, EROFS, EBUSY),
	CALL(rmdir, EIO, EACCES, EROFS, EBUSY),
	CALL(rename, EIO, EACCES, ENOSPC, EROFS),
	CALL(renameat, EIO, EACCES, ENOSPC, EROFS),
	CALL(renameat2, EIO, EACCES, ENOSPC, EROFS, EBUSY),
	CALL(link, EIO, ENOSPC, EPERM),
	CALL(linkat, EIO, ENOSPC, EPERM),
	CALL(mkdir, EIO, ENOSPC, EACCES, EROFS),
	CALL(mkdirat, EIO, ENOSPC, EACCES, EROFS),
	CALL(chmod, EIO, EPERM, EROFS),
	CALL(fchmod, EIO, EPERM, EROFS),
	CALL(fchown, EIO, EPERM, EROFS),
	CALL(fchmodat, EIO, EPERM, EROFS),
	CALL(utimensat, EIO, EPERM),
	CALL(umount2, EBUSY, EPERM),
	CALL(ioctl, ENOTTY, EIO, EPERM),
	CALL(socket, EMFILE, ENOMEM, EACCES),
	CALL(connect, EAGAIN, ECONNREFUSED, EACCES),
	CALL(setsockopt, ENOMEM),
	LOOK(poll, EINTR, ENOMEM),
	LOOK(ppoll, EINTR, ENOMEM),
	CALL(sendto, EPIPE, ECONNRESET, ENOMEM),
	CALL(recvfrom, ECONNRESET, EIO, ENOMEM),
	CALL(sendmsg, EPIPE, ENOMEM),
	CALL(recvmsg, ECONNRESET, ENOMEM),
	CALL(kcmp, EPERM, ENOSYS),
};

static const char *series_name(size_t series)
{
	return all_series[series].name;
}

/* A pass of which one call fails. */
struct victim {
	struct sweep_world *world;
	const struct series *series;
	size_t at, calls; /* from 1; so far */
	int error;
	struct text what; /* the call that failed */
	const char *said; /* what the pass said of it */
};

static int on_call(void *context, const struct tracer_call *call)
{
	struct victim *victim = context;

	if (++victim->calls != victim->at)
		return TRACER_GO_ON;
	tracer_describe(&victim->what, call);
	return -victim->error;
}

static int run_victim(struct victim *victim)
{
	const struct trace trace = {
		.calls = &victim->series->call,
		.call_count = 1,
		.on_call = on_call,
		.context = victim,
		.limit_s = LIMIT_S,
	};

	return sweep_world_trace(victim->world, "--json", &trace);
}

static void complain(const struct victim *victim, const char *what)
{
	sweep_complain("%zu, %s at %zu, %s: %s [%s]", (size_t)(victim->series - all_series),
		strerrorname_np(victim->error), victim->at, victim->what.data, what, victim->said);
}

static void expect_protected(const struct victim *victim, const char *when)
{
	char *now CLEANUP(mem_done) = sweep_world_protected(victim->world);
	char *difference CLEANUP(mem_done) =
		sweep_world_difference(victim->world->protected_before, now);
	char *what CLEANUP(mem_done) = mem_printf("%s %s", when, difference);

	if (difference)
		complain(victim, what);
}

/* Unsaved work is where it was, or salvaged. */
static void expect_saved(const struct victim *victim)
{
	if (!sweep_world_holds_unsaved(victim->world))
		complain(victim, "unsaved work is lost");
}

static enum sweep_answer try_point(
	struct sweep_world *world, const struct series *series, size_t number, int error)
{
	struct victim victim = {
		.world = world,
		.series = series,
		.at = number,
		.error = error,
	};
	char *fault CLEANUP(mem_done) = NULL, *left CLEANUP(mem_done) = NULL;
	char *said CLEANUP(mem_done) = NULL;
	int status;

	sweep_world_reset(world);
	status = run_victim(&victim);
	if (victim.calls < number)
		return SWEEP_PASSED;
	said = sweep_report_said(world, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	victim.said = said;
	fault = sweep_report_fault(world, status, false);
	if (fault)
		complain(&victim, fault);
	expect_protected(&victim, "it changes");
	expect_saved(&victim);
	left = sweep_report_end_fault(world);
	if (left)
		complain(&victim, left);
	expect_protected(&victim, "the next pass changes");
	text_done(&victim.what);
	return SWEEP_TRIED;
}

/* ------------------------------------------------------------------- points that are the same */

/*
 * A pass asks for thousands of things, and for most of them again and again: for the same path by the
 * same call, or of the same descriptor. Where time is short the first of each is tried, of those calls
 * that change nothing.
 */
struct survey {
	char **seen; /* what each call was; NULL: the same as one before */
	size_t calls;
};

static struct survey surveys[ARRAY_SIZE(all_series)];

/* Numbers of processes and descriptors, and of what was made for the moment. */
static void forget_numbers(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++)
		if (*at < '0' || *at > '9')
			*to++ = *at;
	*to = 0;
}

static int on_surveyed_call(void *context, const struct tracer_call *call)
{
	struct survey *survey = context;
	struct text what CLEANUP(text_done) = { 0 };
	bool known = false;

	tracer_describe(&what, call);
	forget_numbers(what.data);
	for (size_t i = 0; i < survey->calls && !known; i++)
		known = survey->seen[i] && text_equal(survey->seen[i], what.data);
	survey->seen = mem_grow(survey->seen, survey->calls + 1, sizeof(*survey->seen));
	survey->seen[survey->calls++] = known ? NULL : mem_dup(what.data);
	return TRACER_GO_ON;
}

/* When there is time for it, or one point was asked for. */
static bool everything(void)
{
	return getenv("SBX_LONG") || getenv("SBX_POINT");
}

static bool is_the_same_as_before(struct sweep_world *world, size_t series, size_t number)
{
	struct survey *survey = &surveys[series];
	const struct trace trace = {
		.calls = &all_series[series].call,
		.call_count = 1,
		.on_call = on_surveyed_call,
		.context = survey,
		.limit_s = LIMIT_S,
	};

	if (!survey->calls) {
		sweep_world_reset(world);
		(void)sweep_world_trace(world, "--json", &trace);
	}
	return number <= survey->calls && !survey->seen[number - 1];
}

/* ---------------------------------------------------------------------------------- all of them */

static size_t seed;

static size_t count_errors(const struct series *series)
{
	size_t count = 0;

	while (count < ERRORS_MAX && series->errors[count])
		count++;
	return count;
}

/*
 * One error at each point, in turn: which, follows from the number of the point, so that each run does
 * the same. SBX_SEED=1 takes the next of each. All of them when there is time.
 */
static enum sweep_answer point(struct sweep_world *world, size_t series, size_t number)
{
	const struct series *chosen = &all_series[series];
	size_t count = count_errors(chosen), tries = getenv("SBX_LONG") ? count : 1;
	enum sweep_answer answer = SWEEP_PASSED;

	assert(count > 0);
	if (chosen->looks && !everything() && is_the_same_as_before(world, series, number))
		return SWEEP_SAME;
	for (size_t i = 0; i < tries; i++)
		answer = try_point(
			world, chosen, number, chosen->errors[(number + seed + i) % count]);
	return answer;
}

static void whatever_fails_once_nothing_goes_wrong_and_the_next_pass_finishes(void **state)
{
	const struct sweep sweep = {
		.what = "a call failed",
		.program = program_main,
		.series = ARRAY_SIZE(all_series),
		.name = series_name,
		.point = point,
	};
	const char *given = getenv("SBX_SEED");

	(void)state;
	seed = given ? (size_t)strtoul(given, NULL, 10) : 0;
	sweep_run(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_fails_once_nothing_goes_wrong_and_the_next_pass_finishes),
	};

	return cmocka_run_group_tests_name(
		"every call fails", tests, sweep_set_up, sweep_tear_down);
}
