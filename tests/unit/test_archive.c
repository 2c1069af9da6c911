#include "unit.h"

#include "base/text.h"
#include "os/archive.h"

#include "workdir.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/random.h>

#define NAME "r1,1.tar.zst"
#define NO_LIMIT INT64_MAX

static size_t entries(struct workdir *workdir)
{
	DIR *listing = opendir(workdir->path);
	size_t count = 0;

	assert_non_null(listing);
	while (readdir(listing))
		count++;
	closedir(listing);
	return count - 2;
}

static struct archive_writer *begin(struct workdir *workdir)
{
	struct archive_writer *writer = NULL;
	struct error error = { 0 };

	assert_int_equal(archive_create(workdir->dir, NAME, &writer, &error), 0);
	return writer;
}

static void end(struct archive_writer *writer)
{
	struct error error = { 0 };
	int r = archive_finish(writer, &error);

	assert_string_equal(error.text, "");
	assert_int_equal(r, 0);
	archive_abort(&writer);
	assert_null(writer);
}

/* What stands at `from` in the work directory, as `path` in the archive. */
static int add(struct archive_writer *writer, struct workdir *workdir, const char *from,
	const char *path, int64_t limit, int64_t *bytes, struct error *error)
{
	char target[4096] = { 0 };
	struct stat stat;
	int fd, r;

	assert_int_equal(fstatat(workdir->dir, from, &stat, AT_SYMLINK_NOFOLLOW), 0);
	if (S_ISLNK(stat.st_mode))
		assert_true(readlinkat(workdir->dir, from, target, sizeof(target) - 1) > 0);
	fd = S_ISREG(stat.st_mode) ? openat(workdir->dir, from, O_RDONLY | O_CLOEXEC) : -EBADF;
	r = archive_add(writer, path, &stat, fd, *target ? target : NULL, limit, bytes, error);
	fd_done(&fd);
	return r;
}

static void added(
	struct archive_writer *writer, struct workdir *workdir, const char *from, const char *path)
{
	struct error error = { 0 };
	int64_t bytes = 0;
	int r = add(writer, workdir, from, path, NO_LIMIT, &bytes, &error);

	assert_string_equal(error.text, "");
	assert_int_equal(r, 0);
}

static int unpack(struct workdir *workdir, const char *into, struct error *error)
{
	int target CLEANUP(fd_done) = -EBADF;

	workdir_make(workdir, into);
	target = openat(workdir->dir, into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return archive_extract(workdir->dir, NAME, "tree/", target, error);
}

static void unpacked(struct workdir *workdir, const char *into)
{
	struct error error = { 0 };
	int r = unpack(workdir, into, &error);

	assert_string_equal(error.text, "");
	assert_int_equal(r, 0);
}

static void assert_same(struct workdir *workdir, const char *a, const char *b)
{
	char old[9000], new[9000];
	struct stat one, other;

	assert_int_equal(fstatat(workdir->dir, a, &one, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(fstatat(workdir->dir, b, &other, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(one.st_mode, other.st_mode);
	assert_int_equal(one.st_mtim.tv_sec, other.st_mtim.tv_sec);
	assert_int_equal(one.st_mtim.tv_nsec, other.st_mtim.tv_nsec);
	if (S_ISDIR(one.st_mode))
		return;
	assert_int_equal(one.st_size, other.st_size);
	if (S_ISLNK(one.st_mode)) {
		assert_int_equal(readlinkat(workdir->dir, a, old, sizeof(old)), one.st_size);
		assert_int_equal(readlinkat(workdir->dir, b, new, sizeof(new)), one.st_size);
	} else {
		int fd CLEANUP(fd_done) = openat(workdir->dir, a, O_RDONLY | O_CLOEXEC);
		int gd CLEANUP(fd_done) = openat(workdir->dir, b, O_RDONLY | O_CLOEXEC);

		assert_int_equal(read(fd, old, sizeof(old)), one.st_size);
		assert_int_equal(read(gd, new, sizeof(new)), one.st_size);
	}
	assert_memory_equal(old, new, (size_t)one.st_size);
}

static void what_was_put_in_comes_out(void **state)
{
	static const char *const names[] = { "plain", "empty", "script", "link", "nowhere",
		"folder", "locked", "old" };
	const struct timespec old[] = { { .tv_sec = -5, .tv_nsec = 7 },
		{ .tv_sec = -5, .tv_nsec = 123456789 } };
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);

	workdir_fill(workdir, "plain");
	workdir_write(workdir, "empty", "", 0);
	workdir_write(workdir, "script", "#!/bin/sh\n\0\xff", 12);
	assert_int_equal(fchmodat(workdir->dir, "script", 0751, 0), 0);
	assert_int_equal(symlinkat("../\xff\n\\x", workdir->dir, "link"), 0);
	assert_int_equal(symlinkat("/", workdir->dir, "nowhere"), 0);
	workdir_make(workdir, "folder");
	assert_int_equal(fchmodat(workdir->dir, "folder", 0700, 0), 0);
	workdir_make(workdir, "locked");
	assert_int_equal(fchmodat(workdir->dir, "locked", 0500, 0), 0);
	workdir_write(workdir, "old", "o", 1);
	assert_int_equal(utimensat(workdir->dir, "old", old, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path CLEANUP(mem_done) = mem_printf("tree/%s", names[i]);

		added(writer, workdir, names[i], path);
	}
	added(writer, workdir, "plain", "tree/locked/below");
	added(writer, workdir, "plain", "tree/made/on/the/way");
	added(writer, workdir, "plain", "record/HEAD");
	end(writer);
	unpacked(workdir, "out");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path CLEANUP(mem_done) = mem_printf("out/%s", names[i]);

		assert_same(workdir, names[i], path);
	}
	assert_same(workdir, "plain", "out/locked/below");
	assert_same(workdir, "plain", "out/made/on/the/way");
	assert_false(workdir_has(workdir, "out/HEAD"));
}

/* Every byte that a name can have, also at its start and end, and two bytes in either order. */
static void names_are_bytes(void **state)
{
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);

	workdir_write(workdir, "f", "x", 1);
	for (int byte = 1; byte < 256; byte++) {
		char path[] = { 't', 'r', 'e', 'e', '/', (char)byte, 'm', (char)byte, 0 };

		if (byte != '/')
			added(writer, workdir, "f", path);
	}
	added(writer, workdir, "f", "tree/\xc3\xa4 \xe2\x82\xac");
	end(writer);
	unpacked(workdir, "out");
	for (int byte = 1; byte < 256; byte++) {
		char path[] = { 'o', 'u', 't', '/', (char)byte, 'm', (char)byte, 0 };

		if (byte != '/')
			assert_true(workdir_has(workdir, path));
	}
	assert_true(workdir_has(workdir, "out/\xc3\xa4 \xe2\x82\xac"));
}

static void a_path_may_be_longer_than_any_call_takes(void **state)
{
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);
	struct text path CLEANUP(text_done) = { 0 };
	int dir;

	workdir_write(workdir, "f", "x", 1);
	text_add(&path, "tree");
	for (int i = 0; i < 60; i++)
		text_addf(&path, "/%0200d", i);
	added(writer, workdir, "f", path.data);
	end(writer);
	unpacked(workdir, "out");
	dir = openat(workdir->dir, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 60; i++) {
		char *name CLEANUP(mem_done) = mem_printf("%0200d", i);
		int next = openat(dir, name, O_RDONLY | O_CLOEXEC);

		assert_true(next >= 0);
		close(dir);
		dir = next;
	}
	close(dir);
}

static void big_and_sparse_files_stay_so(void **state)
{
	enum { BIG = 5 << 20, SPARSE = 200 << 20 };
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);
	char *bytes CLEANUP(mem_done) = mem_new(BIG), *copy CLEANUP(mem_done) = mem_new(BIG);
	int fd CLEANUP(fd_done) = -EBADF;
	int64_t total = 0;
	struct stat stat;

	for (size_t i = 0; i < BIG; i++)
		bytes[i] = (char)((i * 2654435761U) >> 13);
	workdir_write(workdir, "big", bytes, BIG);
	workdir_write(workdir, "sparse", "head", 4);
	assert_int_equal(truncate(workdir_path(workdir, "sparse"), SPARSE), 0);
	assert_int_equal(add(writer, workdir, "big", "tree/big", BIG, &total, NULL), 0);
	assert_int_equal(add(writer, workdir, "sparse", "tree/sparse", SPARSE, &total, NULL), 0);
	assert_int_equal(total, BIG + SPARSE);
	end(writer);
	assert_int_equal(fstatat(workdir->dir, NAME, &stat, 0), 0);
	assert_true(stat.st_size < 2 * BIG);
	assert_int_equal(stat.st_mode & ALLPERMS, 0600);
	unpacked(workdir, "out");
	fd = openat(workdir->dir, "out/big", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, copy, BIG), BIG);
	assert_memory_equal(bytes, copy, BIG);
	assert_int_equal(fstatat(workdir->dir, "out/sparse", &stat, 0), 0);
	assert_int_equal(stat.st_size, SPARSE);
	assert_true(stat.st_blocks * 512 < 1 << 20);
}

static void what_is_too_big_or_of_no_use_is_refused_and_the_rest_goes_on(void **state)
{
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);
	struct error error = { 0 };
	int64_t bytes = 0;
	struct stat stat;

	workdir_fill(workdir, "f");
	assert_int_equal(add(writer, workdir, "f", "tree/f", 8191, &bytes, &error), -EFBIG);
	assert_non_null(strstr(error.text, "tree/f"));
	assert_int_equal(mkfifoat(workdir->dir, "fifo", 0600), 0);
	assert_int_equal(fstatat(workdir->dir, "fifo", &stat, 0), 0);
	assert_int_equal(
		archive_add(writer, "tree/p", &stat, -EBADF, NULL, 1, &bytes, NULL), -EINVAL);
	assert_int_equal(bytes, 0);
	assert_int_equal(add(writer, workdir, "f", "tree/f", 8192, &bytes, NULL), 0);
	end(writer);
	unpacked(workdir, "out");
	assert_same(workdir, "f", "out/f");
	assert_false(workdir_has(workdir, "out/p"));
}

static int count(void *context, const struct archive_entry_seen *entry, struct error *error)
{
	char piece[1000];
	ssize_t n = 1;

	(*(size_t *)context)++;
	while (S_ISREG(entry->stat.st_mode) && n > 0)
		n = archive_content(entry, piece, sizeof(piece), error);
	return n < 0 ? (int)n : 0;
}

static int read_all(struct workdir *workdir, size_t *ret_count, struct error *error)
{
	*ret_count = 0;
	return archive_each(workdir->dir, NAME, count, ret_count, error);
}

static void a_hundred_thousand_entries_are_no_trouble(void **state)
{
	struct workdir *workdir = *state;
	struct archive_writer *writer;
	struct error error = { 0 };
	size_t seen;

	workdir_in_memory(workdir);
	writer = begin(workdir);
	workdir_write(workdir, "f", "x", 1);
	for (int i = 0; i < 100000; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "tree/%d/%d", i / 1000, i);
		added(writer, workdir, "f", path);
	}
	end(writer);
	assert_int_equal(read_all(workdir, &seen, &error), 0);
	assert_int_equal(seen, 100000);
	unpacked(workdir, "out");
	assert_true(workdir_has(workdir, "out/99/99999"));
}

static char *slurp(struct workdir *workdir, size_t *ret_length)
{
	int fd CLEANUP(fd_done) = openat(workdir->dir, NAME, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	char *bytes;

	assert_int_equal(fstat(fd, &stat), 0);
	bytes = mem_new((size_t)stat.st_size + 1);
	assert_int_equal(read(fd, bytes, (size_t)stat.st_size), stat.st_size);
	*ret_length = (size_t)stat.st_size;
	return bytes;
}

static void small_archive(struct workdir *workdir)
{
	struct archive_writer *writer = begin(workdir);

	workdir_write(workdir, "f", "some text in it", 15);
	added(writer, workdir, "f", "tree/f");
	added(writer, workdir, "f", "tree/g");
	end(writer);
}

static void whichever_byte_is_damaged_it_is_noticed(void **state)
{
	struct workdir *workdir = *state;
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length, seen;

	small_archive(workdir);
	bytes = slurp(workdir, &length);
	for (size_t at = 0; at < length; at++) {
		struct error error = { 0 };

		bytes[at] ^= 0x10;
		workdir_write(workdir, NAME, bytes, length);
		bytes[at] ^= 0x10;
		assert_int_equal(read_all(workdir, &seen, &error), -EUCLEAN);
		assert_int_equal(seen, 0);
		assert_non_null(strstr(error.text, NAME));
	}
	workdir_write(workdir, NAME, bytes, length);
	assert_int_equal(read_all(workdir, &seen, NULL), 0);
	assert_int_equal(seen, 2);
}

static void wherever_it_is_cut_it_is_noticed(void **state)
{
	struct workdir *workdir = *state;
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length, seen;

	small_archive(workdir);
	bytes = slurp(workdir, &length);
	for (size_t at = 0; at < length; at++) {
		assert_int_equal(truncate(workdir_path(workdir, NAME), 0), 0);
		workdir_write(workdir, NAME, bytes, at);
		assert_int_equal(read_all(workdir, &seen, NULL), -EUCLEAN);
		assert_int_equal(seen, 0);
	}
	assert_int_equal(unlinkat(workdir->dir, NAME, 0), 0);
	assert_int_equal(read_all(workdir, &seen, NULL), -ENOENT);
	assert_int_equal(symlinkat("f", workdir->dir, NAME), 0);
	assert_int_equal(read_all(workdir, &seen, NULL), -ELOOP);
	assert_int_equal(unlinkat(workdir->dir, NAME, 0), 0);
	workdir_make(workdir, NAME);
	assert_int_equal(read_all(workdir, &seen, NULL), -EUCLEAN);
}

/* Archives of somebody else's making: plain tar, written here byte by byte. */

struct member {
	const char *path;
	char type; /* of ustar: 0 file, 1 hard link, 2 symlink, 3 and 4 devices, 5 directory, 6 fifo */
	const char *link, *mode, *content, *size;
};

static void text_add_member(struct text *tar, const struct member *member)
{
	char header[512] = { 0 }, padding[512] = { 0 };
	const char *content = member->content ? member->content : "";
	size_t length = strlen(content);
	unsigned sum = 8 * ' ';
	char size[32];

	(void)snprintf(header, 100, "%s", member->path);
	(void)snprintf(header + 100, 8, "%s", member->mode ? member->mode : "0000644");
	(void)snprintf(size, sizeof(size), "%011zo", length);
	memcpy(header + 124, member->size ? member->size : size, 11);
	(void)snprintf(header + 136, 12, "%011o", 1);
	header[156] = member->type;
	(void)snprintf(header + 157, 100, "%s", member->link ? member->link : "");
	memcpy(header + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (unsigned char)header[i];
	(void)snprintf(header + 148, 8, "%06o", sum);
	header[155] = ' ';
	text_add_n(tar, header, sizeof(header));
	text_add_n(tar, content, length);
	text_add_n(tar, padding, (512 - length % 512) % 512);
}

static void text_add_seal(struct text *tar)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	uint32_t head[] = { htole32(0x184D2A57), htole32(16) };

	for (size_t i = 0; i < tar->length; i++)
		sum = (sum ^ (unsigned char)tar->data[i]) * UINT64_C(0x100000001b3);
	sum = htole64(sum);
	text_add_n(tar, head, sizeof(head));
	text_add_n(tar, "sbx-seal", 8);
	text_add_n(tar, &sum, sizeof(sum));
}

static void foreign(struct workdir *workdir, const struct member *members, size_t count)
{
	struct text tar CLEANUP(text_done) = { 0 };
	char end[1024] = { 0 };

	for (size_t i = 0; i < count; i++)
		text_add_member(&tar, &members[i]);
	text_add_n(&tar, end, sizeof(end));
	text_add_seal(&tar);
	(void)unlinkat(workdir->dir, NAME, 0);
	workdir_write(workdir, NAME, tar.data, tar.length);
}

static void an_archive_of_another_maker_is_read_when_it_is_harmless(void **state)
{
	static const struct member members[] = {
		{ "tree/d/", '5', .mode = "0006711" },
		{ "tree/d/f", '0', .content = "text", .mode = "0006755" },
		{ "tree/l", '2', .link = "/etc" },
	};
	struct workdir *workdir = *state;
	struct stat stat;

	foreign(workdir, members, ARRAY_SIZE(members));
	unpacked(workdir, "out");
	assert_int_equal(fstatat(workdir->dir, "out/d/f", &stat, 0), 0);
	assert_int_equal(stat.st_mode & ALLPERMS, 0755);
	assert_int_equal(stat.st_size, 4);
	assert_int_equal(fstatat(workdir->dir, "out/d", &stat, 0), 0);
	assert_int_equal(stat.st_mode & ALLPERMS, 0711);
	assert_int_equal(fstatat(workdir->dir, "out/l", &stat, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISLNK(stat.st_mode));
}

static const struct {
	const char *why;
	struct member members[3];
} hostile[] = {
	{ "up", { { "tree/../../victim/x", '0', .content = "evil" } } },
	{ "up from the prefix", { { "tree/..", '5', .mode = "0000755" } } },
	{ "up, not below the prefix", { { "../victim/x", '0', .content = "evil" } } },
	{ "absolute", { { "/tmp/sbx-test-evil", '0', .content = "evil" } } },
	{ "absolute behind the prefix", { { "tree//victim", '0', .content = "evil" } } },
	{ "itself", { { "tree/.", '5', .mode = "0000777" } } },
	{ "no name", { { "tree/", '0', .content = "evil" } } },
	{ "through a link", { { "tree/l", '2', .link = "../victim" },
				    { "tree/l/x", '0', .content = "evil" } } },
	{ "through a link to a file", { { "tree/l", '2', .link = "../victim/kept" },
					      { "tree/l", '0', .content = "evil" } } },
	{ "a directory over a link",
		{ { "tree/l", '2', .link = "../victim" }, { "tree/l", '5', .mode = "0000777" } } },
	{ "a link over a file", { { "tree/l", '0', .content = "a" },
					{ "tree/l", '2', .link = "../victim/kept" } } },
	{ "hard link outside", { { "tree/h", '1', .link = "victim/kept" } } },
	{ "hard link inside",
		{ { "tree/a", '0', .content = "a" }, { "tree/h", '1', .link = "tree/a" } } },
	{ "hard link with content",
		{ { "tree/h", '1', .link = "victim/kept", .content = "evil" } } },
	{ "character device", { { "tree/null", '3', .mode = "0000755" } } },
	{ "block device", { { "tree/disk", '4', .mode = "0000755" } } },
	{ "fifo", { { "tree/fifo", '6', .mode = "0000755" } } },
	{ "file over a directory",
		{ { "tree/d/", '5', .mode = "0000755" }, { "tree/d", '0', .content = "a" } } },
	{ "directory over a file",
		{ { "tree/d", '0', .content = "a" }, { "tree/d/", '5', .mode = "0000755" } } },
	{ "below a file",
		{ { "tree/d", '0', .content = "a" }, { "tree/d/x", '0', .content = "a" } } },
	{ "file twice", { { "tree/d", '0', .content = "a" }, { "tree/d", '0', .content = "b" } } },
	{ "a size that is not there",
		{ { "tree/f", '0', .content = "a", .size = "77777777777" } } },
	{ "a negative size", { { "tree/f", '0', .content = "a",
				     .size = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" } } },
};

static void nothing_lands_outside_whatever_the_archive_says(void **state)
{
	struct workdir *workdir = *state;
	struct stat before, after;

	workdir_make(workdir, "victim");
	workdir_write(workdir, "victim/kept", "kept", 4);
	assert_int_equal(fstatat(workdir->dir, "victim", &before, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		char *into CLEANUP(mem_done) = mem_printf("out%zu", i);
		struct error error = { 0 };
		size_t n = 1;
		int r;

		while (n < 3 && hostile[i].members[n].path)
			n++;
		foreign(workdir, hostile[i].members, n);
		r = unpack(workdir, into, &error);
		if (r != -EUCLEAN)
			print_error("%s: %d %s\n", hostile[i].why, r, error.text);
		assert_int_equal(r, -EUCLEAN);
		assert_true(*error.text);
		assert_int_equal(fstatat(workdir->dir, "victim", &after, 0), 0);
		assert_int_equal(after.st_mode, before.st_mode);
		assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
		assert_int_equal(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	}
	assert_int_equal(fstatat(workdir->dir, "victim/kept", &after, 0), 0);
	assert_int_equal(after.st_nlink, 1);
	assert_int_equal(after.st_size, 4);
	assert_int_not_equal(access("/tmp/sbx-test-evil", F_OK), 0);
}

static void what_is_there_already_is_not_written_to(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };
	int target CLEANUP(fd_done) = -EBADF;
	struct stat stat;

	small_archive(workdir);
	workdir_make(workdir, "out");
	workdir_write(workdir, "out/f", "mine", 4);
	target = openat(workdir->dir, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(archive_extract(workdir->dir, NAME, "tree/", target, &error), -EUCLEAN);
	assert_int_equal(fstatat(workdir->dir, "out/f", &stat, 0), 0);
	assert_int_equal(stat.st_size, 4);
}

static void until_it_is_finished_there_is_nothing_of_that_name(void **state)
{
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);
	struct error error = { 0 };

	workdir_write(workdir, "f", "x", 1);
	added(writer, workdir, "f", "tree/f");
	assert_false(workdir_has(workdir, NAME));
	assert_true(workdir_has(workdir, NAME ".tmp"));
	archive_abort(&writer);
	assert_int_equal(entries(workdir), 1);
	small_archive(workdir);
	assert_int_equal(archive_create(workdir->dir, NAME, &writer, &error), -EEXIST);
	assert_null(writer);
	assert_non_null(strstr(error.text, NAME));
	assert_int_equal(entries(workdir), 2);
}

static void a_name_that_is_taken_meanwhile_is_not_overwritten(void **state)
{
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);
	struct stat stat;

	workdir_write(workdir, NAME, "other", 5);
	assert_int_equal(archive_finish(writer, NULL), -EEXIST);
	archive_abort(&writer);
	assert_int_equal(entries(workdir), 1);
	assert_int_equal(fstatat(workdir->dir, NAME, &stat, 0), 0);
	assert_int_equal(stat.st_size, 5);
}

static void a_file_that_changes_meanwhile_leaves_no_archive(void **state)
{
	struct workdir *workdir = *state;
	struct archive_writer *writer = begin(workdir);
	struct error error = { 0 };
	int64_t bytes = 0;
	struct stat stat;
	int fd CLEANUP(fd_done) = -EBADF;

	workdir_fill(workdir, "f");
	fd = openat(workdir->dir, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(lseek(fd, 100, SEEK_SET), 100); /* as if it had shrunk */
	assert_int_equal(
		archive_add(writer, "tree/f", &stat, fd, NULL, NO_LIMIT, &bytes, &error), -ESTALE);
	assert_int_equal(bytes, 0);
	assert_int_equal(archive_finish(writer, NULL), -EIO);
	archive_abort(&writer);
	assert_int_equal(entries(workdir), 1);
}

static void a_full_disk_is_said_and_leaves_nothing(void **state)
{
	struct workdir *workdir = *state;
	struct error error = { 0 };
	struct archive_writer *writer;
	int64_t bytes = 0;
	char noise[400000]; /* nothing compresses it */
	int small, r;

	assert_int_equal(getrandom(noise, sizeof(noise), 0), sizeof(noise));
	workdir_write(workdir, "noise", noise, sizeof(noise));
	workdir_make(workdir, "small");
	assert_int_equal(mount("none", workdir_path(workdir, "small"), "tmpfs", 0, "size=256k"), 0);
	small = openat(workdir->dir, "small", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(archive_create(small, NAME, &writer, &error), 0);
	r = add(writer, workdir, "noise", "tree/noise", NO_LIMIT, &bytes, &error);
	if (r == 0)
		r = archive_finish(writer, &error);
	assert_int_equal(r, -ENOSPC);
	assert_non_null(strstr(error.text, NAME));
	archive_abort(&writer);
	assert_int_not_equal(faccessat(small, NAME ".tmp", F_OK, 0), 0);
	assert_int_not_equal(faccessat(small, NAME, F_OK, 0), 0);
	close(small);
}

static int dies_half_way(struct workdir *workdir, void *context)
{
	struct archive_writer *writer = begin(workdir);

	(void)context;
	added(writer, workdir, "f", "tree/f");
	(void)kill(getpid(), SIGKILL);
	return 0;
}

static void what_a_killed_writer_left_is_swept(void **state)
{
	struct workdir *workdir = *state;

	workdir_write(workdir, "f", "x", 1);
	assert_int_equal(workdir_wait(workdir_fork(dies_half_way, workdir, NULL)), 255);
	assert_true(workdir_has(workdir, NAME ".tmp"));
	assert_int_equal(archive_sweep(workdir->dir, NULL), 0);
	assert_int_equal(entries(workdir), 1);
	assert_int_equal(workdir_wait(workdir_fork(dies_half_way, workdir, NULL)), 255);
	small_archive(workdir);
	workdir_write(workdir, "other.tmp", "x", 1);
	assert_int_equal(archive_sweep(workdir->dir, NULL), 0);
	assert_int_equal(entries(workdir), 3);
}

/* So that an archive can be read without us. */
static void other_tools_read_it(void **state)
{
	struct workdir *workdir = *state;
	char *command CLEANUP(mem_done) = NULL;

	small_archive(workdir);
	command = mem_printf(
		"cd '%s' && zstd -dc " NAME
		" | tar --warning=no-unknown-keyword -xf - && cmp f tree/f && cmp f tree/g",
		workdir->path);
	assert_int_equal(system(command), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_put_in_comes_out),
		TEST(names_are_bytes),
		TEST(a_path_may_be_longer_than_any_call_takes),
		TEST(big_and_sparse_files_stay_so),
		TEST(what_is_too_big_or_of_no_use_is_refused_and_the_rest_goes_on),
		TEST(a_hundred_thousand_entries_are_no_trouble),
		TEST(whichever_byte_is_damaged_it_is_noticed),
		TEST(wherever_it_is_cut_it_is_noticed),
		TEST(an_archive_of_another_maker_is_read_when_it_is_harmless),
		TEST(nothing_lands_outside_whatever_the_archive_says),
		TEST(what_is_there_already_is_not_written_to),
		TEST(until_it_is_finished_there_is_nothing_of_that_name),
		TEST(a_name_that_is_taken_meanwhile_is_not_overwritten),
		TEST(a_file_that_changes_meanwhile_leaves_no_archive),
		TEST(a_full_disk_is_said_and_leaves_nothing),
		TEST(what_a_killed_writer_left_is_swept),
		TEST(other_tools_read_it),
	};

	return cmocka_run_group_tests_name("archive", tests, workdir_own_mounts, NULL);
}
