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
 * MUST 7  All runs in a child process that can remove nothing but what lies beneath the tree's
 *         top, where the kernel has Landlock (rmtree_wall.c); where that fails nothing is deleted.
 *
 * This is the walk, which comes after the crew (rmtree_crew.c) has taken away whatever simply goes.
 *
 * One sweep walks the tree once (walk.h keeps MUST 5) and a directory that is not empty after all
 * in it was removed is read again: something appeared, was swapped, or the filesystem left entries
 * out while others were unlinked. A directory in which something could not be removed is not read
 * again in this call, since one bad file deep down would then cost a new visit for each level above
 * it.
 *
 * Behind the wall every removal costs a step for each level up to the top (Landlock looks for the
 * rule that allows it), so that a tree of nothing but depth would cost the square of it. So what lies
 * deeper than RMTREE_DEEP is moved to the top first and has its own turn. Where that cannot be (a
 * nested btrfs subvolume, Linux before 5.19) the walk goes on down.
 */
#include "rmtree_walk.h"

#include "base/text.h"
#include "dir.h"
#include "protection.h"
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

enum {
	RMTREE_DEEP = 256, /* levels */
	RMTREE_GROWN_ROUNDS = 4
};

struct removal {
	struct walk walk;
	int top;           /* of the walk */
	const char *spare; /* entry of the top that stays, or NULL */
	unsigned hoisted;  /* directories that were moved to the top */
	bool again;        /* there are such that were not read yet */
	int64_t entries;   /* in the report when the top was last read */
	struct rmtree_report *report;
	struct error *error;
	int code; /* errno of the first failure */
};

/* At once, before anything can return: what is not started is not nothing for removal_done. */
static void removal_start(
	struct removal *removal, int parent, const char *name, int64_t deadline_ms)
{
	walk_start(&removal->walk, parent, name, deadline_ms, 0);
}

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

int64_t rmtree_bytes(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0 ||
		!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return 0;
	return (int64_t)st.st_blocks * 512;
}

/*
 * Unlinks what is no directory. Nothing is opened: an open can block (fifo) or act (device). Returns
 * 0 or the errno, which only ENOENT and EISDIR do not note: it vanished, or it has become a directory.
 */
static int remove_file(struct removal *removal, const struct walk_entry *entry)
{
	bool maybe_regular = entry->type == DT_REG || entry->type == DT_UNKNOWN;
	int64_t bytes = maybe_regular ? rmtree_bytes(entry->dir, entry->name) : 0;
	int code = unlink_entry(removal, entry, 0);

	if (code == 0) {
		removal->report->entries++;
		removal->report->bytes_freed += bytes;
	} else if (code != ENOENT && code != EISDIR) {
		(void)fail(removal, code, "unlink", entry->dir, entry->name);
	}
	return code;
}

/* Whatever fails here is said where it matters: by unlinkat, with the name. */
static void make_passable(int dir)
{
	(void)protection_lift_subvolume(dir);
	(void)dir_make_passable(dir);
}

/* Opens for reading what an O_PATH descriptor of a directory stands for, made passable for us. */
static int open_again(int path)
{
	make_passable(path);
	return dir_open_below(path, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, NULL);
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
	return path < 0 ? path : open_again(path);
}

/*
 * Moves a directory to the top, whatever the entry is by now. The name is one that the run could not
 * know when it was alive, nor a killed attempt before this have left.
 */
static bool hoist(struct removal *removal, const struct walk_entry *entry)
{
	char name[48];

	(void)snprintf(name, sizeof(name), ".deep-%d-%u", getpid(), removal->hoisted++);
	if (renameat2(entry->dir, entry->name, removal->top, name, RENAME_NOREPLACE) != 0)
		return false;
	removal->again = true;
	return true;
}

/* ENOENT: it vanished. ELOOP and ENOTDIR: it was swapped, which is left for the next round. */
static void enter(struct removal *removal, const struct walk_entry *entry)
{
	int fd, r;

	if (removal->walk.depth >= RMTREE_DEEP && hoist(removal, entry))
		return;
	fd = open_passable(entry->dir, entry->name);
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

/*
 * The top stays; or the walk has come up to what it has forgotten. What was moved to the top is in it
 * unread, also when something else in it could not be removed.
 */
static void leave_top(struct removal *removal)
{
	bool again = removal->again && !removal->walk.cut;
	bool progress = removal->report->entries > removal->entries;

	removal->again = false;
	removal->entries = removal->report->entries;
	if (again && (progress || walk_top(&removal->walk)->rounds++ < RMTREE_ROUNDS))
		walk_again(&removal->walk);
	else
		walk_pop(&removal->walk);
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
		leave_top(removal);
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

/*
 * Whether somebody makes entries as fast as they go: where new ones are put at the end (tmpfs) such a
 * reading never ends. By removing no directory grows, and none gives more than there is room for in
 * it. It counts as several rounds, so that an error about it comes early.
 */
static bool grows(struct removal *removal, int dir)
{
	struct walk_level *level = walk_top(&removal->walk);
	struct stat st;

	if (++level->taken % RMTREE_GROWN_EVERY != 0 || fstat(dir, &st) != 0)
		return false;
	if ((uint64_t)st.st_size <= level->size && level->taken <= rmtree_entries_most(level->size))
		return false;
	level->rounds += RMTREE_GROWN_ROUNDS;
	walk_end(&removal->walk);
	return true;
}

static bool is_spared(const struct removal *removal, const struct walk_entry *entry)
{
	return removal->spare && removal->walk.depth == 1 && !removal->walk.cut &&
	       text_equal(entry->name, removal->spare);
}

static int step(struct removal *removal)
{
	struct walk_entry entry;
	int r = walk_next(&removal->walk, &entry);

	if (r == WALK_LEAVE)
		leave(removal, &entry);
	else if (r == WALK_ENTRY && grows(removal, entry.dir))
		return r;
	else if (r == WALK_ENTRY && is_spared(removal, &entry))
		return r;
	else if (r == WALK_ENTRY && entry.type == DT_DIR)
		enter(removal, &entry);
	else if (r == WALK_ENTRY)
		(void)remove_file(removal, &entry);
	return r;
}

/* Goes through all once. 0 or -errno. */
static int sweep(struct removal *removal, int top)
{
	int fd = open_again(top);
	int r;

	removal->top = top;
	r = fd < 0 ? fd : walk_push(&removal->walk, fd, removal->walk.name);
	if (r < 0)
		return fail(removal, -r, "open directory", top, NULL);
	do
		r = step(removal);
	while (r > 0);
	/* Moved while we were in it (-ESTALE): whoever finds it not empty begins again. */
	if (r == 0 || r == -ESTALE)
		return -removal->code;
	return fail(removal, -r, "delete", top, NULL);
}

int rmtree_walk(const struct rmtree_top *top, struct rmtree_report *report, struct error *error)
{
	for (;;) {
		struct removal removal CLEANUP(removal_done) = {
			.spare = top->spare,
			.report = report,
			.error = error,
		};
		int64_t before = report->entries;
		int r;

		removal_start(&removal, -EBADF, top->name, top->limits.deadline_ms);
		r = sweep(&removal, top->fd);
		if (r < 0)
			return r;
		/* Forgotten levels: the tree is less deep each time. */
		if (!removal.walk.cut || report->entries == before)
			return 0;
	}
}

int rmtree_open(int parent, const char *name, struct error *error)
{
	struct removal removal CLEANUP(removal_done) = { .error = error };
	int fd;

	removal_start(&removal, parent, name, 0);
	fd = dir_open_below(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, NULL);
	if (fd >= 0 || fd == -ENOENT || fd == -ENOTDIR)
		return fd;
	if (fd == -ELOOP)
		return -ENOTDIR;
	return fail(&removal, -fd, "open directory", parent, name);
}

int rmtree_file(int parent, const char *name, struct rmtree_report *report, struct error *error)
{
	struct removal removal CLEANUP(removal_done) = { .report = report, .error = error };
	const struct walk_entry entry = { .dir = parent, .name = name, .type = DT_UNKNOWN };
	int code;

	removal_start(&removal, parent, name, 0);
	code = remove_file(&removal, &entry);
	if (code == 0 || code == ENOENT)
		return code == 0;
	return fail(&removal, code, "unlink", parent, name);
}

int rmtree_rmdir(int parent, const char *name, struct rmtree_report *report, struct error *error)
{
	struct removal removal CLEANUP(removal_done) = { .report = report, .error = error };
	const struct walk_entry entry = { .dir = parent, .name = name, .type = DT_DIR };
	int code;

	removal_start(&removal, parent, name, 0);
	code = unlink_entry(&removal, &entry, AT_REMOVEDIR);
	if (code == 0)
		report->entries++;
	if (code == 0 || code == ENOENT)
		return code == 0;
	if (code == ENOTEMPTY || code == EEXIST)
		return -ENOTEMPTY;
	return fail(&removal, code, "remove directory", parent, name);
}
