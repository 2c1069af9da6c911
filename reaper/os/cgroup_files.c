#include "cgroup_files.h"

#include "base/clock.h"
#include "cgroupfs.h"
#include "dir.h"
#include "proc.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

enum {
	EVENTS_TEXT = 256,
	MEMBERS_TEXT_MAX = 4 << 20, /* far above what pid_max lets stand in one group */
	GROUPS_MAX = 64 * 1024
};

int cgroup_file(int group, const char *name, int flags)
{
	int file = openat(group, name, flags | O_CLOEXEC | O_NOFOLLOW);

	return file < 0 ? -errno : file;
}

int cgroup_write(int group, const char *name, const char *value)
{
	int file CLEANUP(fd_done) = cgroup_file(group, name, O_WRONLY);

	if (file < 0)
		return file;
	return write(file, value, strlen(value)) < 0 ? -errno : 0;
}

/* A gone group has no events any more, and nothing in it. */
static int event_of_gone(const char *key)
{
	return text_equal(key, "populated") ? 0 : -ENODEV;
}

int cgroup_event(int events, const char *key)
{
	char text[EVENTS_TEXT], *rest = text, *word;
	ssize_t length = pread(events, text, sizeof(text) - 1, 0);

	if (length < 0)
		return errno == ENODEV ? event_of_gone(key) : -errno;
	text[length] = 0;
	for (char *at = text; *at; at++)
		if (*at == '\n')
			*at = ' ';
	while ((word = text_word(&rest))) {
		const char *value = text_word(&rest);

		if (text_equal(word, key) && value)
			return text_equal(value, "0") ? 0 : 1;
	}
	return -EPROTO;
}

int cgroup_event_wait(int events, const char *key, int value, int64_t deadline_ms)
{
	for (;;) {
		int r = cgroup_event(events, key);

		if (r < 0 || r == value)
			return r < 0 ? r : 0;
		/* Since cgroup.events was read, a change of it is an exceptional condition. */
		r = signals_wait(events, POLLPRI, deadline_ms);
		if (r <= 0)
			return r < 0 ? r : -ETIME;
	}
}

/* Reads a whole file of the group. */
int cgroup_read(int group, const char *name, struct text *text)
{
	int file CLEANUP(fd_done) = cgroup_file(group, name, O_RDONLY);
	char chunk[4096];
	ssize_t got;

	if (file < 0)
		return file;
	while ((got = read(file, chunk, sizeof(chunk))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (text->length > MEMBERS_TEXT_MAX)
			return -EFBIG;
		text_add_n(text, chunk, (size_t)got);
	}
	return 0;
}

static int pid_compare(const void *a, const void *b)
{
	const pid_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

int cgroup_members(int group, pid_t **ret_pids, size_t *ret_count)
{
	struct text text CLEANUP(text_done) = { 0 };
	size_t count = 0, room = 0;
	pid_t *pids = NULL;
	int r = cgroup_read(group, "cgroup.procs", &text);

	if (r == -EOPNOTSUPP)
		r = cgroup_read(group, "cgroup.threads", &text);
	if (r < 0)
		return r;
	for (char *at = text.data, *end; at && *at; at = end + (*end == '\n')) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (count == room) {
			room = room * 2 + 64;
			pids = mem_grow(pids, room, sizeof(*pids));
		}
		pids[count++] = (pid_t)pid;
	}
	if (count)
		qsort(pids, count, sizeof(*pids), pid_compare);
	*ret_pids = pids;
	*ret_count = count;
	return 0;
}

/* Groups still to be visited, as paths below the first one. */
struct pending {
	char **paths;
	size_t count, room;
	const char *parent;
};

static void pending_done(struct pending *pending)
{
	for (size_t i = 0; i < pending->count; i++)
		free(pending->paths[i]);
	free(pending->paths);
}

static int pending_add(void *context, const char *name)
{
	struct pending *pending = context;

	if (pending->count == GROUPS_MAX)
		return -EFBIG;
	if (pending->count == pending->room) {
		pending->room = pending->room * 2 + 16;
		pending->paths = mem_grow(pending->paths, pending->room, sizeof(*pending->paths));
	}
	pending->paths[pending->count++] = mem_printf("%s/%s", pending->parent, name);
	return 0;
}

int cgroup_each(int group, int (*each)(void *context, int group), void *context)
{
	struct pending pending CLEANUP(pending_done) = { .parent = "." };
	int r = each(context, group);

	if (r == 0)
		r = cgroupfs_children(group, pending_add, &pending, NULL);
	for (size_t next = 0; next < pending.count && r == 0; next++) {
		int child CLEANUP(fd_done) =
			dir_open_below(group, pending.paths[next], O_RDONLY | O_DIRECTORY, NULL);

		if (child == -ENOENT)
			continue;
		if (child < 0)
			return child;
		pending.parent = pending.paths[next];
		r = each(context, child);
		if (r == 0)
			r = cgroupfs_children(child, pending_add, &pending, NULL);
	}
	return r;
}
