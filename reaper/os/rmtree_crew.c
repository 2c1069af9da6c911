/*
 * A directory is a task. It is read in parts; of each the files are unlinked in the order of their
 * inodes, which is how a filesystem keeps them, and the directories become tasks of their own. When
 * all of a part is gone the directory itself is removed, or the next part of it is read, by whoever
 * did the last thing in it. Of a part with very many files others get their share.
 *
 * Whatever is not simple is left as it is, with every directory above it, for the walk (rmtree.c).
 */
#include "rmtree_crew.h"

#include "base/clock.h"
#include "crew.h"
#include "dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum {
	CREW_DEEP = 64,            /* levels: each holds a descriptor, for each thread */
	CREW_PART = 1 << 19,       /* bytes of getdents64(2) that are read at once */
	CREW_PART_SMALL = 1 << 15, /* when much waits already: memory must not grow with a tree */
	CREW_MUCH = 1 << 15,       /* tasks */
	CREW_SHARE = 1024,         /* files that are worth being another's */
	CREW_RECORD = 24,          /* bytes of the least that getdents64(2) gives */
	CREW_CLOCK_EVERY = 16,     /* files */
	CREW_EACH = 2              /* threads for each processor, on ext4 */
};

struct clearing {
	const struct rmtree_top *top;
	struct rmtree_report *report;
	unsigned threads;
	atomic_bool late;
	bool cleared;
};

struct branch {
	struct crew_task task;
	struct branch *above; /* NULL: the top */
	int fd;               /* negative: not opened yet */
	unsigned depth;
	atomic_size_t pending; /* what of this part is not done, and whoever is at it */
	atomic_bool left;      /* something in it stays */
	bool ended;            /* all of it was read that will be */
	uint64_t taken, most;  /* entries; most 0: not known yet */
	char name[];
};

/* Files of a directory that another thread unlinks. */
struct share {
	struct crew_task task;
	struct branch *dir;
	size_t count;
	char names[]; /* one behind the other, each with its NUL */
};

struct entry {
	uint64_t inode;
	const char *name;
	unsigned char type;
};

/* What a thread reads into: first the records, then what they say in order. */
struct room {
	char records[CREW_PART];
	struct entry entries[CREW_PART / CREW_RECORD];
};

static bool is_late(struct clearing *clearing)
{
	if (!atomic_load_explicit(&clearing->late, memory_order_relaxed) &&
		deadline_left_ms(clearing->top->limits.deadline_ms) == 0)
		atomic_store(&clearing->late, true);
	return atomic_load_explicit(&clearing->late, memory_order_relaxed);
}

/* At once, since an errand that is killed has done it all the same. */
static void note(struct clearing *clearing, int64_t bytes_freed)
{
	__atomic_fetch_add(&clearing->report->entries, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&clearing->report->bytes_freed, bytes_freed, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------------------- files */

static void remove_file(struct clearing *clearing, struct branch *dir, const char *name)
{
	int64_t bytes = rmtree_bytes(dir->fd, name);

	if (unlinkat(dir->fd, name, 0) == 0)
		note(clearing, bytes);
	else if (errno != ENOENT)
		atomic_store(&dir->left, true);
}

/* --------------------------------------------------------------------------------- directories */

static bool is_spared(const struct clearing *clearing, const struct branch *dir, const char *name)
{
	return !dir->above && clearing->top->spare && text_equal(name, clearing->top->spare);
}

static bool branch_open(struct branch *branch)
{
	branch->fd = dir_open_below(
		branch->above->fd, branch->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, NULL);
	return branch->fd >= 0;
}

static struct branch *branch_new(struct branch *above, const char *name)
{
	size_t size = strlen(name) + 1;
	struct branch *branch = mem_new(sizeof(*branch) + size);

	branch->above = above;
	branch->fd = -EBADF;
	branch->depth = above ? above->depth + 1 : 0;
	memcpy(branch->name, name, size);
	return branch;
}

static void branch_free(struct branch *branch)
{
	fd_done(&branch->fd);
	free(branch);
}

/*
 * Whether entries are made as fast as they go (rmtree.c, grows()). Asked only of what does not fit
 * into one part.
 */
static bool grows(struct branch *branch, size_t count)
{
	struct stat st;

	if (branch->taken && !branch->most && fstat(branch->fd, &st) == 0)
		branch->most = branch->taken + rmtree_entries_most((uint64_t)st.st_size);
	branch->taken += count;
	return branch->most && branch->taken > branch->most;
}

static int compare_inodes(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	return left->inode < right->inode ? -1 : left->inode > right->inode;
}

/* Reads the next part. How many entries there are; 0 also when it cannot be read. */
static size_t branch_read(struct branch *branch, struct room *room, size_t most)
{
	ssize_t got = getdents64(branch->fd, room->records, most);
	size_t count = 0;

	for (size_t at = 0; got > 0 && at < (size_t)got;) {
		const struct dirent64 *record = (const void *)(room->records + at);

		at += record->d_reclen;
		if (dir_is_name(record->d_name))
			room->entries[count++] =
				(struct entry){ record->d_ino, record->d_name, record->d_type };
	}
	branch->ended = got <= 0 || grows(branch, count);
	if (got < 0 && errno != ENOENT)
		atomic_store(&branch->left, true);
	qsort(room->entries, count, sizeof(*room->entries), compare_inodes);
	return count;
}

/* Whether nothing of the branch is left to do here: it is gone, or stays. */
static bool branch_close(struct clearing *clearing, struct branch *branch)
{
	struct branch *above = branch->above;
	bool over = branch->ended || is_late(clearing);

	if (!above) {
		clearing->cleared =
			!atomic_load(&branch->left) && (branch->ended || !clearing->top->spare);
		return over;
	}
	if (!atomic_load(&branch->left)) {
		if (unlinkat(above->fd, branch->name, AT_REMOVEDIR) == 0) {
			note(clearing, 0);
			return true;
		}
		if (errno == ENOENT)
			return true;
	}
	if (over)
		atomic_store(&above->left, true);
	return over;
}

/* One thing of the branch's part is done. Whoever did the last goes on with it, or closes it. */
static void branch_settle(struct crew_hand *hand, struct branch *branch)
{
	struct branch *above;

	for (; branch && atomic_fetch_sub(&branch->pending, 1) == 1; branch = above) {
		above = branch->above;
		if (!branch_close(crew_context(hand), branch)) {
			branch->task.next = NULL;
			crew_add(hand, &branch->task);
			return;
		}
		branch_free(branch);
	}
}

/* ---------------------------------------------------------------------------------- a part of it */

static void put_task(struct crew_task **list, struct branch *dir, struct crew_task *task)
{
	atomic_fetch_add(&dir->pending, 1);
	task->next = *list;
	*list = task;
}

static void branch_work(struct crew_hand *hand, struct crew_task *task);

/* The directories, last first, so that the first stands in front. */
static struct crew_task *find_directories(
	const struct clearing *clearing, struct branch *dir, const struct room *room, size_t count)
{
	struct crew_task *tasks = NULL;
	struct branch *branch;

	for (size_t i = count; i-- > 0;) {
		const struct entry *entry = &room->entries[i];

		if (entry->type != DT_DIR || is_spared(clearing, dir, entry->name))
			continue;
		if (dir->depth == CREW_DEEP) {
			atomic_store(&dir->left, true);
			continue;
		}
		branch = branch_new(dir, entry->name);
		branch->task.work = branch_work;
		put_task(&tasks, dir, &branch->task);
	}
	return tasks;
}

static bool is_file(
	const struct clearing *clearing, const struct branch *dir, const struct entry *entry)
{
	return entry->type != DT_DIR && !is_spared(clearing, dir, entry->name);
}

/* Whether the time is up, before the i-th file: those that follow are left. */
static bool gives_up(struct clearing *clearing, struct branch *dir, size_t i)
{
	if (i % CREW_CLOCK_EVERY != 0 || !is_late(clearing))
		return false;
	atomic_store(&dir->left, true);
	return true;
}

static void share_work(struct crew_hand *hand, struct crew_task *task)
{
	struct share *share = (struct share *)task;
	struct clearing *clearing = crew_context(hand);
	const char *name = share->names;

	for (size_t i = 0; i < share->count; i++, name += strlen(name) + 1) {
		if (gives_up(clearing, share->dir, i))
			break;
		remove_file(clearing, share->dir, name);
	}
	branch_settle(hand, share->dir);
	free(share);
}

static struct share *share_new(const struct clearing *clearing, struct branch *dir,
	const struct entry *entries, size_t count)
{
	struct share *share;
	size_t size = 0;
	char *end;

	for (size_t i = 0; i < count; i++)
		size += strlen(entries[i].name) + 1;
	share = mem_new(sizeof(*share) + size);
	share->task.work = share_work;
	share->dir = dir;
	end = share->names;
	for (size_t i = 0; i < count; i++)
		if (is_file(clearing, dir, &entries[i])) {
			end = stpcpy(end, entries[i].name) + 1;
			share->count++;
		}
	return share;
}

/* What of many files others may take, if there are any; how many entries are left for us. */
static size_t share_out(
	struct crew_hand *hand, struct branch *dir, const struct room *room, size_t count)
{
	const struct clearing *clearing = crew_context(hand);
	struct crew_task *tasks = NULL;
	struct share *share;

	while (clearing->threads > 1 && count >= (size_t)2 * CREW_SHARE) {
		count -= CREW_SHARE;
		share = share_new(clearing, dir, &room->entries[count], CREW_SHARE);
		put_task(&tasks, dir, &share->task);
	}
	crew_add(hand, tasks);
	return count;
}

static void remove_files(
	struct crew_hand *hand, struct branch *dir, const struct room *room, size_t count)
{
	struct clearing *clearing = crew_context(hand);

	for (size_t i = 0; i < count; i++) {
		if (gives_up(clearing, dir, i))
			break;
		if (is_file(clearing, dir, &room->entries[i]))
			remove_file(clearing, dir, room->entries[i].name);
	}
}

static void branch_work(struct crew_hand *hand, struct crew_task *task)
{
	struct branch *branch = (struct branch *)task;
	struct clearing *clearing = crew_context(hand);
	struct room *room = crew_room(hand);
	size_t most = crew_waiting(hand) > CREW_MUCH ? CREW_PART_SMALL : CREW_PART, count;

	atomic_store(&branch->pending, 1);
	if (is_late(clearing) || (branch->fd < 0 && !branch_open(branch))) {
		atomic_store(&branch->left, true);
		branch->ended = true;
	} else {
		count = branch_read(branch, room, most);
		crew_add(hand, find_directories(clearing, branch, room, count));
		remove_files(hand, branch, room, share_out(hand, branch, room, count));
	}
	branch_settle(hand, branch);
}

/* ------------------------------------------------------------------------------ how many threads */

static unsigned processors(void)
{
	cpu_set_t ours;

	return sched_getaffinity(0, sizeof(ours), &ours) == 0 ? (unsigned)CPU_COUNT(&ours) : 1;
}

/*
 * Measured, not reasoned: ext4 gains by more threads than processors, which wait for its journal in
 * turn; tmpfs by as many; xfs and btrfs lose by a second one in the same tree.
 */
static unsigned threads_for(int dir)
{
	struct statfs told;

	if (fstatfs(dir, &told) != 0)
		return 1;
	if (told.f_type == EXT4_SUPER_MAGIC)
		return processors() * CREW_EACH;
	return told.f_type == TMPFS_MAGIC ? processors() : 1;
}

bool rmtree_crew(const struct rmtree_top *top, struct rmtree_report *report)
{
	struct clearing clearing = { .top = top, .report = report, .threads = top->limits.threads };
	struct branch *branch = branch_new(NULL, "");

	branch->task.work = branch_work;
	branch->fd = dir_open_below(top->fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, NULL);
	if (branch->fd < 0) {
		branch_free(branch);
		return false;
	}
	if (!clearing.threads)
		clearing.threads = threads_for(branch->fd);
	if (clearing.threads > CREW_MOST)
		clearing.threads = CREW_MOST;
	crew_run(clearing.threads, sizeof(struct room), &clearing, &branch->task);
	return clearing.cleared;
}
