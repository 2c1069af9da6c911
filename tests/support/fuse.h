/*
 * FUSE without a library, so that a test decides when a server answers, sleeps or dies. An empty
 * directory, mounted by root in the test's own mount namespace.
 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

struct fuse {
	int fd;       /* of /dev/fuse; nobody reads it: whatever is asked of the mount hangs */
	pid_t server; /* answers; 0: none */
	int taken;    /* readable when fuse_swallow() has taken a request */
};

/* Mounts one that never answers. */
struct fuse fuse_mount(const char *point);

/* The same, of a user, and with more options (",allow_other"). */
struct fuse fuse_mount_of(const char *point, unsigned user, const char *more);

/* Starts a server for it, which ends with us. */
void fuse_serve(struct fuse *fuse);

/*
 * The same, but it takes all requests after the first and answers none: who asked cannot be killed
 * before the descriptor is closed everywhere, or the mount is forced off.
 */
void fuse_swallow(struct fuse *fuse);

/* Waits until it has taken one. */
void fuse_await(const struct fuse *fuse);

/* Kills the server and closes the descriptor: from now on every access answers ENOTCONN. */
void fuse_kill(struct fuse *fuse);
