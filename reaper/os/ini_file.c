#include "ini_file.h"
#include "base/text.h"

#include <errno.h>
#include <ini.h>

/* inih keeps 49 bytes of a section's name and drops the rest in silence (MAX_SECTION). */
enum { SECTION_MAX = 49 };

struct parser {
	const char *name;
	const char *at, *end; /* what is not read yet */
	unsigned line;        /* the one that inih has */
	ini_entry *entry;
	void *context;
	int result;
	struct error *error;
};

static void parser_stop(struct parser *parser, int result)
{
	char *shown CLEANUP(mem_done) = text_escape(parser->name);

	parser->result = result;
	error_prefix(parser->error, "%.200s:%u", shown, parser->line);
}

static const char *section_fault(const char *line)
{
	const char *end = strchr(line, ']'), *rest;

	if (!end)
		return "']' is missing behind the section's name";
	if (end - line - 1 > SECTION_MAX)
		return "the section's name is longer than 49 bytes";
	rest = end + 1 + strspn(end + 1, " \t\r\n");
	if (*rest && *rest != ';' && *rest != '#')
		return "nothing but a comment may stand behind the section's ']'";
	return NULL;
}

/* What is wrong with a line in ways that inih would pass over in silence, or NULL. */
static const char *line_fault(const char *line, size_t length)
{
	const char *first;

	if (memchr(line, 0, length))
		return "a NUL byte: this is not a text file";
	first = line + strspn(line, " \t\r\n\v\f");
	if (*first == '[')
		return section_fault(first);
	if (*first == '=' || *first == ':')
		return "the key before the '=' is missing";
	return NULL;
}

/* An ini_reader: hands over one whole line, or NULL at the end or when there is something wrong. */
static char *parser_read_line(char *buffer, int room, void *stream)
{
	struct parser *parser = stream;
	const char *newline, *fault;
	size_t length;

	if (parser->at == parser->end || parser->result < 0)
		return NULL;
	parser->line++;
	newline = memchr(parser->at, '\n', (size_t)(parser->end - parser->at));
	length = (size_t)((newline ? newline + 1 : parser->end) - parser->at);
	if (length > INI_LINE_MAX || length >= (size_t)room) {
		parser_stop(parser, error_say(parser->error, EINVAL,
					    "the line is longer than %d bytes", INI_LINE_MAX));
		return NULL;
	}
	memcpy(buffer, parser->at, length);
	buffer[length] = 0;
	parser->at += length;
	fault = line_fault(buffer, length);
	if (fault) {
		parser_stop(parser, error_say(parser->error, EINVAL, "%s", fault));
		return NULL;
	}
	return buffer;
}

static int parser_entry(void *user, const char *section, const char *key, const char *value)
{
	struct parser *parser = user;
	int r = parser->entry(parser->context, section, key, value, parser->line, parser->error);

	if (r < 0)
		parser_stop(parser, r);
	return r >= 0;
}

/*
 * Debian's inih 55 takes its limits at run time: with this one no line within INI_LINE_MAX is cut
 * (its default cuts at 200 bytes and still delivers the value). Multi-line values are off: they
 * would make an indented "key = value" a part of the value before.
 */
static void inih_be_strict(void)
{
	ini_max_line = INI_LINE_MAX + 3;
	ini_allow_multiline = false;
	ini_stop_on_first_error = true;
}

int ini_file_parse(const char *name, const char *text, size_t length, ini_entry *entry,
	void *context, struct error *error)
{
	struct parser parser = {
		.name = name,
		.at = text,
		.end = text + length,
		.entry = entry,
		.context = context,
		.error = error,
	};
	int r;

	if (length > INI_FILE_MAX)
		return error_say(error, EINVAL, "%s: larger than %d bytes", name, INI_FILE_MAX);
	inih_be_strict();
	r = ini_parse_stream(parser_read_line, &parser, parser_entry, &parser);
	if (r < 0) /* -2: its malloc failed, which never fails here, ini.h */
		abort();
	if (r > 0 && parser.result == 0)
		parser_stop(&parser, error_say(error, EINVAL,
					     "neither 'key = value' nor a section nor a comment"));
	return parser.result;
}
