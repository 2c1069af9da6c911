#include "arena.h"

#include <stdarg.h>

enum { ARENA_BLOCK = 64 * 1024 };

struct arena_block {
	struct arena_block *before;
	size_t used, size;
	max_align_t data[];
};

static struct arena_block *arena_block_new(struct arena *arena, size_t size)
{
	size_t room = size > ARENA_BLOCK ? size : ARENA_BLOCK;
	struct arena_block *block = mem_new(sizeof(*block) + room);

	block->before = arena->last;
	block->size = room;
	arena->last = block;
	return block;
}

void *arena_new(struct arena *arena, size_t size)
{
	size_t step = sizeof(max_align_t);
	size_t rounded = (size + step - 1) / step * step;
	struct arena_block *block = arena->last;
	void *memory;

	if (!block || block->size - block->used < rounded)
		block = arena_block_new(arena, rounded);
	memory = (char *)block->data + block->used;
	block->used += rounded;
	return memory;
}

char *arena_dup_n(struct arena *arena, const void *bytes, size_t length)
{
	char *copy = arena_new(arena, length + 1);

	if (length)
		memcpy(copy, bytes, length);
	return copy;
}

char *arena_dup(struct arena *arena, const char *text)
{
	return text ? arena_dup_n(arena, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args, again;
	char *text;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	assert(length >= 0);
	text = arena_new(arena, (size_t)length + 1);
	(void)vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(args);
	return text;
}

void arena_done(struct arena *arena)
{
	while (arena->last) {
		struct arena_block *before = arena->last->before;

		free(arena->last);
		arena->last = before;
	}
}
