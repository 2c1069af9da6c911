/*
 * The steps that rmtree() is made of, without the wall around them. Private to rmtree_wall.c
 * (scripts/lint-symbols sees to it) and to the tests of the walk; the MUSTs are in rmtree.h.
 */
#pragma once

#include "rmtree.h"

enum {
	RMTREE_ROUNDS = 16,
	RMTREE_GROWN_EVERY = 4096, /* entries */
	RMTREE_ENTRY_SIZE = 8 /* bytes in a directory; of short names in most filesystems more */
};

/* So many entries at most a directory of that size (st_size) gives, if nobody makes new ones. */
static inline uint64_t rmtree_entries_most(uint64_t size)
{
	return size / RMTREE_ENTRY_SIZE + RMTREE_GROWN_EVERY;
}

/* The bytes that unlinking the entry frees: of a regular file without another link, else 0. */
int64_t rmtree_bytes(int dir, const char *name);

/*
 * Opens the directory that the entry is (O_PATH). A descriptor; -ENOENT and -ENOTDIR (it is
 * something else) without an error, else -errno with it.
 */
int rmtree_open(int parent, const char *name, struct error *error);

/*
 * Deletes what is in a directory, which may be open as O_PATH and stays itself. 0 when nothing was
 * left behind that could be seen, -errno as rmtree().
 */
struct rmtree_top {
	int fd;
	const char *name;  /* for messages */
	const char *spare; /* an entry of it that stays; NULL: none */
	struct rmtree_limits limits;
};

int rmtree_walk(const struct rmtree_top *top, struct rmtree_report *report, struct error *error);

/* Unlinks an entry that is no directory. 1, 0 it was gone, -errno (-EISDIR: it has become one). */
int rmtree_file(int parent, const char *name, struct rmtree_report *report, struct error *error);

/* Removes an empty directory. 1, 0 it was gone, -ENOTEMPTY without an error, -errno. */
int rmtree_rmdir(int parent, const char *name, struct rmtree_report *report, struct error *error);
