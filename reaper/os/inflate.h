/*
 * Reads a zlib stream from a file, piece by piece (zlib.h). libgit2 1.5.1 can give a loose object in
 * pieces too, but goes round for ever in one that was cut off.
 */
#pragma once

#include "base/error.h"

/*
 * Calls back for each piece; a negative answer ends it and is returned. `file` is read from its
 * start. 0 at the end of a whole stream (its checksum is compared); -EUCLEAN: it is damaged or cut
 * off; -ETIME; -errno.
 */
int inflate_file(int file, int64_t deadline_ms,
	int (*each)(void *context, const void *bytes, size_t length, struct error *error),
	void *context, struct error *error);
