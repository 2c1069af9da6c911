#include "sweep.h"

#include "group.h"
#include "unit.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS = 2, SERIES_MAX = 128, WORKER_ENDED_WELL = 42, COMPLAINTS_SHOWN = 60 };

/* What all workers see. `next` is the series in its upper, the number of a point in its lower half. */
struct shared {
	_Atomic uint64_t next;
	_Atomic size_t faults, missed;
	_Atomic size_t points[SERIES_MAX];
};

static struct shared *shared;
static bool in_worker;

void sweep_complain(const char *format, ...)
{
	char *message CLEANUP(mem_done) = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		abort();
	va_end(args);
	for (char *at = message; *at; at++) /* TAP */
		if (*at == '\n')
			*at = ' ';
	if (atomic_fetch_add(&shared->faults, 1) < COMPLAINTS_SHOWN)
		(void)dprintf(STDERR_FILENO, "# %s\n", message);
}

/* ------------------------------------------------------------------------------- in the workers */

/* To look at one point again, or at some: SBX_SERIES=1 SBX_POINT=148, SBX_LAST=160. */
static size_t asked(const char *name, size_t otherwise)
{
	const char *text = getenv(name);
	int64_t value = (int64_t)otherwise;

	if (text && text_to_int64(text, 0, UINT32_MAX, &value) < 0)
		abort();
	return (size_t)value;
}

static size_t last_asked(size_t otherwise)
{
	return asked("SBX_LAST", asked("SBX_POINT", otherwise));
}

static bool take(size_t series_count, size_t *ret_series, size_t *ret_number)
{
	uint64_t next = atomic_fetch_add(&shared->next, 1);

	*ret_series = next >> 32;
	*ret_number = next & UINT32_MAX;
	return *ret_series < series_count;
}

/* The first that comes to the end of a series opens the next. */
static void end_series(size_t series)
{
	uint64_t now = atomic_load(&shared->next), next = ((uint64_t)series + 1) << 32 | 1;

	while (now >> 32 == series && !atomic_compare_exchange_weak(&shared->next, &now, next))
		;
}

static void note(size_t series, enum sweep_answer answer)
{
	switch (answer) {
	case SWEEP_TRIED:
		atomic_fetch_add(&shared->points[series], 1);
		return;
	case SWEEP_MISSED:
		atomic_fetch_add(&shared->missed, 1);
		return;
	case SWEEP_PASSED:
		end_series(series);
		return;
	}
}

/*
 * Each worker and all its children on a processor of its own: forks are most of what a point costs, and
 * they cost much less where no other processor has to be told of a page that was copied.
 */
static void stay_on(size_t worker)
{
	cpu_set_t all, one;
	size_t nth = 0;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || nth++ != worker % (size_t)CPU_COUNT(&all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		(void)sched_setaffinity(0, sizeof(one), &one);
	}
}

static void work(const struct sweep *sweep, const char *base, const char *name)
{
	struct sweep_world world = { .program = sweep->program };
	size_t series, number;

	sweep_world_make(&world, base, name);
	while (take(sweep->series, &series, &number)) {
		if (asked("SBX_SERIES", series) != series || number > last_asked(number))
			end_series(series);
		else if (number < asked("SBX_POINT", number))
			continue;
		else
			note(series, sweep->point(&world, series, number));
	}
	sweep_world_drop(&world);
}

static void require(bool condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	_exit(EXIT_FAILURE);
}

static int status_of(pid_t pid)
{
	int status;

	/* The first process of a pid namespace takes the exits of all that lost their parents. */
	while (waitpid(-1, &status, 0) != pid)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static pid_t fork_bound(void)
{
	pid_t pid = fork();

	require(pid >= 0, "fork");
	if (pid == 0)
		require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl");
	return pid;
}

/* The worker is not the first process of its namespace: that ignores signals, its own as well. */
static _Noreturn void worker(const struct sweep *sweep, const char *base, const char *name)
{
	pid_t pid;

	in_worker = true;
	require(unshare(CLONE_NEWNS | CLONE_NEWPID) == 0, "unshare");
	require(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount");
	pid = fork_bound();
	if (pid > 0)
		_exit(status_of(pid));
	require(mount("proc", "/proc", "proc", 0, NULL) == 0, "mount /proc");
	require(mount("sbx-test", base, "tmpfs", 0, "mode=0755") == 0, "mount a tmpfs");
	pid = fork_bound();
	if (pid > 0)
		_exit(status_of(pid));
	work(sweep, base, name);
	_exit(WORKER_ENDED_WELL);
}

/* -------------------------------------------------------------------------------- in the parent */

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static volatile sig_atomic_t is_to_stop;

static void on_stop(int signal)
{
	is_to_stop = signal;
}

/* Without SA_RESTART, so that it ends the wait for a worker. */
static void heed_signals(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	const struct sigaction action = { .sa_handler = on_stop };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		assert_int_equal(sigaction(signals[i], &action, NULL), 0);
}

/*
 * All that a worker has made dies with it, its mounts and processes too; but not its cgroup. The signal
 * may have come while another was waited for.
 */
static int worker_wait(pid_t pid)
{
	int status;

	do {
		if (is_to_stop)
			(void)kill(pid, SIGKILL);
	} while (waitpid(pid, &status, 0) != pid);
	return status;
}

static char *base_make(void)
{
	const char *top = getenv("TMPDIR");
	char *base = mem_printf("%s/sbx-test-XXXXXX", top && *top ? top : "/tmp");

	assert_non_null(mkdtemp(base));
	return base;
}

static void say_points(const struct sweep *sweep, double began_s)
{
	size_t points = 0;

	for (size_t i = 0; i < sweep->series; i++)
		points += atomic_load(&shared->points[i]);
	(void)printf("# %s at %zu points, in %.0f s\n", sweep->what, points, now_s() - began_s);
	if (atomic_load(&shared->missed))
		(void)printf("# %zu points did not come\n", atomic_load(&shared->missed));
	for (size_t i = 0; i < sweep->series; i++)
		if (atomic_load(&shared->points[i]))
			(void)printf(
				"#   %s: %zu\n", sweep->name(i), atomic_load(&shared->points[i]));
	assert_true(points > 0);
}

void sweep_run(const struct sweep *sweep)
{
	char *bases[WORKERS], name[8];
	double began_s = now_s();
	pid_t pids[WORKERS];
	size_t lost = 0;

	if (in_worker)
		_exit(EXIT_FAILURE); /* an assertion has failed there, and cmocka goes on */
	assert(sweep->series <= SERIES_MAX);
	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	shared->next = 1;
	heed_signals();
	(void)fflush(NULL);
	for (size_t i = 0; i < WORKERS; i++) {
		bases[i] = base_make();
		(void)snprintf(name, sizeof(name), "w%zu", i);
		pids[i] = fork_bound();
		if (pids[i] == 0) {
			stay_on(i);
			worker(sweep, bases[i], name);
		}
	}
	for (size_t i = 0; i < WORKERS; i++) {
		int status = worker_wait(pids[i]);

		lost += !WIFEXITED(status) || WEXITSTATUS(status) != WORKER_ENDED_WELL;
		(void)rmdir(bases[i]); /* what was mounted there went with the worker */
		free(bases[i]);
	}
	if (is_to_stop) {
		groups_tear_down();
		_exit(128 + is_to_stop);
	}
	say_points(sweep, began_s);
	assert_int_equal(lost, 0);
	assert_int_equal(atomic_load(&shared->faults), 0);
	(void)munmap(shared, sizeof(*shared));
}

int sweep_set_up(void **state)
{
	(void)state;
	return groups_set_up();
}

int sweep_tear_down(void **state)
{
	(void)state;
	groups_tear_down();
	return 0;
}
