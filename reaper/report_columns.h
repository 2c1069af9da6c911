/*
 * The columns of the table: what stands in each, and which ones fit how wide.
 */
#pragma once

#include "report.h"

struct report_row {
	const struct run *run;
	char *cells[COLUMN_COUNT]; /* escaped; freed with report_row_done */
};
void report_row_fill(struct report_row *row, const struct report *report, const struct run *run);
void report_row_done(struct report_row *row);

/* "1.2G", also 0; "-" for what is not known (negative). The caller frees it. */
char *report_size_text(int64_t bytes);

struct report_layout {
	enum report_column columns[COLUMN_COUNT];
	size_t count;
	size_t widths[COLUMN_COUNT]; /* by column; what is longer is cut on a terminal */
};

/*
 * Those that the view names; else the basic ones, and the rest where the terminal has room for it, of
 * at most 200 columns. What does not fit a terminal is made to: columns that say nothing of any run
 * go first, then names are cut, then less is shown. Where there is no terminal nothing is ever left
 * out.
 */
void report_layout_choose(struct report_layout *ret_layout, const struct report *report,
	const struct report_row *rows, size_t count);
