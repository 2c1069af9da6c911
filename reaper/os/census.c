#include "census.h"

#include "base/clock.h"
#include "dir_stream.h"
#include "proc.h"

#include <sys/sysmacros.h>
#include <unistd.h>

enum { CGROUPS_MAX = 8 * 1024, LINK_MAX_BYTES = 64 };

struct taking {
	struct census *census;
	int64_t uptime_s, ticks;
};

/* The number in "net:[4026531992]"; 0 when it cannot be read. */
static uint64_t namespace_of(int entry, const char *name)
{
	char link[LINK_MAX_BYTES];
	ssize_t length = readlinkat(entry, name, link, sizeof(link) - 1);
	const char *number;

	if (length <= 0)
		return 0;
	link[length] = 0;
	number = strchr(link, '[');
	return number ? strtoull(number + 1, NULL, 10) : 0;
}

/* What is cached will do (AT_STATX_DONT_SYNC): a server that does not answer must not stop us. */
static uint64_t root_dev_of(int entry)
{
	struct statx root;

	if (statx(entry, "root", AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &root) < 0)
		return 0;
	return makedev(root.stx_dev_major, root.stx_dev_minor);
}

static const char *cgroups_of(int entry, struct arena *arena)
{
	char text[CGROUPS_MAX];

	return arena_dup(arena, proc_read(entry, "cgroup", text, sizeof(text)) > 0 ? text : "");
}

static void take_process(struct taking *taking, pid_t pid)
{
	struct census *census = taking->census;
	int entry CLEANUP(fd_done) = proc_open(pid);
	struct census_process process = { .pid = pid };
	struct proc_stat stat;
	char comm[PROC_COMM];

	if (entry < 0 || proc_stat_read(entry, &stat) < 0 || proc_stat_ended(&stat))
		return;
	process.parent = stat.parent;
	process.start_ticks = stat.start_ticks;
	process.age_s = taking->uptime_s - (int64_t)stat.start_ticks / taking->ticks;
	proc_comm(entry, comm, sizeof(comm));
	process.comm = arena_dup(&census->arena, comm);
	process.cgroups = cgroups_of(entry, &census->arena);
	process.net = namespace_of(entry, "ns/net");
	process.root_dev = root_dev_of(entry);
	if (proc_stat_read(entry, &stat) < 0 || proc_stat_ended(&stat))
		return; /* meanwhile */
	/* pid 1 may be shielded from us: no container is started as that. */
	census->unseen += pid != 1 && (!process.net || !process.root_dev);
	census->processes =
		mem_grow(census->processes, census->count + 1, sizeof(*census->processes));
	census->processes[census->count++] = process;
}

static int process_compare(const void *a, const void *b)
{
	const struct census_process *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

int census_take(struct census *ret_census, struct error *error)
{
	DIR *listing CLEANUP(stream_done) = opendir("/proc");
	struct taking taking = {
		.census = ret_census,
		.uptime_s = clock_boot_ms() / 1000,
		.ticks = sysconf(_SC_CLK_TCK),
	};
	const struct dirent *entry;

	*ret_census = (struct census){ 0 };
	if (!listing)
		return error_set(error, errno, "open /proc");
	while ((entry = stream_next(listing))) {
		int64_t pid;

		if (text_to_int64(entry->d_name, 1, INT32_MAX, &pid) == 0)
			take_process(&taking, (pid_t)pid);
	}
	if (errno)
		return error_set(error, errno, "list /proc");
	qsort(ret_census->processes, ret_census->count, sizeof(*ret_census->processes),
		process_compare);
	return 0;
}

void census_done(struct census *census)
{
	free(census->processes);
	arena_done(&census->arena);
	*census = (struct census){ 0 };
}

const struct census_process *census_find(const struct census *census, pid_t pid)
{
	const struct census_process key = { .pid = pid };

	if (!census->count)
		return NULL;
	return bsearch(&key, census->processes, census->count, sizeof(key), process_compare);
}

bool census_has_child(const struct census *census, pid_t parent)
{
	for (size_t i = 0; i < census->count; i++)
		if (census->processes[i].parent == parent)
			return true;
	return false;
}
