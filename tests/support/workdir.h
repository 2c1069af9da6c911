/*
 * A directory of its own for each test that needs real files: below TMPDIR or /tmp, on whatever is
 * there, and gone afterwards whatever the test left in it, also when it failed. What cannot be made
 * fails the test.
 */
#pragma once

#include "base/base.h"

struct workdir {
	char *path;
	int dir;
	void *more; /* of the test program */
};

/* For cmocka_unit_test_setup_teardown: *state becomes a struct workdir. */
int workdir_setup(void **state);
int workdir_teardown(void **state);

/*
 * Leaves the mount namespace of the machine, so that mounts a test makes end with the test program.
 * For cmocka_run_group_tests: 0, or -1 (we are not root).
 */
int workdir_own_mounts(void **state);

/* Puts a tmpfs there, for what would take minutes on a slow disk. Needs workdir_own_mounts. */
void workdir_in_memory(struct workdir *workdir);

/* The path of a name in it; good until the teardown. */
const char *workdir_path(struct workdir *workdir, const char *name);

/* Another descriptor of it; the caller closes it. */
int workdir_open(struct workdir *workdir);

void workdir_make(struct workdir *workdir, const char *name); /* a directory, 0755 */
void workdir_fill(struct workdir *workdir, const char *name); /* a new file of 8192 bytes 'x' */
bool workdir_has(struct workdir *workdir, const char *name);  /* also a link to nothing */

/* Writes a file in it as it is, without any of the care of os/file.h. */
void workdir_write(struct workdir *workdir, const char *name, const void *bytes, size_t length);

/*
 * Runs in a child: its answer (0..255) is the exit status that workdir_wait gives; 255 stands for a
 * child that ended in any other way.
 */
pid_t workdir_fork(int (*child)(struct workdir *workdir, void *context), struct workdir *workdir,
	void *context);
int workdir_wait(pid_t pid);
