/*
 * The result of looking, or of a pass, in each form that people and programs read.
 */
#pragma once

#include "exit_code.h"
#include "model.h"

enum report_kind { REPORT_PLAN /* list, --dry-run */, REPORT_PASS /* what was done */ };

struct report {
	enum report_kind kind;
	const struct inventory *inventory;
	const char *pass; /* its identifier */
	int64_t took_ms;
	bool sizes; /* --size: the table has a column for them */
	const struct settings *settings;
};

/* What all runs come to. */
struct report_totals {
	size_t runs, keep, stop, reap, reaped, partial, failed;
	int64_t bytes_freed;
};
struct report_totals report_count(const struct report *report);

/* "active" "finished" "claimed" "unregistered". */
const char *report_state(const struct run *run);

/* Whether a person is needed for a run that is kept for this reason. */
bool reason_needs_person(enum reason reason);

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
