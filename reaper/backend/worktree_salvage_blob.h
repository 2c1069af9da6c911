/*
 * Blobs by stream: the bytes of a file as they are (no filter, no line ends), whatever its size, in
 * little memory. A source is open for reading and is read from its start by pread(2).
 */
#pragma once

#include "worktree_git.h"

/* Hashes without a repository, where none is left. */
struct salvage_hash {
	git_odb *odb;
};

int salvage_hash_open(struct salvage_hash *hash, struct error *error);
void salvage_hash_done(struct salvage_hash *hash);

/*
 * The id that the file's content has as a blob. 0; -EBUSY: it has not `size` bytes (any more); -ETIME;
 * -errno.
 */
int salvage_hash_file(const struct salvage_hash *hash, int file, int64_t size, int64_t deadline_ms,
	git_oid *ret_id, struct error *error);

/* The same for bytes that come piece by piece. */
git_odb_stream *salvage_hash_begin(
	const struct salvage_hash *hash, int64_t size, struct error *error);
int salvage_hash_add(git_odb_stream *stream, const void *bytes, size_t length, struct error *error);
int salvage_hash_end(git_odb_stream *stream, git_oid *ret_id, struct error *error);

static inline void odb_stream_done(git_odb_stream **stream)
{
	git_odb_stream_free(*stream);
}

/* Writes the file's content as a blob. As salvage_hash_file(), and -ENOSPC. */
int salvage_blob_write(git_odb *odb, int file, int64_t size, int64_t deadline_ms, git_oid *ret_id,
	struct error *error);

/*
 * Reads a blob back, all of it, and hashes what was read. What is in a pack cannot be read in
 * pieces: there a huge one, which was in HEAD before, is taken by its header. 0; -EUCLEAN: it is not
 * there whole; -ETIME.
 */
int salvage_blob_check(git_repository *repository, git_odb *odb, const struct salvage_hash *hash,
	const git_oid *id, int64_t deadline_ms, struct error *error);

/* What the library says, as an errno: what was short (error_may_pass), else -EIO. The caller sets errno
 * to 0 before it calls the library. */
int salvage_git_error(struct error *error, const char *what, const char *which);
