/*
 * A scratch directory for tests that need real files: below TMPDIR or /tmp, on whatever is there,
 * and gone afterwards whatever the tests left in it.
 */
#pragma once

#include "base/base.h"

/*
 * Leaves the mount namespace of the machine, so that mounts a test makes end with the test program.
 * For cmocka_run_group_tests: 0, or -1 (we are not root).
 */
int scratch_own_mounts(void **state);

/* Setup and teardown of a test: *state is the path of a new empty directory. */
int scratch_make(void **state);
int scratch_remove(void **state);

/* Puts a tmpfs there, for what would take minutes on a slow disk. Needs scratch_own_mounts. */
void scratch_in_memory(void **state);

/* Paths below it: the caller owns them. */
char *scratch_path(void **state, const char *name);

/* Makes things, and fails the test when it cannot. Content of a file is 8192 bytes of 'x'. */
void scratch_dir(void **state, const char *name);
void scratch_file(void **state, const char *name);
bool scratch_exists(void **state, const char *name);

/* The directory itself, opened; the caller closes it. */
int scratch_open(void **state);
