/*
 * What passes did over some days, and what is there now: rows of the tally and an inventory in, figures
 * out. It reads no clock, no database and no disk. Days are days of UTC, counted from the epoch.
 */
#pragma once

#include "leak.h"
#include "report_view.h"

struct tally;

enum {
	STATS_DAYS = 28,               /* where nobody asks for another time */
	STATS_CAUSES = LEAK_COUNT + 1, /* the last: nobody's doing, a person asked for it */
	STATS_LARGEST = 8,
	STATS_DAY_S = 86400
};

struct stats_cause {
	int64_t leaks;  /* counted as in the metrics (leak.h) */
	int64_t reaped; /* runs that were removed for it */
	int64_t bytes;  /* that were freed for it, also of runs that are not gone yet */
};

struct stats_figures {
	int64_t registered; /* runs that were put on record */
	int64_t partial, failed, stopped;
	struct stats_cause causes[STATS_CAUSES];
};

/* A day, or some, which one bar stands for. */
struct stats_span {
	int64_t day, days;
	struct stats_figures figures;
};

/* Some of the runs that are there. */
struct stats_heap {
	size_t runs, unmeasured;
	int64_t bytes; /* as far as they were measured */
};

struct stats {
	int64_t now_s;
	int64_t day, days; /* the first, and how many with today */
	struct stats_span *spans;
	size_t span_count;
	struct stats_figures total;
	struct stats_figures before; /* as many days before them */
	bool before_known;           /* there is anything on record of those */

	struct stats_heap all, pinned, states[STATE_COUNT];
	const struct run *largest[STATS_LARGEST]; /* the inventory's */
	size_t largest_count;
};

/*
 * Makes room for the days from the first that begins at `since_s` or later (0: STATS_DAYS with today)
 * until today; one bar for each as long as there are not many. stats_done in any case.
 */
void stats_begin(struct stats *ret_stats, int64_t since_s, int64_t now_s);
void stats_done(struct stats *stats);

/* The first day of which rows are wanted. */
int64_t stats_first_day(const struct stats *stats);

/* Adds a row; of what lies before the first day or after today nothing. */
void stats_add(struct stats *stats, int64_t day, const struct tally *tally);

/* What is there, as an inventory found it, which must outlive these figures. */
void stats_see(struct stats *stats, const struct inventory *inventory);

/* What all causes come to. */
struct stats_cause stats_sum(const struct stats_figures *figures);

/* Leaks in a hundred runs that were put on record; negative: there were none. */
double stats_leak_percent(const struct stats_figures *figures);

/* The name of a leak, or "other". */
const char *stats_cause_name(size_t cause);

/* "2026-11-29". Returns buffer. */
enum { STATS_DATE = 11 };
const char *stats_date(char buffer[STATS_DATE], int64_t day);
