#include "report_stats.h"

#include "base/count.h"
#include "base/display.h"
#include "base/text.h"
#include "report.h"
#include "report_columns.h"

enum { WIDTH_USUAL = 80, WIDTH_LEAST = 50, WIDTH_MOST = 120, SIZE_ROOM = 6, NAME_ROOM = 18 };

/* ------------------------------------------------------------------------------------------ bars */

struct scale {
	int64_t most;
	size_t columns;
	bool utf8;
};

/* What is left of a line behind so many columns. */
static struct scale scale_of(const struct stats_report *report, size_t taken, int64_t most)
{
	size_t width = report->terminal.columns ? report->terminal.columns : WIDTH_USUAL;

	width = width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
	return (struct scale){
		.most = most > 0 ? most : 1,
		.columns = width - taken,
		.utf8 = report->terminal.utf8,
	};
}

/* What is not nothing is seen: at least the thinnest bar. */
static void print_bar(const struct scale *scale, int64_t value, FILE *file)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	const size_t parts = scale->utf8 ? ARRAY_SIZE(eighths) : 1;
	double share = (double)value / (double)scale->most * (double)(scale->columns * parts);
	size_t length = (size_t)(share + 0.5);

	if (value > 0 && length == 0)
		length = 1;
	if (length)
		(void)fputs("  ", file);
	for (size_t i = 0; i < length / parts; i++)
		(void)fputs(scale->utf8 ? "█" : "#", file);
	(void)fprintf(file, "%s\n", scale->utf8 ? eighths[length % parts] : "");
}

static void print_size(int64_t bytes, FILE *file)
{
	char *text CLEANUP(mem_done) = report_size_text(bytes);

	(void)fprintf(file, "%*s", SIZE_ROOM, text);
}

/* --------------------------------------------------------------------------------------- summary */

static void print_reclaimed(const struct stats_figures *figures, FILE *file)
{
	struct stats_cause sum = stats_sum(figures);
	char *freed CLEANUP(mem_done) = report_size_text(sum.bytes);
	char runs[COUNT_TEXT];

	(void)fprintf(file, "%s freed, %s gone", freed, count_format(runs, sum.reaped, "run"));
	if (figures->partial || figures->failed)
		(void)fprintf(file, ", %lld in part, %lld failed", (long long)figures->partial,
			(long long)figures->failed);
}

static void print_leaked(const struct stats_figures *figures, int64_t days, FILE *file)
{
	int64_t leaks = stats_sum(figures).leaks;
	double percent = stats_leak_percent(figures);
	char runs[COUNT_TEXT];

	(void)fprintf(file, "%s, %.1f a day", count_format(runs, leaks, "run"),
		(double)leaks / (double)days);
	if (percent >= 0)
		(void)fprintf(file, ", %.1f in 100 of %lld on record", percent,
			(long long)figures->registered);
}

static void print_there(const struct stats *stats, FILE *file)
{
	char *all CLEANUP(mem_done) = report_size_text(stats->all.bytes);
	char *pinned CLEANUP(mem_done) = report_size_text(stats->pinned.bytes);
	char runs[COUNT_TEXT];

	(void)fprintf(file, "there now  %s, %s", count_format(runs, stats->all.runs, "run"), all);
	if (stats->pinned.runs)
		(void)fprintf(file, "; %zu of them pinned, %s (%.0f%%)", stats->pinned.runs, pinned,
			stats->all.bytes
				? 100.0 * (double)stats->pinned.bytes / (double)stats->all.bytes
				: 0.0);
	(void)fputc('\n', file);
}

static void print_summary(const struct stats_report *report, FILE *file)
{
	char *host CLEANUP(mem_done) = text_escape(report->host);
	const struct stats *stats = report->stats;
	char from[STATS_DATE], to[STATS_DATE], days[COUNT_TEXT];

	(void)fprintf(file, "%s on %s, %s to %s (UTC)\n\n", count_format(days, stats->days, "day"),
		host, stats_date(from, stats->day), stats_date(to, stats->day + stats->days - 1));
	(void)fputs("reclaimed  ", file);
	print_reclaimed(&stats->total, file);
	if (stats->before_known) {
		(void)fputs("\n  before   ", file);
		print_reclaimed(&stats->before, file);
	}
	(void)fputs("\nleaked     ", file);
	print_leaked(&stats->total, stats->days, file);
	if (stats->before_known) {
		(void)fputs("\n  before   ", file);
		print_leaked(&stats->before, stats->days, file);
	}
	(void)fputc('\n', file);
	print_there(stats, file);
}

/* ---------------------------------------------------------------------------------------- tables */

static void print_spans(const struct stats_report *report, FILE *file)
{
	const struct stats *stats = report->stats;
	struct scale scale;
	int64_t most = 0;

	for (size_t i = 0; i < stats->span_count; i++) {
		int64_t bytes = stats_sum(&stats->spans[i].figures).bytes;

		most = bytes > most ? bytes : most;
	}
	scale = scale_of(report, 35, most);
	(void)fprintf(file, "\n%-10s  %6s  %5s  %*s\n", stats->spans[0].days > 1 ? "FROM" : "DAY",
		"LEAKS", "GONE", SIZE_ROOM, "FREED");
	for (size_t i = 0; i < stats->span_count; i++) {
		const struct stats_span *span = &stats->spans[i];
		struct stats_cause sum = stats_sum(&span->figures);
		char date[STATS_DATE];

		(void)fprintf(file, "%s  %6lld  %5lld  ", stats_date(date, span->day),
			(long long)sum.leaks, (long long)sum.reaped);
		print_size(sum.bytes, file);
		print_bar(&scale, sum.bytes, file);
	}
}

static void print_causes(const struct stats_report *report, FILE *file)
{
	const struct stats *stats = report->stats;
	struct scale scale;
	int64_t most = 0;

	for (size_t i = 0; i < STATS_CAUSES; i++)
		if (stats->total.causes[i].bytes > most)
			most = stats->total.causes[i].bytes;
	scale = scale_of(report, 50, most);
	(void)fprintf(file, "\n%-*s  %6s  %5s  %5s  %*s\n", NAME_ROOM, "CAUSE", "LEAKS", "A DAY",
		"GONE", SIZE_ROOM, "FREED");
	for (size_t i = 0; i < STATS_CAUSES; i++) {
		const struct stats_cause *cause = &stats->total.causes[i];

		(void)fprintf(file, "%-*s  %6lld  %5.1f  %5lld  ", NAME_ROOM, stats_cause_name(i),
			(long long)cause->leaks, (double)cause->leaks / (double)stats->days,
			(long long)cause->reaped);
		print_size(cause->bytes, file);
		print_bar(&scale, cause->bytes, file);
	}
}

static void print_heap(
	const struct scale *scale, const char *name, const struct stats_heap *heap, FILE *file)
{
	(void)fprintf(file, "%-*s  %6zu  ", NAME_ROOM, name, heap->runs);
	print_size(heap->bytes, file);
	print_bar(scale, heap->bytes, file);
}

static void print_heaps(const struct stats_report *report, FILE *file)
{
	const struct stats *stats = report->stats;
	struct scale scale = scale_of(report, 36, stats->all.bytes);
	char runs[COUNT_TEXT];

	(void)fprintf(
		file, "\n%-*s  %6s  %*s\n", NAME_ROOM, "THERE NOW", "RUNS", SIZE_ROOM, "SIZE");
	for (enum report_state state = 0; state < STATE_COUNT; state++)
		print_heap(&scale, report_state_name(state), &stats->states[state], file);
	print_heap(&scale, "of all: pinned", &stats->pinned, file);
	if (stats->all.unmeasured)
		(void)fprintf(file, "not measured, or not to the end: %s\n",
			count_format(runs, stats->all.unmeasured, "run"));
}

static void print_largest(const struct stats_report *report, FILE *file)
{
	const struct stats *stats = report->stats;
	struct scale scale;

	if (!stats->largest_count)
		return;
	scale = scale_of(report, 49, stats->largest[0]->bytes);
	(void)fprintf(file, "\n%-24s  %-13s  %*s\n", "LARGEST", "STATE", SIZE_ROOM, "SIZE");
	for (size_t i = 0; i < stats->largest_count; i++) {
		const struct run *run = stats->largest[i];
		char *shown CLEANUP(mem_done) = text_escape(run->id);
		char *cut CLEANUP(mem_done) =
			display_cut(shown, 24, report->terminal.utf8 ? "…" : "..");

		(void)fprintf(file, "%s%*s  %-13s  ", cut, (int)(24 - display_width(cut)), "",
			run->facts.pin != PIN_NONE ? "pinned"
						   : report_state_name(report_state_of(run)));
		print_size(run->bytes, file);
		print_bar(&scale, run->bytes, file);
	}
}

void report_stats_text(const struct stats_report *report, FILE *file)
{
	print_summary(report, file);
	print_spans(report, file);
	print_causes(report, file);
	print_heaps(report, file);
	print_largest(report, file);
	report_blindness(report->inventory, file);
}
