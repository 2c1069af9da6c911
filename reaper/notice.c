#include "notice.h"
#include "base/text.h"
#include "os/journal.h"

#include <stdarg.h>

PRINTF_LIKE(2, 0)
static void say(const char *priority, const char *format, va_list args)
{
	(void)fflush(stdout); /* in the order in which it was said, also in one file */
	(void)fprintf(stderr, "%ssbx-reap: ", priority);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
}

void notice(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", format, args);
	va_end(args);
}

void alert(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(journal_has(STDERR_FILENO) ? "<3>" : "", format, args);
	va_end(args);
}

void print_escaped(const char *text, int width)
{
	char *shown CLEANUP(mem_done) = text_escape(text);

	(void)printf("%-*s", width, shown);
}
