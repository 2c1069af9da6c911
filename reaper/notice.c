#include "notice.h"
#include "base/text.h"

#include <stdarg.h>
#include <sys/stat.h>

/* systemd.exec(5), "$JOURNAL_STREAM": device and inode of what leads to the journal. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char *name CLEANUP(mem_done) = NULL;
	struct stat st;

	if (!stream || fstat(fd, &st) < 0)
		return false;
	name = mem_printf(
		"%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return text_equal(stream, name);
}

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
	say(is_journal(STDERR_FILENO) ? "<3>" : "", format, args);
	va_end(args);
}

void print_escaped(const char *text, int width)
{
	char *shown CLEANUP(mem_done) = text_escape(text);

	(void)printf("%-*s", width, shown);
}
