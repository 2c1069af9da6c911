#include "container_leftovers_parts.h"

#include "base/pathname.h"
#include "base/text.h"
#include "engine.h"
#include "os/answering.h"
#include "os/cgroupfs.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/file.h"
#include "os/mounts.h"
#include "os/processes.h"

enum {
	STATE_MAX = 1024 * 1024,
	ROOTS_MAX = 64,
	ENTRIES_MAX = 4096,
	NETNS_ID = 12,
	NOBODYS_GROUP = 65534
};

/* What is going on while all is looked at. */
struct hunt {
	struct leftovers *leftovers;
	struct census census;
	struct mount_table mounts;
};

static void hunt_done(struct hunt *hunt)
{
	census_done(&hunt->census);
	mounts_done(&hunt->mounts);
}

void leftovers_add(struct leftovers *leftovers, const struct leftover *leftover)
{
	if (leftovers->count == LEFTOVERS_MAX)
		leftovers->more++;
	else
		leftovers->items[leftovers->count++] = *leftover;
}

const char *leftovers_word(struct leftovers *leftovers, const char *text)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_./:@+-";
	struct text word CLEANUP(text_done) = { 0 };
	char *escaped CLEANUP(mem_done) = NULL;

	if (text[strspn(text, harmless)] == 0)
		return arena_dup(&leftovers->arena, text);
	escaped = text_escape(text);
	text_add(&word, "$'");
	for (const char *c = escaped; *c; c++)
		if (*c == '\'')
			text_add(&word, "\\x27");
		else
			text_add_n(&word, c, 1);
	text_add(&word, "'");
	return arena_dup(&leftovers->arena, word.data);
}

/* ---- the state directories of runtimes ---- */

static const char *without_mount(struct arena *arena, const char *cgroup)
{
	struct cgroupfs *cgroupfs;
	const char *path = cgroup;

	if (!cgroup || cgroupfs_open(&cgroupfs, NULL) < 0)
		return cgroup;
	if (pathname_below(cgroup, cgroupfs_mount(cgroupfs)))
		path = cgroup + strlen(cgroupfs_mount(cgroupfs));
	path = arena_dup(arena, path);
	cgroupfs_close(cgroupfs);
	return path;
}

/* Asked now and not of the census, which knows none that began since. */
static bool has_ended(const struct engine_runtime *runtime)
{
	char token[PROCESS_TOKEN], *start;
	int r;

	if (runtime->pid <= 0 || runtime->pid > INT32_MAX)
		return false;
	r = process_token((pid_t)runtime->pid, token, NULL);
	if (r < 0)
		return r == -ESRCH || r == -EINVAL; /* -EINVAL: the number is a thread's now */
	start = strrchr(token, ':');
	return start && strtoull(start + 1, NULL, 10) != runtime->start_ticks;
}

/* One that cannot be read, or is being made, is nothing that could be said. */
static int state_read(struct hunt *hunt, int root, const char *id, const char *file,
	struct engine_runtime *ret_runtime)
{
	int dir CLEANUP(fd_done) = dir_open_below(root, id, O_RDONLY | O_DIRECTORY, NULL);
	char *bytes CLEANUP(mem_done) = NULL;
	struct engine_body body = { .label = "" };
	int r = dir < 0 ? dir : file_read(dir, file, STATE_MAX, &bytes, &body.length, NULL, NULL);

	body.bytes = bytes;
	return r < 0 ? r : engine_json_runtime(&body, &hunt->leftovers->arena, ret_runtime, NULL);
}

/* Where a runtime keeps states, and what makes a shell the one whose they are; "": it is root's. */
struct state_root {
	const char *path, *as_owner;
};

static void state_judge(struct hunt *hunt, const struct state_root *place, const char *id,
	const struct engine_runtime *runtime)
{
	struct arena *arena = &hunt->leftovers->arena;
	const char *root = place->path, *tool = text_ends(root, "/crun") ? "crun" : "runc";

	if (!has_ended(runtime))
		return;
	leftovers_add(hunt->leftovers,
		&(struct leftover){
			.detail = arena_printf(arena,
				"state of container %s in %s: its process %lld has ended", id, root,
				(long long)runtime->pid),
			.command = arena_printf(arena, "%s%s --root %s delete --force %s",
				place->as_owner, tool, root, id),
			.cgroup = without_mount(arena, runtime->cgroup),
		});
}

/* A runtime gives no name but such as an engine's. */
static void find_in_root(struct hunt *hunt, const struct state_root *root)
{
	int dir CLEANUP(fd_done) = dir_open(root->path, NULL);
	DIR *stream CLEANUP(stream_done) = dir < 0 ? NULL : stream_open(dir);
	const char *file = text_ends(root->path, "/crun") ? "status" : "state.json";
	const struct dirent *entry;

	for (int i = 0; i < ENTRIES_MAX && stream && (entry = stream_next(stream)); i++) {
		struct engine_runtime runtime;

		if (engine_ref_valid(entry->d_name) &&
			state_read(hunt, dir, entry->d_name, file, &runtime) == 0)
			state_judge(hunt, root, entry->d_name, &runtime);
	}
}

struct state_roots {
	const char *paths[ROOTS_MAX], *as_owner[ROOTS_MAX];
	size_t count;
};

static void state_roots_add(struct state_roots *roots, const char *path, const char *as_owner)
{
	if (roots->count == ROOTS_MAX)
		return;
	roots->paths[roots->count] = path;
	roots->as_owner[roots->count++] = as_owner;
}

/*
 * A user may have written anything there, and a runtime of root's would act on it: so it is to be the
 * user's. Whose files they are has enough of that; which groups the user is in nobody here knows.
 */
static void state_roots_add_user(struct state_roots *roots, struct arena *arena, int64_t uid)
{
	static const char *const tools[] = { "runc", "crun" };
	const long long user = uid;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		state_roots_add(roots, arena_printf(arena, "/run/user/%lld/%s", user, tools[i]),
			arena_printf(arena, "setpriv --reuid %lld --regid %d --clear-groups -- ",
				user, NOBODYS_GROUP));
}

/* Root's, and those of users: their names are numbers. */
static void state_roots_list(struct state_roots *roots, struct arena *arena)
{
	DIR *users CLEANUP(stream_done) = opendir("/run/user");
	const struct dirent *entry;
	int64_t uid;

	state_roots_add(roots, "/run/runc", "");
	state_roots_add(roots, "/run/crun", "");
	state_roots_add(roots, "/run/docker/runtime-runc/moby", "");
	while (users && (entry = stream_next(users)))
		if (text_to_int64(entry->d_name, 0, UINT32_MAX, &uid) == 0)
			state_roots_add_user(roots, arena, uid);
}

/* A user can mount in a directory of the user's; what does not answer is left alone. */
static void find_states(struct hunt *hunt)
{
	struct state_roots roots = { 0 };
	bool silent[ROOTS_MAX] = { 0 };

	state_roots_list(&roots, &hunt->leftovers->arena);
	(void)answering_ask(roots.paths, roots.count, silent, NULL);
	for (size_t i = 0; i < roots.count; i++)
		if (!silent[i])
			find_in_root(hunt,
				&(const struct state_root){ roots.paths[i], roots.as_owner[i] });
}

/* ---- mounts and network namespaces ---- */

/* Podman's ".../overlay/ID/merged", Docker's ".../overlay2/ID/merged". */
static bool is_container_root(const struct mount *mount)
{
	return text_equal(mount->type, "overlay") && text_ends(mount->point, "/merged") &&
	       (strstr(mount->point, "/overlay/") || strstr(mount->point, "/overlay2/"));
}

static bool is_somebodys_root(const struct census *census, uint64_t dev)
{
	for (size_t i = 0; i < census->count; i++)
		if (census->processes[i].root_dev == dev)
			return true;
	return false;
}

static void judge_root(struct hunt *hunt, const struct mount *mount)
{
	struct arena *arena = &hunt->leftovers->arena;

	if (!is_container_root(mount) || is_somebodys_root(&hunt->census, mount->dev))
		return;
	leftovers_add(hunt->leftovers,
		&(struct leftover){
			.detail = arena_printf(arena,
				"the root of a container without a process is mounted at %s; if no "
				"engine knows it (podman mount, docker ps --all) it is left behind",
				mount->point),
			.command = arena_printf(
				arena, "umount %s", leftovers_word(hunt->leftovers, mount->point)),
			.path = arena_dup(arena, mount->point),
		});
}

/* As podman, CNI and Docker call those that they make; others may be somebody's on purpose. */
static bool is_engines_name(const char *name)
{
	return text_starts(name, "netns-") || text_starts(name, "cni-") ||
	       (strlen(name) == NETNS_ID && strspn(name, "0123456789abcdef") == NETNS_ID);
}

static bool is_somebodys_network(const struct census *census, uint64_t net)
{
	for (size_t i = 0; i < census->count; i++)
		if (census->processes[i].net == net)
			return true;
	return false;
}

static void judge_network(struct hunt *hunt, const struct mount *mount)
{
	struct leftovers *leftovers = hunt->leftovers;
	const char *name = strrchr(mount->point, '/') + 1, *word;
	bool plain = text_starts(mount->point, "/run/netns/");

	if (!text_equal(mount->type, "nsfs") || !text_starts(mount->root, "net:[") ||
		!is_engines_name(name) ||
		is_somebodys_network(&hunt->census, strtoull(mount->root + 5, NULL, 10)))
		return;
	word = leftovers_word(leftovers, plain ? name : mount->point);
	leftovers_add(leftovers,
		&(struct leftover){
			.detail = arena_printf(&leftovers->arena,
				"no process is in the network namespace of a container at %s",
				mount->point),
			.command =
				plain ? arena_printf(&leftovers->arena, "ip netns delete %s", word)
				      : arena_printf(&leftovers->arena, "umount %s && rm %s", word,
						word),
			.path = arena_dup(&leftovers->arena, mount->point),
		});
}

/* What no process has proves nothing while some cannot be looked at. */
static void find_mounts(struct hunt *hunt)
{
	if (hunt->census.unseen) {
		hunt->leftovers->blind = arena_printf(&hunt->leftovers->arena,
			"mounts and network namespaces without a process cannot be told: %zu "
			"processes cannot be looked at",
			hunt->census.unseen);
		return;
	}
	for (size_t i = 0; i < hunt->mounts.count; i++) {
		judge_root(hunt, &hunt->mounts.mounts[i]);
		judge_network(hunt, &hunt->mounts.mounts[i]);
	}
}

/* ---- virtual Ethernet ---- */

static bool link_is_up(int dir, const char *name)
{
	int link CLEANUP(fd_done) = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat master;
	char *state CLEANUP(mem_done) = NULL;
	size_t length;

	if (link < 0 || fstatat(link, "master", &master, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (file_read(link, "operstate", 64, &state, &length, NULL, NULL) < 0)
		return true;
	return !text_starts(state, "down") && !text_starts(state, "lowerlayerdown");
}

/* In no bridge, and its other end is down: who made it has not taken it away. */
static void find_links(struct hunt *hunt)
{
	struct leftovers *leftovers = hunt->leftovers;
	DIR *links CLEANUP(stream_done) = opendir("/sys/class/net");
	const struct dirent *entry;

	for (int i = 0; i < ENTRIES_MAX && links && (entry = stream_next(links)); i++) {
		if (!text_starts(entry->d_name, "veth") || link_is_up(dirfd(links), entry->d_name))
			continue;
		leftovers_add(leftovers,
			&(struct leftover){
				.detail = arena_printf(&leftovers->arena,
					"the virtual Ethernet device %s leads nowhere",
					entry->d_name),
				.command = arena_printf(&leftovers->arena, "ip link delete %s",
					leftovers_word(leftovers, entry->d_name)),
			});
	}
}

int leftovers_find(struct leftovers *ret_leftovers, struct error *error)
{
	struct hunt hunt CLEANUP(hunt_done) = { .leftovers = ret_leftovers };
	int r;

	*ret_leftovers = (struct leftovers){ 0 };
	r = mounts_read(&hunt.mounts, error);
	if (r == 0) /* after the mounts: whose container began since is seen here */
		r = census_take(&hunt.census, error);
	if (r < 0)
		return r;
	leftovers_find_processes(ret_leftovers, &hunt.census);
	find_states(&hunt);
	find_mounts(&hunt);
	find_links(&hunt);
	return 0;
}

void leftovers_done(struct leftovers *leftovers)
{
	arena_done(&leftovers->arena);
	*leftovers = (struct leftovers){ 0 };
}
