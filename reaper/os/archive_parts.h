/*
 * Private to archive.c, which writes, and archive_reader.c: libarchive, and what both know of a file.
 *
 * libarchive leaves the sum of a zstd frame out, and a tar has sums of its headers only: a flipped
 * bit of a file's content would come back as content. So each archive ends with a seal: one more
 * zstd frame, of the kind that decoders skip (RFC 8878, section 3.1.2), with a sum of all bytes
 * before it. Without its seal an archive is not whole, wherever it was cut.
 */
#pragma once

#include "base/error.h"

#include <archive.h>
#include <archive_entry.h>

enum { ARCHIVE_PIECE = 65536 };

struct archive_seal {
	uint32_t magic, length; /* of a skippable frame, little endian */
	char owner[8];
	uint64_t sum;
};

/* As it stands in the file, little endian. */
struct archive_seal archive_seal_make(uint64_t sum);

/* Whether a path is relative, without empty components, "." and "..", and no slash at its end. */
bool archive_path_is_plain(const char *path);

/* Says what was being done to which name, escaped. Returns -code. */
int archive_fail(struct error *error, int code, const char *doing, const char *name);
