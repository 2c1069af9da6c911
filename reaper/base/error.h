/*
 * An error: what was being done to what, and why it failed. A fixed buffer, so that reporting a
 * failure can never fail and there is nothing to free.
 */
#pragma once

#include "base.h"

#include <errno.h>

enum { ERROR_TEXT = 480 };

struct error {
	int code; /* errno, positive; 0 while nothing went wrong */
	/* One line, no newline; names the thing, the place and what would be right. */
	char text[ERROR_TEXT];
};

/*
 * Records an error unless one is recorded already (the first error wins) and returns -code, so that
 * a caller can write `return error_set(error, errno, "open %s", path)`. strerror(code) is added
 * after the text. A NULL error is accepted. Text that does not fit is cut.
 */
int error_set(struct error *error, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* The same without strerror, for errors where errno adds nothing ("line 3: unknown key"). */
int error_say(struct error *error, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/*
 * Lets compilers and analysers know, in every file, what only error.c shows: that both answer below
 * 0. Without it they take each `ret_x` for unwritten after a call that did not fail.
 */
static inline int error_negative(int r)
{
	assert(r < 0);
	return r;
}
#define error_set(...) error_negative(error_set(__VA_ARGS__))
#define error_say(...) error_negative(error_say(__VA_ARGS__))

/* Puts "prefix: " before a recorded text; nothing when nothing is recorded. */
void error_prefix(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* Whether the answer of a call, negative, says that there is no room: on the disk, or of a quota. */
static inline bool error_is_full(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

/*
 * Whether the answer of a call, negative, says only that something is short, or came in between: the
 * same call may succeed in a moment, and says nothing about what it was asked of.
 */
static inline bool error_may_pass(int r)
{
	return error_is_full(r) || r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS ||
	       r == -EAGAIN || r == -EINTR;
}

/*
 * Whether it failed for want of something of ours, or because we are to stop: that says nothing of
 * what was looked at.
 */
static inline bool error_is_ours(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS || r == -EAGAIN ||
	       r == -EINTR;
}
