#include "sweep_world.h"

#include "copy.h"
#include "group.h"
#include "os/file.h"
#include "state/history.h"
#include "state/pins.h"
#include "state/runs.h"
#include "state/salvages.h"
#include "state/store.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { OUTPUT_MAX = 1 << 20 };

static char *read_out(const struct sweep_world *world, const char *name)
{
	int dir CLEANUP(fd_done) = open(world->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *bytes = NULL;
	size_t length;

	if (file_read(dir, name, OUTPUT_MAX, &bytes, &length, NULL, NULL) < 0)
		return mem_dup("");
	return bytes;
}

char *sweep_world_output(const struct sweep_world *world)
{
	return read_out(world, "out");
}

char *sweep_world_complaints(const struct sweep_world *world)
{
	return read_out(world, "err");
}

/* A zombie is dead; whose exit was taken, too. */
static bool is_alive(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid;
}

static bool has_group(const struct sweep_world *world, const char *run)
{
	char *name CLEANUP(mem_done) = mem_printf("%s/%s", world->group, run);

	return group_exists(name);
}

static bool has(const char *directory, const char *name)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", directory, name);
	struct stat stat;

	return lstat(path, &stat) == 0;
}

static bool is_mounted(const struct sweep_world *world)
{
	FILE *mounts CLEANUP(file_done) = fopen("/proc/self/mounts", "re");
	char line[4096];

	assert_non_null(mounts);
	while (fgets(line, sizeof(line), mounts))
		if (strstr(line, world->top))
			return true;
	return false;
}

/* -------------------------------------------------------------------------------- what is left */

/* Refs are looked at by name: a commit made later is another one. Objects may be there twice. */
static bool is_of_its_time(const char *relative)
{
	return text_equal(relative, "objects") || text_starts(relative, "refs/sbx/salvage/");
}

static void describe_salvaged_ref(struct text *text, git_repository *repository, const char *name)
{
	char id[GIT_OID_HEXSZ + 1] = "damaged";
	git_commit *commit;
	git_oid oid;

	if (git_reference_name_to_id(&oid, repository, name) == 0 &&
		git_commit_lookup(&commit, repository, &oid) == 0) {
		(void)git_oid_tostr(id, sizeof(id), git_commit_tree_id(commit));
		git_commit_free(commit);
	}
	text_addf(text, "salvaged: %s, a tree %s\n", name, id);
}

/* A commit is of its time; the tree that it keeps is not. */
static void describe_salvaged(struct text *text, const struct sweep_world *world)
{
	git_repository *repository;
	git_strarray names;

	assert_int_equal(git_repository_open_bare(&repository, world->repo), 0);
	assert_int_equal(git_reference_list(&names, repository), 0);
	for (size_t i = 0; i < names.count; i++)
		if (text_starts(names.strings[i], "refs/sbx/salvage/"))
			describe_salvaged_ref(text, repository, names.strings[i]);
	git_strarray_dispose(&names);
	git_repository_free(repository);
}

static void describe_entry(void *context, const struct history_entry *entry)
{
	static const char *const counted[] = { "registered", "finished", "stopped", "reaped",
		"partial", "kept", "failed", "forgotten", "salvaged", "pinned" };

	for (size_t i = 0; entry->run && i < ARRAY_SIZE(counted); i++)
		if (text_equal(entry->action, counted[i]))
			text_addf(context, "history %s %s\n", entry->run, entry->action);
}

static int describe_salvage(void *context, const struct salvage *salvage)
{
	text_addf(context, "salvage %s\n", salvage->run);
	return 0;
}

static void describe_pin(void *context, const struct pin *pin)
{
	text_addf(context, "pin %s until %lld\n", pin->run, (long long)pin->until_s);
}

static void describe_rows(struct text *text, struct store *store)
{
	struct inventory inventory = { 0 };

	assert_int_equal(runs_load(store, &inventory, NULL, NULL), 0);
	for (size_t i = 0; i < inventory.run_count; i++) {
		const struct run *run = inventory.runs[i];

		text_addf(text, "row %s %d %s %s\n", run->id, (int)run->facts.claim,
			run->row && run->row->finished_s ? "finished" : "active",
			run->row ? outcome_name(run->row->outcome) : "-");
	}
	inventory_done(&inventory);
}

/* One run after the other, since a pass may take them in another order. */
static void describe_books(struct text *text, const struct sweep_world *world)
{
	static const char *const runs[] = { "all", "unsaved", "overdue", "pinned", "live",
		"fresh" };
	char *path CLEANUP(mem_done) = mem_printf("%s/reap.db", world->state);
	struct error error = { 0 };
	struct store *store;

	if (store_open(path, STORE_READ, &store, &error) < 0 || store_verify(store, &error) < 0) {
		text_addf(text, "books: %s\n", error.text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		assert_int_equal(history_each(store, runs[i], 0, describe_entry, text, NULL), 0);
	assert_int_equal(salvages_each(store, NULL, 0, describe_salvage, text, NULL), 0);
	assert_int_equal(pins_each(store, describe_pin, text, NULL), 0);
	describe_rows(text, store);
	store_close(store);
}

static bool is_marker(const char *relative)
{
	const char *ending = strrchr(relative, '.');

	return ending && (text_equal(ending, ".sbx") || text_equal(ending, ".keep"));
}

static bool is_inside_tree(const char *relative)
{
	return strchr(relative, '/') != NULL;
}

/* For what holds times. */
static void describe_names(struct text *text, const char *path, bool (*omit)(const char *relative))
{
	struct text names CLEANUP(text_done) = { 0 };

	describe_tree(&names, path, DESCRIBE_CONTENT, omit);
	for (char *line = names.data, *end; line && (end = strchr(line, '\n')); line = end + 1)
		text_addf(text, "%.*s\n", (int)strcspn(line, " "), line);
}

char *sweep_world_describe(const struct sweep_world *world)
{
	struct text text = { 0 };

	describe_tree(&text, world->root, DESCRIBE_CONTENT, is_marker);
	describe_names(&text, world->root, is_inside_tree);
	describe_tree(&text, world->paths, DESCRIBE_CONTENT, NULL);
	describe_tree(&text, world->repo, DESCRIBE_CONTENT, is_of_its_time);
	describe_names(&text, world->state, NULL);
	describe_salvaged(&text, world);
	for (size_t i = 0; i < 3; i++) {
		static const char *const runs[PROCESS_COUNT] = { "all", "overdue", "live" };

		text_addf(&text, "cgroup %s: %d\nprocess %s: %d\n", runs[i],
			has_group(world, runs[i]), runs[i], is_alive(world->processes[i]));
	}
	text_addf(&text, "container: %d\nmount: %d\n",
		fake_engine_has(&world->engine, world->container), is_mounted(world));
	describe_books(&text, world);
	return text.data;
}

char *sweep_world_protected(const struct sweep_world *world)
{
	static const char *const things[] = { "ws/pinned", "ws/pinned.sbx", "ws/pinned.keep",
		"ws/live", "ws/live.sbx", "ws/foreign", "ws/fresh", "repo.git/worktrees/pinned",
		"repo.git/worktrees/fresh", "repo.git/worktrees/live",
		"repo.git/refs/heads/sbx/pinned", "repo.git/refs/heads/sbx/live", "repo.git/HEAD" };
	struct text text = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(things); i++) {
		char *path CLEANUP(mem_done) = mem_printf("%s/%s", world->top, things[i]);

		describe_tree(&text, path, DESCRIBE_EXACTLY, NULL);
	}
	text_addf(&text, "live: %d %d\n", is_alive(world->processes[PROCESS_LIVE]),
		has_group(world, "live"));
	return text.data;
}

static bool has_marker(const struct sweep_world *world, const char *run)
{
	char *marker CLEANUP(mem_done) = mem_printf("%s.sbx", run);

	return has(world->root, marker);
}

/* Anything but its marker. */
static bool is_left(const struct sweep_world *world, const char *run)
{
	char *record CLEANUP(mem_done) = mem_printf("worktrees/%s", run);

	if (has(world->root, run) || has(world->repo, record) || has_group(world, run))
		return true;
	if (!text_equal(run, "all"))
		return false;
	return has(world->paths, "all") || is_alive(world->processes[PROCESS_ALL]) ||
	       fake_engine_has(&world->engine, world->container) || is_mounted(world);
}

bool sweep_world_is_done(const struct sweep_world *world, const char *run)
{
	if (text_equal(run, "overdue"))
		return !is_alive(world->processes[PROCESS_OVERDUE]);
	return !has_marker(world, run) && !is_left(world, run);
}

bool sweep_world_is_proven(const struct sweep_world *world, const char *run)
{
	return has_marker(world, run) || !is_left(world, run);
}

bool sweep_world_is_recorded(const struct sweep_world *world, const char *run)
{
	char *record CLEANUP(mem_done) = mem_printf("worktrees/%s/gitdir", run);

	return has(world->repo, record) || !has(world->root, run);
}

bool sweep_world_is_whole(const struct sweep_world *world, const char *run)
{
	char *file CLEANUP(mem_done) = mem_printf("%s/a.txt", run);
	char *record CLEANUP(mem_done) = mem_printf("worktrees/%s/gitdir", run);

	if (!has(world->root, file) || !has_marker(world, run) || !has(world->repo, record))
		return false;
	if (text_equal(run, "overdue"))
		return is_alive(world->processes[PROCESS_OVERDUE]) && has_group(world, run);
	if (!text_equal(run, "all"))
		return true;
	return is_alive(world->processes[PROCESS_ALL]) && has_group(world, run) &&
	       is_mounted(world) && has(world->paths, "all/deep/p") &&
	       fake_engine_runs(&world->engine, world->container);
}

static bool blob_is(
	git_repository *repository, const git_tree *tree, const char *name, const char *content)
{
	const git_tree_entry *entry = git_tree_entry_byname(tree, name);
	git_blob *blob;
	bool same;

	if (!entry || git_blob_lookup(&blob, repository, git_tree_entry_id(entry)) != 0)
		return false;
	same = (size_t)git_blob_rawsize(blob) == strlen(content) &&
	       memcmp(git_blob_rawcontent(blob), content, strlen(content)) == 0;
	git_blob_free(blob);
	return same;
}

static bool ref_holds_unsaved(git_repository *repository, const char *name)
{
	git_commit *commit;
	git_tree *tree;
	git_oid oid;
	bool holds = false;

	if (git_reference_name_to_id(&oid, repository, name) != 0 ||
		git_commit_lookup(&commit, repository, &oid) != 0)
		return false;
	if (git_commit_tree(&tree, commit) == 0) {
		holds = blob_is(repository, tree, "a.txt", "changed\n") &&
			blob_is(repository, tree, "new", "new\n");
		git_tree_free(tree);
	}
	git_commit_free(commit);
	return holds;
}

/* What cannot be written to the repository goes into an archive, which the program has read back. */
static bool has_archive(const struct sweep_world *world)
{
	struct text text CLEANUP(text_done) = { 0 };
	char *path CLEANUP(mem_done) = mem_printf("%s/salvage", world->state);

	describe_names(&text, path, NULL);
	return text.data && strstr(text.data, "unsaved") && strstr(text.data, ".tar.zst\n");
}

bool sweep_world_holds_unsaved(const struct sweep_world *world)
{
	git_repository *repository;
	git_strarray names;
	bool holds = has_archive(world) ||
		     (has(world->root, "unsaved/new") && has(world->root, "unsaved/a.txt"));

	assert_int_equal(git_repository_open_bare(&repository, world->repo), 0);
	assert_int_equal(git_reference_list(&names, repository), 0);
	for (size_t i = 0; i < names.count && !holds; i++)
		holds = text_starts(names.strings[i], "refs/sbx/salvage/") &&
			ref_holds_unsaved(repository, names.strings[i]);
	git_strarray_dispose(&names);
	git_repository_free(repository);
	return holds;
}

char *sweep_world_difference(const char *a, const char *b)
{
	while (*a && *b) {
		size_t a_length = strcspn(a, "\n"), b_length = strcspn(b, "\n");

		if (a_length != b_length || strncmp(a, b, a_length) != 0)
			break;
		a += a_length + (a[a_length] == '\n');
		b += b_length + (b[b_length] == '\n');
	}
	if (!*a && !*b)
		return NULL;
	return mem_printf("%.*s | %.*s", (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}
