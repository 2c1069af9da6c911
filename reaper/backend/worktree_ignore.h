/*
 * What a tree's own .gitignore files say (gitignore(5)), and nothing else: the library's own
 * question also asks the repository's info/exclude and host-wide files, which another run may have
 * written, and opens the files by path.
 *
 * A .gitignore is data from an adversary: matching is quadratic at worst, never exponential, and a
 * tree with more rules than the limit has none, so that too much is never ignored.
 */
#pragma once

#include "base/base.h"

enum { IGNORE_FILE_MAX = 1 << 20, IGNORE_RULES_MAX = 4096 };

struct ignore_rule {
	char *pattern;    /* without leading and trailing slash and '!' */
	size_t base;      /* length of the path of the directory whose file it is from */
	bool negated;     /* "!pattern": not ignored after all */
	bool directories; /* "pattern/": only directories */
	bool anchored;    /* has a slash: compared with the path below its directory */
};

/* A stack: rules of a directory are added when it is entered and cut off when it is left. */
struct ignore {
	struct ignore_rule *rules;
	size_t count, room;
	bool overflown;
};

/* Adds the rules of the .gitignore in the directory at `base` ("" for the tree itself). */
void ignore_add(struct ignore *ignore, const char *base, const char *text, size_t length);
/* Cuts back to `count` rules. */
void ignore_cut(struct ignore *ignore, size_t count);
void ignore_done(struct ignore *ignore);

/*
 * Whether the rules ignore `path` (relative to the tree), whose directories above are not ignored:
 * what is in an ignored directory is ignored without asking.
 */
bool ignore_matches(const struct ignore *ignore, const char *path, bool directory);

/* Whether a path matches a pattern: '*' and '?' stop at a slash, "**" is any directories. */
bool ignore_glob(const char *pattern, const char *path);
