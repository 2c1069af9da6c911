/*
 * MUST 1  Everything is reached by descriptor from `parent`; no path is ever built and opened.
 * MUST 2  No symlink is followed, at any level, at any moment: links are unlinked.
 * MUST 3  No mount is entered, also not a bind mount of the same filesystem (RESOLVE_NO_XDEV).
 * MUST 4  Regular files are only unlinked: mode, owner, times, content and flags stay, for the sake
 *         of their other hard links. What has no other may lose its immutable or append-only flag.
 *         Directories may be made passable (mode, those flags, a btrfs subvolume's read-only),
 *         through their descriptor, never the one that `name` is in.
 * MUST 5  Depth, number of entries and length of names cost neither stack nor descriptors.
 * MUST 6  What vanishes meanwhile is done; what appears meanwhile is swept again, a bounded number
 *         of times.
 *
 * One sweep walks the tree once (walk.h keeps MUST 5) and a directory that is not empty after all
 * in it was removed is read again: something appeared, was swapped, or the filesystem left entries
 * out while others were unlinked. A directory in which something could not be removed is not read
 * again in this call, since one bad file deep down would then cost a new visit for each level above
 * it.
 */
#include "rmtree.h"

#include "dir.h"
#include "protection.h"
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

enum { RMTREE_ROUNDS = 16 };

struct removal {
	struct walk walk;
	struct rmtree_report *report;
	struct error *error;
	int code; /* errno of the first failure */
};

static void removal_done(struct removal *removal)
{
	walk_done(&removal->walk);
}

/* Adds what a person has to know to mend it. `name`: the entry of dir, or NULL. */
static void add_hint(struct text *text, int code, int dir, const char *name)
{
	if (code == EXDEV || code == EBUSY)
		text_add(text, " (something is mounted there)");
	if (name)
		protection_explain(text, code, dir, name);
}

/* Notes that an entry of the current directory could not be dealt with. Returns -code. */
static int fail(struct removal *removal, int code, const char *what, int dir, const char *name)
{
	struct walk_level *level = walk_top(&removal->walk);
	struct text text CLEANUP(text_done) = { 0 };
	char *path CLEANUP(mem_done) = NULL;

	if (level)
		level->failed = true;
	if (removal->code)
		return -code;
	removal->code = code;
	path = walk_path(&removal->walk, name);
	text_addf(&text, "%s %s", what, path);
	add_hint(&text, code, dir, name);
	return error_set(removal->error, code, "%s", text.data);
}

/*
 * Whether something protected the entry and does not any more (MUST 4). The walk's parent is nobody's
 * to change: it is the trash or a root.
 */
static bool lift(const struct removal *removal, const struct walk_entry *entry)
{
	bool lifted = entry->dir != removal->walk.parent && protection_lift(entry->dir) > 0;

	if (lifted) /* which an immutable one did not allow before */
		(void)dir_make_passable(entry->dir);
	return protection_lift_entry(entry->dir, entry->name) > 0 || lifted;
}

/* 0 or the errno. Tries once more when that can help, and never again: who sets flags may go on. */
static int unlink_entry(const struct removal *removal, const struct walk_entry *entry, int at_flags)
{
	if (unlinkat(entry->dir, entry->name, at_flags) == 0)
		return 0;
	if (errno != EPERM)
		return errno;
	if (!lift(removal, entry))
		return EPERM;
	return unlinkat(entry->dir, entry->name, at_flags) == 0 ? 0 : errno;
}

/*
 * Unlinks what is no directory. Nothing is opened: an open can block (fifo) or act (device). That
 * it has become a directory (EISDIR) is left for the next round.
 */
static void remove_file(struct removal *removal, const struct walk_entry *entry)
{
	bool maybe_regular = entry->type == DT_REG || entry->type == DT_UNKNOWN;
	int64_t bytes = 0;
	struct stat st;
	int code;

	if (maybe_regular &&
		fstatat(entry->dir, entry->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
		S_ISREG(st.st_mode) && st.st_nlink == 1)
		bytes = (int64_t)st.st_blocks * 512;
	code = unlink_entry(removal, entry, 0);
	if (code == 0) {
		removal->report->entries++;
		removal->report->bytes_freed += bytes;
	} else if (code != ENOENT && code != EISDIR) {
		(void)fail(removal, code, "unlink", entry->dir, entry->name);
	}
}

/* Whatever fails here is said where it matters: by unlinkat, with the name. */
static void make_passable(int dir)
{
	(void)protection_lift_subvolume(dir);
	(void)dir_make_passable(dir);
}

/*
 * Opens a directory for reading and makes it passable for us. Without the right to read it can only
 * be opened as O_PATH at first; "." of that is the same inode whatever its name now stands for.
 */
static int open_passable(int dir, const char *name)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW;
	int path CLEANUP(fd_done) = -EBADF;
	int fd = dir_open_below(dir, name, O_RDONLY | flags, NULL);

	if (fd >= 0)
		make_passable(fd);
	if (fd != -EACCES)
		return fd;
	path = dir_open_below(dir, name, O_PATH | flags, NULL);
	if (path < 0)
		return path;
	make_passable(path);
	return dir_open_below(path, ".", O_RDONLY | flags, NULL);
}

/* ENOENT: it vanished. ELOOP and ENOTDIR: it was swapped, which is left for the next round. */
static void enter(struct removal *removal, const struct walk_entry *entry)
{
	int fd = open_passable(entry->dir, entry->name), r;

	r = fd < 0 ? fd : walk_push(&removal->walk, fd, entry->name);
	if (r < 0 && r != -ENOENT && r != -ELOOP && r != -ENOTDIR)
		(void)fail(removal, -r, "open directory", entry->dir, entry->name);
}

/*
 * The current directory could not be removed: goes on with the one above, which so cannot either.
 */
static void give_up(struct removal *removal, int code, const struct walk_entry *entry)
{
	walk_pop(&removal->walk);
	(void)fail(removal, code, "remove directory", entry->dir, entry->name);
}

/* All of the current directory was read. */
static void leave(struct removal *removal, const struct walk_entry *entry)
{
	struct walk *walk = &removal->walk;
	struct walk_level *level = walk_top(walk);
	int code;

	if (entry->code)
		(void)fail(removal, entry->code, "read directory", entry->dir, NULL);
	if (entry->dir < 0) {
		walk_pop(walk);
		return;
	}
	code = unlink_entry(removal, entry, AT_REMOVEDIR);
	if (code == 0)
		removal->report->entries++;
	if (code == 0 || code == ENOENT || code == ENOTDIR)
		walk_pop(walk);
	else if (code != ENOTEMPTY && code != EEXIST)
		give_up(removal, code, entry);
	else if (!level->failed && level->rounds++ < RMTREE_ROUNDS)
		walk_again(walk);
	else
		give_up(removal, ENOTEMPTY, entry);
}

static int step(struct removal *removal)
{
	struct walk_entry entry;
	int r = walk_next(&removal->walk, &entry);

	if (r == WALK_LEAVE)
		leave(removal, &entry);
	else if (r == WALK_ENTRY && entry.type == DT_DIR)
		enter(removal, &entry);
	else if (r == WALK_ENTRY)
		remove_file(removal, &entry);
	return r;
}

/* Goes through all once. 1, 0 when there was nothing, -errno when it could not go on. */
static int sweep(struct removal *removal, int parent, const char *name)
{
	struct walk_entry top = { .dir = parent, .name = name };
	struct stat st;
	int r;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return errno == ENOENT ? 0 : fail(removal, errno, "look at", parent, name);
	top.type = (unsigned char)IFTODT(st.st_mode);
	if (top.type == DT_DIR)
		enter(removal, &top);
	else
		remove_file(removal, &top);
	do
		r = step(removal);
	while (r > 0);
	/* Moved while we were in it (-ESTALE): the next sweep begins at the top. */
	if (r == 0 || r == -ESTALE)
		return 1;
	return fail(removal, -r, "delete", parent, NULL);
}

int rmtree(int parent, const char *name, int64_t deadline_ms, struct rmtree_report *report,
	struct error *error)
{
	unsigned rounds = 0;
	int existed = 0;

	if (!dir_is_name(name))
		return error_say(error, EINVAL, "delete: not the name of a directory entry");
	for (;;) {
		struct removal removal CLEANUP(removal_done) = { .report = report, .error = error };
		int64_t before = report->entries;
		int r;

		walk_start(&removal.walk, parent, name, deadline_ms, 0);
		r = sweep(&removal, parent, name);
		if (removal.code)
			return -removal.code;
		if (r <= 0)
			return existed;
		existed = 1;
		/* Forgotten levels are no sign of somebody who adds entries. */
		if (removal.walk.cut && report->entries > before)
			continue;
		if (rounds++ == RMTREE_ROUNDS)
			return fail(&removal, ENOTEMPTY, "delete", parent, name);
	}
}
