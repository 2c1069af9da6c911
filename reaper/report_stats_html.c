#include "report_stats.h"

#include "base/count.h"
#include "base/timespan.h"
#include "html_text.h"
#include "report_stats_plot.h"

#include <math.h>

/* Colours that people who confuse red and green can tell apart, on light and on dark. */
static const char style[] =
	":root{color-scheme:light dark;--page:#f5f6f8;--card:#fff;--ink:#1b2330;--soft:#5d6878;"
	"--line:#e3e7ed;--c0:#2f6fde;--c1:#e39a1c;--c2:#d4543a;--c3:#8e63ce;--c4:#9aa5b4;"
	"--good:#16794c;--bad:#b3261e}\n"
	"@media(prefers-color-scheme:dark){:root{--page:#10141a;--card:#191f28;--ink:#e8ecf2;"
	"--soft:#98a3b3;--line:#2b3441;--c0:#6ba1ff;--c1:#f0b64d;--c2:#f07f67;--c3:#b795ee;"
	"--c4:#6d7a8c;--good:#5ccb96;--bad:#ff8a80}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--page);color:var(--ink);"
	"font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;"
	"font-variant-numeric:tabular-nums}\n"
	"main{max-width:1080px;margin:0 auto;padding:36px 20px 28px}\n"
	"header{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;"
	"gap:4px 24px;margin-bottom:22px}\n"
	"h1{font-size:25px;margin:0;letter-spacing:-.015em;overflow-wrap:anywhere}\n"
	"h2{font-size:15px;margin:0 0 14px;font-weight:650}\n"
	"p{margin:0}.soft,header p,footer{color:var(--soft)}\n"
	"small{font-size:.62em;font-weight:500;color:var(--soft)}td small{font-size:.85em}\n"
	".tiles,.pair{display:grid;gap:16px;margin-bottom:16px}\n"
	".tiles{grid-template-columns:repeat(auto-fit,minmax(210px,1fr))}\n"
	".pair{grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr))}\n"
	"section,.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;"
	"padding:18px 20px;min-width:0}\n"
	"section{margin-bottom:16px}.pair section{margin:0}\n"
	".tile h2{color:var(--soft);font-weight:500;margin:0}\n"
	".tile b{display:block;font-size:33px;line-height:1.3;font-weight:650;"
	"letter-spacing:-.02em}\n"
	".tile p{font-size:13px;color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}\n"
	".head{display:flex;flex-wrap:wrap;justify-content:space-between;gap:2px 20px}\n"
	".legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 16px;margin:0 0 "
	"12px;padding:0;"
	"font-size:13px;color:var(--soft)}\n"
	"i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:7px}\n"
	"svg{display:block;width:100%;height:auto;overflow:visible}\n"
	".axis{font-size:13px;fill:var(--soft)}.grid{stroke:var(--line)}.base{stroke:var(--soft)}\n"
	".column{fill:transparent}.bar:hover .column{fill:var(--line);fill-opacity:.6}\n"
	".c0{fill:var(--c0);background:var(--c0)}.c1{fill:var(--c1);background:var(--c1)}\n"
	".c2{fill:var(--c2);background:var(--c2)}.c3{fill:var(--c3);background:var(--c3)}\n"
	".c4{fill:var(--c4);background:var(--c4)}\n"
	"table{width:100%;border-collapse:collapse;font-size:14px}\n"
	"th{font-weight:500;color:var(--soft);font-size:13px;white-space:nowrap}\n"
	"#causes td:first-child{white-space:nowrap}\n"
	"th,td{text-align:right;padding:7px 0 7px 12px;border-top:1px solid var(--line)}\n"
	"thead th{border:0;padding-top:0}\n"
	"th:first-child,td:first-child{text-align:left;padding-left:0;overflow-wrap:anywhere}\n"
	".share{width:22%}.share div{height:9px;border-radius:5px;min-width:2px}\n"
	".tag{font-size:12px;border:1px solid var(--line);border-radius:99px;padding:1px 9px;"
	"color:var(--soft);white-space:nowrap}\n"
	".stack{display:flex;gap:2px;height:16px;border-radius:8px;overflow:hidden;"
	"background:var(--line);margin-bottom:14px}\n"
	".unseen{border-left:4px solid var(--bad)}\n"
	"footer{font-size:13px;padding:6px 2px}footer p{margin-bottom:6px}\n"
	"@media print{body{background:#fff}main{padding:0}section,.tile{break-inside:avoid}}\n";

/* Of the states: not those of the causes, so that nothing seems to belong together. */
static const char *const state_colours[] = { "c0", "c3", "c1", "c4" };

_Static_assert(ARRAY_SIZE(state_colours) == STATE_COUNT, "a colour for each state");

static int64_t bytes_of(const struct stats_cause *cause)
{
	return cause->bytes;
}

static int64_t leaks_of(const struct stats_cause *cause)
{
	return cause->leaks;
}

static void put(FILE *file, const char *text)
{
	(void)fputs(text, file);
}

/* ----------------------------------------------------------------------------------------- tiles */

enum wish { WISH_NONE, WISH_LESS };

/* How it stands to the time before, where that is known and was not nothing. */
static void print_change(
	const struct stats *stats, double now, double before, enum wish wish, FILE *file)
{
	double percent = before > 0 ? 100 * (now - before) / before : 0;
	const char *tone = wish == WISH_NONE || fabs(percent) < 0.5 ? "soft"
			   : percent < 0                            ? "good"
								    : "bad";

	if (!stats->before_known || before <= 0 || now < 0)
		return;
	(void)fprintf(file,
		"<span class=\"%s\">%s&nbsp;%.0f&nbsp;%%</span> to the %lld days before", tone,
		percent < 0 ? "▼" : "▲", fabs(percent), (long long)stats->days);
}

static void print_freed_tile(const struct stats *stats, FILE *file)
{
	struct stats_cause sum = stats_sum(&stats->total), before = stats_sum(&stats->before);

	put(file, "<div class=\"tile\"><h2>Reclaimed</h2><b id=\"freed\">");
	html_size(file, sum.bytes);
	put(file, "</b><p>");
	print_change(stats, (double)sum.bytes, (double)before.bytes, WISH_NONE, file);
	put(file, "</p></div>\n");
}

static void print_gone_tile(const struct stats *stats, FILE *file)
{
	put(file, "<div class=\"tile\"><h2>Runs removed</h2><b id=\"gone\">");
	html_count(file, stats_sum(&stats->total).reaped);
	put(file, "</b><p>");
	html_count(file, stats->total.stopped);
	put(file, " stopped, ");
	html_count(file, stats->total.partial);
	put(file, " in part, ");
	html_count(file, stats->total.failed);
	put(file, stats->total.failed == 1 ? " failure</p></div>\n" : " failures</p></div>\n");
}

/* In a hundred runs, or where none are put on record by themselves, a day. */
static void print_leak_tile(const struct stats *stats, FILE *file)
{
	double percent = stats_leak_percent(&stats->total);
	double a_day = (double)stats_sum(&stats->total).leaks / (double)stats->days;
	double before_a_day = (double)stats_sum(&stats->before).leaks / (double)stats->days;

	put(file, "<div class=\"tile\"><h2>Leak rate</h2><b id=\"leak-rate\">");
	if (percent >= 0)
		(void)fprintf(file, "%.1f&nbsp;<small>in 100 runs</small></b><p>", percent);
	else
		(void)fprintf(file, "%.1f&nbsp;<small>a day</small></b><p>", a_day);
	if (percent >= 0)
		print_change(stats, percent, stats_leak_percent(&stats->before), WISH_LESS, file);
	else
		print_change(stats, a_day, before_a_day, WISH_LESS, file);
	put(file, "</p></div>\n");
}

static double share(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void print_there_tile(const struct stats *stats, FILE *file)
{
	char runs[COUNT_TEXT];

	put(file, "<div class=\"tile\"><h2>On disk now</h2><b id=\"there\">");
	html_size(file, stats->all.bytes);
	(void)fprintf(file, "</b><p>%s", count_format(runs, stats->all.runs, "run"));
	if (stats->pinned.runs)
		(void)fprintf(file, ", %.0f&nbsp;%% held by %zu pinned",
			share(stats->pinned.bytes, stats->all.bytes), stats->pinned.runs);
	put(file, "</p></div>\n");
}

/* ----------------------------------------------------------------------------------------- plots */

static void print_plot(
	const struct stats *stats, const char *heading, const struct stats_plot *plot, FILE *file)
{
	(void)fprintf(
		file, "<section><div class=\"head\"><h2>%s</h2><ul class=\"legend\">", heading);
	for (size_t i = 0; i < STATS_CAUSES; i++)
		if (plot->value(&stats->total.causes[i]) > 0)
			(void)fprintf(
				file, "<li><i class=\"c%zu\"></i>%s</li>", i, stats_cause_name(i));
	put(file, "</ul></div>\n");
	report_stats_plot(stats, plot, file);
	put(file, "</section>\n");
}

static void print_plots(const struct stats *stats, FILE *file)
{
	static const struct stats_plot freed = { "bytes freed, by time and cause", bytes_of, true };
	static const struct stats_plot leaks = { "leaks, by time and cause", leaks_of, false };

	print_plot(stats, "Reclaimed, by cause", &freed, file);
	print_plot(stats, "Leaks, by cause", &leaks, file);
}

/* ---------------------------------------------------------------------------------------- tables */

static void print_share(const char *class, int64_t part, int64_t whole, FILE *file)
{
	put(file, "<td class=\"share\">");
	if (part > 0)
		(void)fprintf(file, "<div class=\"%s\" style=\"width:%.1f%%\"></div>", class,
			share(part, whole));
	put(file, "</td>");
}

static void print_causes(const struct stats *stats, FILE *file)
{
	int64_t most = 0;

	for (size_t i = 0; i < STATS_CAUSES; i++)
		if (stats->total.causes[i].bytes > most)
			most = stats->total.causes[i].bytes;
	put(file, "<section><h2>Why there was something to reclaim</h2>\n<table id=\"causes\">"
		  "<thead><tr><th>Cause</th><th>Leaks</th><th>A day</th><th>Removed</th>"
		  "<th>Freed</th><th></th></tr></thead>\n");
	for (size_t i = 0; i < STATS_CAUSES; i++) {
		const struct stats_cause *cause = &stats->total.causes[i];
		char class[8];

		(void)snprintf(class, sizeof(class), "c%zu", i);
		(void)fprintf(file, "<tr><td><i class=\"%s\"></i>%s</td><td>", class,
			stats_cause_name(i));
		html_count(file, cause->leaks);
		(void)fprintf(
			file, "</td><td>%.1f</td><td>", (double)cause->leaks / (double)stats->days);
		html_count(file, cause->reaped);
		put(file, "</td><td>");
		html_size(file, cause->bytes);
		put(file, "</td>");
		print_share(class, cause->bytes, most, file);
		put(file, "</tr>\n");
	}
	put(file, "</table></section>\n");
}

static void print_heap(
	const char *class, const char *name, const struct stats_heap *heap, int64_t all, FILE *file)
{
	(void)fprintf(file, "<tr><td><i class=\"%s\"></i>%s</td><td>%zu</td><td>", class, name,
		heap->runs);
	html_size(file, heap->bytes);
	(void)fprintf(file, "</td><td>%.0f&nbsp;%%</td></tr>\n", share(heap->bytes, all));
}

static void print_heaps(const struct stats *stats, FILE *file)
{
	char runs[COUNT_TEXT];

	put(file, "<section><h2>On disk now, by state</h2>\n<div class=\"stack\">");
	for (enum report_state state = 0; state < STATE_COUNT; state++)
		if (stats->states[state].bytes > 0)
			(void)fprintf(file, "<div class=\"%s\" style=\"flex:%.3f\"></div>",
				state_colours[state],
				share(stats->states[state].bytes, stats->all.bytes));
	put(file, "</div>\n<table id=\"states\"><thead><tr><th>State</th><th>Runs</th>"
		  "<th>Size</th><th>Share</th></tr></thead>\n");
	for (enum report_state state = 0; state < STATE_COUNT; state++)
		print_heap(state_colours[state], report_state_name(state), &stats->states[state],
			stats->all.bytes, file);
	print_heap("", "of all: pinned", &stats->pinned, stats->all.bytes, file);
	put(file, "</table>");
	if (stats->all.unmeasured)
		(void)fprintf(file, "<p class=\"soft\">Not measured, or not to the end: %s.</p>",
			count_format(runs, stats->all.unmeasured, "run"));
	put(file, "</section>\n");
}

static void print_large(const struct stats *stats, const struct run *run, FILE *file)
{
	enum report_state state = report_state_of(run);
	char age[TIMESPAN_TEXT];

	put(file, "<tr><td>");
	html_text(file, run->id);
	(void)fprintf(file, "</td><td><span class=\"tag\">%s</span></td><td>%s</td><td>",
		run->facts.pin != PIN_NONE ? "pinned" : report_state_name(state),
		run->age_since_s ? timespan_format_short(age, stats->now_s - run->age_since_s)
				 : "-");
	html_size(file, run->bytes);
	put(file, "</td>");
	print_share(state_colours[state], run->bytes, stats->largest[0]->bytes, file);
	put(file, "</tr>\n");
}

static void print_largest(const struct stats *stats, FILE *file)
{
	if (!stats->largest_count)
		return;
	put(file, "<section><h2>The largest</h2>\n<table id=\"largest\"><thead><tr><th>Run</th>"
		  "<th>State</th><th>Age</th><th>Size</th><th></th></tr></thead>\n");
	for (size_t i = 0; i < stats->largest_count; i++)
		print_large(stats, stats->largest[i], file);
	put(file, "</table></section>\n");
}

static void print_unseen(const struct inventory *inventory, FILE *file)
{
	if (!inventory_failed_source(inventory, NULL))
		return;
	put(file, "<section class=\"unseen\"><h2>Not seen</h2>\n<table id=\"unseen\">");
	for (size_t i = 0; i < inventory->source_count; i++) {
		const struct source *source = &inventory->sources[i];

		if (source->ok != TRI_NO)
			continue;
		put(file, "<tr><td>");
		html_text(file, source->name);
		put(file, source->at ? " at " : "");
		html_text(file, source->at ? source->at : "");
		put(file, ": ");
		html_text(file, source->error ? source->error : "no reason given");
		put(file, "</td></tr>\n");
	}
	put(file, "</table></section>\n");
}

/* ------------------------------------------------------------------------------------------ page */

static void print_head(const struct stats_report *report, FILE *file)
{
	const struct stats *stats = report->stats;
	char from[STATS_DATE], to[STATS_DATE], days[COUNT_TEXT];

	put(file, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		  "style-src 'unsafe-inline'; img-src data:\">\n"
		  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		  "<link rel=\"icon\" href=\"data:,\">\n<title>sbx-reap: ");
	html_text(file, report->host);
	put(file, "</title>\n<style>\n");
	put(file, style);
	put(file, "</style>\n</head>\n<body>\n<main>\n<header><h1>What runs left behind on ");
	html_text(file, report->host);
	(void)fprintf(file, "</h1><p>%s, %s to %s (UTC)</p></header>\n<div class=\"tiles\">\n",
		count_format(days, stats->days, "day"), stats_date(from, stats->day),
		stats_date(to, stats->day + stats->days - 1));
	print_freed_tile(stats, file);
	print_gone_tile(stats, file);
	print_leak_tile(stats, file);
	print_there_tile(stats, file);
	put(file, "</div>\n");
}

static void print_foot(const struct stats *stats, FILE *file)
{
	char now[TIMESPAN_TEXT];

	put(file, "<footer><p>A leak is a run that left something behind: finished_uncleaned "
		  "ended and did not clean up, abandoned was never ended by anybody, "
		  "over_deadline had to be stopped, orphan was on nobody's books. What a person "
		  "asked for before it was due is other, and no leak.</p>\n");
	(void)fprintf(file, "<p>Made by sbx-reap " SBX_REAP_VERSION " at %s.</p></footer>\n",
		moment_format(now, stats->now_s));
	put(file, "</main>\n</body>\n</html>\n");
}

void report_stats_html(const struct stats_report *report, FILE *file)
{
	const struct stats *stats = report->stats;

	print_head(report, file);
	print_unseen(report->inventory, file);
	print_plots(stats, file);
	put(file, "<div class=\"pair\">\n");
	print_causes(stats, file);
	print_heaps(stats, file);
	put(file, "</div>\n");
	print_largest(stats, file);
	print_foot(stats, file);
}
