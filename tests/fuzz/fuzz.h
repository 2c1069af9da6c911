/*
 * What the fuzz targets share. Each gives bytes that an adversary may have written to the code that
 * reads them, and holds whatever comes out of it against its header's promise; libFuzzer's
 * sanitizers watch the rest. scripts/fuzz builds and runs them.
 */
#pragma once

#include "base/base.h"

#include <stdio.h>

/* What libFuzzer calls (llvm.org/docs/LibFuzzer.html). */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A promise that must hold: abort() is what libFuzzer reports with the input. */
#define MUST(holds)                                                                               \
	do {                                                                                      \
		if (!(holds)) {                                                                   \
			(void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #holds); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

/* A directory of the process, below TMPDIR, for code that reads files: its descriptor. */
int fuzz_directory(void);
/* The path of that directory. */
const char *fuzz_directory_path(void);
/* Makes a file in it hold exactly those bytes; mode 0600. */
void fuzz_file(const char *name, const uint8_t *bytes, size_t length);

/* Whether a path is absolute and has neither "." nor ".." nor an empty component. */
bool fuzz_path_clean(const char *path);
