/*
 * A pass as Prometheus reads it, in the text format for node_exporter's textfile collector. Every name
 * begins with sbx_reap_; what is not known has no sample.
 */
#pragma once

#include "leak.h"
#include "report.h"
#include "state/probe.h"

/* Counts since the database was made. */
struct metrics_totals {
	int64_t reaped[REASON_COUNT], stopped[REASON_COUNT], failed[REASON_COUNT];
	int64_t leaks[LEAK_COUNT];
	int64_t bytes_freed;
};

struct metrics {
	/* NULL: the pass ended before it had seen the host. */
	const struct report *report;
	int64_t now_s, took_ms;
	enum exit_code code;
	/* What it ended for, as a source that did not answer; name NULL: it did not. */
	struct source failed;
	bool booked; /* the database could be read, so that the following is known */
	struct metrics_totals totals;
	int64_t done_s; /* when the last pass ended that had nothing to say; 0: never */
	const struct probe_result *probes;
	size_t probe_count;
};

/* Adds one row of the tally. */
struct tally;
void metrics_count(struct metrics_totals *totals, const struct tally *tally);

/* The counters alone. */
void report_metrics_totals(const struct metrics_totals *totals, FILE *file);

void report_metrics(const struct metrics *metrics, FILE *file);
