/*
 * Text within a page of HTML: whatever it says, it is shown and never obeyed.
 */
#pragma once

#include "base/base.h"

#include <stdio.h>

/* Escaped as everywhere (text.h), and then for HTML: between tags and within a quoted attribute. */
void html_text(FILE *file, const char *text);

/* "1.2 GiB", with the unit in a <small>. */
void html_size(FILE *file, int64_t bytes);

/* 1,234 */
void html_count(FILE *file, int64_t count);
