/*
 * INI files, read with inih and more strictly than it does: no line is cut, no NUL byte passes,
 * what it cannot parse is an error. The only place that includes ini.h.
 */
#pragma once

#include "base/error.h"

enum { INI_FILE_MAX = 1 << 20, INI_LINE_MAX = 4096 };

/*
 * One "key = value". Called in the order of the file; `line` counts from 1; key is never empty,
 * value may be. A negative answer ends the reading and is returned; the callee sets the error, and
 * ini_file_parse puts "<name>:<line>: " before it.
 */
typedef int ini_entry(void *context, const char *section, const char *key, const char *value,
	unsigned line, struct error *error);

/*
 * Parses text (length bytes, NUL behind). `name` is for messages. Comments begin with ';' or '#' at
 * the start of a line, or with ';' after a blank. An indented line is a line like any other: values
 * never go on in the next one. 0, -EINVAL (with file and line), or what entry answered. Not
 * ini_parse: that is inih's own name, and a caller without our definition would link to it.
 */
int ini_file_parse(const char *name, const char *text, size_t length, ini_entry *entry,
	void *context, struct error *error);
