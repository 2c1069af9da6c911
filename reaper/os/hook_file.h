/* Private to hook*.c: the file of a hook, proved by descriptor. */
#pragma once

#include "base/error.h"

#include <sys/stat.h>

struct hook_file {
	int fd;     /* O_PATH */
	char *path; /* without symlinks; nobody untrusted can change what it names */
	struct stat stat;
};

void hook_file_done(struct hook_file *file);

/* Opens what the absolute path names as hook_check() says. 0 or -errno. May hang. */
int hook_file_open(const char *path, struct hook_file *ret_file, struct error *error);

/* Whether its path still names it. */
bool hook_file_stands(const struct hook_file *file);
