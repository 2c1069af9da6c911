#include "owner.h"

#include "dir.h"
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct giving {
	struct walk walk;
	uid_t uid;
	gid_t gid;
	struct error *error;
};

static void giving_done(struct giving *giving)
{
	walk_done(&giving->walk);
}

static int give_fail(struct giving *giving, int code, const char *name)
{
	char *shown CLEANUP(mem_done) = walk_path(&giving->walk, name);

	return error_set(giving->error, code, "give %s to uid %u", shown, giving->uid);
}

/*
 * By its descriptor. A file with another name is none that we made: whoever may write in a directory
 * of the tree (its mode is what it was) has linked it there to be given it.
 */
static int give_file(struct giving *giving, const struct walk_entry *entry)
{
	int fd CLEANUP(fd_done) =
		dir_open_below(entry->dir, entry->name, O_PATH | O_NOFOLLOW, NULL);
	struct stat stat;

	if (fd < 0)
		return give_fail(giving, -fd, entry->name);
	if (fstat(fd, &stat) < 0)
		return give_fail(giving, errno, entry->name);
	if (S_ISDIR(stat.st_mode) || stat.st_nlink != 1)
		return give_fail(giving, S_ISDIR(stat.st_mode) ? EISDIR : EMLINK, entry->name);
	return fchownat(fd, "", giving->uid, giving->gid, AT_EMPTY_PATH) < 0
		       ? give_fail(giving, errno, entry->name)
		       : 0;
}

static int give_entry(struct giving *giving, const struct walk_entry *entry)
{
	int fd, r;

	if (entry->type != DT_DIR)
		return give_file(giving, entry);
	fd = dir_open_below(entry->dir, entry->name, O_RDONLY | O_DIRECTORY, NULL);
	r = fd < 0 ? fd : walk_push(&giving->walk, fd, entry->name);
	return r < 0 ? give_fail(giving, -r, entry->name) : 0;
}

static int give_left(struct giving *giving, const struct walk_entry *entry)
{
	if (entry->code)
		return give_fail(giving, entry->code, NULL);
	walk_pop(&giving->walk);
	if (!walk_top(&giving->walk)) /* by its descriptor, last */
		return 0;
	return fchownat(entry->dir, entry->name, giving->uid, giving->gid, AT_SYMLINK_NOFOLLOW) < 0
		       ? give_fail(giving, errno, entry->name)
		       : 0;
}

static int give_tree(int dir, const char *name, uid_t uid, gid_t gid, struct error *error)
{
	struct giving giving CLEANUP(giving_done) = { .uid = uid, .gid = gid, .error = error };
	struct walk_entry entry;
	int fd, step = 0, r;

	walk_start(&giving.walk, dir, name, INT64_MAX, 0);
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : walk_push(&giving.walk, fd, name);
	if (r < 0)
		return give_fail(&giving, -r, NULL);
	while (r == 0 && (step = walk_next(&giving.walk, &entry)) != WALK_DONE) {
		if (step < 0)
			r = give_fail(&giving, -step, NULL);
		else
			r = step == WALK_ENTRY ? give_entry(&giving, &entry)
					       : give_left(&giving, &entry);
	}
	if (r == 0 && (giving.walk.cut || fchown(dir, uid, gid) < 0))
		r = give_fail(&giving, giving.walk.cut ? ENAMETOOLONG : errno, NULL);
	return r;
}

int owner_give(int dir, const char *name, uid_t uid, gid_t gid, struct error *error)
{
	if (uid == geteuid() && gid == getegid())
		return 0;
	return give_tree(dir, name, uid, gid, error);
}
