#include "answering.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "base/text.h"
#include "dir.h"
#include "errand.h"
#include "mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>

/* Which mounts do not answer. */
struct census {
	struct mount_table table;
	const char *const *paths;
	const struct mount **of; /* of each path, NULL: unknown */
	bool *silent;            /* by place in the table */
};

static void census_done(struct census *census)
{
	mounts_done(&census->table);
	free(census->of);
	free(census->silent);
}

/* The innermost mount that a path lies on, as far as its text says. */
static const struct mount *mount_of(const struct mount_table *table, const char *path)
{
	char *at CLEANUP(mem_done) = mem_dup(path);

	for (;;) {
		const struct mount *mount = mounts_at(table, at);
		char *slash = strrchr(at, '/');

		if (mount || text_equal(at, "/"))
			return mount;
		slash[slash == at] = 0;
	}
}

/* Without a table each path is asked, which is right and may only be slow. */
static void census_take(struct census *census, const char *const *paths, size_t count)
{
	census->paths = paths;
	census->of = mem_new((count + 1) * sizeof(*census->of));
	if (mounts_read(&census->table, NULL) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		census->of[i] = mount_of(&census->table, paths[i]);
	census->silent = mem_new(census->table.count + 1);
}

static bool census_silent(const struct census *census, size_t path)
{
	const struct mount *mount = census->of[path];

	return mount && census->silent[mount - census->table.mounts];
}

/* ------------------------------------------------------------------------------- in the child */

enum { STAY_MS = ANSWERING_MS / 4 };

struct asking {
	const struct census *census; /* what lies on a mount known to be silent is passed by */
	const char *const *paths;
	size_t count, next;
	size_t names; /* from here on only where they lead */
};

static void find(const char *path)
{
	int fd CLEANUP(fd_done) = open(path, O_PATH | O_CLOEXEC);

	(void)fd;
}

/* Nothing that is found matters. Not blocking: a fifo or a device must not hold us either. */
static void touch(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_DIRECTORY);
	struct statfs space;
	struct stat stat;
	DIR *stream;

	if (fd < 0)
		return;
	(void)fstat(fd, &stat);
	(void)fstatfs(fd, &space);
	stream = fdopendir(fd);
	if (stream) {
		(void)readdir(stream);
		(void)closedir(stream);
	} else {
		(void)close(fd);
	}
}

/*
 * Its result is the place of the path that it is at. It comes back when its time is half over, so that
 * the one after many slow ones has its share.
 */
static int ask_work(void *context, void *result, struct error *error)
{
	const struct asking *asking = context;
	int64_t stay_until_ms = deadline_in_ms(STAY_MS);
	size_t *at = result;

	(void)error;
	for (*at = asking->next; *at < asking->count; ++*at) {
		if (*at > asking->next && deadline_left_ms(stay_until_ms) == 0)
			return 0;
		if (asking->census && census_silent(asking->census, *at))
			continue;
		(*at < asking->names ? touch : find)(asking->paths[*at]);
	}
	return 0;
}

struct looking {
	const char *path;
	bool plain; /* without symlinks */
};

static int look_work(void *context, void *result, struct error *error)
{
	const struct looking *looking = context;
	int top CLEANUP(fd_done) = -EBADF, fd CLEANUP(fd_done) = -EBADF;

	(void)error;
	if (!looking->plain)
		return dir_look(AT_FDCWD, looking->path, result);
	top = dir_open("/", NULL);
	fd = top < 0 ? top : dir_open_through(top, looking->path + 1, O_PATH | O_NOFOLLOW);
	return fd < 0 ? fd : dir_look(fd, "", result);
}

/* ------------------------------------------------------------------------------ in the parent */

/* Asks from asking->next on, and moves that on to what did not answer, or to the end: 1 and 0. -errno:
 * there can be no child. */
static int ask_on(struct asking *asking, int64_t end_ms, struct error *error)
{
	size_t at = asking->next;
	const struct errand errand = {
		.work = ask_work,
		.context = asking,
		.what = "ask whether a path answers",
		.result = &at,
		.result_size = sizeof(at),
		.deadline_ms = deadline_sooner(deadline_in_ms(ANSWERING_MS), end_ms),
	};
	struct error unsaid = { 0 };
	int r = errand_run(&errand, &unsaid);

	if (r < 0 && r != -ETIME && r != -EIO && r != -EINTR)
		return error_say(error, -r, "%s", unsaid.text);
	asking->next = at;
	return r < 0 && at < asking->count;
}

/* A path may lead to another mount than its text says, by a symlink; so its mount is asked, too. */
static int ask_mount(struct census *census, size_t path, int64_t end_ms, struct error *error)
{
	const struct mount *mount = census->of[path];
	struct asking asking = { .count = 1, .names = 1 };
	int r;

	if (!mount)
		return 0;
	asking.paths = &mount->point;
	r = text_equal(mount->point, census->paths[path]) ? 1 : ask_on(&asking, end_ms, error);
	census->silent[mount - census->table.mounts] = r > 0;
	return r;
}

static int ask_all(struct asking *asking, struct census *census, bool *silent, struct error *error)
{
	int64_t end_ms = deadline_in_ms(ANSWERING_ALL_MS);

	while (asking->next < asking->count && deadline_left_ms(end_ms) > 0) {
		int r = ask_on(asking, end_ms, error);

		if (r > 0) {
			silent[asking->next] = true;
			r = ask_mount(census, asking->next++, end_ms, error);
		}
		if (r < 0)
			return r;
	}
	while (asking->next < asking->count)
		silent[asking->next++] = true;
	return 0;
}

int answering_ask(const char *const *paths, size_t count, bool *ret_silent, struct error *error)
{
	return answering_ask_names(paths, count, count, ret_silent, error);
}

int answering_ask_names(
	const char *const *paths, size_t count, size_t names, bool *ret_silent, struct error *error)
{
	struct census census CLEANUP(census_done) = { 0 };
	struct asking asking = {
		.census = &census, .paths = paths, .count = count, .names = names
	};
	int r;

	memset(ret_silent, 0, count * sizeof(*ret_silent));
	census_take(&census, paths, count);
	r = ask_all(&asking, &census, ret_silent, error);
	for (size_t i = 0; i < count; i++)
		ret_silent[i] |= r < 0 || census_silent(&census, i);
	return r;
}

static int look_apart(const char *path, bool plain, struct stat *ret_stat)
{
	struct looking looking = { path, plain };
	struct stat stat = { 0 };
	const struct errand errand = {
		.work = look_work,
		.context = &looking,
		.what = "look at a path",
		.result = &stat,
		.result_size = sizeof(stat),
		.deadline_ms = deadline_in_ms(ANSWERING_MS),
	};
	int r = errand_run(&errand, NULL);

	if (r >= 0)
		*ret_stat = stat;
	return r;
}

int answering_look(const char *root, const char *path, struct stat *ret_stat)
{
	const char *below = root ? pathname_below(path, root) : NULL;
	int dir CLEANUP(fd_done) = -EBADF, fd CLEANUP(fd_done) = -EBADF;

	if (!below)
		return look_apart(path, root != NULL, ret_stat);
	dir = dir_open(root, NULL);
	fd = dir < 0 ? dir : dir_open_below(dir, below, O_PATH | O_NOFOLLOW, NULL);
	if (fd == -EXDEV)
		return look_apart(path, true, ret_stat);
	return fd < 0 ? fd : dir_look(fd, "", ret_stat);
}

const char *answering_words(const char *path, struct arena *arena)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	const struct mount *mount = NULL;
	char *point CLEANUP(mem_done) = NULL, *type CLEANUP(mem_done) = NULL;

	if (mounts_read(&table, NULL) == 0)
		mount = mount_of(&table, path);
	if (!mount || text_equal(mount->point, "/"))
		return "it does not answer, so nothing of it is touched";
	point = text_escape(mount->point);
	type = text_escape(mount->type);
	return arena_printf(arena,
		"it does not answer, so nothing of it is touched; it lies on the %.60s that is "
		"mounted at %.300s",
		type, point);
}
