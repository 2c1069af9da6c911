/*
 * A number and what it counts, as a sentence has them.
 */
#pragma once

#include "base.h"

enum { COUNT_TEXT = 64 };

/*
 * "1 run", "2 runs", "0 entries", "3 processes": `noun` is one of them, and its plural follows the rule.
 * Returns buffer.
 */
const char *count_format(char buffer[COUNT_TEXT], int64_t count, const char *noun);
