/*
 * Durations and moments as people write them. Durations follow systemd.time(7) ("90s", "15m",
 * "1d12h", "2w", "1h 30min", a bare number is seconds); moments are RFC 3339 ("…Z" or an offset),
 * "@EPOCH", or "+DUR"/"-DUR" from now.
 */
#pragma once

#include "base.h"
#include "error.h"

enum { TIMESPAN_TEXT = 64 }; /* room for what the formatting functions write */
#define TIMESPAN_MAX_S (INT64_C(100) * 366 * 86400) /* a hundred years */
#define MOMENT_MAX_S INT64_C(253402300799)          /* 9999-12-31T23:59:59Z */

/* Parses a duration of 0 to a hundred years. -EINVAL or -ERANGE, with an error naming the text. */
int timespan_parse_ms(const char *text, int64_t *ret_ms, struct error *error);

/* The same where only whole seconds make sense ("500ms" is refused). */
int timespan_parse_s(const char *text, int64_t *ret_s, struct error *error);

/* Parses a moment into epoch seconds, 0 to the year 9999. Fractions of a second are cut off. */
int moment_parse_s(const char *text, int64_t now_s, int64_t *ret_s, struct error *error);

/* "2h 5min" with at most two units; negative spans get a '-'. Returns buffer. */
const char *timespan_format(char buffer[TIMESPAN_TEXT], int64_t span_s);

/*
 * "2h5m", "13d": for tables, at most five characters up to 9999 days. Rounded down, and the second unit
 * is left out where the first has two digits. Returns buffer.
 */
const char *timespan_format_short(char buffer[TIMESPAN_TEXT], int64_t span_s);

/* "2026-11-29T15:33:00Z". Returns buffer. */
const char *moment_format(char buffer[TIMESPAN_TEXT], int64_t moment_s);
