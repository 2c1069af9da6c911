/*
 * Failures of a run in a row, as every report tells them.
 */
#pragma once

#include "model.h"

struct json_out;

/* Whether this is a matter for now: it failed, and is due, backs off, or was put off. */
bool run_is_failing(const struct run *run);

/*
 * "failed 3 times in a row since …, last …, is tried again …: why", escaped; why is left out where
 * the run's own error says it. NULL: it has not failed. The caller frees it.
 */
char *failures_text(const struct run *run, int64_t now_s);

/* "failures": null, or an object. */
void failures_json(struct json_out *json, const struct run *run, int64_t now_s);
