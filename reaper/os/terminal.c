#include "terminal.h"

#include "base/text.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>

enum { COLUMNS_USUAL = 80, COLUMNS_MAX = 10000 };

static size_t columns_of(int fd)
{
	const char *told = getenv("COLUMNS");
	struct winsize size = { 0 };
	int64_t columns;

	if (told && text_to_int64(told, 1, COLUMNS_MAX, &columns) == 0)
		return (size_t)columns;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return COLUMNS_USUAL;
}

static bool is_clever(void)
{
	const char *type = getenv("TERM");

	return type && *type && !text_equal(type, "dumb");
}

static bool colour_refused(void)
{
	const char *none = getenv("NO_COLOR");

	return none && *none;
}

/* One that is not installed is no locale, also for the terminal's other programs. */
static bool speaks_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8 = locale && text_equal(nl_langinfo_l(CODESET, locale), "UTF-8");

	if (locale)
		freelocale(locale);
	return utf8;
}

struct terminal terminal_ask(int fd)
{
	if (!isatty(fd))
		return (struct terminal){ 0 };
	return (struct terminal){
		.columns = columns_of(fd),
		.colour = is_clever() && !colour_refused(),
		.controls = is_clever(),
		.utf8 = speaks_utf8(),
	};
}
