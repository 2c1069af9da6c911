#include "power.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void listing_done(DIR **listing)
{
	if (*listing)
		(void)closedir(*listing);
}

static void require(bool condition, const char *doing, const char *what)
{
	if (condition)
		return;
	(void)fprintf(stderr, "%s %s: %s\n", doing, what, strerror(errno));
	abort();
}

/* --------------------------------------------------------------------------------- what is synced */

static struct power_file *file_find(struct power *power, uint64_t ino)
{
	for (size_t i = 0; i < power->file_count; i++)
		if (power->files[i].ino == ino)
			return &power->files[i];
	return NULL;
}

static struct power_file *file_add(struct power *power, uint64_t ino)
{
	power->files = mem_grow(power->files, power->file_count + 1, sizeof(*power->files));
	power->files[power->file_count] = (struct power_file){ .ino = ino };
	return &power->files[power->file_count++];
}

/* What an open file holds now. */
static void file_sync(struct power *power, int fd, const struct stat *stat)
{
	struct power_file *file = file_find(power, stat->st_ino);

	if (!file)
		file = file_add(power, stat->st_ino);
	free(file->content);
	file->mode = stat->st_mode & ALLPERMS;
	file->length = (size_t)stat->st_size;
	file->content = mem_new(file->length + 1);
	require(pread(fd, file->content, file->length, 0) == (ssize_t)file->length, "read",
		"a file");
}

static void names_drop(struct power *power, uint64_t directory)
{
	size_t kept = 0;

	for (size_t i = 0; i < power->name_count; i++) {
		if (power->names[i].directory == directory)
			free(power->names[i].name);
		else
			power->names[kept++] = power->names[i];
	}
	power->name_count = kept;
}

static void name_add(struct power *power, uint64_t directory, const char *name, uint64_t file)
{
	power->names = mem_grow(power->names, power->name_count + 1, sizeof(*power->names));
	power->names[power->name_count++] = (struct power_name){ directory, file, mem_dup(name) };
}

static const char *name_find(
	const struct power *power, uint64_t directory, const char *name, uint64_t *ret_file)
{
	for (size_t i = 0; i < power->name_count; i++)
		if (power->names[i].directory == directory &&
			text_equal(power->names[i].name, name)) {
			*ret_file = power->names[i].file;
			return power->names[i].name;
		}
	return NULL;
}

static bool concerns(const struct power_watch *watch, const char *name)
{
	return !watch->concerns || watch->concerns(name);
}

/* Calls back for each file and directory in a directory that is watched. */
static void each_entry(const char *path,
	void (*each)(void *context, const char *path, const char *name, const struct stat *stat),
	void *context)
{
	DIR *listing CLEANUP(listing_done) = opendir(path);
	const struct dirent *entry;

	while (listing && (entry = readdir(listing))) {
		char *below CLEANUP(mem_done) = mem_printf("%s/%s", path, entry->d_name);
		struct stat stat;

		if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, ".."))
			continue;
		if (lstat(below, &stat) == 0 && (S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode)))
			each(context, below, entry->d_name, &stat);
	}
}

struct walk {
	struct power *power;
	const struct power_watch *watch;
	uint64_t directory;
	bool (*spared)(const char *name);
};

static void name_sync(void *context, const char *path, const char *name, const struct stat *stat)
{
	struct walk *walk = context;

	(void)path;
	if (S_ISREG(stat->st_mode) && concerns(walk->watch, name))
		name_add(walk->power, walk->directory, name, stat->st_ino);
}

static void directory_sync(
	struct power *power, const struct power_watch *watch, const char *path, uint64_t ino)
{
	struct walk walk = { .power = power, .watch = watch, .directory = ino };

	names_drop(power, ino);
	each_entry(path, name_sync, &walk);
}

static const struct power_watch *watch_of(const struct power *power, const char *path)
{
	for (size_t i = 0; i < power->watch_count; i++) {
		const struct power_watch *watch = &power->watches[i];
		size_t length = strlen(watch->top);

		if (text_equal(path, watch->top) ||
			(watch->whole && text_starts(path, watch->top) && path[length] == '/'))
			return watch;
	}
	return NULL;
}

void power_note(struct power *power, const struct tracer_call *call)
{
	int fd CLEANUP(fd_done) = -EBADF;
	char link[64], path[4096];
	struct stat stat;
	ssize_t length;

	if (call->number != SYS_fsync && call->number != SYS_fdatasync)
		return;
	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->pid, (int)call->args[0]);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = 0;
	fd = open(link, O_RDONLY | O_CLOEXEC);
	require(fd >= 0 && fstat(fd, &stat) == 0, "open", path);
	if (stat.st_dev != power->dev)
		return;
	if (S_ISREG(stat.st_mode))
		file_sync(power, fd, &stat);
	else if (S_ISDIR(stat.st_mode) && watch_of(power, path))
		directory_sync(power, watch_of(power, path), path, stat.st_ino);
}

static void begin_below(struct power *power, const struct power_watch *watch, const char *path);

static void begin_entry(void *context, const char *path, const char *name, const struct stat *stat)
{
	struct walk *walk = context;
	int fd CLEANUP(fd_done) = -EBADF;

	if (S_ISDIR(stat->st_mode)) {
		if (walk->watch->whole)
			begin_below(walk->power, walk->watch, path);
		return;
	}
	if (!concerns(walk->watch, name))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOATIME);
	require(fd >= 0, "open", path);
	file_sync(walk->power, fd, stat);
}

static void begin_below(struct power *power, const struct power_watch *watch, const char *path)
{
	struct walk walk = { .power = power, .watch = watch };
	struct stat stat;

	require(lstat(path, &stat) == 0, "look at", path);
	power->dev = stat.st_dev;
	directory_sync(power, watch, path, stat.st_ino);
	each_entry(path, begin_entry, &walk);
}

void power_begin(struct power *power, const struct power_watch *watches, size_t watch_count)
{
	power_done(power);
	power->watches = watches;
	power->watch_count = watch_count;
	for (size_t i = 0; i < watch_count; i++)
		begin_below(power, &watches[i], watches[i].top);
}

/* ---------------------------------------------------------------------------------------- the cut */

static void cut_below(struct walk *walk, const char *path);

/* A name that was never synced is lost, and so is what its file got since the last sync. */
static void cut_entry(void *context, const char *path, const char *name, const struct stat *stat)
{
	const struct walk *walk = context;
	struct walk below = *walk;
	uint64_t ino;

	if (S_ISDIR(stat->st_mode)) {
		if (walk->watch->whole)
			cut_below(&below, path);
		return;
	}
	if (!concerns(walk->watch, name) || (walk->spared && walk->spared(name)))
		return;
	if (!name_find(walk->power, walk->directory, name, &ino) || ino != stat->st_ino)
		require(unlink(path) == 0, "remove", path);
}

static bool holds(const char *path, const struct power_file *file)
{
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_CLOEXEC | O_NOATIME);
	char *content CLEANUP(mem_done) = mem_new(file->length + 1);
	struct stat stat;

	return fd >= 0 && fstat(fd, &stat) == 0 && (stat.st_mode & ALLPERMS) == file->mode &&
	       (size_t)stat.st_size == file->length &&
	       read(fd, content, file->length) == (ssize_t)file->length &&
	       memcmp(content, file->content, file->length) == 0;
}

/* The name and content as they were synced; a file of the same name was unlinked before. */
static void restore(const struct walk *walk, const char *path, const struct power_name *name)
{
	const struct power_file *file = file_find(walk->power, name->file);
	char *whole CLEANUP(mem_done) = mem_printf("%s/%s", path, name->name);
	int fd CLEANUP(fd_done) = -EBADF;
	size_t length = file ? file->length : 0;

	if (file && holds(whole, file))
		return;
	fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0, "restore", whole);
	require(!file || write(fd, file->content, length) == (ssize_t)length, "restore", whole);
	require(!file || fchmod(fd, file->mode) == 0, "restore", whole);
}

static void cut_below(struct walk *walk, const char *path)
{
	struct stat stat;

	if (lstat(path, &stat) != 0)
		return; /* a directory that went persists as gone */
	walk->directory = stat.st_ino;
	each_entry(path, cut_entry, walk);
	walk->directory = stat.st_ino;
	for (size_t i = 0; i < walk->power->name_count; i++) {
		const struct power_name *name = &walk->power->names[i];

		if (name->directory == stat.st_ino && !(walk->spared && walk->spared(name->name)))
			restore(walk, path, name);
	}
}

void power_cut(struct power *power, bool (*spared)(const char *name))
{
	for (size_t i = 0; i < power->watch_count; i++) {
		struct walk walk = {
			.power = power,
			.watch = &power->watches[i],
			.spared = spared,
		};

		cut_below(&walk, power->watches[i].top);
	}
}

void power_done(struct power *power)
{
	for (size_t i = 0; i < power->file_count; i++)
		free(power->files[i].content);
	for (size_t i = 0; i < power->name_count; i++)
		free(power->names[i].name);
	free(power->files);
	free(power->names);
	*power = (struct power){ 0 };
}
