/*
 * The marker of a run that is being taken apart: anybody may rewrite it meanwhile without asking the
 * database. Private to apply*.c.
 */
#pragma once

#include "apply_teardown.h"

/* Whether two markers, or none (NULL), say the same about beginning, end and time budget. */
bool marker_says_same(const struct record *now, const struct record *then);

/* MUST 10: whether the marker says something else than it said at the second look, or is gone. */
enum tri marker_changed(struct teardown *teardown);

/* Removes it, when it is still that of this run. 1, 0 there was none, -errno with teardown->error. */
int marker_drop(struct teardown *teardown);

/* A marker that is the run's only record learns the end too; otherwise the next look forgets it. 0, or
 * -errno with teardown->error. */
int marker_stopped(struct teardown *teardown, int64_t now_s);
