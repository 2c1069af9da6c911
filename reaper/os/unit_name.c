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
