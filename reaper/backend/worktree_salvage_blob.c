#include "worktree_salvage_blob.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>

enum { PIECE = 1 << 16, PIECES_FROM = 1 << 22, WHOLE_MAX = 1 << 28 };

/* A backend of the library that takes everything and keeps nothing: what is left is the hash. */
static int nothing_write(git_odb_stream *stream, const char *bytes, size_t length)
{
	(void)stream;
	(void)bytes;
	(void)length;
	return 0;
}

static int nothing_finalize(git_odb_stream *stream, const git_oid *id)
{
	(void)stream;
	(void)id;
	return 0;
}

static void nothing_stream_free(git_odb_stream *stream)
{
	free(stream);
}

static int nothing_writestream(git_odb_stream **ret_stream, git_odb_backend *backend,
	git_object_size_t size, git_object_t type)
{
	git_odb_stream *stream = mem_new(sizeof(*stream));

	(void)size;
	(void)type;
	stream->backend = backend;
	stream->mode = GIT_STREAM_WRONLY;
	stream->write = nothing_write;
	stream->finalize_write = nothing_finalize;
	stream->free = nothing_stream_free;
	*ret_stream = stream;
	return 0;
}

static void nothing_free(git_odb_backend *backend)
{
	free(backend);
}

int salvage_git_error(struct error *error, const char *what, const char *which)
{
	int code = error_may_pass(-errno) ? errno : EIO;

	return worktree_git_error(error, code, what, which);
}

int salvage_hash_open(struct salvage_hash *hash, struct error *error)
{
	git_odb_backend *backend = NULL;

	if (worktree_git_begin(error) < 0 || git_odb_new(&hash->odb) < 0)
		return salvage_git_error(error, "prepare", "hashing");
	backend = mem_new(sizeof(*backend));
	if (git_odb_init_backend(backend, GIT_ODB_BACKEND_VERSION) < 0) {
		free(backend);
		return salvage_git_error(error, "prepare", "hashing");
	}
	backend->writestream = nothing_writestream;
	backend->free = nothing_free;
	if (git_odb_add_backend(hash->odb, backend, 1) < 0) {
		free(backend);
		return salvage_git_error(error, "prepare", "hashing");
	}
	return 0;
}

void salvage_hash_done(struct salvage_hash *hash)
{
	git_odb_free(hash->odb);
	hash->odb = NULL;
}

git_odb_stream *salvage_hash_begin(
	const struct salvage_hash *hash, int64_t size, struct error *error)
{
	git_odb_stream *stream = NULL;

	if (git_odb_open_wstream(&stream, hash->odb, (git_object_size_t)size, GIT_OBJECT_BLOB) < 0)
		(void)salvage_git_error(error, "begin", "hashing");
	return stream;
}

int salvage_hash_add(git_odb_stream *stream, const void *bytes, size_t length, struct error *error)
{
	/* More than was declared is refused by the library. */
	return git_odb_stream_write(stream, bytes, length) < 0
		       ? error_say(error, EBUSY, "it changes while it is read")
		       : 0;
}

int salvage_hash_end(git_odb_stream *stream, git_oid *ret_id, struct error *error)
{
	return git_odb_stream_finalize_write(ret_id, stream) < 0
		       ? error_say(error, EBUSY, "it changes while it is read")
		       : 0;
}

static ssize_t piece_read(int file, char *piece, int64_t at, int64_t left)
{
	size_t wanted = left < PIECE ? (size_t)left : PIECE;
	ssize_t got;

	do
		got = pread(file, piece, wanted, at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Gives exactly `size` bytes to the stream; one more in the file is a change. */
static int stream_fill(
	git_odb_stream *stream, int file, int64_t size, int64_t deadline_ms, struct error *error)
{
	char *piece CLEANUP(mem_done) = mem_new(PIECE);
	int64_t done = 0;

	while (done <= size) {
		ssize_t got = piece_read(file, piece, done, size - done + 1);

		if (got < 0)
			return error_set(error, (int)-got, "read");
		if (deadline_left_ms(deadline_ms) == 0)
			return error_say(error, ETIME, "the time is up");
		if (got == 0)
			break;
		if (done + got > size)
			return error_say(error, EBUSY, "it grows while it is read");
		errno = 0;
		if (git_odb_stream_write(stream, piece, (size_t)got) < 0)
			return salvage_git_error(error, "write", "a blob");
		done += got;
	}
	return done == size ? 0 : error_say(error, EBUSY, "it shrinks while it is read");
}

static int stream_blob(git_odb *odb, int file, int64_t size, int64_t deadline_ms, git_oid *ret_id,
	struct error *error)
{
	git_odb_stream *stream CLEANUP(odb_stream_done) = NULL;
	int r;

	errno = 0;
	if (git_odb_open_wstream(&stream, odb, (git_object_size_t)size, GIT_OBJECT_BLOB) < 0)
		return salvage_git_error(error, "write", "a blob");
	r = stream_fill(stream, file, size, deadline_ms, error);
	if (r < 0)
		return r;
	errno = 0;
	if (git_odb_stream_finalize_write(ret_id, stream) < 0)
		return salvage_git_error(error, "write", "a blob");
	return 0;
}

int salvage_hash_file(const struct salvage_hash *hash, int file, int64_t size, int64_t deadline_ms,
	git_oid *ret_id, struct error *error)
{
	return stream_blob(hash->odb, file, size, deadline_ms, ret_id, error);
}

int salvage_blob_write(git_odb *odb, int file, int64_t size, int64_t deadline_ms, git_oid *ret_id,
	struct error *error)
{
	return stream_blob(odb, file, size, deadline_ms, ret_id, error);
}

static int check_fail(struct error *error, const git_oid *id)
{
	char text[GIT_OID_HEXSZ + 1];

	return error_say(error, EUCLEAN, "object %s cannot be read back whole",
		git_oid_tostr(text, sizeof(text), id));
}

struct loose {
	const struct salvage_hash *hash;
	char header[32]; /* "blob 123" */
	size_t length;
	bool begun; /* the header was read */
	git_odb_stream *stream;
};

static void loose_done(struct loose *loose)
{
	git_odb_stream_free(loose->stream);
}

/* How much of the bytes is header; *ret_whole: all of it was seen. */
static size_t header_take(
	struct loose *loose, const char *bytes, size_t length, struct error *error)
{
	size_t used = 0;
	int64_t size;

	while (used < length && loose->length < sizeof(loose->header) - 1) {
		loose->header[loose->length] = bytes[used++];
		if (loose->header[loose->length++] != 0)
			continue;
		loose->begun =
			text_starts(loose->header, "blob ") &&
			text_to_int64(loose->header + strlen("blob "), 0, INT64_MAX, &size) == 0;
		if (loose->begun)
			loose->stream = salvage_hash_begin(loose->hash, size, error);
		break;
	}
	return used;
}

static int loose_piece(void *context, const void *bytes, size_t length, struct error *error)
{
	struct loose *loose = context;
	size_t used = loose->begun ? 0 : header_take(loose, bytes, length, error);

	if (used == length)
		return 0;
	if (!loose->stream)
		return error_say(error, EUCLEAN, "no blob");
	return salvage_hash_add(loose->stream, (const char *)bytes + used, length - used, error);
}

/* A loose object, as we write them: in pieces. -ENOENT: it is none, or not in a file of its own. */
static int check_loose(git_repository *repository, const struct salvage_hash *hash,
	const git_oid *id, int64_t deadline_ms, struct error *error)
{
	struct loose loose CLEANUP(loose_done) = { .hash = hash };
	char name[GIT_OID_HEXSZ + 1];
	char *path CLEANUP(mem_done) = NULL;
	int common CLEANUP(fd_done) =
		open(git_repository_path(repository), O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file CLEANUP(fd_done) = -EBADF;
	git_oid seen;
	int r;

	(void)git_oid_tostr(name, sizeof(name), id);
	path = mem_printf("objects/%.2s/%s", name, name + 2);
	file = common < 0 ? -ENOENT : dir_open_below(common, path, O_RDONLY | O_NONBLOCK, NULL);
	if (file < 0)
		return -ENOENT;
	r = inflate_file(file, deadline_ms, loose_piece, &loose, NULL);
	if (r == -ETIME)
		return error_say(error, ETIME, "the time is up");
	if (r < 0 || !loose.stream || salvage_hash_end(loose.stream, &seen, NULL) < 0 ||
		!git_oid_equal(&seen, id))
		return check_fail(error, id);
	return 0;
}

int salvage_blob_check(git_repository *repository, git_odb *odb, const struct salvage_hash *hash,
	const git_oid *id, int64_t deadline_ms, struct error *error)
{
	git_odb_object *object = NULL;
	git_object_t type;
	size_t size;
	int r = -ENOENT;

	if (git_odb_read_header(&size, &type, odb, id) < 0 || type != GIT_OBJECT_BLOB)
		return check_fail(error, id);
	if (size > PIECES_FROM)
		r = check_loose(repository, hash, id, deadline_ms, error);
	if (r != -ENOENT || size > WHOLE_MAX)
		return r == -ENOENT ? 0 : r;
	if (git_odb_read(&object, odb, id) < 0) /* compares the hash (strict verification) */
		return check_fail(error, id);
	git_odb_object_free(object);
	return 0;
}
