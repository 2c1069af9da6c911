#include "display.h"

#include "text.h"

#include <locale.h>
#include <wchar.h>

static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= 0x80)
			return false;
	return true;
}

/* The locale of this thread alone, and only while we ask: the rest of the program has none. */
static locale_t locale_enter(locale_t *ret_before)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	*ret_before = utf8 ? uselocale(utf8) : (locale_t)0;
	return utf8;
}

static void locale_leave(locale_t utf8, locale_t before)
{
	if (!utf8)
		return;
	(void)uselocale(before);
	freelocale(utf8);
}

/* The columns of the character at text, and its length in bytes. */
static size_t character_width(const char *text, size_t *ret_length)
{
	mbstate_t state = { 0 };
	wchar_t character;
	int width;

	*ret_length = utf8_length(text);
	if (*ret_length == 0)
		*ret_length = 1;
	if (mbrtowc(&character, text, *ret_length, &state) != *ret_length)
		return 1;
	width = wcwidth(character);
	return width < 0 ? 1 : (size_t)width;
}

static size_t width_of(const char *text)
{
	size_t width = 0, length;

	for (; *text; text += length)
		width += character_width(text, &length);
	return width;
}

size_t display_width(const char *text)
{
	locale_t before, utf8;
	size_t width;

	if (is_ascii(text))
		return strlen(text);
	utf8 = locale_enter(&before);
	width = width_of(text);
	locale_leave(utf8, before);
	return width;
}

/* The bytes at the beginning that take at most `width` columns. */
static size_t beginning_of(const char *text, size_t width)
{
	size_t used = 0, at = 0, length;

	while (text[at]) {
		used += character_width(text + at, &length);
		if (used > width)
			break;
		at += length;
	}
	return at;
}

/* Where the end begins that takes at most `width` columns. */
static const char *end_of(const char *text, size_t width)
{
	size_t rest = width_of(text), length;

	while (rest > width) {
		rest -= character_width(text, &length);
		text += length;
	}
	return text;
}

static char *cut(const char *text, size_t width, const char *gap)
{
	size_t gap_width = width_of(gap), rest, bytes;
	char *beginning CLEANUP(mem_done) = NULL;

	if (width_of(text) <= width)
		return mem_dup(text);
	if (width <= gap_width)
		return mem_printf("%.*s", (int)beginning_of(text, width), text);
	bytes = beginning_of(text, (width - gap_width + 1) / 2);
	beginning = mem_printf("%.*s", (int)bytes, text);
	rest = width - gap_width - width_of(beginning); /* a wide one may have left room */
	return mem_printf("%s%s%s", beginning, gap, end_of(text, rest));
}

char *display_cut(const char *text, size_t width, const char *gap)
{
	locale_t before, utf8;
	char *result;

	if (is_ascii(text) && strlen(text) <= width)
		return mem_dup(text);
	utf8 = locale_enter(&before);
	result = cut(text, width, gap);
	locale_leave(utf8, before);
	return result;
}
