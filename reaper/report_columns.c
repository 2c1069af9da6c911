#include "report_columns.h"

#include "base/display.h"
#include "base/text.h"
#include "base/timespan.h"
#include "disk.h"

enum {
	GAP = 2,         /* between two columns */
	WIDTH_MAX = 200, /* what eyes follow along a line */
	PIPE_MAX = 40,   /* what is longer moves the rest of its own row only */
	CUT_LEAST = 10,  /* what all basic columns at their widest leave of 80 */
	CUT_BAD = 8,     /* shorter than that a name says nothing, */
	EXTRA_LEAST = 16 /* nor does a path or a sentence */
};

char *report_size_text(int64_t bytes)
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 0)
		return mem_dup("-");
	for (; value >= 1023.5 && unit + 1 < sizeof(units) - 1; unit++)
		value /= 1024;
	return mem_printf(unit && value < 9.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

/*
 * What could not be measured to the end is at least so much, or nobody knows; what an earlier pass
 * measured may be other by now.
 */
static char *measured_text(const struct run *run, char *(*text)(int64_t bytes))
{
	char *least CLEANUP(mem_done) = NULL, *noted CLEANUP(mem_done) = NULL;

	if (run->noted) {
		noted = text(run->noted->bytes);
		return mem_printf("~%s", noted);
	}
	if (run->bytes >= 0 || !run->measured || !disk_run_takes_space(run))
		return text(run->bytes);
	if (run->bytes_least <= 0)
		return mem_dup("?");
	least = text(run->bytes_least);
	return mem_printf(">%s", least);
}

/* The outcome of a run that has one says that it is finished. */
static char *state_text(const struct run *run)
{
	enum report_state state = report_state_of(run);

	if (state == STATE_FINISHED && run->facts.outcome != OUTCOME_NONE)
		return mem_dup(outcome_name(run->facts.outcome));
	return mem_dup(report_state_name(state));
}

static char *age_text(const struct run *run, int64_t now_s)
{
	char span[TIMESPAN_TEXT];

	return mem_dup(
		run->age_since_s ? timespan_format_short(span, now_s - run->age_since_s) : "-");
}

static char *due_text(const struct run *run, int64_t now_s)
{
	char span[TIMESPAN_TEXT];

	if (!run->decision.due_s)
		return mem_dup("-");
	if (run->decision.due_s <= now_s)
		return mem_dup("now");
	return mem_dup(timespan_format_short(span, run->decision.due_s - now_s));
}

static char *pin_text(const struct run *run, int64_t now_s)
{
	char span[TIMESPAN_TEXT];

	if (run->facts.pin == PIN_UNREADABLE)
		return mem_dup("unreadable");
	if (!run->pin)
		return mem_dup("-");
	if (!run->pin->until_s)
		return mem_dup("always");
	return mem_dup(timespan_format_short(span, run->pin->until_s - now_s));
}

/*
 * What a pass did comes in the place of what it meant to do. When the database fails in the middle,
 * there are runs that it did not come to.
 */
const char *report_decision(const struct report *report, const struct run *run)
{
	if (report->kind == REPORT_PASS && run->decision.verdict != VERDICT_KEEP &&
		run->result != RESULT_NONE)
		return report_stopped(run) ? "stopped" : result_name(run->result);
	return verdict_name(run->decision.verdict);
}

static char *text_or_dash(const char *text)
{
	return text && *text ? text_escape(text) : mem_dup("-");
}

/* "/srv/git/app", not the git directory in it. */
static char *repo_text(const struct run *run)
{
	static const char git[] = "/.git";

	for (size_t i = 0; i < run->resource_count; i++) {
		const char *repo = run->resources[i].repo;
		char *path CLEANUP(mem_done) = mem_dup(repo);

		if (!path || run->resources[i].kind != KIND_WORKTREE)
			continue;
		if (text_ends(path, git))
			path[strlen(path) - strlen(git)] = 0;
		return text_or_dash(path);
	}
	return mem_dup("-");
}

/* The process or container that lives in it, or what a lock on its worktree says. */
static char *holder_text(const struct run *run)
{
	if (run->live_note)
		return text_escape_prose(run->live_note);
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].lock == LOCK_HELD && run->resources[i].note)
			return text_escape_prose(run->resources[i].note);
	return mem_dup("-");
}

static char *bytes_text(int64_t bytes)
{
	return bytes < 0 ? mem_dup("-") : mem_printf("%lld", (long long)bytes);
}

void report_row_fill(struct report_row *row, const struct report *report, const struct run *run)
{
	int64_t now_s = report->inventory->now_s;

	*row = (struct report_row){
		.run = run,
		.cells = {
			[COLUMN_RUN] = text_escape(run->id),
			[COLUMN_STATE] = state_text(run),
			[COLUMN_AGE] = age_text(run, now_s),
			[COLUMN_SIZE] = measured_text(run, report_size_text),
			[COLUMN_DECISION] = mem_dup(report_decision(report, run)),
			[COLUMN_REASON] = mem_dup(reason_name(run->decision.reason)),
			[COLUMN_DUE] = due_text(run, now_s),
			[COLUMN_PIN] = pin_text(run, now_s),
			[COLUMN_BY] = text_or_dash(run->pin ? run->pin->by : NULL),
			[COLUMN_REPO] = repo_text(run),
			[COLUMN_BYTES] = measured_text(run, bytes_text),
			[COLUMN_HOLDER] = holder_text(run),
		},
	};
}

void report_row_done(struct report_row *row)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		free(row->cells[i]);
}

/* ----------------------------------------------------------------------------------- the layout */

/* What the columns would like to have. */
struct wishes {
	size_t widths[COLUMN_COUNT];
	bool empty[COLUMN_COUNT]; /* nothing but dashes in it */
};

static void wish(struct wishes *wishes, const struct report_row *rows, size_t count)
{
	for (size_t column = 0; column < COLUMN_COUNT; column++) {
		size_t widest = display_width(report_column_heading((enum report_column)column));

		wishes->empty[column] = true;
		for (size_t i = 0; i < count; i++) {
			size_t width = display_width(rows[i].cells[column]);

			widest = width > widest ? width : widest;
			wishes->empty[column] &= text_equal(rows[i].cells[column], "-");
		}
		wishes->widths[column] = widest;
	}
}

static size_t total(const struct report_layout *layout)
{
	size_t width = layout->count ? GAP * (layout->count - 1) : 0;

	for (size_t i = 0; i < layout->count; i++)
		width += layout->widths[layout->columns[i]];
	return width;
}

static void add(struct report_layout *layout, enum report_column column, size_t width)
{
	layout->widths[column] = width;
	layout->columns[layout->count++] = column;
}

static void drop(struct report_layout *layout, enum report_column column)
{
	size_t kept = 0;

	for (size_t i = 0; i < layout->count; i++)
		if (layout->columns[i] != column)
			layout->columns[kept++] = layout->columns[i];
	layout->count = kept;
}

/* Takes what is too much from one column, and leaves it at least so much. */
static void squeeze(
	struct report_layout *layout, enum report_column column, size_t width, size_t least)
{
	size_t now = total(layout), *own = &layout->widths[column];
	size_t excess = now > width ? now - width : 0;

	if (*own <= least)
		return;
	*own = *own - least > excess ? *own - excess : least;
}

/* Until the rest of them fits the names, cut only where it must be. */
static void fit(struct report_layout *layout, const struct wishes *wishes, size_t width)
{
	static const enum report_column dull[] = { COLUMN_PIN, COLUMN_DUE, COLUMN_SIZE },
					least[] = { COLUMN_PIN, COLUMN_SIZE, COLUMN_AGE,
						COLUMN_STATE, COLUMN_DUE };

	for (size_t i = 0; i < ARRAY_SIZE(dull) && total(layout) > width; i++)
		if (wishes->empty[dull[i]])
			drop(layout, dull[i]);
	squeeze(layout, COLUMN_RUN, width, CUT_LEAST);
	for (size_t i = 0; i < ARRAY_SIZE(least) && total(layout) > width; i++)
		drop(layout, least[i]);
	layout->widths[COLUMN_RUN] = wishes->widths[COLUMN_RUN];
	squeeze(layout, COLUMN_RUN, width, CUT_BAD);
}

/* What the basic columns leave of a wide terminal. */
static void extend(struct report_layout *layout, const struct wishes *wishes, size_t width)
{
	size_t limit = width < WIDTH_MAX ? width : WIDTH_MAX;

	for (int i = COLUMNS_BASIC; i < COLUMN_COUNT; i++) {
		enum report_column column = (enum report_column)i;
		size_t room = limit > total(layout) + GAP ? limit - total(layout) - GAP : 0;
		size_t wanted = wishes->widths[column];
		bool may_be_cut = column == COLUMN_REPO || column == COLUMN_HOLDER;

		if (wishes->empty[column] || (wanted > room && (!may_be_cut || room < EXTRA_LEAST)))
			continue;
		add(layout, column, wanted < room ? wanted : room);
	}
}

/* The columns are what somebody asked for: all of them are shown, cut or not. */
static void squeeze_all(struct report_layout *layout, size_t width)
{
	static const enum report_column cut[] = { COLUMN_HOLDER, COLUMN_REPO, COLUMN_BY,
		COLUMN_RUN };

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++)
		for (size_t j = 0; j < layout->count; j++)
			if (layout->columns[j] == cut[i])
				squeeze(layout, cut[i], width, EXTRA_LEAST);
}

void report_layout_choose(struct report_layout *ret_layout, const struct report *report,
	const struct report_row *rows, size_t count)
{
	const struct report_view *view = report->view;
	size_t width = report->terminal.columns;
	bool chosen = view && view->column_count;
	struct wishes wishes;

	wish(&wishes, rows, count);
	*ret_layout = (struct report_layout){ 0 };
	for (size_t i = 0; i < (chosen ? view->column_count : COLUMNS_BASIC); i++) {
		enum report_column column = chosen ? view->columns[i] : (enum report_column)i;
		size_t wanted = wishes.widths[column];

		add(ret_layout, column, width || wanted < PIPE_MAX ? wanted : PIPE_MAX);
	}
	if (!width)
		return;
	if (chosen) {
		squeeze_all(ret_layout, width);
		return;
	}
	fit(ret_layout, &wishes, width);
	extend(ret_layout, &wishes, width);
}
