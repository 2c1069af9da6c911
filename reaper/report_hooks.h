/*
 * What hooks are owed, and what came of them, in each form of the report.
 */
#pragma once

#include "report.h"

struct json_out;

/*
 * Of a plan: for how many runs each hook would be run, and for which. Of both: what failed, a line each,
 * a few of them. Nothing where there is nothing of it.
 */
void report_hooks(const struct report *report, FILE *file);

/*
 * "failed twice in a row since …, last …, is tried again …: why", escaped; of one that has not failed,
 * what it waits for, NULL: the next pass. The caller frees it.
 */
char *report_duty_text(const struct report *report, const struct duty *duty);

/* "credentials" of a run, an object. */
void report_json_credentials(
	struct json_out *json, const struct report *report, const struct run *run);

/* "hooks": what is left to do, also for runs that are gone. */
void report_json_hooks(struct json_out *json, const struct report *report);

/* Whether a hook failed, is not set any more though it is owed, or a pass did not come to revoke. */
bool report_hooks_need_person(const struct report *report);

/* By kind and state; DUTY_DONE stays 0. What waits for the end of a run is not due, unless it failed. */
void report_count_duties(const struct report *report, int64_t ret_counts[DUTY_KINDS][DUTY_STATES]);
