#include "unit_name.h"

#include "base/text.h"

enum { UNIT_NAME_MAX = 255 };

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.";

char *unit_name_of_mount(const char *point)
{
	struct text name = { 0 };
	const char *at = point + strspn(point, "/");

	text_add(&name, *at ? "" : "-");
	for (const char *first = at; *at; at++) {
		if (*at == '/')
			text_add(&name, "-");
		else if (!strchr(plain, *at) || (*at == '.' && at == first))
			text_addf(&name, "\\x%02x", (unsigned char)*at);
		else
			text_add_n(&name, at, 1);
	}
	text_add(&name, ".mount");
	if (name.length <= UNIT_NAME_MAX)
		return name.data;
	text_done(&name);
	return NULL;
}

char *unit_setting_path(const char *path)
{
	struct text word = { 0 };
	bool quoted = false;

	for (const char *at = path; *at; at++) {
		unsigned char byte = (unsigned char)*at;

		quoted |= *at != '/' && *at != '-' && !strchr(plain, *at);
		if (byte < ' ' || byte == 0x7f)
			text_addf(&word, "\\x%02x", byte);
		else if (*at == '"' || *at == '\\')
			text_addf(&word, "\\%c", *at);
		else
			text_add(&word, *at == '%' ? "%%" : (const char[]){ *at, 0 });
	}
	if (quoted) {
		char *bare CLEANUP(mem_done) = word.data;

		return mem_printf("\"%s\"", bare);
	}
	return word.data;
}
