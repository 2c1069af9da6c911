/*
 * Runs a function in a child of its own and stops that, and whatever it forks, before each of some
 * system calls, to let a test say what shall become of it. Only those calls stop (a seccomp filter
 * picks them, ptrace does the rest), so that it is fast. x86-64.
 */
#pragma once

#include "base/text.h"

#include <sys/types.h>

enum tracer_act {
	TRACER_GO_ON,
	TRACER_KILL_ALL, /* SIGKILL for every process that is traced; the call is not made */
	TRACER_KILL_ONE, /* for this process alone */
	TRACER_TERMINATE /* SIGTERM for the first process; the call is made */
			 /* negative: the call is not made, and fails with that -errno */
};

struct tracer_call {
	long number; /* SYS_… */
	uint64_t args[6];
	pid_t pid;
	uint64_t stack, stack_end; /* what of its stack belongs to the program */
	bool of_child;             /* not of the first process */
};

struct trace {
	const long *
		calls; /* that stop; mmap only of files and shared memory, for malloc makes others */
	size_t call_count;
	void (*prepare)(
		void *program_context); /* in the child, before any call of it stops; or NULL */
	int (*program)(void *program_context); /* in the child: its answer is the exit code */
	void *program_context;
	int (*on_call)(void *context, const struct tracer_call *call); /* an act or -errno */
	void *context;
	int limit_s; /* after which everything is killed; 0: none */
};

enum { TRACER_HANGS = -1 };

/* The wait status of the first process, when all have ended; TRACER_HANGS: the limit was reached. */
int tracer_run(const struct trace *trace);

/* "unlinkat(…, "name")": the call and the path that it names, as far as that can be read. */
void tracer_describe(struct text *text, const struct tracer_call *call);

/* The text at an address of the traced process, cut to the room there is. */
void tracer_read_text(pid_t pid, uint64_t address, char *room, size_t size);
