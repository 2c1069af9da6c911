/* Which processes work in which directories: the second half of processes.h. */
#include "mount_leave.h"
#include "proc.h"
#include "process_user.h"
#include "processes.h"

#include "base/count.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

enum {
	CLEARED = 256, /* slots; a power of two is not needed */
	/*
	 * A tree may be deep on purpose, and whoever works further down than this hides every place of
	 * the host. Going up so far takes some seconds, making it some minutes.
	 */
	LEVELS_MAX = 4 * 1024 * 1024,
	STEPS_FIRST =
		1024, /* after so many levels a step is noted, and then twice as far each time */
	STEPS_MAX = 16,
	CGROUPS_TEXT = 16 * 1024
};

/*
 * A directory as seen through one mount. The mount counts, since the same directory has another
 * parent wherever it is bound.
 */
struct directory {
	uint64_t mount, dev, ino;
};

struct search {
	const struct process_place *places;
	size_t count;
	void (*seen)(void *context, const struct process_place *place,
		const struct process_seen *process);
	void *context;
	bool descriptors; /* open directories count too */

	struct directory top; /* our "/" */
	struct mount_exits exits;
	struct directory cleared[CLEARED]; /* known to lie in none of the places */
	unsigned unseen;                   /* processes that could not be looked at */
	char first_unseen[PROC_TEXT];
	int first_code;
};

/* The process that is being looked at. */
struct suspect {
	int entry, task; /* its directory, and that of one of its threads */
	pid_t pid;
	const char *how;
};

static bool directory_equal(const struct directory *a, const struct directory *b)
{
	return a->mount == b->mount && a->dev == b->dev && a->ino == b->ino;
}

/*
 * Reads what is cached (AT_STATX_DONT_SYNC): a server that does not answer must not stop us. Device
 * and inode of a directory stay the same as long as it is in use, on overlayfs too.
 */
static int directory_read(int fd, struct directory *ret_directory)
{
	struct statx found;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		    STATX_INO | STATX_MNT_ID, &found) < 0)
		return -errno;
	*ret_directory = (struct directory){
		.mount = found.stx_mnt_id,
		.dev = makedev(found.stx_dev_major, found.stx_dev_minor),
		.ino = found.stx_ino,
	};
	return 0;
}

/* Nothing but the device is asked for, which needs no leave of a server (fs/fuse/dir.c, fuse_getattr). */
static int device_read(int fd, uint64_t *ret_dev)
{
	struct statx found;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &found) < 0)
		return -errno;
	*ret_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
	return 0;
}

static struct directory *search_slot(struct search *search, const struct directory *directory)
{
	return &search->cleared[(directory->ino ^ directory->mount) % CLEARED];
}

static void search_report(
	struct search *search, const struct process_place *place, const struct suspect *suspect)
{
	char *cgroups CLEANUP(mem_done) = mem_new(CGROUPS_TEXT);
	char token[PROCESS_TOKEN], comm[PROC_COMM];

	if (process_entry_token(suspect->entry, token) < 0)
		return; /* it has ended meanwhile */
	proc_comm(suspect->entry, comm, sizeof(comm));
	if (proc_read(suspect->entry, "cgroup", cgroups, CGROUPS_TEXT) < 0)
		cgroups[0] = 0;
	search->seen(search->context, place,
		&(struct process_seen){
			.pid = suspect->pid,
			.token = token,
			.comm = comm,
			.cgroups = cgroups,
			.how = suspect->how,
		});
}

/* Reports the suspect for each place that is this directory. Whether there was one. */
static bool search_match(
	struct search *search, const struct directory *directory, const struct suspect *suspect)
{
	bool found = false;

	for (size_t i = 0; i < search->count; i++) {
		const struct process_place *place = &search->places[i];

		if (place->ino != directory->ino || place->dev != directory->dev)
			continue;
		search_report(search, place, suspect);
		found = true;
	}
	return found;
}

static bool place_lies_on(const void *context, uint64_t dev)
{
	const struct search *search = context;

	for (size_t i = 0; i < search->count; i++)
		if (search->places[i].dev == dev)
			return true;
	return false;
}

/*
 * Whether the way up may be asked for in a mount that was detached. Not where a server would be asked
 * and none of the places can be: whoever works there does not get out of it either.
 */
static bool search_may_climb_detached(const struct search *search, int at)
{
	uint64_t dev = 0;

	return device_read(at, &dev) == 0 &&
	       (place_lies_on(search, dev) || !mount_device_served(dev));
}

/*
 * From a directory of which nothing may be asked, because of the mount it is on, to the one that the
 * mount lies in; none of the places can be on the way. Everything else stays as it is. 1; 0 nothing
 * lies above it; -errno.
 */
static int search_leave(struct search *search, int *at, const struct suspect *suspect)
{
	char name[40];
	int r;

	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", *at);
	r = mount_leave(&search->exits, suspect->task, proc_mount_id(AT_FDCWD, name), place_lies_on,
		search);
	if (r == -ENXIO)
		return search_may_climb_detached(search, *at);
	if (r == -ENOENT || r == -ENOLINK)
		return r == -ENOENT;
	if (r < 0)
		return r;
	(void)close(*at);
	*at = r;
	return 1;
}

/* A directory of another mount than the last. 1, 0 there is none, -errno. */
static int search_enter(struct search *search, int *at, const struct suspect *suspect,
	struct directory *ret_directory)
{
	int r = search_leave(search, at, suspect);

	if (r <= 0)
		return r;
	r = directory_read(*at, ret_directory);
	return r < 0 ? r : 1;
}

/* One level up. 1, 0 there is none, -errno. */
static int search_up(
	struct search *search, int *at, const struct suspect *suspect, struct directory *here)
{
	int up = openat(*at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct directory above = { 0 };
	int r;

	if (up < 0)
		return errno == ENOENT ? 0 : -errno; /* cut off from what was above it */
	(void)close(*at);
	*at = up;
	r = directory_read(up, &above);
	r = r < 0 || above.mount != here->mount ? search_enter(search, at, suspect, &above) : 1;
	if (r <= 0)
		return r;
	if (directory_equal(here, &above))
		return 0; /* the top of its own mount namespace */
	*here = above;
	return 1;
}

/* What lies in none of the places: where a climb began, and some steps of a long one. */
struct way {
	struct directory steps[STEPS_MAX];
	size_t count;
	int next; /* level of the next step */
};

static void way_note(struct way *way, int level, const struct directory *here)
{
	if (level < way->next || way->count == STEPS_MAX)
		return;
	way->steps[way->count++] = *here;
	way->next = way->next ? 2 * way->next : STEPS_FIRST;
}

static void way_clear(struct search *search, const struct way *way)
{
	for (size_t i = 0; i < way->count; i++)
		*search_slot(search, &way->steps[i]) = way->steps[i];
}

static bool search_cleared(struct search *search, const struct directory *here)
{
	return directory_equal(search_slot(search, here), here);
}

/*
 * From a directory of the suspect up to the top, by ".." and so through the mounts as the suspect
 * has them. A directory that is deleted still has the parent that it had.
 */
static int search_climb(struct search *search, int start, const struct suspect *suspect)
{
	int at CLEANUP(fd_done) = start;
	struct directory here = { 0 };
	struct way way = { 0 };
	bool found = false;
	int r = directory_read(at, &here);

	if (r == 0 && search_cleared(search, &here))
		return 0;
	r = r < 0 || !directory_equal(&here, &search->top)
		    ? search_enter(search, &at, suspect, &here)
		    : 1;
	if (r <= 0)
		return r;
	for (int level = 0; !search_cleared(search, &here); level++) {
		way_note(&way, level, &here);
		found |= search_match(search, &here, suspect);
		if (directory_equal(&here, &search->top))
			break;
		if (level == LEVELS_MAX)
			return -ELOOP;
		r = search_up(search, &at, suspect, &here);
		if (r < 0)
			return r;
		if (r == 0)
			break;
	}
	if (!found)
		way_clear(search, &way);
	return 0;
}

/* One of the magic links of an entry. 0, -ESRCH when it leads nowhere (any more), -errno. */
static int search_link(struct search *search, int task, const char *link, struct suspect *suspect)
{
	/*
	 * Following the link is a jump inside the kernel, and O_PATH asks the filesystem nothing.
	 */
	int start = openat(task, link, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (start < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	suspect->task = task;
	suspect->how = text_equal(link, "cwd") ? "working directory" : "root";
	return search_climb(search, start, suspect);
}

static int search_task(struct search *search, int task, struct suspect *suspect)
{
	int r = search_link(search, task, "cwd", suspect);

	return r < 0 ? r : search_link(search, task, "root", suspect);
}

/* The next entry that is a number; NULL at the end. */
static const char *next_number(DIR *listing)
{
	for (struct dirent *entry; (entry = readdir(listing));)
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			return entry->d_name;
	return NULL;
}

/* Whether a thread works in the directories of its leader. Where that cannot be told it is no. */
static bool shares_directories(const struct suspect *suspect, const char *thread)
{
	return syscall(SYS_kcmp, suspect->pid, (pid_t)strtol(thread, NULL, 10), KCMP_FS, 0, 0) == 0;
}

/* The link count of the directory says how many there are (fs/proc/base.c, proc_task_getattr). */
static bool has_threads(const struct suspect *suspect)
{
	struct stat tasks;

	return fstatat(suspect->entry, "task", &tasks, AT_SYMLINK_NOFOLLOW) < 0 ||
	       tasks.st_nlink > 3;
}

/*
 * Threads may have directories of their own, by unshare(CLONE_FS); and a process whose leader has
 * ended before its threads has only theirs.
 */
static int search_threads(struct search *search, struct suspect *suspect)
{
	int tasks CLEANUP(fd_done) =
		openat(suspect->entry, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name;
	DIR *listing;
	int r = 0;

	if (tasks < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	listing = fdopendir(tasks);
	if (!listing)
		return -errno;
	(void)TAKE_FD(tasks);
	while (r >= 0 && (name = next_number(listing))) {
		int task CLEANUP(fd_done) = -EBADF;

		if (shares_directories(suspect, name))
			continue;
		task = openat(dirfd(listing), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = task < 0 ? -errno : search_task(search, task, suspect);
		if (r == -ENOENT || r == -ESRCH)
			r = 0;
	}
	(void)closedir(listing);
	return r;
}

/* What is no directory answers ENOTDIR, and is not opened. */
static int search_descriptor(
	struct search *search, int list, const char *name, struct suspect *suspect)
{
	int start = openat(list, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (start < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	suspect->task = suspect->entry;
	suspect->how = "open directory";
	return search_climb(search, start, suspect);
}

static int search_descriptors(struct search *search, struct suspect *suspect)
{
	int list CLEANUP(fd_done) =
		openat(suspect->entry, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name;
	DIR *listing;
	int r = 0;

	if (list < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	listing = fdopendir(list);
	if (!listing)
		return -errno;
	(void)TAKE_FD(list);
	while (r >= 0 && (name = next_number(listing)))
		r = search_descriptor(search, dirfd(listing), name, suspect);
	(void)closedir(listing);
	return r;
}

static int search_process(struct search *search, struct suspect *suspect)
{
	struct proc_stat stat;
	int r = search_task(search, suspect->entry, suspect);

	if (r >= 0 && search->descriptors)
		r = search_descriptors(search, suspect);
	if (r == -ESRCH) {
		r = proc_stat_read(suspect->entry, &stat);
		if (r < 0 || proc_stat_ended(&stat))
			return r;
		return search_threads(search, suspect);
	}
	return r < 0 || !has_threads(suspect) ? r : search_threads(search, suspect);
}

static bool all_closed(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (!search->places[i].closed)
			return false;
	return search->count > 0;
}

/* Whether the word that was given for closed places covers it: see processes.h. */
static bool is_elsewhere(const struct search *search, int entry)
{
	return all_closed(search) && process_is_another_users(entry);
}

static void search_entry(struct search *search, pid_t pid)
{
	int entry CLEANUP(fd_done) = proc_open(pid);
	struct suspect suspect = { .entry = entry, .pid = pid };
	int r = entry < 0 ? entry : search_process(search, &suspect);

	if (r >= 0 || r == -ESRCH)
		return;
	if (entry >= 0 && (r == -EACCES || r == -EPERM) && is_elsewhere(search, entry))
		return;
	if (pid == 1) /* some hosts shield it, even from root; no run can have started it */
		return;
	if (search->unseen++ == 0) {
		(void)proc_describe(search->first_unseen, pid);
		search->first_code = -r;
	}
}

static int search_all(struct search *search, struct error *error)
{
	DIR *listing = opendir("/proc");
	const char *name;

	if (!listing)
		return error_set(error, errno, "list /proc");
	while ((name = next_number(listing))) {
		pid_t pid = (pid_t)strtol(name, NULL, 10);

		if (pid != getpid())
			search_entry(search, pid);
	}
	(void)closedir(listing);
	return 0;
}

static int top_read(struct directory *ret_top)
{
	int top CLEANUP(fd_done) = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return top < 0 ? -errno : directory_read(top, ret_top);
}

static void search_done(struct search *search)
{
	mount_exits_done(&search->exits);
}

static int search_run(struct search *search, struct error *error)
{
	int first CLEANUP(fd_done) = -EBADF;
	char processes[COUNT_TEXT];
	int r = top_read(&search->top);

	if (r < 0)
		return error_set(error, -r, "look at /");
	r = search_all(search, error);
	if (r < 0)
		return r;
	if (search->unseen)
		return error_say(error, EACCES, "could not look at %s, the first is %s: %s%s",
			count_format(processes, search->unseen, "process"), search->first_unseen,
			strerror(search->first_code),
			geteuid() == 0 ? "" : "; only root may see where all of them work");
	first = proc_open(1);
	if (first == -ESRCH) /* pid 1 is always there: what is not shown is hidden */
		return error_say(error, EACCES,
			"/proc does not show the processes of other users (mounted with hidepid)");
	return 0;
}

int processes_in(const struct process_place *places, size_t count,
	void (*seen)(void *context, const struct process_place *place,
		const struct process_seen *process),
	void *context, struct error *error)
{
	struct search search CLEANUP(search_done) = {
		.places = places, .count = count, .seen = seen, .context = context
	};

	return search_run(&search, error);
}

int processes_holding(const struct process_place *places, size_t count,
	void (*seen)(void *context, const struct process_place *place,
		const struct process_seen *process),
	void *context, struct error *error)
{
	struct search search CLEANUP(search_done) = { .places = places,
		.count = count,
		.seen = seen,
		.context = context,
		.descriptors = true };

	return search_run(&search, error);
}
