#include "archive.h"

#include "archive_parts.h"
#include "base/fnv.h"
#include "base/text.h"
#include "dir.h"

#include <errno.h>
#include <fcntl.h>

struct reader {
	struct archive *tar;
	int fd;
	const char *name;
	int64_t left; /* bytes up to the seal */
	int code;     /* errno of reading the file */
	char buffer[ARCHIVE_PIECE];
};

static void reader_done(struct reader **reader)
{
	if (!*reader)
		return;
	if ((*reader)->tar)
		(void)archive_read_free((*reader)->tar);
	fd_done(&(*reader)->fd);
	free(*reader);
}

static int reader_damaged(const struct reader *reader, const char *how, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(reader->name);

	return error_say(error, EUCLEAN, "the archive '%.200s' is damaged: %s", shown, how);
}

/* What libarchive said last: what is neither the disk's nor the memory's fault is the archive's. */
static int reader_fail(struct reader *reader, struct error *error)
{
	const char *why = archive_error_string(reader->tar);
	char *shown CLEANUP(mem_done) = NULL;

	if (reader->code)
		return archive_fail(error, reader->code, "read the archive", reader->name);
	if (archive_errno(reader->tar) == ENOMEM)
		return archive_fail(error, ENOMEM, "read the archive", reader->name);
	shown = text_escape(why ? why : "it cannot be read");
	return reader_damaged(reader, shown, error);
}

/* The next piece before the seal; 0 at the end. */
static ssize_t reader_piece(struct reader *reader)
{
	size_t want = reader->left < ARCHIVE_PIECE ? (size_t)reader->left : ARCHIVE_PIECE;
	ssize_t n;

	do {
		n = read(reader->fd, reader->buffer, want);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	reader->left -= n;
	return n;
}

static la_ssize_t reader_give(struct archive *tar, void *opaque, const void **ret_bytes)
{
	struct reader *reader = opaque;
	ssize_t n = reader_piece(reader);

	*ret_bytes = reader->buffer;
	if (n >= 0)
		return n;
	reader->code = (int)-n;
	archive_set_error(tar, reader->code, "%s", strerror(reader->code));
	return -1;
}

/* Reads the whole file once, before libarchive sees a byte of it. */
static int reader_check_seal(struct reader *reader, struct error *error)
{
	uint64_t sum = FNV_START;
	int64_t length = reader->left;
	struct archive_seal seal, right;
	ssize_t n;

	while ((n = reader_piece(reader)) > 0)
		sum = fnv_add(sum, reader->buffer, (size_t)n);
	right = archive_seal_make(sum);
	if (n < 0)
		return archive_fail(error, (int)-n, "read the archive", reader->name);
	if (read(reader->fd, &seal, sizeof(seal)) != sizeof(seal) ||
		memcmp(&seal, &right, offsetof(struct archive_seal, sum)) != 0)
		return reader_damaged(reader, "its end is missing", error);
	if (seal.sum != right.sum)
		return reader_damaged(reader, "its sum is wrong", error);
	if (lseek(reader->fd, 0, SEEK_SET) < 0)
		return archive_fail(error, errno, "read the archive", reader->name);
	reader->left = length;
	return 0;
}

static int reader_open_file(struct reader *reader, int dir, struct error *error)
{
	struct stat stat;

	reader->fd = openat(
		dir, reader->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (reader->fd < 0)
		return archive_fail(error, errno, "open the archive", reader->name);
	if (fstat(reader->fd, &stat) < 0)
		return archive_fail(error, errno, "look at the archive", reader->name);
	if (!S_ISREG(stat.st_mode))
		return reader_damaged(reader, "it is not a regular file", error);
	if (stat.st_size < (off_t)sizeof(struct archive_seal))
		return reader_damaged(reader, "its end is missing", error);
	reader->left = stat.st_size - (off_t)sizeof(struct archive_seal);
	return reader_check_seal(reader, error);
}

/* ARCHIVE_WARN of the filter would mean: by another program, zstd(1). */
static int reader_open(struct reader *reader, int dir, struct error *error)
{
	int r = reader_open_file(reader, dir, error);

	if (r < 0)
		return r;
	reader->tar = archive_read_new();
	if (!reader->tar)
		abort();
	if (archive_read_support_filter_zstd(reader->tar) != ARCHIVE_OK ||
		archive_read_support_format_tar(reader->tar) != ARCHIVE_OK)
		return error_say(error, ENOSYS, "this libarchive has no zstd");
	if (archive_read_open(reader->tar, reader, NULL, reader_give, NULL) != ARCHIVE_OK)
		return reader_fail(reader, error);
	return 0;
}

static const char *entry_fault(struct archive_entry *entry, const char *path)
{
	mode_t type = archive_entry_filetype(entry);

	if (!path || !archive_path_is_plain(path))
		return "is not a path below it";
	if (archive_entry_hardlink(entry))
		return "is a hard link";
	if (type != S_IFREG && type != S_IFDIR && type != S_IFLNK)
		return "is neither a file nor a directory nor a symlink";
	if (type == S_IFLNK && !archive_entry_symlink(entry))
		return "is a symlink to nothing";
	if (archive_entry_sparse_count(entry) > 0 || archive_entry_size(entry) < 0)
		return "has a size that it cannot have";
	return NULL;
}

static int reader_refuse(
	const struct reader *reader, const char *path, const char *fault, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path ? path : "");
	char *how CLEANUP(mem_done) = mem_printf("'%.160s' %s", shown, fault);

	return reader_damaged(reader, how, error);
}

/* A directory's name ends with a slash in a tar. */
static char *entry_path(struct archive_entry *entry)
{
	char *path = mem_dup(archive_entry_pathname(entry));
	size_t length = path ? strlen(path) : 0;

	if (length > 1 && archive_entry_filetype(entry) == S_IFDIR && path[length - 1] == '/')
		path[length - 1] = 0;
	return path;
}

static int reader_hand_out(struct reader *reader, struct archive_entry *entry,
	int (*each)(void *context, const struct archive_entry_seen *entry, struct error *error),
	void *context, struct error *error)
{
	char *path CLEANUP(mem_done) = entry_path(entry);
	const char *fault = entry_fault(entry, path);
	const struct archive_entry_seen seen = {
		.path = path,
		.stat = {
			.st_mode = archive_entry_filetype(entry) |
				(archive_entry_perm(entry) & ACCESSPERMS),
			.st_size = archive_entry_size(entry),
			.st_mtim = { .tv_sec = archive_entry_mtime(entry),
				.tv_nsec = archive_entry_mtime_nsec(entry) },
		},
		.link = archive_entry_symlink(entry),
		.content = reader,
	};

	if (fault)
		return reader_refuse(reader, path, fault, error);
	return each(context, &seen, error);
}

int archive_each(int dir, const char *name,
	int (*each)(void *context, const struct archive_entry_seen *entry, struct error *error),
	void *context, struct error *error)
{
	struct reader *reader CLEANUP(reader_done) = mem_new(sizeof(*reader));
	struct archive_entry *entry;
	int r;

	assert(dir_is_name(name));
	*reader = (struct reader){ .fd = -EBADF, .name = name };
	r = reader_open(reader, dir, error);
	if (r < 0)
		return r;
	while ((r = archive_read_next_header(reader->tar, &entry)) == ARCHIVE_OK) {
		r = reader_hand_out(reader, entry, each, context, error);
		if (r < 0)
			return r;
	}
	return r == ARCHIVE_EOF ? 0 : reader_fail(reader, error);
}

ssize_t archive_content(
	const struct archive_entry_seen *entry, void *buffer, size_t size, struct error *error)
{
	struct reader *reader = entry->content;
	la_ssize_t n = archive_read_data(reader->tar, buffer, size);

	return n < 0 ? reader_fail(reader, error) : n;
}
