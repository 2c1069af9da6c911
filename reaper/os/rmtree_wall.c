/*
 * rmtree(): the crew (rmtree_crew.c) and then the walk (rmtree.c) behind the second wall.
 *
 * They run in an errand that may remove beneath the one directory it is given, and nowhere
 * else. So that the wall can be that tight, the directory itself, which is an entry of what it is
 * in, is left to us: an rmdir, which cannot take what is not empty. Confining to the trash as a whole
 * was rejected, since then a fault could take what another run has in it.
 */
#include "base/text.h"
#include "confine.h"
#include "dir.h"
#include "errand.h"
#include "rmtree_crew.h"
#include "rmtree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct clearing {
	struct rmtree_top top;
	const char *what;
	const struct stat
		*known; /* what must still have the name; NULL: the parent is ours alone */
	bool steadfast;
};

/*
 * In the child. Where this kernel cannot confine, the pass has said so, and it goes on, with the walk
 * alone: what is moved out of the tree while it is held open loses what is in it then, and the walk
 * holds few directories.
 */
static int clear_confined(void *context, void *result, struct error *error)
{
	const struct clearing *clearing = context;
	int r = confine_to(&clearing->top.fd, 1, CONFINE_REMOVE, error);

	if (r < 0)
		return r;
	return r > 0 && rmtree_crew(&clearing->top, result)
		       ? 0
		       : rmtree_walk(&clearing->top, result, error);
}

static int clear(struct clearing *clearing, struct rmtree_report *report, struct error *error)
{
	const struct errand errand = {
		.work = clear_confined,
		.context = clearing,
		.what = clearing->what,
		.keep = &clearing->top.fd,
		.keep_count = 1,
		.result = report,
		.result_size = sizeof(*report),
		.deadline_ms = clearing->top.limits.deadline_ms,
		.steadfast = clearing->steadfast,
	};

	return errand_run(&errand, error);
}

static bool is_same(int parent, const char *name, const struct stat *known)
{
	struct stat now;

	return fstatat(parent, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == known->st_dev && now.st_ino == known->st_ino;
}

/*
 * Whether a proved directory still has its name: what was moved away is where nobody told us to
 * delete, and what has the name instead, empty as it may be, was just made by somebody. 1, 0 when it
 * was removed meanwhile, -ESTALE.
 */
static int look_again(int parent, const struct clearing *clearing, struct error *error)
{
	struct stat now;

	if (!clearing->known || is_same(parent, clearing->top.name, clearing->known))
		return 1;
	if (fstat(clearing->top.fd, &now) == 0 && now.st_nlink == 0)
		return 0;
	return error_say(error, ESTALE, "%s: it was moved away, or another thing has its name",
		clearing->what);
}

/*
 * Clears the same directory again when it is not empty after all: whatever has taken its name
 * meanwhile is not what we were told to delete.
 */
static int remove_directory(
	int parent, struct clearing *clearing, struct rmtree_report *report, struct error *error)
{
	for (int rounds = 0; rounds < RMTREE_ROUNDS; rounds++) {
		int r = look_again(parent, clearing, error);

		if (r <= 0)
			return r;
		r = clear(clearing, report, error);
		if (r < 0)
			return r;
		if (clearing->top.spare)
			return 1;
		r = look_again(parent, clearing, error);
		if (r <= 0)
			return r;
		r = rmtree_rmdir(parent, clearing->top.name, report, error);
		if (r != -ENOTEMPTY)
			return r < 0 ? r : 1;
	}
	return error_set(error, ENOTEMPTY, "%s", clearing->what);
}

/* The directory is open as clearing->top. */
static int remove_opened(
	int parent, struct clearing *clearing, struct rmtree_report *report, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(clearing->top.name);
	char *what CLEANUP(mem_done) = mem_printf("delete %.200s", shown);

	clearing->what = what;
	return remove_directory(parent, clearing, report, error);
}

static int remove_any(
	int parent, struct clearing *clearing, struct rmtree_report *report, struct error *error)
{
	int top CLEANUP(fd_done) = -EBADF;

	if (!dir_is_name(clearing->top.name))
		return error_say(error, EINVAL, "delete: not the name of a directory entry");
	top = clearing->top.fd = rmtree_open(parent, clearing->top.name, error);
	if (top == -ENOENT)
		return 0;
	if (top == -ENOTDIR)
		return rmtree_file(parent, clearing->top.name, report, error);
	return top < 0 ? top : remove_opened(parent, clearing, report, error);
}

int rmtree(int parent, const char *name, const struct rmtree_limits *limits,
	struct rmtree_report *report, struct error *error)
{
	struct clearing clearing = { .top = { .name = name, .limits = *limits } };

	return remove_any(parent, &clearing, report, error);
}

int rmtree_steadfast(int parent, const char *name, int64_t deadline_ms,
	struct rmtree_report *report, struct error *error)
{
	struct clearing clearing = {
		.top = { .name = name, .limits.deadline_ms = deadline_ms },
		.steadfast = true,
	};

	return remove_any(parent, &clearing, report, error);
}

int rmtree_opened(int parent, const struct rmtree_opened *opened, struct rmtree_report *report,
	struct error *error)
{
	struct stat known;
	struct clearing clearing = {
		.top = { opened->thing, opened->name, opened->spare, opened->limits },
		.known = &known,
	};

	if (!dir_is_name(opened->name) || fstat(opened->thing, &known) < 0)
		return error_say(error, EINVAL, "delete: not an entry of a directory");
	if (S_ISDIR(known.st_mode))
		return remove_opened(parent, &clearing, report, error);
	if (!is_same(parent, opened->name, &known))
		return error_say(error, ESTALE, "delete: another thing has taken its name");
	return rmtree_file(parent, opened->name, report, error);
}
