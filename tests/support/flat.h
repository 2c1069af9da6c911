/*
 * Numbers that are sampled now and then over a long time, and whether they stayed flat: what leaks
 * a little in each round shows as a second half above the first.
 */
#pragma once

#include "base/base.h"

enum { FLAT_COLUMNS_MAX = 24 };

struct flat_column {
	const char *name;
	double slack;  /* by so much the second half's mean may be above the first's, */
	double factor; /* and by that many times: the larger bound holds; 0: not judged */
};

struct flat {
	const struct flat_column *columns;
	size_t column_count, sample_count;
	double *samples; /* row by row */
};

void flat_done(struct flat *flat);

/* One number for each column. */
void flat_add(struct flat *flat, const double *numbers);

/*
 * Compares the two halves of what follows the first `skip` samples. Prints a line for each column;
 * returns how many grew.
 */
size_t flat_judge(const struct flat *flat, size_t skip, FILE *file);

/* A line for each sample, its number first; the names of the columns above. 0 or -errno. */
int flat_write(const struct flat *flat, const char *path);
