/*
 * How wide text is on a terminal: a character takes no, one or two columns (wcwidth(3), in glibc's
 * C.UTF-8 whatever locale we run in). Text is expected escaped (text.h); what is no character counts
 * one column a byte.
 */
#pragma once

#include "base.h"

size_t display_width(const char *text);

/*
 * The text itself where it takes at most `width` columns; else its beginning and its end with `gap`
 * between them, in at most that many. The caller owns it.
 */
char *display_cut(const char *text, size_t width, const char *gap);
