/* Of the trash: what its files share. Private to them (trash*.c). */
#pragma once

#include "trash.h"

/* Opens the trash of a root. A descriptor, -ENOENT (no error set), -EPERM when it is refused. */
int trash_open(int root, struct error *error);

/* The same, made where it is missing. A descriptor or -errno. */
int trash_make(int root, struct error *error);

/* The name of an entry. The caller frees it. */
char *trash_name(const char *run, int64_t generation, int64_t number);
