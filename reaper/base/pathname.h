/*
 * Path names as text. Only for what people and records wrote: whether a path lies below another is
 * asked here component by component, and then again of the descriptors it is opened with.
 */
#pragma once

#include "base.h"

/*
 * The absolute path without "//", "." and ".." (resolved as text, so the caller decides about
 * symlinks first) and without a trailing slash. A relative one is taken from `from`, which is
 * absolute; NULL when it would be needed and is NULL. The caller owns the result.
 */
char *pathname_clean(const char *path, const char *from);

/*
 * The part of path behind root ("a/b" of "/r/a/b" below "/r"), or NULL when it does not lie
 * strictly below. Both are clean. Points into path. "/r10" is not below "/r1".
 */
const char *pathname_below(const char *path, const char *root);

/* The last component ("b" of "/a/b"; "" of "/"). Points into path. */
const char *pathname_last(const char *path);

/* The path without its last component ("/a" of "/a/b", "/" of "/a"). The caller owns the result. */
char *pathname_parent(const char *path);
