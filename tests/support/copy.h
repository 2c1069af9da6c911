/* Copies of directory trees, and what a tree holds in words, to compare it by. */
#pragma once

#include "base/text.h"

/* The directory `from` as `to`, which must not be there: files, directories, links; modes, times. */
void copy_tree(const char *from, const char *to);

/* Empties a directory, except what is mounted in it: unmount that first. */
void empty_tree(const char *path);

enum describe_how {
	DESCRIBE_CONTENT, /* names, kinds, modes, and what files and links hold */
	DESCRIBE_EXACTLY  /* inode and time of change as well */
};

/*
 * A line for each thing at or below the path, in order of names; "-" where nothing is. `omit` (may
 * be NULL) is asked about each path relative to it.
 */
void describe_tree(struct text *text, const char *path, enum describe_how how,
	bool (*omit)(const char *relative));
