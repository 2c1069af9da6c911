/*
 * How far a command has come. Whoever works keeps it up to date; whoever wants to know has it told.
 * It decides nothing.
 */
#pragma once

#include "base/base.h"

enum progress_stage { PROGRESS_LOOKING, PROGRESS_MEASURING, PROGRESS_ACTING };

struct progress {
	enum progress_stage stage;
	size_t done, all;  /* runs */
	const char *run;   /* that it is at; NULL: none */
	const char *doing; /* "delete", while acting; NULL: nothing to say */
	int64_t bytes_freed;
	void (*tell)(struct progress *progress); /* whenever anything above has changed */
};

/* NULL: nobody wants to know. */
void progress_begin(struct progress *progress, enum progress_stage stage, size_t all);
void progress_run(struct progress *progress, size_t done, const char *run);
void progress_doing(struct progress *progress, const char *doing);
