#include "report.h"

#include "base/count.h"
#include "base/display.h"
#include "base/text.h"
#include "failures_text.h"
#include "pin_watch.h"
#include "report_columns.h"
#include "report_hooks.h"
#include "report_select.h"

/* Colours, never as the only signal: what they say stands there in words. */
enum tone { TONE_PLAIN, TONE_HEAD, TONE_GOES, TONE_DONE, TONE_TROUBLE, TONE_ASIDE };

static const char *tone_sequence(enum tone tone)
{
	static const char *const sequences[] = {
		[TONE_PLAIN] = "",
		[TONE_HEAD] = "\x1b[1m",
		[TONE_GOES] = "\x1b[33m",
		[TONE_DONE] = "\x1b[32m",
		[TONE_TROUBLE] = "\x1b[31m",
		[TONE_ASIDE] = "\x1b[2m",
	};

	return sequences[tone];
}

static enum tone tone_of_result(const struct run *run)
{
	switch (run->result) {
	case RESULT_REAPED:
	case RESULT_KEPT: /* it was stopped */
		return TONE_DONE;
	case RESULT_PARTIAL:
	case RESULT_FAILED:
		return TONE_TROUBLE;
	case RESULT_NONE:
		break;
	}
	return TONE_GOES;
}

static enum tone tone_of(const struct run *run)
{
	if (run->decision.verdict != VERDICT_KEEP)
		return tone_of_result(run);
	if (reason_needs_person(run->decision.reason) || run->decision.reason == REASON_UNKNOWN)
		return TONE_TROUBLE;
	return run->decision.reason == REASON_FOREIGN ? TONE_ASIDE : TONE_PLAIN;
}

/* The whole row is dim, but only the decision and its reason are coloured. */
static enum tone tone_of_cell(const struct report *report, enum report_column column, enum tone row)
{
	if (!report->terminal.colour)
		return TONE_PLAIN;
	if (row == TONE_HEAD || row == TONE_ASIDE || column == COLUMN_DECISION ||
		column == COLUMN_REASON)
		return row;
	return TONE_PLAIN;
}

static void print_blanks(size_t count, FILE *file)
{
	(void)fprintf(file, "%*s", (int)count, "");
}

struct cell {
	const char *text;
	size_t width;
	enum tone tone;
	bool right, last;
};

static void print_cell(const struct report *report, const struct cell *cell, FILE *file)
{
	char *cut CLEANUP(mem_done) =
		report->terminal.columns
			? display_cut(cell->text, cell->width, report->terminal.utf8 ? "…" : "..")
			: mem_dup(cell->text);
	size_t width = display_width(cut);
	size_t blanks = cell->width > width ? cell->width - width : 0;

	if (cell->right)
		print_blanks(blanks, file);
	(void)fprintf(file, "%s%s%s", tone_sequence(cell->tone), cut,
		cell->tone == TONE_PLAIN ? "" : "\x1b[0m");
	if (!cell->right && !cell->last)
		print_blanks(blanks, file);
	(void)fputs(cell->last ? "\n" : "  ", file);
}

/* Without a run it is the headings. */
static void print_row(const struct report *report, const struct report_layout *layout,
	const struct report_row *row, FILE *file)
{
	enum tone tone = row ? tone_of(row->run) : TONE_HEAD;

	for (size_t i = 0; i < layout->count; i++) {
		enum report_column column = layout->columns[i];
		const struct cell cell = {
			.text = row ? row->cells[column] : report_column_heading(column),
			.width = layout->widths[column],
			.tone = tone_of_cell(report, column, tone),
			.right = column == COLUMN_SIZE || column == COLUMN_BYTES,
			.last = i + 1 == layout->count,
		};

		print_cell(report, &cell, file);
	}
}

static bool has_noted(
	const struct report_layout *layout, const struct report_row *rows, size_t count)
{
	bool shown = false, noted = false;

	for (size_t i = 0; i < layout->count; i++)
		shown |= layout->columns[i] == COLUMN_SIZE || layout->columns[i] == COLUMN_BYTES;
	for (size_t i = 0; i < count; i++)
		noted |= rows[i].run->noted != NULL;
	return shown && noted;
}

static void print_rows(
	const struct report *report, const struct report_row *rows, size_t count, FILE *file)
{
	struct report_layout layout;

	report_layout_choose(&layout, report, rows, count);
	print_row(report, &layout, NULL, file);
	for (size_t i = 0; i < count; i++)
		print_row(report, &layout, &rows[i], file);
	if (has_noted(&layout, rows, count))
		(void)fputs(
			"'~': as a pass measured it within the last hour; --size measures now\n",
			file);
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

const char *report_words(const struct run *run)
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
static void print_words(const struct report_row *rows, size_t count, FILE *file)
{
	for (size_t i = 0; i < count; i++) {
		const struct run *run = rows[i].run;
		const char *words = report_words(run);
		char *shown_words CLEANUP(mem_done) = words ? text_escape_prose(words) : NULL;

		if (words)
			(void)fprintf(file, "%s: %s%s\n", rows[i].cells[COLUMN_RUN], shown_words,
				run->result == RESULT_NONE && run->decision.fate == FATE_SALVAGED
					? " (is salvaged first)"
					: "");
	}
}

/* Since when and how often, for every run that is stuck. */
static void print_failures(
	const struct report *report, const struct report_row *rows, size_t count, FILE *file)
{
	for (size_t i = 0; i < count; i++) {
		char *text CLEANUP(mem_done) = failures_text(rows[i].run, report->inventory->now_s);

		if (text)
			(void)fprintf(file, "%s: %s\n", rows[i].cells[COLUMN_RUN], text);
	}
}

/* What the space is held by, as far as it was measured. */
static void print_space(const struct report_totals *totals, FILE *file)
{
	char *due CLEANUP(mem_done) = report_size_text(totals->due_bytes);
	char *kept CLEANUP(mem_done) = report_size_text(totals->kept_bytes);
	char *pinned CLEANUP(mem_done) = report_size_text(totals->pinned_bytes);
	char runs[COUNT_TEXT];

	if (totals->measured + totals->cut == 0)
		return;
	(void)fprintf(file, "on disk: %s to be freed, %s kept, of it %s pinned", due, kept, pinned);
	if (totals->unmeasured)
		(void)fprintf(
			file, "; not measured: %s", count_format(runs, totals->unmeasured, "run"));
	if (totals->cut)
		(void)fprintf(file, ", %zu of them for want of time or rights ('>': at least)",
			totals->cut);
	(void)fputc('\n', file);
}

void report_totals_line(const struct report *report, FILE *file)
{
	struct report_totals totals = report_count(report);
	char *bytes CLEANUP(mem_done) = report_size_text(totals.bytes_freed);
	char runs[COUNT_TEXT];

	(void)count_format(runs, totals.runs, "run");
	if (report->kind == REPORT_PLAN)
		(void)fprintf(file, "%s: %zu to reap, %zu to stop, %zu kept", runs, totals.reap,
			totals.stop, totals.keep);
	else
		(void)fprintf(file,
			"%s: %zu reaped, %zu partial, %zu failed, %zu stopped, %zu kept; %s "
			"freed in "
			"%.1fs",
			runs, totals.reaped, totals.partial, totals.failed, totals.stopped,
			totals.keep, bytes, (double)report->took_ms / 1000.0);
	if (totals.hidden)
		(void)fprintf(file, "; %zu not shown", totals.hidden);
	(void)fputc('\n', file);
	print_space(&totals, file);
}

/* What a pass was kept from by a signal, its time or --max, not by what the runs are. */
static void print_put_off(const struct report *report, FILE *file)
{
	const struct inventory *inventory = report->inventory;
	char runs[COUNT_TEXT];
	size_t count = 0;

	for (size_t i = 0; i < inventory->run_count; i++)
		count += inventory->runs[i]->decision.reason == REASON_DEFERRED;
	if (report->kind == REPORT_PASS && count)
		(void)fprintf(file, "left for the next pass: %s that this one did not come to\n",
			count_format(runs, count, "due run"));
}

/* Of a visit: processes that may not be looked at are told, and keep nothing. */
static bool seen_in_part(const struct source *source)
{
	return source->ok == TRI_UNKNOWN && source->error && text_equal(source->name, "processes");
}

void report_blindness(const struct inventory *inventory, FILE *file)
{
	for (size_t i = 0; i < inventory->source_count; i++) {
		const struct source *source = &inventory->sources[i];
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

static void rows_done(struct report_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		report_row_done(&rows[i]);
}

void report_table(const struct report *report, FILE *file)
{
	struct report_selection selection CLEANUP(report_selection_done);
	struct report_row *rows CLEANUP(mem_done) = NULL;

	print_visited(report->settings, file);
	report_select_table(report, &selection);
	rows = mem_grow(NULL, selection.count, sizeof(*rows));
	for (size_t i = 0; i < selection.count; i++)
		report_row_fill(&rows[i], report, selection.runs[i]);
	if (selection.count) {
		print_rows(report, rows, selection.count, file);
		print_words(rows, selection.count, file);
		print_failures(report, rows, selection.count, file);
	}
	report_totals_line(report, file);
	print_put_off(report, file);
	report_limits(report, file);
	report_hooks(report, file);
	report_pins(report, file);
	report_blindness(report->inventory, file);
	rows_done(rows, selection.count);
}
