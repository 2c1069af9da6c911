#include "hook_file.h"

#include "base/clock.h"
#include "base/text.h"
#include "errand.h"
#include "hook.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

enum { SYMLINKS_MAX = 40 /* as the kernel, path_resolution(7) */, CHECK_MS = 5000 };

/*
 * On the way: what was reached, and what is still to go. The kernel would find the file faster, but not
 * say by whose leave.
 */
struct way {
	int at;           /* O_PATH, a directory */
	struct text done; /* its path, "" for the root */
	char *ahead;
	unsigned symlinks;
	struct stat stat; /* of `at` */
};

static void way_done(struct way *way)
{
	fd_done(&way->at);
	text_done(&way->done);
	free(way->ahead);
}

void hook_file_done(struct hook_file *file)
{
	fd_done(&file->fd);
	free(file->path);
	file->path = NULL;
}

static const char *way_shown(const struct way *way)
{
	return way->done.length ? way->done.data : "/";
}

static int refuse(const char *path, const char *what, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_say(error, EPERM, "%.200s %s", shown, what);
}

/* Whoever owns a file may write it, whatever its mode says now. */
static int check_owner(const char *path, const struct stat *stat, struct error *error)
{
	char what[120];

	if (stat->st_uid == 0 || stat->st_uid == geteuid())
		return 0;
	(void)snprintf(what, sizeof(what),
		"belongs to uid %u, who could have written it: it must belong to root or to uid %u",
		stat->st_uid, geteuid());
	return refuse(path, what, error);
}

static bool others_write(const struct stat *stat)
{
	return stat->st_mode & (S_IWGRP | S_IWOTH);
}

static int check_directory(const struct way *way, struct error *error)
{
	int r = check_owner(way_shown(way), &way->stat, error);

	if (r < 0 || !others_write(&way->stat) || way->stat.st_mode & S_ISVTX)
		return r;
	return refuse(way_shown(way),
		"can be written by group or others, who could replace what is in it: chmod go-w",
		error);
}

/* In a sticky directory others can still make what is not there: a symlink, or a link to our own file. */
static int check_place(const struct way *way, const char *name, struct error *error)
{
	char *path CLEANUP(mem_done) = NULL;

	if (!others_write(&way->stat))
		return 0;
	path = mem_printf("%s/%s", way->done.data ? way->done.data : "", name);
	return refuse(path,
		"lies in a directory in which others can make files: move it to one where they "
		"cannot",
		error);
}

/* Moves on to an open directory. */
static int way_enter(struct way *way, int *fd, const char *name, struct error *error)
{
	struct stat stat;

	if (fstat(*fd, &stat) < 0)
		return error_set(error, errno, "look at a directory of the hook");
	fd_done(&way->at);
	way->at = *fd;
	*fd = -EBADF;
	way->stat = stat;
	if (name && text_equal(name, "..")) {
		char *slash = way->done.data ? strrchr(way->done.data, '/') : NULL;

		way->done.length = slash ? (size_t)(slash - way->done.data) : 0;
		if (way->done.data)
			way->done.data[way->done.length] = 0;
	} else if (name) {
		text_addf(&way->done, "/%s", name);
	}
	return check_directory(way, error);
}

static int way_begin(struct way *way, struct error *error)
{
	int root CLEANUP(fd_done) = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return error_set(error, errno, "open /");
	way->done.length = 0;
	if (way->done.data)
		way->done.data[0] = 0;
	return way_enter(way, &root, NULL, error);
}

/* The next name, taken from what is ahead; NULL: there is none. The caller owns it. */
static char *way_next(struct way *way)
{
	const char *start = way->ahead + strspn(way->ahead, "/");
	size_t length = strcspn(start, "/");
	char *name = length ? mem_printf("%.*s", (int)length, start) : NULL;
	char *rest = mem_dup(start + length);

	free(way->ahead);
	way->ahead = rest;
	return name;
}

/* Its owner cannot be changed by others, and neither can its text; only its place matters. */
static int way_follow(struct way *way, int link, const char *name, struct error *error)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);
	int r = check_place(way, name, error);
	char *ahead;

	if (r < 0)
		return r;
	if (length < 0)
		return error_set(
			error, errno, "read the symlink %.200s/%.80s", way_shown(way), name);
	if (++way->symlinks > SYMLINKS_MAX)
		return error_set(
			error, ELOOP, "follow the symlink %.200s/%.80s", way_shown(way), name);
	target[length] = 0;
	ahead = mem_printf("%s/%s", target, way->ahead);
	free(way->ahead);
	way->ahead = ahead;
	return target[0] == '/' ? way_begin(way, error) : 0;
}

static int check_file(
	const struct way *way, const char *name, const struct stat *stat, struct error *error)
{
	char *path CLEANUP(mem_done) =
		mem_printf("%s/%s", way->done.data ? way->done.data : "", name);
	int r;

	if (!S_ISREG(stat->st_mode))
		return refuse(path, "is not a regular file", error);
	r = check_owner(path, stat, error);
	if (r < 0)
		return r;
	if (others_write(stat))
		return refuse(path, "can be written by group or others: chmod go-w", error);
	r = check_place(way, name, error);
	if (r < 0)
		return r;
	if (!(stat->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return refuse(path, "is not executable: chmod +x", error);
	return 0;
}

/* 1 the file is reached and written to *ret_file, 0 go on, -errno. */
static int way_step(
	struct way *way, const char *name, struct hook_file *ret_file, struct error *error)
{
	int fd CLEANUP(fd_done) = openat(way->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), r;
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return error_set(
			error, errno, "%.200s/%.80s", way->done.length ? way->done.data : "", name);
	if (S_ISLNK(stat.st_mode)) {
		r = check_owner(name, &stat, error);
		return r < 0 ? r : way_follow(way, fd, name, error);
	}
	if (S_ISDIR(stat.st_mode))
		return way_enter(way, &fd, name, error);
	if (way->ahead[strspn(way->ahead, "/")])
		return error_set(error, ENOTDIR, "%.200s/%.80s", way_shown(way), name);
	r = check_file(way, name, &stat, error);
	if (r < 0)
		return r;
	*ret_file = (struct hook_file){
		.fd = fd,
		.path = mem_printf("%s/%s", way->done.length ? way->done.data : "", name),
		.stat = stat,
	};
	fd = -EBADF;
	return 1;
}

int hook_file_open(const char *path, struct hook_file *ret_file, struct error *error)
{
	struct way way CLEANUP(way_done) = { .at = -EBADF, .ahead = mem_dup(path) };
	int r = way_begin(&way, error);

	while (r == 0) {
		char *name CLEANUP(mem_done) = way_next(&way);

		if (!name)
			return refuse(path, "is not a regular file", error);
		if (text_equal(name, "."))
			continue;
		r = way_step(&way, name, ret_file, error);
	}
	return r < 0 ? r : 0;
}

bool hook_file_stands(const struct hook_file *file)
{
	struct stat stat;

	return lstat(file->path, &stat) == 0 && stat.st_dev == file->stat.st_dev &&
	       stat.st_ino == file->stat.st_ino;
}

static int check_work(void *context, void *result, struct error *error)
{
	struct hook_file file CLEANUP(hook_file_done) = { .fd = -EBADF };
	const char *const *path = context;

	(void)result;
	return hook_file_open(*path, &file, error);
}

int hook_check(const char *path, struct error *error)
{
	const struct errand errand = {
		.work = check_work,
		.context = &path,
		.what = "look at the hook",
		.deadline_ms = deadline_in_ms(CHECK_MS),
	};

	return errand_run(&errand, error);
}
