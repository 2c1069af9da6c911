/*
 * What containers left on this host that no engine and no runtime looks after any more: seen without
 * asking an engine, from /proc, the mount table, /sys and the state directories of runc and crun.
 * Reads only, and removes nothing: that it is a leftover is no proof of whose it is. It is for people
 * to read, with the command by which one would remove it.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct leftover {
	const char *detail;  /* a sentence with names as they are: to be escaped */
	const char *command; /* for a shell, one line whatever the names in it are */
	const char *cgroup;  /* where its processes are, without the mount point; NULL: none */
	const char *path;    /* where it is mounted; NULL: nowhere */
};

enum { LEFTOVERS_MAX = 64 };

struct leftovers {
	struct arena arena;
	struct leftover items[LEFTOVERS_MAX];
	size_t count;
	size_t more;       /* that did not fit */
	const char *blind; /* what could not be told, and why; NULL: nothing */
};

/* 0 or -errno; leftovers_done() in any case. */
int leftovers_find(struct leftovers *ret_leftovers, struct error *error);
void leftovers_done(struct leftovers *leftovers);
