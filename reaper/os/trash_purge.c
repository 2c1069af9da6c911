/* Deletes what was set aside. */
#include "trash_parts.h"

#include "base/text.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct purge {
	int trash;
	const char *run;
	int64_t generation;
	const struct rmtree_limits *limits;
	struct rmtree_report report;
	struct error *error;
	bool removed;
	int failed; /* the first failure, -errno */
};

struct holder {
	pid_t pid;
	char what[128]; /* its command, and how it holds the entry */
};

static void holder_note(
	void *context, const struct process_place *place, const struct process_seen *process)
{
	struct holder *holder = context;

	(void)place;
	if (holder->pid)
		return;
	holder->pid = process->pid;
	(void)snprintf(
		holder->what, sizeof(holder->what), "%s) has its %s", process->comm, process->how);
}

/*
 * Entries kept appearing: names who can still make them. Nobody reaches the trash by a path, only
 * from a working directory or a descriptor that was there before.
 */
static void purge_name_holder(const struct purge *purge, const char *name)
{
	struct process_place place = { 0 };
	struct holder holder = { 0 };
	struct stat st;

	if (fstatat(purge->trash, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	place.dev = st.st_dev;
	place.ino = st.st_ino;
	(void)processes_holding(&place, 1, holder_note, &holder, NULL); /* whoever can be seen */
	if (holder.pid)
		error_prefix(purge->error, "process %d (%s in it", holder.pid, holder.what);
}

/* Goes on past an entry that cannot be deleted. */
static int purge_entry(void *context, const struct trash_entry *entry)
{
	struct purge *purge = context;
	int r;

	if (!text_equal(entry->run, purge->run) || entry->generation > purge->generation)
		return 0;
	r = rmtree(purge->trash, entry->name, purge->limits, &purge->report, purge->error);
	purge->removed |= r == 1;
	if (r == -ENOTEMPTY && purge->failed == 0 && purge->error)
		purge_name_holder(purge, entry->name);
	if (r < 0 && purge->failed == 0)
		purge->failed = r;
	return r == -EINTR ? r : 0;
}

int trash_leave(int root, struct error *error)
{
	if (unlinkat(root, TRASH_NAME, AT_REMOVEDIR) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST)
		return 0;
	return error_set(error, errno, "remove the empty " TRASH_NAME);
}

int trash_purge(int root, const char *run, int64_t generation, const struct rmtree_limits *limits,
	struct rmtree_report *report, struct error *error)
{
	int trash CLEANUP(fd_done) = trash_open(root, error);
	struct purge purge = {
		.trash = trash,
		.run = run,
		.generation = generation,
		.limits = limits,
		.error = error,
	};
	bool any = false;
	int r = 0;

	if (trash < 0)
		return trash == -ENOENT ? 0 : trash;
	/* Again while it helps: readdir(3) may leave out entries while others are unlinked. */
	do {
		any |= purge.removed;
		purge.removed = false;
		r = trash_each(root, purge_entry, &purge, error);
	} while (r == 0 && purge.removed && purge.failed == 0);
	report->bytes_freed += purge.report.bytes_freed;
	report->entries += purge.report.entries;
	if (r < 0 || purge.failed < 0)
		return r < 0 ? r : purge.failed;
	return any;
}
