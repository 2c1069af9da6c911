/*
 * A piece of work that is done by a child process: what may hang on a mount, or must not be able to
 * reach what it has no business with. The child holds neither lock nor database (every descriptor
 * but the named ones and the standard streams is closed in it), it may confine itself further, and it
 * can be abandoned: one that is stuck in the kernel then keeps nothing but itself. It dies with its
 * parent, and no signal but SIGKILL reaches it: what stops a pass is noticed by who waits for it.
 */
#pragma once

#include "base/error.h"

/*
 * Done in the child, which is a copy of us at that moment (fork(2); there is only one thread). What
 * it writes to memory stays there, except to `result`. 0 or positive, or -errno with the error. It
 * must not print, nor use a lock, a database or a library's handle that we had opened.
 */
typedef int errand_work(void *context, void *result, struct error *error);

struct errand {
	errand_work *work;
	void *context;
	const char *what; /* "delete r1", for errors that are not the work's own; NULL: "errand" */
	const int *keep;  /* descriptors that stay open in the child, in any order */
	size_t keep_count;
	void *result; /* handed in and back, flat; also what a failed errand had done. NULL: none */
	size_t result_size;
	int64_t deadline_ms; /* boot clock */
	bool steadfast;      /* goes on when we are asked to stop: what must not be half done */
};

/*
 * Runs it and waits. What the work answered, its result and error; -ETIME when the deadline passed:
 * work that looks at it has a moment more to answer so itself, then the child is killed, and
 * abandoned when it does not die within a second (the error says so and names its pid); -EINTR the
 * same when we are asked to stop (os/signals.h); -EIO when it died by itself (the error names the
 * signal). -errno when there can be no child. Costs
 * little more than the fork.
 */
int errand_run(const struct errand *errand, struct error *error);

/*
 * Closes every descriptor but the standard streams and those to keep (any order, at most 16): for a
 * child. 0 or -errno.
 */
int errand_close_others(const int *keep, size_t count, struct error *error);
