#include "metrics.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "os/answering.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/file_sweep.h"
#include "report_metrics.h"
#include "state/passes.h"
#include "state/tally.h"

#include <errno.h>

struct gathering {
	struct arena arena;
	struct metrics metrics;
	struct probe_result *probes;
};

static void gathering_done(struct gathering *gathering)
{
	free(gathering->probes);
	arena_done(&gathering->arena);
}

static void add_tally(void *context, const struct tally *tally)
{
	struct gathering *gathering = context;

	metrics_count(&gathering->metrics.totals, tally);
}

static void add_probe(void *context, const struct probe_result *result)
{
	struct gathering *gathering = context;
	size_t count = gathering->metrics.probe_count++;

	gathering->probes = mem_grow(gathering->probes, count + 1, sizeof(*gathering->probes));
	gathering->probes[count] = (struct probe_result){
		.check = arena_dup(&gathering->arena, result->check),
		.outcome = arena_dup(&gathering->arena, result->outcome),
		.at_s = result->at_s,
	};
	gathering->metrics.probes = gathering->probes;
}

/* A database that cannot be read has been complained of already. */
static void ask_books(struct gathering *gathering, struct store *store)
{
	struct metrics *metrics = &gathering->metrics;

	metrics->booked = store && tally_each(store, add_tally, gathering, NULL) >= 0 &&
			  pass_last_done(store, &metrics->done_s, NULL) >= 0 &&
			  probe_each_result(store, add_probe, gathering, NULL) >= 0;
}

static void gather(
	struct gathering *gathering, const struct session *session, const struct pass_end *end)
{
	struct metrics *metrics = &gathering->metrics;

	metrics->report = end->report;
	metrics->now_s = clock_wall_s();
	metrics->took_ms = end->took_ms;
	metrics->code = end->code;
	ask_books(gathering, session->store);
	if (!metrics->booked || (!end->report && end->code == EXIT_STATE))
		metrics->failed = (struct source){
			.name = "store",
			.at = session->settings.database,
			.ok = TRI_NO,
		};
}

/* The directory; no symlink leads there, for it may be another user's and we are root. */
static int open_directory(const char *path, struct error *error)
{
	char *parent CLEANUP(mem_done) = pathname_parent(path);
	const char *const asked[] = { parent };
	bool silent = false;
	int r = answering_ask(asked, 1, &silent, error);

	if (r < 0)
		return r;
	if (silent)
		return error_say(error, ETIME, "nobody answers behind its directory");
	return dir_open(parent, error);
}

int metrics_reachable(const char *path, struct error *error)
{
	int dir CLEANUP(fd_done) = open_directory(path, error);

	if (dir >= 0)
		return 0;
	error_prefix(error, "[metrics] textfile %s", path);
	return dir;
}

static int write_file(const char *path, const char *bytes, size_t length, struct error *error)
{
	int dir CLEANUP(fd_done) = open_directory(path, error);
	int r;

	if (dir < 0)
		return dir;
	(void)file_sweep(dir, NULL);
	r = file_write(dir, pathname_last(path), bytes, length, 0644, error);
	return r == -EINPROGRESS ? 0 : r;
}

int metrics_write(const struct session *session, const struct pass_end *end, struct error *error)
{
	struct gathering gathering CLEANUP(gathering_done) = { 0 };
	const char *path = session->settings.textfile;
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length = 0;
	FILE *file;
	int r;

	if (!path)
		return 0;
	gather(&gathering, session, end);
	file = open_memstream(&bytes, &length);
	if (!file)
		abort();
	report_metrics(&gathering.metrics, file);
	if (fclose(file) != 0)
		abort(); /* memory alone can be short */
	r = write_file(path, bytes, length, error);
	if (r < 0)
		error_prefix(error, "[metrics] textfile %s", path);
	return r < 0 ? r : 1;
}
