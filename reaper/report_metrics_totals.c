/* What all passes came to, and why there was something to do for them. */
#include "report_metrics.h"

#include "base/text.h"
#include "metric_text.h"
#include "state/tally.h"

void metrics_count(struct metrics_totals *totals, const struct tally *tally)
{
	enum reason reason = leak_reason(tally->reason);
	enum leak leak = leak_counted(tally);

	totals->bytes_freed += tally->bytes;
	if (reason == REASON_COUNT)
		return;
	if (leak < LEAK_COUNT)
		totals->leaks[leak] += tally->runs;
	if (text_equal(tally->action, "reaped"))
		totals->reaped[reason] += tally->runs;
	else if (text_equal(tally->action, "stopped"))
		totals->stopped[reason] += tally->runs;
	else if (text_equal(tally->action, "failed"))
		totals->failed[reason] += tally->runs;
}

/* What a count may be labelled with: the reasons of what acts. */
static bool acts(enum reason reason)
{
	return reason >= REASON_OVER_DEADLINE;
}

static void print_reasons(FILE *file, const char *name, const char *help, const int64_t *counts)
{
	metric_head(file, name, "counter", help);
	for (enum reason reason = 0; reason < REASON_COUNT; reason++)
		if (acts(reason))
			metric_sample_of(file, name, "reason", reason_name(reason), counts[reason]);
}

void report_metrics_totals(const struct metrics_totals *totals, FILE *file)
{
	print_reasons(
		file, "runs_reaped_total", "Runs that were removed, by reason.", totals->reaped);
	print_reasons(file, "failures_total",
		"Times that a run could not be taken apart, by the "
		"reason for which it was to be.",
		totals->failed);
	metric_head(
		file, "runs_stopped_total", "counter", "Runs that were stopped at their deadline.");
	metric_sample(file, "runs_stopped_total", totals->stopped[REASON_OVER_DEADLINE]);
	metric_head(file, "freed_bytes_total", "counter", "Bytes on disk that were freed.");
	metric_sample(file, "freed_bytes_total", totals->bytes_freed);
	metric_head(file, "leaks_total", "counter",
		"Runs that left something behind, by how: ended without cleaning up, abandoned, "
		"stopped over their deadline, or on nobody's books.");
	for (enum leak leak = 0; leak < LEAK_COUNT; leak++)
		metric_sample_of(
			file, "leaks_total", "cause", leak_name(leak), totals->leaks[leak]);
}
