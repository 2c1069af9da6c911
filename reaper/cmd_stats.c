/* sbx-reap stats: what was reclaimed, why there was something to reclaim, and what is there now. */
#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "complain.h"
#include "config.h"
#include "inventory.h"
#include "notice.h"
#include "os/dir.h"
#include "os/file.h"
#include "report.h"
#include "report_progress.h"
#include "report_stats.h"
#include "session.h"
#include "state/tally.h"
#include "verbs.h"

#include <errno.h>

struct gathering {
	struct session session;
	struct inventory inventory;
	struct stats stats;
};

static void gathering_done(struct gathering *gathering)
{
	stats_done(&gathering->stats);
	inventory_done(&gathering->inventory);
	session_close(&gathering->session);
}

/* A tally_each_day callback. */
static void add(void *context, int64_t day, const struct tally *tally)
{
	stats_add(context, day, tally);
}

static int gather(struct gathering *gathering, const struct options *options, struct error *error)
{
	struct report_progress shown CLEANUP(report_progress_clear) = { 0 };
	struct session *session = &gathering->session;
	const struct inventory_request request = {
		.size = SIZE_MEASURE,
		.work = WORK_LEAVE,
		.progress = report_progress_start(
			&shown, stderr, terminal_ask(options->json ? -EBADF : STDERR_FILENO)),
	};
	int r = inventory_gather(&gathering->inventory, &session->world, &request, error);

	if (r < 0)
		return r;
	stats_begin(&gathering->stats, options->since_s, gathering->inventory.now_s);
	stats_see(&gathering->stats, &gathering->inventory);
	return session->store ? tally_each_day(session->store, stats_first_day(&gathering->stats),
					add, &gathering->stats, error)
			      : 0;
}

/* Only a page of before is replaced: root may well name /dev/stdout, which all of the host uses. */
static int may_be_replaced(int dir, const char *path, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL;
	struct stat stat;
	int r = dir_look(dir, pathname_last(path), &stat);

	if (r == -ENOENT || (r == 0 && S_ISREG(stat.st_mode)))
		return 0;
	shown = text_escape(path);
	if (r < 0)
		return error_set(error, -r, "look at %s", shown);
	return error_say(error, EEXIST,
		"%s: what stands there is no file, and is not replaced; name one", shown);
}

static int write_page(const char *path, const struct stats_report *report, struct error *error)
{
	char *parent CLEANUP(mem_done) = pathname_parent(path), *bytes CLEANUP(mem_done) = NULL;
	int dir CLEANUP(fd_done) = dir_open(parent, error);
	size_t length = 0;
	FILE *file;
	int r;

	if (dir < 0)
		return dir;
	r = may_be_replaced(dir, path, error);
	if (r < 0)
		return r;
	file = open_memstream(&bytes, &length);
	if (!file)
		abort();
	report_stats_html(report, file);
	if (fclose(file) != 0)
		abort(); /* memory alone can be short */
	r = file_write(dir, pathname_last(path), bytes, length, 0644, error);
	return r == -EINPROGRESS ? 0 : r;
}

static enum exit_code show(
	const struct gathering *gathering, const struct options *options, struct error *error)
{
	char host[HOST_TEXT];
	const struct stats_report report = {
		.stats = &gathering->stats,
		.inventory = &gathering->inventory,
		.host = report_host(host),
		.terminal = terminal_ask(STDOUT_FILENO),
	};

	if (options->html && write_page(options->html, &report, error) < 0) {
		error_prefix(error, "--html");
		return complain(error, error->code);
	}
	if (options->json)
		report_stats_json(&report, stdout);
	else if (!options->html)
		report_stats_text(&report, stdout);
	else
		report_blindness(&gathering->inventory, stderr);
	return inventory_failed_source(&gathering->inventory, NULL) ? EXIT_BLIND : EXIT_DONE;
}

enum exit_code cmd_stats(const struct options *options)
{
	struct gathering gathering CLEANUP(gathering_done) = { 0 };
	struct settings settings = { 0 };
	struct error error = { 0 };
	int r;

	if (config_load(options->config, &settings, &error) < 0)
		return complain(&error, EUCLEAN);
	r = session_open(&gathering.session, &settings, STORE_READ, &error);
	if (r >= 0)
		r = gather(&gathering, options, &error);
	return r < 0 ? complain(&error, r) : show(&gathering, options, &error);
}
