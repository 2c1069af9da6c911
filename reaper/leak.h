/*
 * Why there was something to clean up at all: by which of its ways a run left something behind. The same
 * words and the same count in metrics and statistics.
 */
#pragma once

#include "model.h"

struct tally;

enum leak { LEAK_FINISHED, LEAK_ABANDONED, LEAK_OVER_DEADLINE, LEAK_ORPHAN, LEAK_COUNT };

/* "finished_uncleaned" "abandoned" "over_deadline" "orphan" */
const char *leak_name(enum leak leak);

/* The reason of that name, or REASON_COUNT. */
enum reason leak_reason(const char *name);

/* Whose work a row of the tally is; LEAK_COUNT: nobody's (a person asked for it before it was due). */
enum leak leak_behind(const struct tally *tally);

/*
 * What it counts for as a leak, or LEAK_COUNT: each is counted once. A run that was stopped leaked then,
 * and not again when it is removed.
 */
enum leak leak_counted(const struct tally *tally);
