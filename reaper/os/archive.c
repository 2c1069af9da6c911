#include "archive.h"

#include "archive_parts.h"
#include "base/fnv.h"
#include "base/text.h"
#include "dir.h"
#include "dir_stream.h"
#include "file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>

#define TEMPORARY ".tmp"

#define SEAL_MAGIC 0x184D2A57
#define SEAL_OWNER "sbx-seal"

struct archive_seal archive_seal_make(uint64_t sum)
{
	struct archive_seal seal = {
		.magic = htole32(SEAL_MAGIC),
		.length = htole32(sizeof(seal) - offsetof(struct archive_seal, owner)),
		.sum = htole64(sum),
	};

	memcpy(seal.owner, SEAL_OWNER, sizeof(seal.owner));
	return seal;
}

int archive_fail(struct error *error, int code, const char *doing, const char *name)
{
	char *shown CLEANUP(mem_done) = text_escape(name);

	return error_set(error, code, "%s '%.200s'", doing, shown);
}

struct archive_writer {
	struct archive *tar;
	int dir, fd;
	char *name, *temporary;
	uint64_t sum;
	bool begun;  /* the temporary file is there */
	bool broken; /* an entry is not as its header says */
	bool given_up;
};

static la_ssize_t writer_take(struct archive *tar, void *opaque, const void *bytes, size_t length)
{
	struct archive_writer *writer = opaque;
	int r = writer->given_up ? 0 : file_write_whole(writer->fd, bytes, length);

	if (r < 0) {
		archive_set_error(tar, -r, "%s", strerror(-r));
		return -1;
	}
	writer->sum = fnv_add(writer->sum, bytes, length);
	return (la_ssize_t)length;
}

static int writer_fail(struct archive_writer *writer, struct error *error)
{
	int code = archive_errno(writer->tar);
	char *shown CLEANUP(mem_done) = text_escape(writer->name);
	const char *why = archive_error_string(writer->tar);

	writer->broken = true;
	return error_say(error, code > 0 ? code : EIO, "write the archive '%.200s': %s", shown,
		why ? why : "libarchive does not say why");
}

/* Names are bytes: BINARY keeps libarchive from taking them for some language's. */
static int writer_set_up(struct archive_writer *writer, struct error *error)
{
	writer->tar = archive_write_new();
	if (!writer->tar)
		abort(); /* no memory, as in mem_new() */
	if (archive_write_set_format_pax(writer->tar) != ARCHIVE_OK ||
		archive_write_add_filter_zstd(writer->tar) != ARCHIVE_OK ||
		archive_write_set_option(writer->tar, "pax", "hdrcharset", "BINARY") !=
			ARCHIVE_OK ||
		archive_write_set_bytes_per_block(writer->tar, ARCHIVE_PIECE) != ARCHIVE_OK ||
		archive_write_set_bytes_in_last_block(writer->tar, 1) != ARCHIVE_OK ||
		archive_write_open(writer->tar, writer, NULL, writer_take, NULL) != ARCHIVE_OK)
		return writer_fail(writer, error);
	return 0;
}

/* What a writer that was killed left under this name is of no use to anybody. */
static int writer_open(struct archive_writer *writer, struct error *error)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

	if (faccessat(writer->dir, writer->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return archive_fail(error, EEXIST, "begin the archive", writer->name);
	if (unlinkat(writer->dir, writer->temporary, 0) < 0 && errno != ENOENT)
		return archive_fail(error, errno, "remove the unfinished", writer->temporary);
	writer->fd = openat(writer->dir, writer->temporary, flags, 0600);
	if (writer->fd < 0)
		return archive_fail(error, errno, "make", writer->temporary);
	writer->begun = true;
	return 0;
}

int archive_create(
	int dir, const char *name, struct archive_writer **ret_writer, struct error *error)
{
	struct archive_writer *writer CLEANUP(archive_abort) = mem_new(sizeof(*writer));
	int r;

	assert(dir_is_name(name));
	*writer = (struct archive_writer){ .fd = -EBADF, .sum = FNV_START };
	writer->name = mem_dup(name);
	writer->temporary = mem_printf("%s" TEMPORARY, name);
	writer->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (writer->dir < 0)
		return archive_fail(error, errno, "begin the archive", name);
	r = writer_open(writer, error);
	if (r < 0)
		return r;
	r = writer_set_up(writer, error);
	if (r < 0)
		return r;
	*ret_writer = TAKE_PTR(writer);
	return 0;
}

static void entry_done(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}

/* Just so many bytes as the header said; one that grows or shrinks meanwhile is not salvaged. */
static int writer_copy(struct archive_writer *writer, int file, int64_t size, const char *path,
	struct error *error)
{
	char *piece CLEANUP(mem_done) = mem_new(ARCHIVE_PIECE);
	int64_t copied = 0;
	ssize_t n;

	while ((n = read(file, piece, ARCHIVE_PIECE)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return archive_fail(error, errno, "read", path);
		copied += n;
		if (copied > size)
			break;
		if (archive_write_data(writer->tar, piece, (size_t)n) != n)
			return writer_fail(writer, error);
	}
	if (copied != size)
		return archive_fail(error, ESTALE, "its size changed while it was read:", path);
	return 0;
}

/* The size of a regular file; 0 for what has no content. */
static int content_size(const char *path, const struct stat *stat, int file, int64_t limit,
	int64_t *ret_size, struct error *error)
{
	struct stat now = { 0 };

	if (S_ISREG(stat->st_mode) && fstat(file, &now) < 0)
		return archive_fail(error, errno, "look at", path);
	if (now.st_size > limit)
		return archive_fail(error, EFBIG, "take into an archive", path);
	*ret_size = now.st_size;
	return 0;
}

bool archive_path_is_plain(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 0 || (length <= 2 && memcmp(path, "..", length) == 0))
			return false;
		path += length;
		if (!*path)
			return true;
		path++;
	}
	return false; /* empty, or a slash at the end */
}

int archive_add(struct archive_writer *writer, const char *path, const struct stat *stat, int file,
	const char *link, int64_t limit, int64_t *bytes, struct error *error)
{
	struct archive_entry *entry CLEANUP(entry_done) = NULL;
	mode_t type = stat->st_mode & S_IFMT;
	int64_t size;
	int r;

	assert(archive_path_is_plain(path) && (type == S_IFLNK) == (link != NULL));
	if (type != S_IFREG && type != S_IFLNK && type != S_IFDIR)
		return archive_fail(error, EINVAL, "take into an archive", path);
	r = content_size(path, stat, file, limit, &size, error);
	if (r < 0)
		return r;
	entry = archive_entry_new();
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, stat->st_mode & ACCESSPERMS);
	archive_entry_set_mtime(entry, stat->st_mtim.tv_sec, stat->st_mtim.tv_nsec);
	archive_entry_set_size(entry, size);
	if (link)
		archive_entry_set_symlink(entry, link);
	if (archive_write_header(writer->tar, entry) != ARCHIVE_OK)
		return writer_fail(writer, error);
	if (type == S_IFREG)
		r = writer_copy(writer, file, size, path, error);
	writer->broken |= r < 0;
	*bytes += r < 0 ? 0 : size;
	return r;
}

static int writer_seal(struct archive_writer *writer, struct error *error)
{
	struct archive_seal seal;
	int r;

	if (writer->broken)
		return archive_fail(
			error, EIO, "an entry was not written whole into", writer->name);
	if (archive_write_close(writer->tar) != ARCHIVE_OK)
		return writer_fail(writer, error);
	seal = archive_seal_make(writer->sum);
	r = file_write_whole(writer->fd, &seal, sizeof(seal));
	if (r < 0)
		return archive_fail(error, -r, "write the archive", writer->name);
	if (fsync(writer->fd) < 0)
		return archive_fail(error, errno, "sync the archive", writer->name);
	return 0;
}

int archive_finish(struct archive_writer *writer, struct error *error)
{
	int r = writer_seal(writer, error);

	if (r == 0 && renameat2(writer->dir, writer->temporary, writer->dir, writer->name,
			      RENAME_NOREPLACE) < 0)
		r = archive_fail(error, errno, "finish the archive", writer->name);
	if (r < 0) {
		if (unlinkat(writer->dir, writer->temporary, 0) == 0)
			writer->begun = false;
		return r;
	}
	writer->begun = false;
	if (fsync(writer->dir) < 0) {
		r = archive_fail(error, errno, "sync the directory of", writer->name);
		(void)unlinkat(writer->dir, writer->name, 0);
	}
	return r;
}

void archive_abort(struct archive_writer **writer)
{
	struct archive_writer *old = TAKE_PTR(*writer);

	if (!old)
		return;
	if (old->begun)
		(void)unlinkat(old->dir, old->temporary, 0);
	old->given_up = true; /* freeing writes the end; archive_write_fail(3) first would leak */
	if (old->tar)
		(void)archive_write_free(old->tar);
	fd_done(&old->fd);
	fd_done(&old->dir);
	free(old->name);
	free(old->temporary);
	free(old);
}

int archive_sweep(int dir, struct error *error)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry;
	int r = 0;

	if (!stream)
		return error_set(error, errno, "look for unfinished archives");
	while ((entry = stream_next(stream))) {
		if (!text_ends(entry->d_name, ARCHIVE_SUFFIX TEMPORARY))
			continue;
		if (unlinkat(dir, entry->d_name, 0) < 0 && errno != ENOENT)
			r = archive_fail(
				error, errno, "remove the unfinished archive", entry->d_name);
	}
	return r;
}
