/* One entry of the history as JSON, the same wherever it is shown. */
#pragma once

#include "base/json_out.h"
#include "state/history.h"

void history_json(struct json_out *json, const struct history_entry *entry);
