/*
 * A line on a terminal that says how far a command has come: it appears when that takes longer than
 * half a second, is rewritten in its place, and cleared when somebody else has something to say.
 */
#pragma once

#include "os/terminal.h"
#include "progress.h"

#include <stdio.h>

struct report_progress {
	struct progress progress; /* to be handed to whoever works */
	FILE *file;
	struct terminal terminal;
	int64_t begun_ms, shown_ms; /* boot clock; shown 0: there is no line now */
};

/*
 * From here on half a second counts. `terminal` is that of the file; where it cannot go back to the
 * beginning of a line nothing is ever shown. Returns what is to be handed on.
 */
struct progress *report_progress_start(
	struct report_progress *progress, FILE *file, struct terminal terminal);

/* Takes the line away, before anything else is written; a CLEANUP, too. */
void report_progress_clear(struct report_progress *progress);
