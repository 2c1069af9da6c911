/*
 * Pins that are about to end, and that hold too much: what is said of them before anybody is surprised.
 */
#pragma once

#include "report.h"

/* Whether it ends within a day. NULL: no. */
bool pin_ends_soon(const struct pin *pin, int64_t now_s);

/* Whether no pass before this one could say so of the run's pin: it is said once in the journal. */
bool pin_end_is_news(const struct inventory *inventory, const struct run *run);

/* "the pin of r1 by anna ends at … (in 5h): why", escaped; it ends. The caller frees it. */
char *pin_end_text(const struct run *run, int64_t now_s);

/* Whether they hold more than pinned_bytes_warn, by what was measured. */
bool pins_are_too_large(const struct report *report);

/*
 * "pins hold 60G, more than pinned_bytes_warn = 50G"; NULL: they do not. The caller frees it.
 */
char *pins_too_large_text(const struct report *report);

/* A line for each pin that ends within a day, the first one first, of many the first few; then the above. */
void report_pins(const struct report *report, FILE *file);
