#include "effects.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/answering.h"
#include "os/dir.h"
#include "os/processes.h"
#include "text_list.h"

#include <errno.h>

enum { PID_MAX = 1 << 22 /* PID_MAX_LIMIT of the kernel */, CONTAINER_ID = 64 };

struct process_state {
	const struct settings *settings;
};

static int process_open(const struct settings *settings, void **ret_state, struct error *error)
{
	struct process_state *state = mem_new(sizeof(*state));

	(void)error;
	state->settings = settings;
	*ret_state = state;
	return 0;
}

static void process_close(void *state)
{
	free(state);
}

/*
 * The pid that a locator is. Never 1: that is no run's, whatever a record says. Of a stranger it
 * may be "PID:START", see stranger_locator().
 */
static int locator_pid(const struct resource *resource, pid_t *ret_pid, struct error *error)
{
	char *number CLEANUP(mem_done) = mem_dup(resource->locator);
	char *shown CLEANUP(mem_done) = NULL;
	int64_t pid;

	if (resource->proof == PROOF_NONE)
		number[strcspn(number, ":")] = 0;
	if (text_to_int64(number, 2, PID_MAX, &pid) == 0) {
		*ret_pid = (pid_t)pid;
		return 0;
	}
	shown = text_escape(resource->locator);
	return error_say(error, EINVAL, "process %.100s: give a pid from 2 to %d", shown, PID_MAX);
}

/*
 * A harness may register itself, and with it a parent of ours; that such a process is not killed
 * from below it is seen to in stop().
 */
static int process_identify(
	void *state, struct resource *resource, struct arena *arena, struct error *error)
{
	char token[PROCESS_TOKEN];
	pid_t pid = 0;
	int r = locator_pid(resource, &pid, error);

	(void)state;
	if (r < 0)
		return r;
	r = process_token(pid, token, error);
	if (r < 0)
		return r == -ESRCH ? -EINVAL : r;
	resource->locator = arena_printf(arena, "%d", pid);
	resource->token = arena_dup(arena, token);
	return 0;
}

static void process_probe(void *state, struct resource *resource, struct arena *arena)
{
	struct error error = { 0 };
	pid_t pid = 0;

	(void)state;
	if (locator_pid(resource, &pid, &error) < 0) {
		resource->contradicts = true;
		resource->note = arena_dup(arena, error.text);
		return;
	}
	resource->alive = resource->present = process_alive(pid, resource->token);
	if (resource->alive == TRI_UNKNOWN)
		resource->note = arena_dup(arena,
			resource->token ? "a process of that number cannot be looked at"
					: "its start was not recorded, so its number says little");
}

/* Stopping and removing a process are the same. */
static int process_end(
	void *context, const struct resource *resource, struct effort *effort, struct error *error)
{
	const struct process_state *state = context;
	pid_t pid = 0;
	int r = locator_pid(resource, &pid, error);

	if (r < 0)
		return r;
	if (!resource->token)
		return error_say(error, EPERM,
			"process %d: its start was not recorded, so it cannot be proved the run's",
			pid);
	if (process_alive(pid, resource->token) == TRI_NO)
		return 0;
	r = process_above_us(pid);
	if (r > 0)
		return error_say(error, EPERM,
			"process %d is ourselves or started us, so it is not killed from here",
			pid);
	if (r < 0)
		return error_set(error, -r, "see whether process %d started us", pid);
	return process_kill(pid, resource->token,
		deadline_sooner(effort->deadline_ms,
			deadline_in_ms(state->settings->limits.kill_timeout_ms)),
		error);
}

/* What is looked for: the trees that anybody may lose. */
struct search {
	const struct settings *settings;
	struct inventory *inventory;
	struct process_place *places; /* their context is the run */
	size_t count, room;
};

static void search_done(struct search *search)
{
	free(search->places);
}

/*
 * Whether the word that was given for closed places counts for a tree: when it is closed itself, or its
 * root. (What lies between the two need not answer, and is not asked.) Root sees all processes; where it
 * does not, something is wrong, and nobody's word mends that.
 */
static bool is_closed(const struct search *search, const char *root, const struct stat *tree)
{
	if (search->settings->unseen != UNSEEN_ELSEWHERE || geteuid() == 0)
		return false;
	return dir_is_closed(tree) || (root && dir_closed(root) > 0);
}

/* 0, or -errno: a place that cannot be looked at may have anybody in it. */
static int search_add(struct search *search, struct run *run, const struct resource *resource,
	struct error *error)
{
	struct process_place place = { .context = run };
	char *shown CLEANUP(mem_done) = NULL;
	const char *root;
	struct stat stat;
	int r;

	if (resource->kind != KIND_WORKTREE && resource->kind != KIND_PATH)
		return 0;
	if (resource->proof == PROOF_NONE || resource->locator[0] != '/' || resource->silent)
		return 0;
	root = settings_root_above(search->settings, resource->locator);
	r = answering_look(root ? root : "/", resource->locator, &stat);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0) {
		shown = text_escape(resource->locator);
		return error_set(error, -r, "look who works in %.300s", shown);
	}
	place.dev = stat.st_dev;
	place.ino = stat.st_ino;
	place.closed = is_closed(search, root, &stat);
	if (search->count == search->room) {
		search->room = search->room * 2 + 16;
		search->places = mem_grow(search->places, search->room, sizeof(*search->places));
	}
	search->places[search->count++] = place;
	return 0;
}

/* Whether the path of a cgroup is that of the group or of one below it. */
static bool group_within(const char *path, const char *group)
{
	size_t length = strlen(group);

	return strncmp(path, group, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static bool is_container_id(const char *id)
{
	return id && strlen(id) == CONTAINER_ID && strspn(id, "0123456789abcdef") == CONTAINER_ID;
}

/*
 * Whether the path has a component that is `name`, or (part) has it in it: engines name the groups
 * of a container "<id>", "libpod-<id>.scope", "docker-<id>.scope".
 */
static bool path_names(const char *path, const char *name, bool part)
{
	size_t length = strlen(name);

	for (const char *at = path; (at = strstr(at, name)); at++)
		if (part || (at > path && at[-1] == '/' && (!at[length] || at[length] == '/')))
			return true;
	return false;
}

/* Whether a process in that group (a line "ID:CONTROLLERS:PATH") belongs to the resource. */
static bool line_belongs(const char *line, const struct resource *resource)
{
	const char *id = resource->token ? resource->token : resource->locator;
	const char *path = strchr(line, '/');
	bool unified = text_starts(line, "0::");

	if (!path)
		return false;
	if (resource->kind == KIND_CGROUP)
		return unified && group_within(path, resource->locator);
	if (resource->kind == KIND_SCOPE)
		return unified && path_names(path, resource->locator, false);
	if (resource->kind == KIND_CONTAINER)
		return is_container_id(id) && path_names(path, id, true);
	return false;
}

/* Whether the process is the run's own: registered, or in its cgroup, scope or container. */
static bool run_owns(const struct run *run, const struct process_seen *process)
{
	char *lines CLEANUP(mem_done) = mem_dup(process->cgroups);
	char pid[16], *rest = lines, *line;

	(void)snprintf(pid, sizeof(pid), "%d", process->pid);
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *told = &run->resources[i];

		if (told->kind == KIND_PROCESS && told->proof != PROOF_NONE &&
			text_equal(told->locator, pid) && text_equal(told->token, process->token))
			return true;
	}
	while ((line = strsep(&rest, "\n")))
		for (size_t i = 0; i < run->resource_count; i++)
			if (run->resources[i].proof != PROOF_NONE &&
				line_belongs(line, &run->resources[i]))
				return true;
	return false;
}

/*
 * "PID", but "PID:START" when the run's registered process had that number before: the two must not
 * become one resource, or the stranger would be taken for a process that has ended.
 */
static void stranger_locator(
	const struct run *run, const struct process_seen *process, char *locator, size_t size)
{
	(void)snprintf(locator, size, "%d", process->pid);
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *told = &run->resources[i];

		if (told->kind == KIND_PROCESS && text_equal(told->locator, locator) &&
			!text_equal(told->token, process->token)) {
			(void)snprintf(
				locator, size, "%d%s", process->pid, strchr(process->token, ':'));
			return;
		}
	}
}

/* Lists a stranger that works in the run's tree: it keeps the tree and is never touched. */
static void search_seen(
	void *context, const struct process_place *place, const struct process_seen *process)
{
	struct search *search = context;
	struct run *run = place->context;
	char locator[PROCESS_TOKEN], note[400];

	if (run_owns(run, process))
		return;
	stranger_locator(run, process, locator, sizeof(locator));
	(void)snprintf(note, sizeof(note), "%s: %s in its tree", process->comm, process->how);
	(void)run_add_resource(search->inventory, run,
		&(struct resource){
			.kind = KIND_PROCESS,
			.proof = PROOF_NONE,
			.locator = locator,
			.token = process->token,
			.present = TRI_YES,
			.alive = TRI_YES,
			.note = note,
		});
}

/* A person is told of what only root may look at; where root may not, something is wrong. */
static enum tri answer_of(const struct search *search, int r)
{
	return r == -EACCES && search->settings->unseen == UNSEEN_TOLD && geteuid() != 0
		       ? TRI_UNKNOWN
		       : TRI_NO;
}

static void process_discover(void *context, struct inventory *inventory, const char *only)
{
	const struct process_state *state = context;
	struct search search CLEANUP(
		search_done) = { .settings = state->settings, .inventory = inventory };
	struct error error = { 0 };
	int r = 0, unseen = 0;
	enum tri answer;

	for (size_t i = 0; i < inventory->run_count; i++) {
		struct run *run = inventory->runs[i];

		if (only && !text_equal(run->id, only))
			continue;
		for (size_t j = 0; j < run->resource_count; j++) {
			struct error why = { 0 };

			r = search_add(&search, run, &run->resources[j], &why);
			/* Else it is this place's failure: its own backend keeps its run. */
			if (r < 0 && (only || error_is_ours(r)) && unseen == 0)
				unseen = error_say(&error, -r, "%s", why.text);
		}
	}
	r = search.count ? processes_in(search.places, search.count, search_seen, &search, &error)
			 : 0;
	answer = r < 0 ? answer_of(&search, r) : unseen < 0 ? TRI_NO : TRI_YES;
	inventory_add_source(
		inventory, "processes", NULL, answer, answer == TRI_YES ? NULL : error.text);
}

static const struct backend_effects process_effects = {
	.stop = process_end,
	.remove = process_end,
};

const struct backend process_backend = {
	.name = "processes",
	.open = process_open,
	.close = process_close,
	.identify = process_identify,
	.discover = process_discover,
	.probe = process_probe,
	.effects = &process_effects,
};
