/*
 * The result of looking, or of a pass, in each form that people and programs read.
 */
#pragma once

#include "exit_code.h"
#include "model.h"
#include "os/terminal.h"
#include "report_view.h"

enum report_kind { REPORT_PLAN /* list, --dry-run */, REPORT_PASS /* what was done */ };

struct report {
	enum report_kind kind;
	const struct inventory *inventory;
	const char *pass; /* its identifier */
	int64_t took_ms;
	const struct settings *settings;
	const struct report_view *view; /* NULL: everything */
	struct terminal terminal;       /* that the table is written to; zeroed: to none */
};

/* What all runs come to, shown or not. */
struct report_totals {
	size_t runs, keep, stop, reap;           /* decided */
	size_t reaped, stopped, partial, failed; /* done */
	size_t hidden;                           /* by the view */
	int64_t bytes_freed;
	size_t measured, unmeasured; /* runs that are there, by whether their size is known */
	size_t cut;                  /* of the unmeasured: those that were tried */
	/* Of those measured: what goes, and what stays; what is pinned is a part of that. */
	int64_t due_bytes, kept_bytes, pinned_bytes;
};
struct report_totals report_count(const struct report *report);

/* Whether a person is needed for a run that is kept for this reason. */
bool reason_needs_person(enum reason reason);

/* Whether a run is told of: of a plan every one, of a pass those that were acted on or need a person. */
bool report_shows(const struct report *report, const struct run *run);

/* What it takes on disk: measured now, or, where `noted` says so, by an earlier pass. -1: not known. */
int64_t report_bytes(const struct run *run);

/* Whether this pass stopped it. */
bool report_stopped(const struct run *run);

/* What is done to it, or was: "keep" "reap" "stop" "reaped" "stopped" "partial" "failed". */
const char *report_decision(const struct report *report, const struct run *run);

/* What it has to say beyond its reason, not escaped; NULL: nothing. */
const char *report_words(const struct run *run);

/* What all runs come to, in a line, and a second one of the space where that is known. */
void report_totals_line(const struct report *report, FILE *file);

/* What could not be seen, a line each. */
void report_blindness(const struct inventory *inventory, FILE *file);

/*
 * What limits the whole plan, a line each: a hold, the brake, a filesystem that is too full. Nothing
 * where nothing does.
 */
void report_limits(const struct report *report, FILE *file);

/* 0, 1 or 69 by what was found and done. */
enum exit_code report_exit_code(const struct report *report);

/* The name of this host, as the JSON has it; "" when there is none. Returns buffer. */
enum { HOST_TEXT = 256 };
const char *report_host(char buffer[HOST_TEXT]);

/* The whole as one JSON object, DESIGN.md section 5. */
void report_json(const struct report *report, FILE *file);

struct json_out;
/* One run as an object: the element of `runs`, and what `why --json` begins with; left open. */
void report_json_run(struct json_out *json, const struct report *report, const struct run *run);

/*
 * The table: of a plan every run, of a pass those that were acted on or need a person; then totals,
 * and what could not be seen.
 */
void report_table(const struct report *report, FILE *file);
