#include "error.h"

#include <stdarg.h>

#undef error_set
#undef error_say

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list args;
	size_t used;

	assert(code > 0);
	if (!error || error->code)
		return -code;
	error->code = code;
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	used = strlen(error->text);
	(void)snprintf(error->text + used, sizeof(error->text) - used, ": %s", strerror(code));
	return -code;
}

int error_say(struct error *error, int code, const char *format, ...)
{
	va_list args;

	assert(code > 0);
	if (!error || error->code)
		return -code;
	error->code = code;
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -code;
}

void error_prefix(struct error *error, const char *format, ...)
{
	char text[ERROR_TEXT];
	va_list args;
	size_t used;
	int written;

	if (!error || !error->code)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	used = strlen(text);
	written = snprintf(text + used, sizeof(text) - used, ": %s", error->text);
	assert(written >= 0); /* what does not fit is cut */
	memcpy(error->text, text, sizeof(text));
}
