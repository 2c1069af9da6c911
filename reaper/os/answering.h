/*
 * Whether anybody answers behind a path. A mount whose server is gone or sleeps (FUSE, NFS, a broken
 * disk) holds whoever touches it, often where no signal reaches; so the first touch of a path that
 * may lie on one is a child's (os/errand.h), and what does not answer is not touched by us at all.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <sys/stat.h>

enum {
	ANSWERING_MS = 2000, /* so long each may take; a quarter less when it follows slow ones */
	ANSWERING_ALL_MS = 20000 /* and all together: what comes later counts as silent */
};

/*
 * Asks each of the absolute paths in turn, in one child as long as all answer: opens it, symlinks
 * followed, asks for its attributes and for the space on its filesystem, and lists the beginning when
 * it is a directory. An error is an answer as well. ret_silent[i] says which did not answer. What
 * lies on a mount whose point did not answer either is silent without being asked. 0, or -errno when
 * there can be no child, and then all are silent.
 */
int answering_ask(const char *const *paths, size_t count, bool *ret_silent, struct error *error);

/*
 * The same; of those from the place `names` on it is only asked where they lead, which opens nothing and
 * mounts nothing (autofs).
 */
int answering_ask_names(const char *const *paths, size_t count, size_t names, bool *ret_silent,
	struct error *error);

/*
 * Type, device and inode of what an absolute path names, through whatever is mounted on the way; a
 * last symlink is not followed. Below a `root` (which answers) no symlink is followed at all, and
 * there is no child where nothing is mounted on the way from there: for who asks about many. NULL:
 * always by a child. 0, -ENOENT, -ETIME when nobody answers, -errno.
 */
int answering_look(const char *root, const char *path, struct stat *ret_stat);

/*
 * Says of a path that does not answer where that comes from: the mount that it lies on, from the
 * table. A sentence, escaped, in the arena.
 */
const char *answering_words(const char *path, struct arena *arena);
