/* Private to hook*.c: the process that keeps a hook, and what it says in the end. */
#pragma once

#include "hook.h"

enum hook_end { HOOK_REFUSED, HOOK_EXITED, HOOK_SIGNALLED, HOOK_TIMED_OUT, HOOK_UNWANTED };
enum { HOOK_OUTPUT = 280 };

struct hook_answer {
	enum hook_end end;
	int code;  /* its exit code, or its signal */
	bool left; /* something that it had started is still there */
	size_t length;
	char output[HOOK_OUTPUT]; /* the end of it */
	struct error error;       /* HOOK_REFUSED */
};

/*
 * Runs the hook, in a process that may become a subreaper, and waits until it ends, its time is over, or
 * nobody holds the other end of `life` any more; then ends whatever it has left.
 */
void hook_keep(const struct hook *hook, int life, struct hook_answer *answer);
