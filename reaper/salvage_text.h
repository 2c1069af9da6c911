/*
 * One salvage as text and as JSON, the same wherever it is shown.
 */
#pragma once

#include "base/json_out.h"
#include "model.h"

/* When its time is over: 0 when the policy's is longer than any date. */
int64_t salvage_ends_s(const struct salvage *salvage, const struct policy_settings *policy);

/* "refs/sbx/salvage/r1 in /srv/git/app/.git", or the path of the archive, escaped. In the arena. */
const char *salvage_where(const struct salvage *salvage, struct arena *arena);

void salvage_json(struct json_out *json, const char *key, const struct salvage *salvage,
	const struct policy_settings *policy);

const char *salvage_form_name(enum salvage_form form); /* "commit" "archive" */
