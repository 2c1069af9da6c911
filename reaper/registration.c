#include "registration.h"
#include "backend/backend.h"
#include "base/pathname.h"
#include "base/text.h"
#include "beside.h"
#include "os/cgroupfs.h"
#include "os/dir.h"
#include "text_list.h"

#include <errno.h>

enum { RESOURCE_STEP = 8 };

void registration_done(struct registration *registration)
{
	arena_done(&registration->arena);
}

static struct resource *resource_find(struct record *record, enum kind kind, const char *locator)
{
	for (size_t i = 0; i < record->resource_count; i++)
		if (record->resources[i].kind == kind &&
			(!locator || text_equal(record->resources[i].locator, locator)))
			return &record->resources[i];
	return NULL;
}

static const struct resource *recorded_find(
	const struct record *record, enum kind kind, const char *locator)
{
	for (size_t i = 0; record && i < record->resource_count; i++)
		if (record->resources[i].kind == kind &&
			(!locator || text_equal(record->resources[i].locator, locator)))
			return &record->resources[i];
	return NULL;
}

/* Good until the next one is added. */
static struct resource *resource_add(
	struct registration *registration, enum kind kind, const char *locator)
{
	struct record *record = &registration->record;
	struct resource *added = resource_find(record, kind, locator), *grown;

	if (added)
		return added;
	if (record->resource_count == registration->resource_room) {
		registration->resource_room += RESOURCE_STEP;
		grown = arena_new(
			&registration->arena, registration->resource_room * sizeof(*grown));
		if (record->resource_count)
			memcpy(grown, record->resources, record->resource_count * sizeof(*grown));
		record->resources = grown;
	}
	assert(record->resources);
	added = &record->resources[record->resource_count++];
	*added = (struct resource){
		.run = record->run,
		.kind = kind,
		.locator = arena_dup(&registration->arena, locator),
		.bytes = -1,
	};
	return added;
}

static int outside(const char *option, const char *path, const char *right, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);

	return error_say(error, EINVAL, "--%s '%.200s' %s", option, shown, right);
}

/* <root>/<run>, when exactly one root has a directory of that name. 0 with NULL when none has. */
static int worktree_default(struct registration *registration, const struct settings *settings,
	const char **ret_path, struct error *error)
{
	const char *run = registration->record.run, *found = NULL;

	for (size_t i = 0; i < settings->roots.count; i++) {
		char *path =
			arena_printf(&registration->arena, "%s/%s", settings->roots.items[i], run);
		int fd CLEANUP(fd_done) = dir_open(path, NULL);

		if (fd < 0)
			continue;
		if (found)
			return error_say(error, EINVAL,
				"%.160s and %.160s are both there; say which with --worktree",
				found, path);
		found = path;
	}
	*ret_path = found;
	return 0;
}

/* What the command line says, else what is on record, else <root>/<run>. */
static int worktree_choose(struct registration *registration, const struct options *options,
	const struct settings *settings, const struct record *row, const struct record *marker,
	const char **ret_path, struct error *error)
{
	const struct resource *recorded = recorded_find(row, KIND_WORKTREE, NULL);

	/* Beside a row without a worktree a marker says <root>/<run> only because it must. */
	if (!recorded && !row)
		recorded = recorded_find(marker, KIND_WORKTREE, NULL);
	if (options->worktree && !text_list_above(&settings->roots, options->worktree))
		return outside("worktree", options->worktree,
			"lies below no [workspaces] root, so it could never be removed", error);
	*ret_path = options->worktree ? options->worktree : recorded ? recorded->locator : NULL;
	if (*ret_path)
		return 0;
	return worktree_default(registration, settings, ret_path, error);
}

static int add_worktree(struct registration *registration, const struct options *options,
	const struct settings *settings, const struct record *row, const struct record *marker,
	struct error *error)
{
	const struct resource *recorded;
	struct resource *worktree;
	const char *path = NULL;
	int r = worktree_choose(registration, options, settings, row, marker, &path, error);

	if (r < 0)
		return r;
	if (!path) {
		if (options->repo && !options->branch)
			return error_say(error, EINVAL,
				"--repo needs a worktree or --branch: there is no directory %s in "
				"any root",
				options->run);
		return 0;
	}
	worktree = resource_add(registration, KIND_WORKTREE, path);
	worktree->repo = options->repo;
	worktree->branch = options->branch;
	/* The branch and base are those of the first moment, whatever is checked out now. */
	recorded = recorded_find(row, KIND_WORKTREE, path);
	if (!recorded)
		recorded = recorded_find(marker, KIND_WORKTREE, path);
	if (recorded && !worktree->branch)
		worktree->branch = recorded->branch;
	if (recorded && !worktree->repo)
		worktree->repo = recorded->repo;
	if (recorded)
		worktree->base = recorded->base;
	return 0;
}

static int add_paths(struct registration *registration, const struct options *options,
	const struct settings *settings, struct error *error)
{
	for (size_t i = 0; i < options->paths.count; i++) {
		const char *path = options->paths.items[i];

		if (!settings_root_above(settings, path))
			return outside("path", path,
				"lies below no [workspaces] path_root or root, so it could never "
				"be removed",
				error);
		(void)resource_add(registration, KIND_PATH, path);
	}
	return 0;
}

/* A group may be named by its directory as well: what mkdir(1) took. */
static void add_cgroups(struct registration *registration, const struct text_list *cgroups)
{
	struct cgroupfs *cgroupfs = NULL;
	const char *below = NULL;

	if (cgroups->count && cgroupfs_open(&cgroupfs, NULL) < 0)
		cgroupfs = NULL;
	for (size_t i = 0; i < cgroups->count; i++) {
		if (cgroupfs)
			below = pathname_below(cgroups->items[i], cgroupfs_mount(cgroupfs));
		(void)resource_add(registration, KIND_CGROUP,
			below ? arena_printf(&registration->arena, "/%s", below)
			      : cgroups->items[i]);
	}
	if (cgroupfs)
		cgroupfs_close(cgroupfs);
}

static void add_list(
	struct registration *registration, enum kind kind, const struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		(void)resource_add(registration, kind, list->items[i]);
}

/* What only the marker says becomes part of the row, so that the two agree from now on. */
static void add_from_marker(struct registration *registration, const struct options *options,
	const struct record *row, const struct record *marker)
{
	struct record *record = &registration->record;

	for (size_t i = 0; i < marker->resource_count; i++) {
		const struct resource *told = &marker->resources[i];
		struct resource *added;

		if (told->kind == KIND_WORKTREE || told->kind == KIND_BRANCH)
			continue;
		added = resource_add(registration, told->kind, told->locator);
		added->at = told->at;
	}
	record->no_container |= marker->no_container;
	if (row)
		return;
	if (!options->created_s)
		record->created_s = marker->created_s;
	if (options->ttl_s < 0)
		record->ttl_s = marker->ttl_s;
}

/* One backend after the other, each only when there is something to ask it. */
static int identify_with(const struct backend *backend, struct registration *registration,
	const struct settings *settings, struct error *error)
{
	struct record *record = &registration->record;
	void *state = NULL;
	bool open = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < record->resource_count; i++) {
		if (backend_of(record->resources[i].kind) != backend || !backend->identify)
			continue;
		if (!open)
			r = backend->open(settings, &state, error);
		if (r < 0)
			return r;
		open = true;
		r = backend->identify(state, &record->resources[i], &registration->arena, error);
	}
	if (open && backend->close)
		backend->close(state);
	return r;
}

static int identify_all(
	struct registration *registration, const struct settings *settings, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < BACKEND_COUNT; i++)
		r = identify_with(backends[i], registration, settings, error);
	return r < 0 ? r : 0;
}

/* The branch of the worktree, or the one named, is a resource too. */
static int add_branch(struct registration *registration, const struct options *options,
	const struct settings *settings, const struct record *row, struct error *error)
{
	const struct resource *worktree = resource_find(&registration->record, KIND_WORKTREE, NULL);
	const char *name = options->branch;
	const char *repo = worktree && worktree->repo ? worktree->repo : options->repo;
	const struct resource *recorded = recorded_find(row, KIND_BRANCH, NULL);

	if (!name && recorded)
		return 0;
	if (!name && worktree)
		name = worktree->branch;
	if (!name)
		return 0;
	if (!repo)
		return error_say(error, EINVAL,
			"--branch '%s' needs a repository: give --repo, or a worktree that is "
			"there",
			name);
	resource_add(registration, KIND_BRANCH, name)->repo = repo;
	return worktree && repo == worktree->repo
		       ? 0
		       : identify_with(backend_of(KIND_BRANCH), registration, settings, error);
}

int registration_build(struct registration *registration, const struct options *options,
	const struct settings *settings, const struct record *row, const struct record *marker,
	struct error *error)
{
	int r;

	registration->record = (struct record){
		.run = options->run,
		.created_s = options->created_s,
		.ttl_s = options->ttl_s > 0 ? options->ttl_s : 0,
		.no_container = options->no_container,
	};
	r = add_worktree(registration, options, settings, row, marker, error);
	if (r == 0)
		r = add_paths(registration, options, settings, error);
	if (r < 0)
		return r;
	add_list(registration, KIND_CONTAINER, &options->containers);
	add_cgroups(registration, &options->cgroups);
	add_list(registration, KIND_SCOPE, &options->scopes);
	if (options->pid)
		(void)resource_add(registration, KIND_PROCESS,
			arena_printf(&registration->arena, "%lld", (long long)options->pid));
	if (marker)
		add_from_marker(registration, options, row, marker);
	r = identify_all(registration, settings, error);
	return r < 0 ? r : add_branch(registration, options, settings, row, error);
}
