/*
 * A piece of work that is done by a child process: what may hang on a mount, or must not be able to
 * reach what it has no business with. The child holds neither lock nor database (every descriptor
 * but the named ones is closed in it), it may confine itself further, and it can be abandoned: one
 * that is stuck in the kernel then keeps nothing but itself. It dies with its parent.
 */
#pragma once

#include "base/error.h"

/*
 * Done in the child, which is a copy of us at that moment (fork(2); there is only one thread). What
 * it writes to memory stays there, except to `result`. 0 or positive, or -errno with the error.
 */
typedef int errand_work(void *context, void *result, struct error *error);

struct errand {
	errand_work *work;
	void *context;
	const int *keep; /* descriptors that stay open in the child, in any order */
	size_t keep_count;
	void *result; /* copied back, flat; also what a failed errand had done until then. NULL: none */
	size_t result_size;
	int64_t deadline_ms; /* boot clock */
};

/*
 * Runs it and waits. What the work answered, its result and error; -ETIME when the deadline passed:
 * the child is killed, and abandoned when it does not die within a second (the error says so and
 * names its pid); -EIO when it died by itself (the error names the signal). -errno when there can
 * be no child.
 */
int errand_run(const struct errand *errand, struct error *error);
