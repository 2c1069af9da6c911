/*
 * The program's verbs, run in children through the same functions as the real one, so that a test
 * may interpose what it likes; and what they said.
 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

enum { PROGRAM_WORDS_MAX = 32 };

struct program {
	const char *config;    /* the settings, for --config */
	const char *output;    /* a file that gets stdout and stderr, anew each time */
	unsigned limit_s;      /* after so long a verb is killed: -SIGALRM; 0: never */
	void (*prepare)(void); /* in the child before the verb; NULL: nothing */
	void (*after)(void);   /* in the child behind the verb; NULL: nothing */
};

/* Starts `sbx-reap WORDS`: no quotes, words are what blanks separate. */
pid_t program_start(const struct program *program, const char *words);

/* Its exit code, or minus the signal that ended it. */
int program_end(pid_t pid);

/* Both. */
int program_run(const struct program *program, const char *format, ...) PRINTF_LIKE(2, 3);

/* All that the last verb said. The caller owns it. */
char *program_said(const struct program *program);

/*
 * A field of a run in what --json printed, as it is written there ("\"reaped\"", "null"), in one of
 * a few buffers that are used in turn; "" when there is no such run.
 */
const char *program_run_field(const char *said, const char *run, const char *field);
