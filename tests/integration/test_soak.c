/*
 * Days of a fleet in minutes: what may grow is sampled every simulated hour, and must not. The
 * second half is compared with the first; and at the end, when nobody begins a run any more, all
 * has to be gone. In CI eight hours, of which in the first four everything that ages comes and goes;
 * `make soak SOAK_DAYS=N` takes longer, with a pass every five minutes.
 *
 *   SBX_SOAK_HOURS     simulated hours (default 8)
 *   SBX_SOAK_STEP      simulated minutes between two passes (default 15)
 *   SBX_SOAK_SAMPLES   a file for the samples; SBX_SOAK_SUMMARY: one for the summary
 *   SBX_SEED           of the fleet (default 1)
 */
#include "unit.h"

#include "exit_code.h"
#include "flat.h"
#include "fleet.h"
#include "group.h"
#include "simclock.h"

#include <dirent.h>
#include <sys/stat.h>

enum { HOUR_S = 3600, WARM_UP_HOURS = 4, DRAIN_HOURS = 6, DRAIN_STEP_S = 1200, RECOVER_S = 1800 };

/* What a pass leaves for us when it has done all but exit. */
static struct measure {
	size_t fds_before, fds_after;
	double memory_before_kb, memory_after_kb;
} * measure;

static size_t entries(const char *path)
{
	DIR *listing = opendir(path);
	size_t count = 0;

	for (struct dirent *entry; listing && (entry = readdir(listing));)
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	if (listing)
		(void)closedir(listing);
	return count;
}

static double memory_kb(void)
{
	FILE *status CLEANUP(file_done) = fopen("/proc/self/status", "re");
	char line[256];
	long kb = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	return (double)kb;
}

static void measure_before(void)
{
	measure->fds_before = entries("/proc/self/fd");
	measure->memory_before_kb = memory_kb();
}

static void measure_after(void)
{
	measure->fds_after = entries("/proc/self/fd");
	measure->memory_after_kb = memory_kb();
}

/* A sanitizer keeps back what was freed, so that what a pass needs depends on all it has done. */
#ifdef __SANITIZE_ADDRESS__
#define MEMORY_FACTOR 0
#else
#define MEMORY_FACTOR 1.15
#endif

static const struct flat_column columns[] = {
	{ "descriptors", 0.5, 1.0 },         /* of a pass, at its end */
	{ "memory_kb", 256, MEMORY_FACTOR }, /* that a pass has come to need */
	{ "database_kb", 16, 1.15 },
	{ "cgroups", 6, 1.4 },
	{ "mounts", 2, 1.4 },
	{ "trash", 1, 1.4 },
	{ "trees", 6, 1.4 },
	{ "markers", 6, 1.4 },
	{ "paths", 5, 1.4 },
	{ "containers", 5, 1.4 },
	{ "processes", 5, 1.4 },
	{ "git_records", 5, 1.4 },
	{ "git_refs", 6, 1.4 },
	{ "archives", 1, 1.4 },
	{ "pass_ms", 0, 0 },
};

/* How many lines a command prints; in the workdir. */
static double lines_of(const struct fleet *fleet, const char *command)
{
	char *whole CLEANUP(mem_done) =
		mem_printf("cd '%s' && { %s; } 2>/dev/null | wc -l", fleet->workdir->path, command);
	FILE *pipe = popen(whole, "re"); /* NOLINT(cert-env33-c): the commands are our own */
	char line[32] = "";

	assert_non_null(pipe);
	assert_non_null(fgets(line, sizeof(line), pipe));
	(void)pclose(pipe);
	return strtod(line, NULL);
}

static double size_kb(const struct fleet *fleet, const char *file)
{
	struct stat stat;

	return fstatat(fleet->workdir->dir, file, &stat, 0) == 0 ? (double)stat.st_size / 1024 : 0;
}

static void sample(struct fleet *fleet, struct flat *flat, int64_t pass_ms)
{
	char *groups CLEANUP(mem_done) =
		mem_printf("find '%s%s' -mindepth 1 -type d", groups_mount(), groups_root());
	const double numbers[] = {
		(double)measure->fds_after,
		measure->memory_after_kb - measure->memory_before_kb,
		size_kb(fleet, "state/reap.db"),
		lines_of(fleet, groups),
		lines_of(fleet, "grep -F \"$PWD/\" /proc/self/mountinfo"),
		lines_of(fleet, "find ws/.sbx-trash scratch/.sbx-trash -mindepth 1"),
		lines_of(fleet, "find ws -mindepth 1 -maxdepth 1 -type d ! -name .sbx-trash"),
		lines_of(fleet, "ls ws | grep sbx$"),
		lines_of(fleet, "ls scratch"),
		(double)fake_engine_count(&fleet->engine),
		(double)fleet_processes(fleet),
		lines_of(fleet, "ls repo/.git/worktrees"),
		lines_of(fleet, "git -C repo for-each-ref"),
		lines_of(fleet, "find state -mindepth 2"),
		(double)pass_ms,
	};

	_Static_assert(ARRAY_SIZE(numbers) == ARRAY_SIZE(columns), "one number a column");
	flat_add(flat, numbers);
}

struct soak {
	struct fleet fleet;
	struct flat flat;
	unsigned passes, codes[128], reaped, failed;
	int64_t pass_ms; /* of the last one */
};

static unsigned total(const char *said, const char *what)
{
	char *key CLEANUP(mem_done) = mem_printf("\"%s\": ", what);
	const char *at = strstr(said, "\"totals\"");

	at = at ? strstr(at, key) : NULL;
	if (!at)
		fail_msg("no total '%s' in: %s", what, said);
	return at ? (unsigned)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* Long enough after the engine was well again nothing may fail, and nothing be unseen. */
static void judge_pass(const struct soak *soak, const char *said, int code, int64_t now_s)
{
	const struct fleet *fleet = &soak->fleet;
	bool calm = !fleet->sick_s && now_s >= fleet->well_s + RECOVER_S;

	if (code != EXIT_DONE && (calm || (code != EXIT_ATTENTION && code != EXIT_BLIND))) {
		(void)fputs(said, stderr); /* cmocka cuts what it is told */
		fail_msg("exit %d%s", code, calm ? " and nothing was wrong" : "");
	}
	if (measure->fds_before != measure->fds_after)
		fail_msg("a pass began with %zu descriptors and ended with %zu",
			measure->fds_before, measure->fds_after);
}

static void soak_pass(struct soak *soak)
{
	int64_t now_s = simclock_now_s(), begun_ms = simclock_real_ns(CLOCK_BOOTTIME) / 1000000;
	int code = program_run(&soak->fleet.program, "--json");
	char *said CLEANUP(mem_done) = program_said(&soak->fleet.program);

	soak->pass_ms = simclock_real_ns(CLOCK_BOOTTIME) / 1000000 - begun_ms;
	judge_pass(soak, said, code, now_s);
	soak->passes++;
	soak->codes[code]++;
	soak->reaped += total(said, "reaped");
	soak->failed += total(said, "failed");
	fleet_collect(&soak->fleet);
}

static void soak_hours(struct soak *soak, unsigned hours, int64_t step_s)
{
	for (unsigned hour = 0; hour < hours; hour++) {
		for (int64_t second = 0; second < HOUR_S; second += step_s) {
			simclock_advance(step_s);
			fleet_step(&soak->fleet, simclock_now_s(), step_s);
			soak_pass(soak);
		}
		sample(&soak->fleet, &soak->flat, soak->pass_ms);
	}
}

/* Nobody begins anything: what is there ages, and goes. */
static void soak_drain(struct soak *soak)
{
	fleet_end(&soak->fleet, simclock_now_s());
	for (unsigned step = 0; step < DRAIN_HOURS * HOUR_S / DRAIN_STEP_S; step++) {
		simclock_advance(DRAIN_STEP_S);
		soak_pass(soak);
	}
	sample(&soak->fleet, &soak->flat, soak->pass_ms);
}

static void expect_nothing_left(struct soak *soak)
{
	const double *last =
		soak->flat.samples + (soak->flat.sample_count - 1) * ARRAY_SIZE(columns);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const char *column = columns[i].name;
		double allowed = text_equal(column, "git_refs") ? 1 : 0; /* main */

		if (columns[i].factor < 1.2) /* a pass's own, and the database */
			continue;
		if (last[i] > allowed)
			fail_msg("at the end there are %.0f %s", last[i], column);
	}
	assert_int_equal(fleet_present(&soak->fleet), 0);
	soak->flat.sample_count--; /* what is compared is the time before */
}

static void soak_tell(const struct soak *soak, unsigned hours, FILE *file)
{
	const struct fleet *fleet = &soak->fleet;

	(void)fprintf(file,
		"%u simulated hours: %u runs (%u leaked, %u were killed on their budget, %u "
		"pinned, "
		"%u dirty, %u half deleted, %u under a name used before; the engine was sick %u "
		"times)\n%u passes: %u exited 0, %u exited 1, %u exited 69; %u runs reaped, %u "
		"failures on the way\n",
		hours, fleet->begun, fleet->leaking, fleet->overrun, fleet->pinned, fleet->dirty,
		fleet->half, fleet->reused, fleet->sick, soak->passes, soak->codes[EXIT_DONE],
		soak->codes[EXIT_ATTENTION], soak->codes[EXIT_BLIND], soak->reaped, soak->failed);
}

static void soak_write(const struct soak *soak, unsigned hours)
{
	const char *samples = getenv("SBX_SOAK_SAMPLES"), *summary = getenv("SBX_SOAK_SUMMARY");
	FILE *file CLEANUP(file_done) = summary ? fopen(summary, "we") : NULL;

	if (samples)
		assert_return_code(flat_write(&soak->flat, samples), errno);
	if (!summary)
		return;
	assert_non_null(file);
	soak_tell(soak, hours, file);
	(void)flat_judge(&soak->flat, WARM_UP_HOURS, file);
}

static unsigned number_of(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void a_fleet_leaves_nothing_behind_that_grows(void **state)
{
	static struct soak soak;
	unsigned hours = number_of("SBX_SOAK_HOURS", 8);

	soak.flat = (struct flat){ .columns = columns, .column_count = ARRAY_SIZE(columns) };
	fleet_open(&soak.fleet, *state, number_of("SBX_SEED", 1));
	soak.fleet.program.prepare = measure_before;
	soak.fleet.program.after = measure_after;
	simclock_start();
	assert_true(hours >= WARM_UP_HOURS + 4);
	soak_hours(&soak, hours, INT64_C(60) * number_of("SBX_SOAK_STEP", 15));
	soak_drain(&soak);
	soak_write(&soak, hours);
	soak_tell(&soak, hours, stderr);
	expect_nothing_left(&soak);
	assert_int_equal(flat_judge(&soak.flat, WARM_UP_HOURS, stderr), 0);
	fleet_close(&soak.fleet);
	flat_done(&soak.flat);
}

static int world_make(void **state)
{
	measure = mmap(
		NULL, sizeof(*measure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (measure == MAP_FAILED || groups_set_up() != 0 || workdir_setup(state) != 0)
		return -1;
	workdir_in_memory(*state);
	return 0;
}

static int world_drop(void **state)
{
	groups_tear_down();
	return workdir_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_fleet_leaves_nothing_behind_that_grows, world_make, world_drop),
	};

	return cmocka_run_group_tests(tests, workdir_own_mounts, NULL);
}
