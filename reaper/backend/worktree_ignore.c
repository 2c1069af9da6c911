#include "worktree_ignore.h"

#include "base/pathname.h"
#include "base/text.h"

#include <ctype.h>

/* [:name:] of a bracket expression (regex(7)), in the C locale. */
static bool class_holds(const char *name, size_t length, int byte)
{
	static const struct {
		const char *name;
		int (*holds)(int);
	} classes[] = {
		{ "alnum", isalnum },
		{ "alpha", isalpha },
		{ "blank", isblank },
		{ "cntrl", iscntrl },
		{ "digit", isdigit },
		{ "graph", isgraph },
		{ "lower", islower },
		{ "print", isprint },
		{ "punct", ispunct },
		{ "space", isspace },
		{ "upper", isupper },
		{ "xdigit", isxdigit },
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strlen(classes[i].name) == length && memcmp(classes[i].name, name, length) == 0)
			return classes[i].holds(byte);
	return false;
}

/* One literal of a bracket expression, with its backslash; *at moves behind it. */
static unsigned char bracket_literal(const char **at, const char *end)
{
	if (**at == '\\' && *at + 1 < end)
		(*at)++;
	return (unsigned char)*(*at)++;
}

/* Matches "[…]" at pattern: its length when it holds the byte, 0 when not or never closed. */
static size_t bracket_match(const char *pattern, const char *end, char text)
{
	const char *at = pattern + 1;
	unsigned char byte = (unsigned char)text;
	bool negated = at < end && (*at == '!' || *at == '^'), found = false;

	at += negated;
	for (const char *first = at; at < end && (*at != ']' || at == first);) {
		const char *close;
		unsigned char low, high;

		if (end - at > 3 && at[0] == '[' && at[1] == ':') {
			close = memmem(at + 2, (size_t)(end - at - 2), ":]", 2);
			if (close) {
				found |= class_holds(at + 2, (size_t)(close - at - 2), byte);
				at = close + 2;
				continue;
			}
		}
		low = high = bracket_literal(&at, end);
		if (end - at > 1 && at[0] == '-' && at[1] != ']') {
			at++;
			high = bracket_literal(&at, end);
		}
		found |= low <= byte && byte <= high;
	}
	if (at >= end)
		return 0;
	return found != negated ? (size_t)(at + 1 - pattern) : 0;
}

/* The length of the pattern's first element when it matches the byte, else 0. */
static size_t element_match(const char *pattern, const char *end, char text)
{
	switch (*pattern) {
	case '?':
		return 1;
	case '[':
		return bracket_match(pattern, end, text);
	case '\\':
		return pattern + 1 < end && pattern[1] == text ? 2 : 0;
	default:
		return *pattern == text ? 1 : 0;
	}
}

/* One component against one component. Only the last '*' is ever tried again: that is enough. */
static bool component_match(const char *p, const char *p_end, const char *t, const char *t_end)
{
	const char *star = NULL, *star_text = NULL;

	while (t < t_end) {
		size_t length = 0;

		if (p < p_end && *p == '*') {
			star = ++p;
			star_text = t;
			continue;
		}
		if (p < p_end)
			length = element_match(p, p_end, *t);
		if (length) {
			p += length;
			t++;
		} else if (star) {
			p = star;
			t = ++star_text;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

static const char *component_end(const char *at)
{
	return at + strcspn(at, "/");
}

static const char *component_next(const char *at)
{
	at = component_end(at);
	return at + (*at == '/');
}

/* The same, one level up: components instead of bytes, "**" instead of '*'. */
bool ignore_glob(const char *pattern, const char *path)
{
	const char *p = pattern, *t = path, *star = NULL, *star_text = NULL;

	while (*t) {
		const char *p_end = component_end(p);

		if (p_end - p == 2 && p[0] == '*' && p[1] == '*') {
			p = component_next(p);
			if (!*p)
				return true;
			star = p;
			star_text = t;
			continue;
		}
		if (*p && component_match(p, p_end, t, component_end(t))) {
			p = component_next(p);
			t = component_next(t);
		} else if (star) {
			p = star;
			t = star_text = component_next(star_text);
		} else {
			return false;
		}
	}
	return !*p;
}

static bool rule_matches(const struct ignore_rule *rule, const char *path, bool directory)
{
	if (rule->directories && !directory)
		return false;
	if (!rule->anchored)
		return ignore_glob(rule->pattern, pathname_last(path));
	return ignore_glob(rule->pattern, path + rule->base + (rule->base > 0));
}

bool ignore_matches(const struct ignore *ignore, const char *path, bool directory)
{
	if (ignore->overflown)
		return false;
	for (size_t i = ignore->count; i > 0; i--)
		if (rule_matches(&ignore->rules[i - 1], path, directory))
			return !ignore->rules[i - 1].negated;
	return false;
}

/* Without trailing blanks, unless a backslash keeps the last one. */
static size_t line_trim(const char *line, size_t length)
{
	if (length > 0 && line[length - 1] == '\r')
		length--;
	while (length > 0 && line[length - 1] == ' ' && !(length > 1 && line[length - 2] == '\\'))
		length--;
	return length;
}

static void rule_add(struct ignore *ignore, size_t base, const char *line, size_t length)
{
	struct ignore_rule rule = { .base = base };

	length = line_trim(line, length);
	if (length == 0 || *line == '#' || memchr(line, 0, length))
		return;
	if (*line == '!') {
		rule.negated = true;
		line++;
		length--;
	}
	if (length > 0 && line[length - 1] == '/') {
		rule.directories = true;
		length--;
	}
	rule.anchored = memchr(line, '/', length) != NULL;
	if (length > 0 && *line == '/') {
		line++;
		length--;
	}
	if (length == 0)
		return;
	if (ignore->count == IGNORE_RULES_MAX) {
		ignore->overflown = true;
		return;
	}
	if (ignore->count == ignore->room) {
		ignore->room = ignore->room * 2 + 16;
		ignore->rules = mem_grow(ignore->rules, ignore->room, sizeof(*ignore->rules));
	}
	rule.pattern = mem_new(length + 1);
	memcpy(rule.pattern, line, length);
	ignore->rules[ignore->count++] = rule;
}

void ignore_add(struct ignore *ignore, const char *base, const char *text, size_t length)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, passed by as git does */
	const char *end = text + length;

	if (length >= 3 && memcmp(text, mark, 3) == 0)
		text += 3;
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		stop = stop ? stop : end;
		rule_add(ignore, strlen(base), text, (size_t)(stop - text));
		text = stop + 1;
	}
}

void ignore_cut(struct ignore *ignore, size_t count)
{
	while (ignore->count > count)
		free(ignore->rules[--ignore->count].pattern);
}

void ignore_done(struct ignore *ignore)
{
	ignore_cut(ignore, 0);
	free(ignore->rules);
	*ignore = (struct ignore){ 0 };
}
