/* What the program says in JSON, read back, and whether it agrees with its exit code. */
#pragma once

#include "base/base.h"

enum { TOLD_RUNS = 64, TOLD_WORD = 24 };

struct told_run {
	char run[140], state[TOLD_WORD], verdict[TOLD_WORD], reason[TOLD_WORD], result[TOLD_WORD];
	char error[400];
};

struct told {
	struct told_run runs[TOLD_RUNS];
	unsigned count;
	int code;        /* that follows from it */
	char fault[200]; /* it is not as it should be; "": it is */
};

/* Reads a report. */
void told_read(struct told *told, const char *path);

/* NULL: it is not in it. */
const struct told_run *told_find(const struct told *told, const char *run);

/* How many tombstones of the run are in the file that `log --json` wrote; -1: it cannot be read. */
int told_tombstones(const char *path, const char *run);
