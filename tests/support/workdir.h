/* A directory of its own for each test, removed by the teardown, also when the test failed. */
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

/* The path of a name in it; good until the teardown. */
const char *workdir_path(struct workdir *workdir, const char *name);

/* Writes a file in it as it is, without any of the care of os/file.h. */
void workdir_write(struct workdir *workdir, const char *name, const void *bytes, size_t length);

/*
 * Runs in a child: its answer (0..255) is the exit status that workdir_wait gives; 255 stands for a
 * child that ended in any other way.
 */
pid_t workdir_fork(int (*child)(struct workdir *workdir, void *context), struct workdir *workdir,
	void *context);
int workdir_wait(pid_t pid);
