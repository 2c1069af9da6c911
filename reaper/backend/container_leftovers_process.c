/*
 * Processes of containers without a monitor, and monitors without a container. Whose they are is seen
 * from the names that engines give to cgroups, and those are made outside of containers.
 */
#include "container_leftovers_parts.h"
#include "engine_json.h"

#include "base/text.h"
#include "os/cgroupfs.h"

#include <errno.h>

enum { ID_LENGTH = 64, SETTLED_S = 10 /* a monitor begins before its container */ };

/* A container's cgroup by its name, and how a person gets rid of what is in it. */
static const struct {
	const char *before, *after; /* of the id in the name */
	const char *parent;         /* the name of the group above; NULL: any */
	const char *remove;         /* what the id is given to; NULL: only killing */
} groups[] = {
	{ "libpod-", "", NULL, "podman rm --force" },
	{ "libpod-", ".scope", NULL, "podman rm --force" },
	{ "docker-", ".scope", NULL, "docker rm --force" },
	{ "", "", "docker", "docker rm --force" },
	{ "cri-containerd-", ".scope", NULL, NULL },
	{ "crio-", ".scope", NULL, NULL },
};

/* The container that a process is in. */
struct inside {
	const char *cgroup; /* of the container, in the arena */
	const char *id;     /* NULL: systemd-nspawn's payload, that has none */
	const char *remove;
};

static bool is_id_at(const char *text, const char *after)
{
	return strlen(text) == ID_LENGTH + strlen(after) &&
	       strspn(text, "0123456789abcdef") >= ID_LENGTH && text_ends(text, after);
}

/* systemd-nspawn(1) puts itself into "supervisor" beside it; anybody's group may be called so. */
static bool is_payload(const char *path, int length)
{
	char *beside CLEANUP(mem_done) = mem_printf("%.*ssupervisor", length, path);
	struct cgroupfs *cgroupfs;
	int group CLEANUP(fd_done) = -EBADF;

	if (cgroupfs_open(&cgroupfs, NULL) < 0)
		return false;
	group = cgroupfs_open_group(cgroupfs, beside, NULL);
	cgroupfs_close(cgroupfs);
	return group >= 0;
}

/* One name of a path, and the one above it. */
static bool name_is_container(
	struct arena *arena, const char *above, const char *name, struct inside *inside)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		size_t skip = strlen(groups[i].before);

		if (!text_starts(name, groups[i].before) ||
			!is_id_at(name + skip, groups[i].after) ||
			(groups[i].parent && !text_equal(above, groups[i].parent)))
			continue;
		inside->id = arena_dup_n(arena, name + skip, ID_LENGTH);
		inside->remove = groups[i].remove;
		return true;
	}
	return false;
}

static bool path_is_in_container(struct arena *arena, const char *path, struct inside *inside)
{
	char *names = arena_dup(arena, path), *rest = names;
	const char *above = "";

	for (char *name; (name = strsep(&rest, "/"));) {
		if (name_is_container(arena, above, name, inside) ||
			(text_equal(name, "payload") && is_payload(path, (int)(name - names)))) {
			inside->cgroup = arena_printf(
				arena, "%.*s", (int)(name - names + strlen(name)), path);
			return true;
		}
		above = name;
	}
	return false;
}

/* By any line "N:controllers:path" of /proc/PID/cgroup. */
static bool is_in_container(
	struct arena *arena, const struct census_process *process, struct inside *inside)
{
	char *lines = arena_dup(arena, process->cgroups);

	*inside = (struct inside){ 0 };
	for (char *line; (line = strsep(&lines, "\n"));) {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (path && path_is_in_container(arena, path + 1, inside))
			return true;
	}
	return false;
}

static bool is_monitor(const struct census_process *process)
{
	/* The kernel cuts names at 15 bytes; its whole name ends in "-runc-v2". */
	return text_equal(process->comm, "conmon") || text_starts(process->comm, "containerd-shim");
}

/*
 * Who is given the children of those that died: PID 1, or a user's systemd. In a container that is a
 * process of its own, and may be a systemd as well.
 */
static bool is_foster_parent(const struct census *census, const char *cgroup, pid_t pid)
{
	const struct census_process *parent = census_find(census, pid);

	if (pid == 1)
		return true;
	return parent && text_equal(parent->comm, "systemd") && !strstr(parent->cgroups, cgroup);
}

static bool is_told(const struct leftovers *leftovers, const char *cgroup)
{
	for (size_t i = 0; i < leftovers->count; i++)
		if (text_equal(leftovers->items[i].cgroup, cgroup))
			return true;
	return false;
}

static void add_unwatched(struct leftovers *leftovers, const struct census *census,
	const struct census_process *process)
{
	struct arena *arena = &leftovers->arena;
	struct inside inside;

	if (is_monitor(process) || !is_in_container(arena, process, &inside) ||
		!is_foster_parent(census, inside.cgroup, process->parent) ||
		is_told(leftovers, inside.cgroup))
		return;
	leftovers_add(leftovers,
		&(struct leftover){
			.detail = arena_printf(arena,
				"pid %d (%s) of a container in cgroup %s has no monitor",
				process->pid, process->comm, inside.cgroup),
			.command = inside.remove
					   ? arena_printf(arena, "%s %s", inside.remove, inside.id)
					   : arena_printf(arena, "kill -KILL %d", process->pid),
			.cgroup = inside.cgroup,
		});
}

static void add_monitor(struct leftovers *leftovers, const struct census *census,
	const struct census_process *process)
{
	struct arena *arena = &leftovers->arena;

	if (!is_monitor(process) || process->age_s < SETTLED_S ||
		census_has_child(census, process->pid))
		return;
	leftovers_add(leftovers,
		&(struct leftover){
			.detail = arena_printf(arena,
				"pid %d (%s) watches over a container that has no process any more",
				process->pid, process->comm),
			.command = arena_printf(arena, "kill %d", process->pid),
		});
}

void leftovers_find_processes(struct leftovers *leftovers, const struct census *census)
{
	for (size_t i = 0; i < census->count; i++) {
		add_unwatched(leftovers, census, &census->processes[i]);
		add_monitor(leftovers, census, &census->processes[i]);
	}
}
