/* Private to the page of statistics: its plots, as SVG that stands in the page itself. */
#pragma once

#include "stats.h"

struct stats_plot {
	const char *what; /* "bytes freed by day and cause", for who does not see it */
	int64_t (*value)(const struct stats_cause *cause);
	bool bytes; /* values are such, not counts */
};

/* A bar for each span, and in it a part for each cause (CSS classes c0, c1, …). */
void report_stats_plot(const struct stats *stats, const struct stats_plot *plot, FILE *file);
