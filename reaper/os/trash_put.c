/* What is to go leaves its place: by rename into the trash, or deleted where there is no room for that. */
#include "trash_parts.h"

#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "dir.h"
#include "protection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum {
	TRASH_NUMBERS = 1000, /* entries of one run and generation */
	PUT_TRIES = 3 /* as many things as can keep one from being moved, one behind the other */
};

/* What is being set aside, and where from. */
struct put {
	const char *path, *run; /* as given */
	char *shown;            /* path, escaped and cut */
	int parent;             /* the directory that it is in */
	const char *name;       /* in it */
	int trash;
	struct stat st; /* of the thing itself */
};

static void put_done(struct put *put)
{
	fd_done(&put->parent);
	fd_done(&put->trash);
	mem_done(&put->shown);
}

/* 0, or -EINVAL for what no caller of ours should give, however it came about. */
static int put_check(const char *path, const char *run, int64_t generation, const char *shown,
	struct error *error)
{
	char *absolute CLEANUP(mem_done) = mem_printf("/%s", path);
	char *clean CLEANUP(mem_done) = pathname_clean(absolute, NULL);
	int r = runid_check(run, error);

	if (r < 0)
		return r;
	if (generation < 0 || !path[0] || !text_equal(absolute, clean))
		return error_say(error, EINVAL,
			"set %s aside: not a clean path below the root, or a negative generation",
			shown);
	if (text_equal(path, TRASH_NAME) || text_starts(path, TRASH_NAME "/"))
		return error_say(error, EINVAL, "set %s aside: that is the trash itself", shown);
	return 0;
}

/* Opens what the path is in. 1, 0 when that is not there, -errno. */
static int put_open_parent(struct put *put, int root, struct error *error)
{
	const char *slash = strrchr(put->path, '/');
	char *above CLEANUP(mem_done) =
		slash ? mem_printf("%.*s", (int)(slash - put->path), put->path) : mem_dup(".");
	int fd = dir_open_below(root, above, O_RDONLY | O_DIRECTORY, NULL);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return error_set(error, -fd, "open what %s is in", put->shown);
	put->parent = fd;
	put->name = slash ? slash + 1 : put->path;
	return 1;
}

/* Proves on a descriptor what stands at the path. Returns that, -ENOENT, or -errno. */
static int put_prove(struct put *put, uint64_t dev, uint64_t ino, struct error *error)
{
	int thing CLEANUP(fd_done) =
		dir_open_below(put->parent, put->name, O_PATH | O_NOFOLLOW, NULL);

	if (thing == -ENOENT)
		return thing;
	if (thing == -EXDEV)
		return error_set(
			error, EXDEV, "set %s aside: something is mounted there", put->shown);
	if (thing < 0 || fstat(thing, &put->st) != 0)
		return error_set(error, thing < 0 ? -thing : errno, "open %s", put->shown);
	if (S_ISLNK(put->st.st_mode))
		return error_say(error, ESTALE, "%s is a symlink, and those are never set aside",
			put->shown);
	if ((dev || ino) && (put->st.st_dev != dev || put->st.st_ino != ino))
		return error_say(error, ESTALE,
			"%s is not what was registered (inode %llu of device %llx, expected %llu "
			"of %llx)",
			put->shown, (unsigned long long)put->st.st_ino,
			(unsigned long long)put->st.st_dev, (unsigned long long)ino,
			(unsigned long long)dev);
	return TAKE_FD(thing);
}

/*
 * Renames into the trash under the first free name. 1, 0 when it vanished, -errno; only that no name
 * is free sets the error.
 */
static int put_rename(
	const struct put *put, int64_t generation, char **ret_name, struct error *error)
{
	for (int64_t number = 0; number < TRASH_NUMBERS; number++) {
		char *name CLEANUP(mem_done) = trash_name(put->run, generation, number);

		if (renameat2(put->parent, put->name, put->trash, name, RENAME_NOREPLACE) == 0) {
			*ret_name = TAKE_PTR(name);
			return 1;
		}
		if (errno == ENOENT)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return error_say(error, EEXIST, "set %s aside: %d entries of %s are in the trash already",
		put->shown, TRASH_NUMBERS, put->run);
}

/*
 * Whether what kept the proved thing itself from being moved is out of the way now. A directory that
 * its owner may not write cannot change its parent ("..", rename(2)), which for root with its
 * capabilities never happens; nor can an immutable one or a read-only btrfs subvolume. What its
 * parent and the trash are is not ours to change.
 */
static bool put_free(const struct put *put, int thing, int code)
{
	if (code == -EACCES)
		return S_ISDIR(put->st.st_mode) && dir_make_passable(thing) == 0;
	return (code == -EPERM || code == -EROFS) && protection_lift(thing) > 0;
}

static int put_fail(const struct put *put, int code, struct error *error)
{
	struct text text CLEANUP(text_done) = { 0 };
	const char *trash = code == EPERM ? protection_of(put->trash) : NULL;

	if (code == EXDEV)
		text_add(&text, " (it is in another btrfs subvolume, project or encryption scope "
				"than the " TRASH_NAME " of its root: make what it is in a root)");
	if (trash)
		text_addf(&text, " (" TRASH_NAME " is %s: chattr -%c)", trash, *trash);
	else
		protection_explain(&text, code, put->parent, put->name);
	return error_set(error, code, "set %s aside%s", put->shown, text.data ? text.data : "");
}

static int put_move(
	const struct put *put, int thing, int64_t generation, char **ret_name, struct error *error)
{
	int r = put_rename(put, generation, ret_name, error);

	for (int tries = 0; r < 0 && r != -EEXIST && tries < PUT_TRIES; tries++) {
		if (!put_free(put, thing, r))
			break;
		r = put_rename(put, generation, ret_name, error);
	}
	return r < 0 ? put_fail(put, -r, error) : r;
}

/*
 * Another thing took the place between proof and rename: it goes back where it was. When its place
 * is taken again it stays in the trash under a name that is nobody's, so that no purge finds it.
 */
static int put_undo(const struct put *put, const char *name, struct error *error)
{
	char *stray CLEANUP(mem_done) = mem_printf(".stray:%s", name);

	if (renameat2(put->trash, name, put->parent, put->name, RENAME_NOREPLACE) == 0)
		return error_say(error, ESTALE,
			"%s was replaced while it was set aside; the other thing was put back",
			put->shown);
	if (renameat2(put->trash, name, put->trash, stray, RENAME_NOREPLACE) == 0)
		return error_say(error, ESTALE,
			"%s was replaced while it was set aside; the other thing is " TRASH_NAME
			"/%s now: a person has to look",
			put->shown, stray);
	return error_set(error, errno, "put back what had replaced %s, now " TRASH_NAME "/%s",
		put->shown, name);
}

/* Not every filesystem can sync a directory (EINVAL, fsync(2)). */
static int sync_dir(int dir, const char *shown, struct error *error)
{
	if (fsync(dir) == 0 || errno == EINVAL)
		return 0;
	return error_set(error, errno, "sync what %s was in, or is now", shown);
}

/*
 * The thing is in the trash: looks whether it is the one that was proved, and makes that last. The race
 * that remains: killed between rename and check, after another thing won the place from the one that
 * was proved, which takes the right to write in the root.
 */
static int put_settle(const struct put *put, const char *name, struct error *error)
{
	struct stat st;
	int r;

	assert(name);
	if (fstatat(put->trash, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return error_set(error, errno, "look at %s after it was set aside", put->shown);
	if (st.st_dev != put->st.st_dev || st.st_ino != put->st.st_ino)
		return put_undo(put, name, error);
	r = sync_dir(put->trash, put->shown, error);
	if (r == 0)
		r = sync_dir(put->parent, put->shown, error);
	return r < 0 ? r : 1;
}

/* Finds and proves what is to go. A descriptor, -ENOENT, -errno. */
static int put_find(struct put *put, int root, const struct trash_thing *thing, struct error *error)
{
	char *escaped CLEANUP(mem_done) = text_escape(thing->path);
	int r;

	*put = (struct put){
		.path = thing->path,
		.run = thing->run,
		.shown = mem_printf("%.200s", escaped),
		.parent = -EBADF,
		.trash = -EBADF,
	};
	r = put_check(thing->path, thing->run, thing->generation, put->shown, error);
	if (r < 0)
		return r;
	r = put_open_parent(put, root, error);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	return put_prove(put, thing->dev, thing->ino, error);
}

/* Moves it into the trash, and no more. 1, 0 it vanished, -errno: it stands where it stood. */
static int put_aside(struct put *put, int root, int proved, int64_t generation, char **ret_name,
	struct error *error)
{
	if (put->trash < 0)
		put->trash = trash_make(root, error);
	if (put->trash < 0)
		return put->trash;
	return put_move(put, proved, generation, ret_name, error);
}

/* In place. 1 it is gone, or all but what stays whole; 0 it was gone; -errno. */
static int put_delete(const struct put *put, int proved, const struct trash_thing *thing,
	struct rmtree_report *report, struct error *error)
{
	const struct rmtree_opened opened = { put->name, proved, thing->whole, thing->limits };
	int r = rmtree_opened(put->parent, &opened, report, error);
	int synced;

	if (r < 0) {
		error_prefix(error, "no room to set it aside, so it is deleted where it stands: %s",
			put->shown);
		return r;
	}
	synced = sync_dir(put->parent, put->shown, error);
	return synced < 0 ? synced : r;
}

int trash_take(int root, const struct trash_thing *thing, struct rmtree_report *report,
	struct error *error)
{
	struct put put CLEANUP(put_done) = { 0 };
	int proved CLEANUP(fd_done) = put_find(&put, root, thing, error);
	char *name CLEANUP(mem_done) = NULL;
	struct error why = { 0 };
	int r;

	if (proved < 0)
		return proved == -ENOENT ? 0 : proved;
	r = put_aside(&put, root, proved, thing->generation, &name, &why);
	if (error_is_full(r)) {
		r = put_delete(&put, proved, thing, report, error);
		if (r <= 0 || !thing->whole)
			return r;
		why = (struct error){ 0 };
		r = put_aside(&put, root, proved, thing->generation, &name, &why);
	}
	if (r > 0)
		return put_settle(&put, name, error);
	return r < 0 ? error_say(error, -r, "%s", why.text) : r;
}
