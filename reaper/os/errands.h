/*
 * Several errands side by side, each in a process of its own: one that is slow or stuck keeps none of the
 * others.
 */
#pragma once

#include "errand.h"

enum { ERRANDS_MOST = 8 };

struct errands {
	/* In the order in which they are begun. Their deadlines are set when they are. */
	struct errand *items;
	size_t count;
	int64_t each_ms; /* so long each may take */
	int64_t end_ms;  /* and nothing goes on after that (boot clock) */
	/*
	 * Told of each that came to an end, or was not begun in time (-ETIME) or because we are asked
	 * to stop (-EINTR): what errand_run() would have answered.
	 */
	void (*done)(void *context, size_t place, int answer);
	void *context;
};

/* Runs them, about as many at once as there are processors; each is told of once. */
void errands_run(const struct errands *errands);
