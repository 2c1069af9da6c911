/*
 * P1, P4, P7, P8: whatever call of a pass fails once, nothing goes that must stay, nothing is said to be
 * gone that is there, the exit code tells what was not done, and the next pass does it. Every call of
 * the pass and of its children, in a world with every kind of resource, with each error that it knows.
 */
#include "survey.h"
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
	int errors[ERRORS_MAX]; /* 0 ends them */
};

#define CALL(name, ...)             \
	{                           \
#name, SYS_##name,  \
		{                   \
			__VA_ARGS__ \
		}                   \
	}

static const struct series all_series[] = {
	CALL(open, EIO, EMFILE, EACCES, ENOMEM),
	CALL(openat, EIO, EMFILE, EACCES, ENOMEM, ENOSPC, EROFS),
	CALL(openat2, EIO, EMFILE, EACCES, ENOMEM, EAGAIN),
	CALL(read, EIO, EINTR, ENOMEM),
	CALL(pread64, EIO, EINTR),
	CALL(write, EIO, ENOSPC, EINTR, EDQUOT),
	CALL(writev, EIO, ENOSPC, EINTR),
	CALL(pwrite64, EIO, ENOSPC, EINTR, EROFS),
	CALL(fsync, EIO, ENOSPC),
	CALL(fdatasync, EIO, ENOSPC),
	CALL(ftruncate, EIO, ENOSPC, EINTR),
	CALL(stat, EIO, EACCES, ENOMEM),
	CALL(lstat, EIO, EACCES, ENOMEM),
	CALL(fstat, EIO, ENOMEM),
	CALL(newfstatat, EIO, EACCES, ENOMEM),
	CALL(statx, EIO, EACCES, ENOMEM),
	CALL(statfs, EIO, EACCES),
	CALL(fstatfs, EIO),
	CALL(getdents64, EIO, ENOMEM),
	CALL(readlink, EIO, EACCES, ENOMEM),
	CALL(readlinkat, EIO, EACCES, ENOMEM),
	CALL(access, EIO, EACCES, EROFS),
	CALL(faccessat2, EIO, EACCES, EROFS),
	CALL(getcwd, ENOENT),
	CALL(lseek, EINVAL),
	CALL(fcntl, EAGAIN, ENOLCK, EINTR),
	CALL(flock, EWOULDBLOCK, ENOLCK, EINTR),
	CALL(mmap, ENOMEM, ENODEV),
	CALL(clone, EAGAIN, ENOMEM),
	CALL(clone3, EAGAIN, ENOMEM),
	CALL(waitid, EINTR),
	CALL(wait4, EINTR),
	CALL(pidfd_open, EMFILE, ENOMEM),
	CALL(pidfd_send_signal, EPERM),
	CALL(kill, EPERM),
	CALL(prctl, EINVAL),
	CALL(close_range, EINVAL),
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
	CALL(poll, EINTR, ENOMEM),
	CALL(ppoll, EINTR, ENOMEM),
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

static struct survey *survey;

/* The call that is to fail. */
struct aim {
	const struct spot *spot; /* NULL: wherever it is made */
	size_t at;               /* the how many-th, from 1 */
	int error;
};

/* A pass of which one call fails. */
struct victim {
	struct sweep_world *world;
	const struct series *series;
	struct aim aim;
	size_t number, calls; /* of the point; that could have been meant, so far */
	struct text what;     /* the call that failed */
	const char *said;     /* what the pass said of it */
};

static int on_call(void *context, const struct tracer_call *call)
{
	struct victim *victim = context;

	if (victim->aim.spot && victim->aim.spot->place.number != survey_place(survey, call).number)
		return TRACER_GO_ON;
	if (++victim->calls != victim->aim.at)
		return TRACER_GO_ON;
	tracer_describe(&victim->what, call);
	return -victim->aim.error;
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
		strerrorname_np(victim->aim.error), victim->number, victim->what.data, what,
		victim->said);
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

/* What may be there again in a moment leaves nothing to a person. */
static void expect_patient(const struct victim *victim)
{
	char *hasty CLEANUP(mem_done) = NULL;

	if (error_may_pass(-victim->aim.error))
		hasty = sweep_report_hasty(victim->world);
	if (hasty)
		complain(victim, hasty);
}

static enum sweep_answer try_point(struct sweep_world *world, const struct series *series,
	size_t number, const struct aim *aim)
{
	struct victim victim = {
		.world = world,
		.series = series,
		.number = number,
		.aim = *aim,
	};
	char *fault CLEANUP(mem_done) = NULL, *left CLEANUP(mem_done) = NULL;
	char *said CLEANUP(mem_done) = NULL;
	int status;

	sweep_world_reset(world);
	status = run_victim(&victim);
	if (victim.calls < aim->at)
		return aim->spot ? SWEEP_MISSED : SWEEP_PASSED;
	said = sweep_report_said(world, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	victim.said = said;
	fault = sweep_report_fault(world, status, false);
	if (fault)
		complain(&victim, fault);
	expect_protected(&victim, "it changes");
	expect_saved(&victim);
	expect_patient(&victim);
	left = sweep_report_end_fault(world);
	if (left)
		complain(&victim, left);
	expect_protected(&victim, "the next pass changes");
	text_done(&victim.what);
	return SWEEP_TRIED;
}

/* --------------------------------------------------------------------------------- the points */

/*
 * How much is tried: SBX_SWEEP=short|sampled|all. Each error at each call takes hours. What fails at
 * one call fails at the next that is made from the same place, for another file or run, in the same
 * way: so the first of them is tried, and the last, at which most of the pass is done.
 */
enum extent {
	EXTENT_SHORT, /* one error at the first call from each place: error_at() */
	EXTENT_SAMPLED, /* each at the first, one at the last, from each function by way of two more */
	EXTENT_ALL
};

static const unsigned depths[] = { [EXTENT_SHORT] = 1, [EXTENT_SAMPLED] = 3, [EXTENT_ALL] = 1 };

static enum extent extent;

static size_t count_errors(const struct series *series)
{
	size_t count = 0;

	while (count < ERRORS_MAX && series->errors[count])
		count++;
	assert(count > 0);
	return count;
}

/* Each error at each call. */
static struct aim aim_at_all(const struct series *series, size_t number)
{
	size_t count = count_errors(series);

	return (struct aim){
		.at = (number - 1) / count + 1,
		.error = series->errors[(number - 1) % count],
	};
}

static size_t count_tries(const struct spot *spot, size_t errors)
{
	if (extent == EXTENT_SHORT)
		return 1;
	return errors + (spot->times > 1 ? 1 : 0);
}

/*
 * One of the errors of a spot, and the same one however many other spots there are, in whatever order,
 * and in whatever build: two sweeps of one tree try the same, and so do those of two trees, but for what
 * lies between them.
 */
static int error_at(const struct series *series, const struct spot *spot)
{
	return series->errors[spot->place.names % count_errors(series)];
}

static struct aim aim_at_spot(const struct series *series, size_t number)
{
	size_t errors = count_errors(series), n = number - 1;

	assert(errors > 0);
	for (size_t i = 0; i < survey->count; i++) {
		const struct spot *spot = &survey->spots[i];
		bool any = extent == EXTENT_SHORT || n == errors;

		if (spot->call != series->call)
			continue;
		if (n < count_tries(spot, errors))
			return (struct aim){
				.spot = spot,
				.at = n < errors ? 1 : spot->times,
				.error = any ? error_at(series, spot) : series->errors[n],
			};
		n -= count_tries(spot, errors);
	}
	return (struct aim){ .at = 0 };
}

static void look_around(struct sweep_world *world)
{
	long calls[ARRAY_SIZE(all_series)];

	for (size_t i = 0; i < ARRAY_SIZE(all_series); i++)
		calls[i] = all_series[i].call;
	survey_make(survey, world, calls, ARRAY_SIZE(calls), LIMIT_S);
}

static enum sweep_answer point(struct sweep_world *world, size_t series, size_t number)
{
	const struct series *chosen = &all_series[series];
	struct aim aim;

	if (extent == EXTENT_ALL) {
		aim = aim_at_all(chosen, number);
	} else {
		look_around(world);
		aim = aim_at_spot(chosen, number);
	}
	return aim.at ? try_point(world, chosen, number, &aim) : SWEEP_PASSED;
}

static enum extent extent_asked(void)
{
	static const char *const names[] = { "short", "sampled", "all" };
	const char *asked = getenv("SBX_SWEEP");
	size_t i = getenv("SBX_LONG") ? EXTENT_SAMPLED : EXTENT_SHORT;

	if (asked)
		for (i = 0; i < ARRAY_SIZE(names) && !text_equal(asked, names[i]); i++)
			;
	assert(i < ARRAY_SIZE(names));
	return (enum extent)i;
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

	(void)state;
	extent = extent_asked();
	survey = survey_new(depths[extent]);
	sweep_run(&sweep);
	if (survey->calls)
		(void)printf(
			"# of %zu calls of a pass, at %zu spots\n", survey->calls, survey->count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_fails_once_nothing_goes_wrong_and_the_next_pass_finishes),
	};

	return cmocka_run_group_tests_name(
		"every call fails", tests, sweep_set_up, sweep_tear_down);
}
