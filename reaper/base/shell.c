#include "shell.h"

static bool is_plain(const char *word)
{
	return *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_-+=.,:/@%")];
}

static bool is_harmless(const char *word)
{
	char *shown CLEANUP(mem_done) = text_escape_prose(word);

	return text_equal(shown, word);
}

static void add_in_quotes(struct text *text, const char *word)
{
	text_add(text, "'");
	for (const char *c = word; *c; c++)
		if (*c == '\'')
			text_add(text, "'\\''");
		else
			text_add_n(text, c, 1);
	text_add(text, "'");
}

/* Octal: it ends after three digits, whatever follows. */
static void add_in_escapes(struct text *text, const char *word)
{
	text_add(text, "$'");
	for (const char *c = word; *c; c++)
		if (*c == '\'' || *c == '\\' || (unsigned char)*c < 0x20 ||
			(unsigned char)*c >= 0x7f)
			text_addf(text, "\\%03o", (unsigned char)*c);
		else
			text_add_n(text, c, 1);
	text_add(text, "'");
}

void text_add_quoted(struct text *text, const char *word)
{
	if (is_plain(word))
		text_add(text, word);
	else if (is_harmless(word))
		add_in_quotes(text, word);
	else
		add_in_escapes(text, word);
}
