/*
 * Memory that is freed all at once: what belongs to one inventory or one reply lives in one arena,
 * so that none of its parts has an owner of its own.
 */
#pragma once

#include "base.h"

struct arena {
	struct arena_block *last;
};

void *arena_new(struct arena *arena, size_t size);      /* zeroed, aligned for any type */
char *arena_dup(struct arena *arena, const char *text); /* NULL gives NULL */
char *arena_dup_n(struct arena *arena, const void *bytes, size_t length); /* NUL is added */
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
void arena_done(struct arena *arena);
