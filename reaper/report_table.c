#include "report.h"

#include "base/text.h"
#include "base/timespan.h"
#include "failures_text.h"

enum column { RUN, STATE, AGE, SIZE, DECISION, REASON, DUE, PIN, COLUMNS };

static const char *const headings[COLUMNS] = { "RUN", "STATE", "AGE", "SIZE", "DECISION", "REASON",
	"DUE", "PIN" };

struct row {
	const struct run *run;
	char *cells[COLUMNS];
};

static char *format_bytes(int64_t bytes)
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 0)
		return mem_dup("-");
	for (; value >= 1024 && unit + 1 < sizeof(units) - 1; unit++)
		value /= 1024;
	return mem_printf(unit && value < 10 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

static char *format_due(const struct run *run, int64_t now_s)
{
	char span[TIMESPAN_TEXT];

	if (!run->decision.due_s)
		return mem_dup("-");
	if (run->decision.due_s <= now_s)
		return mem_dup("now");
	return mem_printf("in %s", timespan_format(span, run->decision.due_s - now_s));
}

static char *format_pin(const struct run *run, int64_t now_s)
{
	char span[TIMESPAN_TEXT];

	if (run->facts.pin == PIN_UNREADABLE)
		return mem_dup("unreadable");
	if (!run->pin)
		return mem_dup("-");
	if (!run->pin->until_s)
		return mem_dup("no end");
	return mem_printf("%s left", timespan_format(span, run->pin->until_s - now_s));
}

/*
 * What a pass did comes in the place of what it meant to do. When the database fails in the middle,
 * there are runs that it did not come to.
 */
static char *format_decision(const struct report *report, const struct run *run)
{
	if (report->kind == REPORT_PASS && run->decision.verdict != VERDICT_KEEP &&
		run->result != RESULT_NONE)
		return mem_dup(run->decision.verdict == VERDICT_STOP && run->result == RESULT_KEPT
				       ? "stopped"
				       : result_name(run->result));
	return mem_dup(verdict_name(run->decision.verdict));
}

static void fill_row(struct row *row, const struct report *report)
{
	const struct run *run = row->run;
	int64_t now_s = report->inventory->now_s;
	char span[TIMESPAN_TEXT];

	row->cells[RUN] = text_escape(run->id);
	row->cells[STATE] = mem_printf("%s%s%s", report_state(run), run->facts.outcome ? " " : "",
		run->facts.outcome ? outcome_name(run->facts.outcome) : "");
	row->cells[AGE] =
		mem_dup(run->age_since_s ? timespan_format(span, now_s - run->age_since_s) : "-");
	row->cells[SIZE] = format_bytes(run->bytes);
	row->cells[DECISION] = format_decision(report, run);
	row->cells[REASON] = mem_dup(reason_name(run->decision.reason));
	row->cells[DUE] = format_due(run, now_s);
	row->cells[PIN] = format_pin(run, now_s);
}

/* What matters comes first: what goes, what needs somebody, what is kept anyway. */
static int weight(const struct run *run)
{
	if (run->decision.verdict != VERDICT_KEEP)
		return run->decision.verdict == VERDICT_REAP ? 0 : 1;
	if (reason_needs_person(run->decision.reason))
		return 2;
	return run->decision.reason == REASON_FOREIGN ? 4 : 3;
}

static int row_order(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	int r = weight(left->run) - weight(right->run);

	return r ? r : strcmp(left->run->id, right->run->id);
}

static bool shown(const struct report *report, const struct run *run)
{
	if (report->kind == REPORT_PLAN)
		return true;
	return run->decision.verdict != VERDICT_KEEP || run->error ||
	       run->decision.reason == REASON_UNKNOWN ||
	       reason_needs_person(run->decision.reason) || run_is_failing(run);
}

static bool column_shown(const struct report *report, size_t column)
{
	return column != SIZE || report->sizes;
}

static void print_row(const struct report *report, char *const cells[COLUMNS],
	const size_t widths[COLUMNS], FILE *file)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		if (!column_shown(report, i))
			continue;
		if (i + 1 == COLUMNS)
			(void)fprintf(file, "%s\n", cells[i]);
		else
			(void)fprintf(file, "%-*s  ", (int)widths[i], cells[i]);
	}
}

/* What is longer than a column may be moves only the rest of its own row. */
static size_t wider(size_t width, size_t length)
{
	enum { COLUMN_MAX = 40 };

	if (length > COLUMN_MAX)
		length = COLUMN_MAX;
	return length > width ? length : width;
}

static void print_rows(
	const struct report *report, const struct row *rows, size_t count, FILE *file)
{
	size_t widths[COLUMNS];
	char *heads[COLUMNS];

	for (size_t i = 0; i < COLUMNS; i++) {
		widths[i] = strlen(headings[i]);
		for (size_t j = 0; j < count; j++)
			widths[i] = wider(widths[i], strlen(rows[j].cells[i]));
		heads[i] = mem_dup(headings[i]);
	}
	print_row(report, heads, widths, file);
	for (size_t i = 0; i < count; i++)
		print_row(report, rows[i].cells, widths, file);
	for (size_t i = 0; i < COLUMNS; i++)
		free(heads[i]);
}

/* Why nobody's word is known for a tree or branch, where that was told. */
static const char *foreign_words(const struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].kind == KIND_WORKTREE ||
			run->resources[i].kind == KIND_BRANCH)
			return run->resources[i].note;
	return NULL;
}

/* What a run has to say beyond its reason; NULL: nothing. */
static const char *words_of(const struct run *run)
{
	if (run->error)
		return run->error;
	if (run->salvaged)
		return run->salvaged;
	if (run->fault)
		return run->fault;
	if (run->decision.reason == REASON_FOREIGN)
		return foreign_words(run);
	return run->decision.reason == REASON_LIVE ? run->live_note : run->work_note;
}

/* Why, in words, for every run that has more to say than its reason. */
static void print_words(const struct row *rows, size_t count, FILE *file)
{
	for (size_t i = 0; i < count; i++) {
		const struct run *run = rows[i].run;
		const char *words = words_of(run);
		char *shown_words CLEANUP(mem_done) = words ? text_escape_prose(words) : NULL;

		if (words)
			(void)fprintf(file, "%s: %s%s\n", rows[i].cells[RUN], shown_words,
				run->result == RESULT_NONE && run->decision.fate == FATE_SALVAGED
					? " (is salvaged first)"
					: "");
	}
}

/* Since when and how often, for every run that is stuck. */
static void print_failures(
	const struct report *report, const struct row *rows, size_t count, FILE *file)
{
	for (size_t i = 0; i < count; i++) {
		char *text CLEANUP(mem_done) = failures_text(rows[i].run, report->inventory->now_s);

		if (text)
			(void)fprintf(file, "%s: %s\n", rows[i].cells[RUN], text);
	}
}

static void print_totals(const struct report *report, FILE *file)
{
	struct report_totals totals = report_count(report);
	char *bytes CLEANUP(mem_done) = format_bytes(totals.bytes_freed);

	if (report->kind == REPORT_PLAN)
		(void)fprintf(file, "%zu runs: %zu to reap, %zu to stop, %zu kept\n", totals.runs,
			totals.reap, totals.stop, totals.keep);
	else
		(void)fprintf(file,
			"%zu runs: %zu reaped, %zu partial, %zu failed, %zu stopped, %zu kept; %s "
			"freed in "
			"%.1fs\n",
			totals.runs, totals.reaped, totals.partial, totals.failed, totals.stop,
			totals.keep, bytes, (double)report->took_ms / 1000.0);
}

/* Of a visit: processes that may not be looked at are told, and keep nothing. */
static bool seen_in_part(const struct source *source)
{
	return source->ok == TRI_UNKNOWN && source->error && text_equal(source->name, "processes");
}

static void print_blindness(const struct report *report, FILE *file)
{
	for (size_t i = 0; i < report->inventory->source_count; i++) {
		const struct source *source = &report->inventory->sources[i];
		char *error CLEANUP(mem_done) = NULL, *at CLEANUP(mem_done) = NULL;

		if (source->ok != TRI_NO && !seen_in_part(source))
			continue;
		at = source->at ? text_escape(source->at) : NULL;
		error = text_escape_prose(source->error ? source->error : "no reason given");
		(void)fprintf(file, "not seen: %s%s%s: %s\n", source->name, at ? " at " : "",
			at ? at : "", error);
	}
}

/* Root takes the word of whoever owns the repository, so it is named. */
static void print_visited(const struct settings *settings, FILE *file)
{
	char *shown_path CLEANUP(mem_done) = NULL;

	if (!settings->visited)
		return;
	shown_path = text_escape(settings->visited);
	(void)fprintf(file, "repository %s", shown_path);
	if (settings->owner_count)
		(void)fprintf(file, ", trusting its owner, uid %u", (unsigned)settings->owners[0]);
	(void)fputc('\n', file);
}

void report_table(const struct report *report, FILE *file)
{
	const struct inventory *inventory = report->inventory;
	struct row *rows CLEANUP(mem_done) =
		mem_grow(NULL, inventory->run_count, sizeof(struct row));
	size_t count = 0;

	print_visited(report->settings, file);
	for (size_t i = 0; i < inventory->run_count; i++) {
		if (!shown(report, inventory->runs[i]))
			continue;
		rows[count].run = inventory->runs[i];
		fill_row(&rows[count++], report);
	}
	if (count) {
		qsort(rows, count, sizeof(*rows), row_order);
		print_rows(report, rows, count, file);
		print_words(rows, count, file);
		print_failures(report, rows, count, file);
	}
	print_totals(report, file);
	report_limits(report, file);
	print_blindness(report, file);
	for (size_t i = 0; i < count; i++)
		for (size_t column = 0; column < COLUMNS; column++)
			free(rows[i].cells[column]);
}
