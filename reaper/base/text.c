#include "text.h"

#include <errno.h>
#include <stdarg.h>

void text_done(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}

static void text_reserve(struct text *text, size_t more)
{
	size_t need = text->length + more + 1;

	if (need <= text->room)
		return;
	text->room = need < 2 * text->room ? 2 * text->room : need;
	text->data = mem_grow(text->data, text->room, 1);
}

void text_add_n(struct text *text, const void *bytes, size_t length)
{
	text_reserve(text, length);
	if (length)
		memcpy(text->data + text->length, bytes, length);
	text->length += length;
	text->data[text->length] = 0;
}

void text_add(struct text *text, const char *more)
{
	text_add_n(text, more, strlen(more));
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	assert(length >= 0);
	text_reserve(text, (size_t)length);
	(void)vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
	text->length += (size_t)length;
	va_end(again);
	va_end(args);
}

/* The code point of a character that utf8_length accepted. */
static uint32_t utf8_decode(const unsigned char *b, size_t length)
{
	switch (length) {
	case 1:
		return b[0];
	case 2:
		return (b[0] & 0x1fU) << 6 | (b[1] & 0x3fU);
	case 3:
		return (b[0] & 0x0fU) << 12 | (b[1] & 0x3fU) << 6 | (b[2] & 0x3fU);
	default:
		return (b[0] & 0x07U) << 18 | (b[1] & 0x3fU) << 12 | (b[2] & 0x3fU) << 6 |
		       (b[3] & 0x3fU);
	}
}

size_t utf8_length(const char *bytes)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *b = (const unsigned char *)bytes;
	uint32_t point;
	size_t length;

	if (b[0] < 0x80)
		return b[0] ? 1 : 0;
	length = (b[0] & 0xe0) == 0xc0   ? 2
		 : (b[0] & 0xf0) == 0xe0 ? 3
		 : (b[0] & 0xf8) == 0xf0 ? 4
					 : 0;
	for (size_t i = 1; i < length; i++)
		if ((b[i] & 0xc0) != 0x80)
			return 0;
	if (!length)
		return 0;
	point = utf8_decode(b, length);
	if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return length;
}

bool utf8_valid(const char *bytes)
{
	size_t length;

	for (; *bytes; bytes += length) {
		length = utf8_length(bytes);
		if (!length)
			return false;
	}
	return true;
}

static bool utf8_harmless(const char *bytes, size_t length)
{
	static const struct {
		uint32_t first, last;
	} harmful[] = {
		{ 0x00, 0x1f },
		{ 0x7f, 0x9f },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x2069 },
		{ 0xfeff, 0xfeff },
	};
	uint32_t point = utf8_decode((const unsigned char *)bytes, length);

	for (size_t i = 0; i < ARRAY_SIZE(harmful); i++)
		if (point >= harmful[i].first && point <= harmful[i].last)
			return false;
	return true;
}

static void add_escaped(struct text *text, const char *bytes, bool backslashes)
{
	text_reserve(text, 0);
	text->data[text->length] = 0;
	while (*bytes) {
		size_t length = utf8_length(bytes);

		if (length && utf8_harmless(bytes, length) && !(backslashes && *bytes == '\\')) {
			text_add_n(text, bytes, length);
			bytes += length;
			continue;
		}
		for (length = length ? length : 1; length > 0; length--)
			text_addf(text, "\\x%02x", (unsigned char)*bytes++);
	}
}

void text_add_escaped(struct text *text, const char *bytes)
{
	add_escaped(text, bytes, true);
}

char *text_escape_prose(const char *bytes)
{
	struct text text = { 0 };

	add_escaped(&text, bytes, false);
	return text.data;
}

char *text_escape(const char *bytes)
{
	struct text text = { 0 };

	text_add_escaped(&text, bytes);
	return text.data;
}

char *text_base64(const void *bytes, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *b = bytes;
	char *out = mem_new((length + 2) / 3 * 4 + 1), *o = out;

	for (size_t i = 0; i < length; i += 3) {
		uint32_t group = (uint32_t)b[i] << 16;

		if (i + 1 < length)
			group |= (uint32_t)b[i + 1] << 8;
		if (i + 2 < length)
			group |= b[i + 2];
		*o++ = digits[group >> 18];
		*o++ = digits[group >> 12 & 63];
		*o++ = i + 1 < length ? digits[group >> 6 & 63] : '=';
		*o++ = i + 2 < length ? digits[group & 63] : '=';
	}
	return out;
}

char *text_word(char **line)
{
	char *word = *line + strspn(*line, " \t");
	char *end = word + strcspn(word, " \t");

	if (word == end)
		return NULL;
	*line = *end ? end + 1 : end;
	*end = 0;
	return word;
}

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);

	return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

int text_to_int64(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	const char *digits = text + (*text == '-');
	long long value;
	char *end;

	if (*digits < '0' || *digits > '9')
		return -EINVAL;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}
