#include "treesize.h"

#include "dir.h"
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

struct measure {
	struct walk walk;
	struct tree_size size;
	struct error *error;
};

static void measure_done(struct measure *measure)
{
	walk_done(&measure->walk);
}

static int fail(struct measure *measure, int code, const char *name)
{
	char *path CLEANUP(mem_done) = walk_path(&measure->walk, name);

	return error_set(measure->error, code, "measure %s", path);
}

static void count(struct measure *measure, const struct stat *st)
{
	measure->size.bytes += (int64_t)st->st_blocks * 512;
	measure->size.inodes++;
}

/* O_NOATIME is the owner's and root's only (open(2)). */
static int open_quietly(int dir, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int fd = dir_open_below(dir, name, flags | O_NOATIME, NULL);

	return fd == -EPERM ? dir_open_below(dir, name, flags, NULL) : fd;
}

/* 0, also for what vanished or became something else meanwhile, and for a mount. */
static int enter(struct measure *measure, const struct walk_entry *entry)
{
	struct stat st;
	int fd, r;

	if (measure->walk.depth == WALK_DEPTH)
		return fail(measure, EOVERFLOW, entry->name);
	fd = open_quietly(entry->dir, entry->name);
	if (fd == -EXDEV || fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return fail(measure, -fd, entry->name);
	if (fstat(fd, &st) == 0)
		count(measure, &st);
	r = walk_push(&measure->walk, fd, entry->name);
	return r < 0 ? fail(measure, -r, entry->name) : 0;
}

static int add_file(struct measure *measure, const struct walk_entry *entry)
{
	struct stat st;

	if (fstatat(entry->dir, entry->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
		count(measure, &st);
	else if (errno != ENOENT)
		return fail(measure, errno, entry->name);
	return 0;
}

static int visit(struct measure *measure, const struct walk_entry *entry)
{
	return entry->type == DT_DIR ? enter(measure, entry) : add_file(measure, entry);
}

static int leave(struct measure *measure, const struct walk_entry *entry)
{
	if (entry->code)
		return fail(measure, entry->code, NULL);
	walk_pop(&measure->walk);
	return 0;
}

int treesize(int parent, const char *name, int64_t deadline_ms, struct tree_size *ret_size,
	struct error *error)
{
	struct measure measure CLEANUP(measure_done) = { .error = error };
	struct walk_entry entry = { .dir = parent, .name = name };
	struct stat st;
	int r, step;

	if (!dir_is_name(name))
		return error_say(error, EINVAL, "measure: not the name of a directory entry");
	walk_start(&measure.walk, parent, name, deadline_ms, O_NOATIME);
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
		entry.type = (unsigned char)IFTODT(st.st_mode);
	r = visit(&measure, &entry);
	while (r == 0 && (step = walk_next(&measure.walk, &entry)) != WALK_DONE) {
		if (step < 0)
			r = fail(&measure, -step, NULL);
		else
			r = step == WALK_ENTRY ? visit(&measure, &entry) : leave(&measure, &entry);
	}
	if (r == 0 || r == -ETIME)
		*ret_size = measure.size;
	return r;
}
