#include "report.h"

#include "base/text.h"
#include "disk.h"
#include "failures_text.h"
#include "report_hooks.h"
#include "report_select.h"

bool reason_needs_person(enum reason reason)
{
	switch (reason) {
	case REASON_REFUSED:
	case REASON_PIN_UNKNOWN:
	case REASON_CLOCK:
	case REASON_UNSAVED_WORK:
	case REASON_BRAKE:
	case REASON_HELD:
	case REASON_BACKOFF:
		return true;
	case REASON_PINNED:
	case REASON_LOCKED:
	case REASON_LIVE:
	case REASON_RETAINED:
	case REASON_UNKNOWN:
	case REASON_FOREIGN:
	case REASON_CHANGED:
	case REASON_FILTERED:
	case REASON_DEFERRED:
	case REASON_OVER_DEADLINE:
	case REASON_FINISHED_OK:
	case REASON_FINISHED_FAILED:
	case REASON_ABANDONED:
	case REASON_ORPHAN:
	case REASON_PRESSURE:
	case REASON_REQUESTED:
	case REASON_RESUMED:
	case REASON_COUNT:
		break;
	}
	return false;
}

/* Whether unsaved work will keep the tree of a run whose other things go. */
static bool will_be_partial(const struct run *run)
{
	return run->decision.verdict == VERDICT_REAP && run->decision.fate == FATE_STAYS;
}

static void count_space(struct report_totals *totals, const struct run *run)
{
	if (run->result == RESULT_REAPED)
		return;
	totals->measured += run->bytes >= 0;
	totals->unmeasured += run->bytes < 0 && disk_run_takes_space(run);
	totals->cut += run->bytes < 0 && run->measured && disk_run_takes_space(run);
	if (run->facts.pin != PIN_NONE)
		totals->pinned_bytes += run->bytes < 0 ? run->bytes_least : run->bytes;
	if (run->bytes < 0)
		return;
	if (run->decision.verdict == VERDICT_REAP && !will_be_partial(run))
		totals->due_bytes += run->bytes;
	else
		totals->kept_bytes += run->bytes;
}

int64_t report_bytes(const struct run *run)
{
	return run->noted ? run->noted->bytes : run->bytes;
}

bool report_stopped(const struct run *run)
{
	return run->decision.verdict == VERDICT_STOP && run->result == RESULT_KEPT;
}

struct report_totals report_count(const struct report *report)
{
	struct report_totals totals = { .runs = report->inventory->run_count };

	for (size_t i = 0; i < report->inventory->run_count; i++) {
		const struct run *run = report->inventory->runs[i];

		totals.keep += run->decision.verdict == VERDICT_KEEP;
		totals.stop += run->decision.verdict == VERDICT_STOP;
		totals.reap += run->decision.verdict == VERDICT_REAP;
		totals.stopped += report_stopped(run);
		totals.reaped += run->result == RESULT_REAPED;
		totals.partial += run->result == RESULT_PARTIAL;
		totals.failed += run->result == RESULT_FAILED;
		totals.bytes_freed += run->bytes_freed;
		totals.hidden += !report_view_shows(report, run);
		count_space(&totals, run);
	}
	return totals;
}

static enum exit_code run_exit_code(const struct report *report, const struct run *run)
{
	if (run->result == RESULT_FAILED || run->result == RESULT_PARTIAL || run_is_failing(run))
		return EXIT_ATTENTION;
	if (run->decision.verdict == VERDICT_KEEP && reason_needs_person(run->decision.reason))
		return EXIT_ATTENTION;
	if (report->kind == REPORT_PLAN && will_be_partial(run))
		return EXIT_ATTENTION;
	return run->decision.reason == REASON_UNKNOWN ? EXIT_BLIND : EXIT_DONE;
}

/*
 * A root, the database or an engine that cannot be read hides runs altogether, so nobody sees them
 * undecided.
 */
static bool hides_runs(const struct source *source)
{
	return source->ok == TRI_NO &&
	       (text_equal(source->name, "markers") || text_equal(source->name, "store") ||
		       text_equal(source->name, "containers"));
}

enum exit_code report_exit_code(const struct report *report)
{
	enum exit_code code = report_hooks_need_person(report) ? EXIT_ATTENTION : EXIT_DONE;

	for (size_t i = 0; i < report->inventory->run_count; i++)
		code = exit_code_worse(code, run_exit_code(report, report->inventory->runs[i]));
	for (size_t i = 0; i < report->inventory->filesystem_count; i++)
		if (report->inventory->filesystems[i].full &&
			!report->inventory->filesystems[i].relieved)
			code = exit_code_worse(code, EXIT_ATTENTION);
	for (size_t i = 0; i < report->inventory->source_count; i++)
		if (hides_runs(&report->inventory->sources[i]))
			code = exit_code_worse(code, EXIT_BLIND);
	return code;
}
