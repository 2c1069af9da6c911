#include "copy.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { NAMES_MAX = 512 };

static void listing_done(DIR **listing)
{
	if (*listing)
		(void)closedir(*listing);
}

static void fail_at(const char *doing, const char *path)
{
	(void)fprintf(stderr, "%s %s: %s\n", doing, path, strerror(errno));
	abort();
}

/* Names in a directory, sorted, each for the caller to free. */
static size_t names_of(const char *path, char *names[NAMES_MAX])
{
	DIR *listing CLEANUP(listing_done) = opendir(path);
	const struct dirent *entry;
	size_t count = 0;

	if (!listing)
		fail_at("read", path);
	while ((entry = readdir(listing))) {
		if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, ".."))
			continue;
		assert(count < NAMES_MAX);
		names[count++] = mem_dup(entry->d_name);
	}
	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && strcmp(names[j - 1], names[j]) > 0; j--) {
			char *name = names[j];

			names[j] = names[j - 1];
			names[j - 1] = name;
		}
	return count;
}

/* What a file or link holds; the caller frees it. */
static char *content_of(const char *path, const struct stat *stat, size_t *ret_length)
{
	size_t room = (size_t)stat->st_size + 1;
	char *content = mem_new(room);
	int fd CLEANUP(fd_done) = -EBADF;
	ssize_t length;

	if (S_ISLNK(stat->st_mode)) {
		length = readlink(path, content, room);
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOATIME);
		length = read(fd, content, room - 1);
	}
	if (length < 0)
		fail_at("read", path);
	*ret_length = (size_t)length;
	return content;
}

static void copy_leaf(const char *from, const char *to, const struct stat *stat)
{
	size_t length;
	char *content CLEANUP(mem_done) = content_of(from, stat, &length);
	int fd CLEANUP(fd_done) = -EBADF;

	if (S_ISLNK(stat->st_mode)) {
		if (symlink(content, to) != 0)
			fail_at("make", to);
		return;
	}
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, content, length) != (ssize_t)length ||
		fchmod(fd, stat->st_mode & ALLPERMS) != 0)
		fail_at("write", to);
}

static void copy_directory(const char *from, const char *to)
{
	char *names[NAMES_MAX];
	size_t count = names_of(from, names);

	if (mkdir(to, 0700) != 0)
		fail_at("make", to);
	for (size_t i = 0; i < count; i++) {
		char *source CLEANUP(mem_done) = mem_printf("%s/%s", from, names[i]);
		char *target CLEANUP(mem_done) = mem_printf("%s/%s", to, names[i]);

		copy_tree(source, target);
		free(names[i]);
	}
}

void copy_tree(const char *from, const char *to)
{
	struct timespec times[2];
	struct stat stat;

	if (lstat(from, &stat) != 0)
		fail_at("look at", from);
	if (!S_ISDIR(stat.st_mode))
		copy_leaf(from, to, &stat);
	else
		copy_directory(from, to);
	if (S_ISDIR(stat.st_mode) && chmod(to, stat.st_mode & ALLPERMS) != 0)
		fail_at("set the mode of", to);
	times[0] = stat.st_atim;
	times[1] = stat.st_mtim;
	if (utimensat(AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW) != 0)
		fail_at("set the times of", to);
}

void empty_tree(const char *path)
{
	char *names[NAMES_MAX];
	size_t count = names_of(path, names);

	for (size_t i = 0; i < count; i++) {
		char *entry CLEANUP(mem_done) = mem_printf("%s/%s", path, names[i]);
		struct stat stat;

		if (lstat(entry, &stat) == 0 && S_ISDIR(stat.st_mode)) {
			(void)chmod(entry, 0700);
			empty_tree(entry);
		}
		if (remove(entry) != 0)
			fail_at("remove", entry);
		free(names[i]);
	}
}

/* FNV-1a: it is to find changes, not forgeries. */
static uint64_t hash_of(const char *bytes, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void describe_one(struct text *text, const char *path, const char *relative,
	const struct stat *stat, enum describe_how how)
{
	text_addf(text, "%s %06o", relative, stat->st_mode);
	if (S_ISREG(stat->st_mode) || S_ISLNK(stat->st_mode)) {
		size_t length;
		char *content CLEANUP(mem_done) = content_of(path, stat, &length);

		text_addf(
			text, " %zu %016llx", length, (unsigned long long)hash_of(content, length));
	}
	if (how == DESCRIBE_EXACTLY)
		text_addf(text, " i%llu %lld.%09ld", (unsigned long long)stat->st_ino,
			(long long)stat->st_mtim.tv_sec, stat->st_mtim.tv_nsec);
	text_add(text, "\n");
}

static void describe_below(struct text *text, const char *top, const char *relative,
	enum describe_how how, bool (*omit)(const char *relative))
{
	char *path CLEANUP(mem_done) = mem_printf("%s%s%s", top, *relative ? "/" : "", relative);
	char *names[NAMES_MAX];
	struct stat stat;
	size_t count;

	if (omit && *relative && omit(relative))
		return;
	if (lstat(path, &stat) != 0) {
		text_addf(text, "%s -\n", path);
		return;
	}
	describe_one(text, path, *relative ? relative : top, &stat, how);
	if (!S_ISDIR(stat.st_mode))
		return;
	count = names_of(path, names);
	for (size_t i = 0; i < count; i++) {
		char *below CLEANUP(mem_done) =
			mem_printf("%s%s%s", relative, *relative ? "/" : "", names[i]);

		describe_below(text, top, below, how, omit);
		free(names[i]);
	}
}

void describe_tree(struct text *text, const char *path, enum describe_how how,
	bool (*omit)(const char *relative))
{
	describe_below(text, path, "", how, omit);
}
