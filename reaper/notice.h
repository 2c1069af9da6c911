/*
 * What the commands write for people: remarks on standard error, and text from outside made
 * harmless.
 */
#pragma once

#include "base/base.h"

/* "sbx-reap: …" on standard error, behind what was printed before. */
void notice(const char *format, ...) PRINTF_LIKE(1, 2);

/*
 * The same, to be seen among much else: in the journal at priority err (sd-daemon(3), "<3>").
 */
void alert(const char *format, ...) PRINTF_LIKE(1, 2);

/* Prints text from outside, escaped, on standard output; padded with blanks to width. */
void print_escaped(const char *text, int width);
