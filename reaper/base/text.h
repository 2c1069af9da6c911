/*
 * Text: a growing buffer, and what makes bytes that a run could have chosen safe to show.
 */
#pragma once

#include "base.h"

struct text {
	char *data; /* NUL-terminated once anything was added; NULL before */
	size_t length, room;
};

void text_done(struct text *text);
void text_add(struct text *text, const char *more);
void text_add_n(struct text *text, const void *bytes, size_t length);
void text_addf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Adds bytes so that they are one harmless line: control characters, DEL, the backslash, bytes that
 * are not UTF-8, and the invisible or direction-changing code points (U+0080..9F, U+200B..200F,
 * U+2028..202E, U+2060..2069, U+FEFF) become \xNN, byte by byte.
 */
void text_add_escaped(struct text *text, const char *bytes);

/* The same in a new string that the caller owns. */
char *text_escape(const char *bytes);

/*
 * The same, but a backslash stays: for sentences whose parts may be escaped already, as an error's
 * are. Harmless as well, only not unique.
 */
char *text_escape_prose(const char *bytes);

/* The length in bytes of the UTF-8 character at bytes (1..4), or 0 when it is not one. */
size_t utf8_length(const char *bytes);
bool utf8_valid(const char *bytes);

/* Standard base64 with padding; the caller owns the result. */
char *text_base64(const void *bytes, size_t length);

/*
 * Splits off the next word separated by blanks: returns it, or NULL at the end. Writes into line.
 */
char *text_word(char **line);

bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* Whole text as a decimal number within [min, max]: 0, or -EINVAL or -ERANGE. */
int text_to_int64(const char *text, int64_t min, int64_t max, int64_t *ret_value);
