/*
 * A walk through a directory tree by descriptors, depth first, without recursion: a cursor that
 * hands out one entry after the other, and the caller decides what to enter. Private to os/.
 *
 * Only the deepest WALK_OPEN directories are held open. A directory further up is opened again as
 * ".." of the one below it when the walk comes back, accepted only when it is the one it was, and
 * read on from where it was (d_off of getdents64(2)). It is known by device, inode and, where the
 * filesystem tells it, time of birth: the inode number of a directory that was removed meanwhile is
 * soon that of another, and who moves what we are in there leads us out. Opening everything again
 * from the top for each step up was rejected: the cost grows with the square of the depth.
 *
 * Only the deepest WALK_DEPTH levels are remembered at all, so that a tree that is nothing but deep
 * costs no memory without end. Beyond that the upper levels are forgotten (`cut`), and the walk
 * ends early: whoever deletes starts again at the top and has less to do each time.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <sys/stat.h>

enum { WALK_OPEN = 16, WALK_DEPTH = 16384 };

struct walk_identity {
	uint64_t dev, ino;
	int64_t birth_s, birth_ns; /* 0: not told */
};

struct walk_level {
	struct walk_identity identity;
	uint64_t size;   /* st_size when it was entered */
	int64_t next;    /* where reading goes on, as lseek(2) takes it */
	size_t name;     /* offset in names */
	unsigned rounds; /* the caller's: how often it was read again */
	uint64_t taken;  /* the caller's: entries since reading it began */
	bool failed;     /* the caller's: something in it could not be done */
	bool ended;      /* walk_end */
};

struct walk_stream {
	int fd; /* negative: not open now */
	char *buffer;
	size_t at, filled;
};

struct walk {
	int parent;       /* borrowed: the directory that the top is in */
	const char *name; /* of the top */
	int64_t deadline_ms;
	int flags; /* for opening directories */
	struct walk_level *levels;
	size_t depth, room;
	struct text names; /* of the levels, NUL-terminated, one behind the other */
	struct walk_stream streams[WALK_OPEN];
	unsigned steps;
	bool cut;
};

enum walk_step {
	WALK_DONE, /* nothing is left to read */
	WALK_ENTRY,
	WALK_LEAVE /* all of a directory was read; it is still the top level */
};

struct walk_entry {
	int dir;            /* borrowed: what it is in; -EBADF: not known any more (cut) */
	const char *name;   /* good until the next call */
	unsigned char type; /* DT_*; DT_UNKNOWN when even lstat cannot tell */
	int code;           /* WALK_LEAVE: errno when the directory could not be read to its end */
};

/* Prepares; the name must outlive the walk. The caller pushes the first directory. */
void walk_start(struct walk *walk, int parent, const char *name, int64_t deadline_ms, int flags);
void walk_done(struct walk *walk);

/* Enters a directory that was opened for reading; takes the descriptor. 0 or -errno. */
int walk_push(struct walk *walk, int fd, const char *name);

/*
 * The next step. Negative: -ETIME when the deadline (boot clock) has passed, -ESTALE when the
 * parent of the current directory is not the one it was entered from (something was moved), or
 * -errno.
 */
int walk_next(struct walk *walk, struct walk_entry *ret_entry);

/* After WALK_LEAVE: goes up, or reads the same directory again from its start. */
void walk_pop(struct walk *walk);
void walk_again(struct walk *walk);

/* The rest of the current directory is not read: WALK_LEAVE comes next. */
void walk_end(struct walk *walk);

/* The current directory; NULL at the end. */
struct walk_level *walk_top(struct walk *walk);

/*
 * Where the walk is, for messages: "r1/a/b/name", escaped and at most 400 bytes: what does not
 * fit is left out from the middle, and from the ends of long names. `name`: an entry of the current
 * directory, or NULL. The caller owns it.
 */
char *walk_path(const struct walk *walk, const char *name);
