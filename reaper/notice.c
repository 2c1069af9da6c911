#include "notice.h"
#include "base/text.h"

#include <stdarg.h>

void notice(const char *format, ...)
{
	va_list args;

	(void)fflush(stdout); /* in the order in which it was said, also in one file */
	(void)fputs("sbx-reap: ", stderr);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
}

void print_escaped(const char *text, int width)
{
	char *shown CLEANUP(mem_done) = text_escape(text);

	(void)printf("%-*s", width, shown);
}
