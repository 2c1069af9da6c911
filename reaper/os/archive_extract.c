/*
 * Unpacking by descriptors, one component at a time (dir.h): libarchive's own writer to disk
 * follows symlinks of the target's parents and makes what an archive names; its secure flags close
 * the ways that are known, openat2(2) closes them all.
 */
#include "archive.h"
#include "base/text.h"
#include "dir.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>

enum { PIECE = 65536 };

/* Modes and times of directories come last, when nothing is made in them any more. */
struct late {
	char *path;
	mode_t mode;
	struct timespec mtime;
};

struct unpacking {
	int target; /* borrowed */
	const char *prefix;
	struct late *late;
	size_t late_count, late_room;
	char *parent_path; /* the directory that the last entry is in, and its descriptor */
	int parent;
};

static void unpacking_done(struct unpacking *unpacking)
{
	for (size_t i = 0; i < unpacking->late_count; i++)
		free(unpacking->late[i].path);
	free(unpacking->late);
	free(unpacking->parent_path);
	fd_done(&unpacking->parent);
}

static int unpack_fail(struct error *error, int code, const char *path)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_set(error, code, "unpack '%.300s'", shown);
}

/* What stands there already came from the archive, or the target was not empty. */
static int unpack_refuse(struct error *error, const char *path, const char *fault)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_say(error, EUCLEAN, "unpack '%.300s': %s", shown, fault);
}

static int unpack_fail_place(struct error *error, int code, const char *path)
{
	if (code == ELOOP || code == ENOTDIR || code == EEXIST)
		return unpack_refuse(error, path, "the archive has something else in its place");
	return unpack_fail(error, code, path);
}

/* One step down, made when it is missing: "parents need not have been added". */
static int step_down(int dir, const char *name)
{
	bool made = mkdirat(dir, name, 0755) == 0;
	int fd;

	if (!made && errno != EEXIST)
		return -errno;
	fd = dir_open_below(dir, name, O_RDONLY | O_DIRECTORY, NULL);
	if (fd >= 0 && made && fchmod(fd, 0755) < 0) { /* whatever the umask */
		int code = errno;

		fd_done(&fd);
		return -code;
	}
	return fd;
}

/* The directory at a path below the target, "" being the target. A descriptor or -errno. */
static int directory_at(int target, const char *path)
{
	int dir CLEANUP(fd_done) = fcntl(target, F_DUPFD_CLOEXEC, 0);

	if (dir < 0)
		return -errno;
	while (*path) {
		size_t length = strcspn(path, "/");
		char *name CLEANUP(mem_done) = mem_printf("%.*s", (int)length, path);
		int next = step_down(dir, name);

		if (next < 0)
			return next;
		fd_done(&dir);
		dir = next;
		path += length + (path[length] == '/');
	}
	return TAKE_FD(dir);
}

/*
 * Opens the directory that path is in, unless the last entry was in it too; its descriptor stays
 * right, since nothing that was unpacked is ever moved or removed.
 */
static int enter_parent(struct unpacking *unpacking, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char *parent CLEANUP(mem_done) = mem_printf("%.*s", slash ? (int)(slash - path) : 0, path);
	int fd;

	*ret_name = slash ? slash + 1 : path;
	if (text_equal(unpacking->parent_path, parent))
		return 0;
	fd = directory_at(unpacking->target, parent);
	if (fd < 0)
		return fd;
	fd_done(&unpacking->parent);
	unpacking->parent = fd;
	free(unpacking->parent_path);
	unpacking->parent_path = TAKE_PTR(parent);
	return 0;
}

static bool is_nothing(const char *bytes, size_t length)
{
	return length > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* Zeros are left out: what was sparse stays so. */
static int write_piece(int fd, const char *bytes, size_t length)
{
	if (is_nothing(bytes, length))
		return lseek(fd, (off_t)length, SEEK_CUR) < 0 ? -errno : 0;
	return file_write_whole(fd, bytes, length);
}

static int unpack_content(
	const struct archive_entry_seen *entry, int fd, const char *path, struct error *error)
{
	char *piece CLEANUP(mem_done) = mem_new(PIECE);
	ssize_t n;
	off_t end;
	int r;

	while ((n = archive_content(entry, piece, PIECE, error)) > 0) {
		r = write_piece(fd, piece, (size_t)n);
		if (r < 0)
			return unpack_fail(error, -r, path);
	}
	if (n < 0)
		return (int)n;
	end = lseek(fd, 0, SEEK_CUR);
	return end < 0 || ftruncate(fd, end) < 0 ? unpack_fail(error, errno, path) : 0;
}

static int unpack_file(struct unpacking *unpacking, const struct archive_entry_seen *entry,
	const char *path, const char *name, struct error *error)
{
	const struct timespec times[] = { entry->stat.st_mtim, entry->stat.st_mtim };
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd CLEANUP(fd_done) = openat(unpacking->parent, name, flags, 0600);
	int r;

	if (fd < 0)
		return unpack_fail_place(error, errno, path);
	r = unpack_content(entry, fd, path, error);
	if (r < 0)
		return r;
	if (fchmod(fd, entry->stat.st_mode & ACCESSPERMS) < 0 || futimens(fd, times) < 0)
		return unpack_fail(error, errno, path);
	return 0;
}

static int unpack_link(struct unpacking *unpacking, const struct archive_entry_seen *entry,
	const char *path, const char *name, struct error *error)
{
	const struct timespec times[] = { entry->stat.st_mtim, entry->stat.st_mtim };

	if (symlinkat(entry->link, unpacking->parent, name) < 0)
		return unpack_fail_place(error, errno, path);
	if (utimensat(unpacking->parent, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return unpack_fail(error, errno, path);
	return 0;
}

static int unpack_directory(struct unpacking *unpacking, const struct archive_entry_seen *entry,
	const char *path, const char *name, struct error *error)
{
	int fd CLEANUP(fd_done) = step_down(unpacking->parent, name);

	if (fd < 0)
		return unpack_fail_place(error, -fd, path);
	if (unpacking->late_count == unpacking->late_room) {
		unpacking->late_room = unpacking->late_room ? 2 * unpacking->late_room : 64;
		unpacking->late =
			mem_grow(unpacking->late, unpacking->late_room, sizeof(struct late));
	}
	unpacking->late[unpacking->late_count++] = (struct late){
		.path = mem_dup(path),
		.mode = entry->stat.st_mode & ACCESSPERMS,
		.mtime = entry->stat.st_mtim,
	};
	return 0;
}

static int unpack_entry(void *context, const struct archive_entry_seen *entry, struct error *error)
{
	struct unpacking *unpacking = context;
	size_t skip = strlen(unpacking->prefix);
	const char *path, *name;
	int r;

	if (!text_starts(entry->path, unpacking->prefix))
		return 0;
	path = entry->path + skip;
	r = enter_parent(unpacking, path, &name);
	if (r < 0)
		return unpack_fail_place(error, -r, path);
	if (S_ISDIR(entry->stat.st_mode))
		return unpack_directory(unpacking, entry, path, name, error);
	if (S_ISLNK(entry->stat.st_mode))
		return unpack_link(unpacking, entry, path, name, error);
	return unpack_file(unpacking, entry, path, name, error);
}

/* What is below a directory before it: one that nobody may enter is closed last. */
static int late_order(const void *a, const void *b)
{
	const struct late *one = a, *other = b;

	return strcmp(other->path, one->path);
}

static int finish_directories(struct unpacking *unpacking, struct error *error)
{
	if (unpacking->late_count > 0)
		qsort(unpacking->late, unpacking->late_count, sizeof(struct late), late_order);
	for (size_t i = 0; i < unpacking->late_count; i++) {
		const struct late *late = &unpacking->late[i];
		const struct timespec times[] = { late->mtime, late->mtime };
		int fd CLEANUP(fd_done) = directory_at(unpacking->target, late->path);

		if (fd < 0)
			return unpack_fail(error, -fd, late->path);
		if (futimens(fd, times) < 0 || fchmod(fd, late->mode) < 0)
			return unpack_fail(error, errno, late->path);
	}
	return 0;
}

int archive_extract(int dir, const char *name, const char *prefix, int target, struct error *error)
{
	struct unpacking unpacking CLEANUP(unpacking_done) = {
		.target = target,
		.prefix = prefix,
		.parent = -EBADF,
	};
	int r;

	assert(text_ends(prefix, "/"));
	r = archive_each(dir, name, unpack_entry, &unpacking, error);
	return r < 0 ? r : finish_directories(&unpacking, error);
}
