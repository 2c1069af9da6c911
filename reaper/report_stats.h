/*
 * The statistics in each form that people and programs read. What a run could have chosen is escaped.
 */
#pragma once

#include "os/terminal.h"
#include "stats.h"

struct json_out;

struct stats_report {
	const struct stats *stats;
	const struct inventory *inventory; /* for what was not seen */
	const char *host;
	struct terminal
		terminal; /* of the text; zeroed: none, and then it is 80 columns of ASCII */
};

void report_stats_text(const struct stats_report *report, FILE *file);
void report_stats_json(const struct stats_report *report, FILE *file);

/*
 * One page that needs nothing but itself: no script, no other file, nothing from a network. It follows
 * the reader's wish for light or dark.
 */
void report_stats_html(const struct stats_report *report, FILE *file);
