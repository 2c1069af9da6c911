#include "base.h"

#include <stdarg.h>

static _Noreturn void mem_exhausted(void)
{
	static const char text[] = "sbx-reap: out of memory\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}

void mem_done(void *pointer_to_pointer)
{
	void **pointer = pointer_to_pointer;

	free(*pointer);
	*pointer = NULL;
}

void fd_done(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void file_done(FILE **file)
{
	if (*file)
		(void)fclose(*file);
	*file = NULL;
}

void *mem_new(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		mem_exhausted();
	return memory;
}

void *mem_grow(void *old, size_t count, size_t element)
{
	void *memory = reallocarray(old, count ? count : 1, element);

	if (!memory)
		mem_exhausted();
	return memory;
}

char *mem_dup(const char *text)
{
	char *copy;

	if (!text)
		return NULL;
	copy = strdup(text);
	if (!copy)
		mem_exhausted();
	return copy;
}

char *mem_printf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		mem_exhausted();
	return text;
}
