/*
 * Which runs of a report are shown, and in which order.
 */
#pragma once

#include "report.h"

struct report_selection {
	const struct run **runs; /* freed with report_selection_done */
	size_t count;
};
void report_selection_done(struct report_selection *selection);

/* Whether the view of the report takes a run in. */
bool report_view_shows(const struct report *report, const struct run *run);

/* For the table: of a pass only what it acted on or needs a person. By the view's keys, or what matters. */
void report_select_table(const struct report *report, struct report_selection *ret_selection);

/* For programs: all that the view takes in; by its keys, or by identifier. */
void report_select_all(const struct report *report, struct report_selection *ret_selection);
