#include "html_text.h"

#include "base/text.h"
#include "report_columns.h"

void html_text(FILE *file, const char *text)
{
	char *shown CLEANUP(mem_done) = text_escape(text);

	for (const char *at = shown; *at; at++)
		switch (*at) {
		case '&':
			(void)fputs("&amp;", file);
			break;
		case '<':
			(void)fputs("&lt;", file);
			break;
		case '>':
			(void)fputs("&gt;", file);
			break;
		case '"':
			(void)fputs("&quot;", file);
			break;
		case '\'':
			(void)fputs("&#39;", file);
			break;
		default:
			(void)fputc(*at, file);
		}
}

void html_size(FILE *file, int64_t bytes)
{
	char *text CLEANUP(mem_done) = report_size_text(bytes);
	size_t unit = strlen(text) - 1;

	(void)fprintf(file, "%.*s&nbsp;<small>%c%s</small>", (int)unit, text, text[unit],
		text[unit] == 'B' ? "" : "iB");
}

void html_count(FILE *file, int64_t count)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%lld", (long long)count);

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			(void)fputc(',', file);
		(void)fputc(digits[i], file);
	}
}
