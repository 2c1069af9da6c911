/*
 * Plain paths that a run registered, below a root or a path_root: directories, files or sockets.
 * Only what was registered is looked at; the one thing discovered is what lies in a trash.
 */
#include "effects.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/mounts.h"
#include "os/trash.h"
#include "text_list.h"

#include <errno.h>
#include <fcntl.h>

struct path_state {
	const struct settings *settings; /* borrowed; outlives the state */
};

static int path_open(const struct settings *settings, void **ret_state, struct error *error)
{
	struct path_state *state = mem_new(sizeof(*state));

	(void)error;
	state->settings = settings;
	*ret_state = state;
	return 0;
}

static void path_close(void *state)
{
	free(state);
}

/* What in the list the path is, or contains: that would go with it. */
static const char *list_held(const struct text_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_equal(list->items[i], path) || pathname_below(list->items[i], path))
			return list->items[i];
	return NULL;
}

static const char *held(const struct settings *settings, const char *path)
{
	const struct text_list *const lists[] = { &settings->roots, &settings->path_roots,
		&settings->lost_roots, &settings->repos, &settings->lost_repos };
	const char *database = settings->database, *inner = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(lists) && !inner; i++)
		inner = list_held(lists[i], path);
	if (!inner && database && (text_equal(database, path) || pathname_below(database, path)))
		inner = database;
	return inner;
}

/* Whether the name beside the workspaces is one of ours: a marker or a pin of some run. */
static bool is_ours(const char *below)
{
	return !strchr(below, '/') && (text_ends(below, ".sbx") || text_ends(below, ".keep"));
}

static const char *escaped(struct arena *arena, const char *bytes)
{
	char *shown CLEANUP(mem_done) = text_escape(bytes);

	return arena_printf(arena, "%.300s", shown);
}

/*
 * Whether the path, as text, is one that a run may own. Returns NULL and the root, or what is wrong
 * with it and what would be right, in the arena.
 */
static const char *path_fault(const struct settings *settings, const char *path,
	struct arena *arena, const char **ret_root)
{
	char *clean CLEANUP(mem_done) = path[0] == '/' ? pathname_clean(path, NULL) : NULL;
	const char *root = settings_root_above(settings, path), *inner = held(settings, path),
		   *below;

	if (!text_equal(clean, path))
		return "it is not an absolute path without \".\", \"..\" and double slashes";
	if (inner)
		return arena_printf(arena, "it holds %s, which would be removed with it",
			escaped(arena, inner));
	if (!root)
		return "it does not lie below any root or path_root: use one of those, or set "
		       "path_root in [workspaces]";
	below = pathname_below(path, root);
	if (text_equal(below, TRASH_NAME) || text_starts(below, TRASH_NAME "/"))
		return "it lies in the trash of its root";
	if (is_ours(below))
		return "it is a marker or pin of sbx-reap";
	*ret_root = root;
	return NULL;
}

/* What stands at a path. */
struct path_seen {
	struct stat st;
	char birth[DIR_BIRTH]; /* "": the filesystem does not tell */
};

/*
 * Looks at what stands at the path. 0, -ENOENT, -EINVAL for what is no run's (a symlink,
 * a file on the way), -EXDEV at a mount, -errno.
 */
static int path_look(
	const char *root, const char *path, struct path_seen *ret_seen, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);
	int dir CLEANUP(fd_done) = dir_open(root, error);
	int thing CLEANUP(fd_done) = -EBADF;

	if (dir < 0) /* also when the root is missing: it may be a disk that is not mounted now */
		return dir == -ENOENT ? -ENODEV : dir;
	thing = dir_open_below(dir, pathname_below(path, root), O_PATH | O_NOFOLLOW, NULL);
	if (thing == -ENOENT)
		return thing;
	if (thing == -ELOOP || thing == -ENOTDIR)
		return error_say(error, EINVAL,
			"path %.300s: a directory on the way to it is a symlink or a file", shown);
	if (thing == -EXDEV)
		return error_say(error, EXDEV,
			"path %.300s is a mount point or lies below one within its root", shown);
	if (thing < 0 || fstat(thing, &ret_seen->st) != 0)
		return error_set(error, thing < 0 ? -thing : errno, "open path %.300s", shown);
	if (!dir_birth(thing, ret_seen->birth))
		ret_seen->birth[0] = 0;
	if (S_ISLNK(ret_seen->st.st_mode))
		return error_say(
			error, EINVAL, "path %.300s is a symlink: name what it points to", shown);
	return 0;
}

static int path_identify(
	void *state, struct resource *resource, struct arena *arena, struct error *error)
{
	const struct settings *settings = ((struct path_state *)state)->settings;
	const char *root = NULL;
	const char *fault = path_fault(settings, resource->locator, arena, &root);
	struct path_seen seen = { 0 };
	int r;

	if (fault)
		return error_say(
			error, EINVAL, "path %s: %s", escaped(arena, resource->locator), fault);
	r = path_look(root, resource->locator, &seen, error);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r == -EXDEV ? -EINVAL : r;
	resource->dev = seen.st.st_dev;
	resource->ino = seen.st.st_ino;
	resource->token = seen.birth[0] ? arena_dup(arena, seen.birth) : NULL;
	return 0;
}

/* The root in whose trash the locator itself lies, or NULL. */
static const char *trash_root_of(const struct settings *settings, const char *locator)
{
	const char *root = settings_root_above(settings, locator);
	const char *below = root ? pathname_below(locator, root) : "";

	return text_starts(below, TRASH_NAME "/") ? root : NULL;
}

/* Looks for entries of the resource's run in the trash of a root. */
struct search {
	const struct resource *resource;
	const char *root;
	struct arena *arena;
	const char *found;   /* the last one, absolute; in the arena */
	struct error *error; /* of search_mounts */
};

static int search_entry(void *context, const struct trash_entry *entry)
{
	struct search *search = context;

	if (!text_equal(entry->run, search->resource->run) ||
		entry->generation > search->resource->generation)
		return 0;
	search->found =
		arena_printf(search->arena, "%s/" TRASH_NAME "/%s", search->root, entry->name);
	return 1;
}

/* The same, and a mount in any of them is an error. */
static int search_mounts(void *context, const struct trash_entry *entry)
{
	struct search *search = context;

	return search_entry(search, entry) ? mounts_refuse(search->found, search->error) : 0;
}

/* What the run has in the trash of the root; unreadable makes a "no" unknown. */
static void probe_trash(const char *root, struct resource *resource, struct arena *arena)
{
	struct search search = { .resource = resource, .root = root, .arena = arena };
	struct error error = { 0 };
	int dir CLEANUP(fd_done) = dir_open(root, &error);
	int r = dir < 0 ? dir : trash_each(dir, search_entry, &search, &error);

	resource->set_aside = search.found;
	if (r < 0 && resource->present == TRI_NO)
		resource->present = TRI_UNKNOWN;
	if (r < 0 && !resource->note)
		resource->note =
			arena_printf(arena, "trash of %s: %s", escaped(arena, root), error.text);
}

/* A resource that is itself an entry of the trash. */
static void probe_entry(const char *root, struct resource *resource, struct arena *arena)
{
	struct error error = { 0 };
	struct path_seen seen;
	int r = path_look(root, resource->locator, &seen, &error);

	if (r == 0) {
		resource->present = TRI_YES;
		resource->set_aside = resource->locator;
	} else if (r == -ENOENT) {
		resource->present = TRI_NO;
	} else {
		resource->note = arena_dup(arena, error.text);
	}
}

static void contradict(struct resource *resource, const char *note)
{
	resource->contradicts = true;
	resource->note = note;
}

/* Why what was seen is not what was registered, or NULL. */
static const char *another_thing(const struct resource *told, const struct path_seen *seen)
{
	return dir_differs(&(struct dir_known){ told->dev, told->ino, told->token },
		&(struct dir_known){ seen->st.st_dev, seen->st.st_ino, seen->birth });
}

static void probe_place(const char *root, struct resource *resource, struct arena *arena)
{
	const char *another = NULL;
	struct error error = { 0 };
	struct path_seen seen = { 0 };
	int r = path_look(root, resource->locator, &seen, &error);

	if (r == -ENOENT)
		resource->present = TRI_NO;
	else if (r == 0 || r == -EINVAL || r == -EXDEV)
		resource->present = TRI_YES;
	if (r == -EINVAL)
		contradict(resource, arena_dup(arena, error.text));
	else if (r < 0 && r != -ENOENT)
		resource->note = arena_dup(arena, error.text);
	else if (r == 0)
		another = another_thing(resource, &seen);
	if (another)
		contradict(resource, arena_printf(arena, "what stands there is %s", another));
	if (r < 0 || another || resource->dev || resource->ino)
		return;
	/* From here on it is this one, whatever gets its name. */
	resource->dev = seen.st.st_dev;
	resource->ino = seen.st.st_ino;
	resource->token = seen.birth[0] ? arena_dup(arena, seen.birth) : NULL;
}

static void path_probe(void *state, struct resource *resource, struct arena *arena)
{
	const struct settings *settings = ((struct path_state *)state)->settings;
	const char *root = trash_root_of(settings, resource->locator), *fault;

	resource->present = TRI_UNKNOWN;
	resource->set_aside = NULL;
	if (root) {
		probe_entry(root, resource, arena);
		return;
	}
	fault = path_fault(settings, resource->locator, arena, &root);
	if (fault && text_list_above(&settings->lost_roots, resource->locator)) {
		resource->note = "its root could not be opened";
	} else if (fault) {
		contradict(resource, fault);
	} else {
		probe_place(root, resource, arena);
		probe_trash(root, resource, arena);
	}
}

struct discovery {
	struct inventory *inventory;
	const char *root, *only;
};

static int discover_entry(void *context, const struct trash_entry *entry)
{
	const struct discovery *discovery = context;
	char *locator CLEANUP(mem_done) = NULL;
	struct resource resource;

	if (discovery->only && !text_equal(discovery->only, entry->run))
		return 0;
	locator = mem_printf("%s/" TRASH_NAME "/%s", discovery->root, entry->name);
	resource = (struct resource){
		.generation = entry->generation,
		.kind = KIND_PATH,
		.proof = PROOF_TRASH,
		.locator = locator,
		.present = TRI_YES,
		.set_aside = locator,
	};
	(void)run_add_resource(
		discovery->inventory, inventory_run(discovery->inventory, entry->run), &resource);
	return 0;
}

static void discover_list(
	const struct text_list *roots, struct inventory *inventory, const char *only)
{
	for (size_t i = 0; i < roots->count; i++) {
		struct discovery discovery = { inventory, roots->items[i], only };
		struct error error = { 0 };
		int dir CLEANUP(fd_done) = dir_open(roots->items[i], &error);
		int r = dir < 0 ? dir : trash_each(dir, discover_entry, &discovery, &error);

		if (r < 0)
			inventory_add_source(
				inventory, "worktrees", roots->items[i], TRI_NO, error.text);
	}
}

static void path_discover(void *state, struct inventory *inventory, const char *only)
{
	const struct settings *settings = ((struct path_state *)state)->settings;

	discover_list(&settings->roots, inventory, only);
	discover_list(&settings->path_roots, inventory, only);
}

/*
 * 1 when what stands there is what was registered and nothing is mounted in it, 0 gone, -errno.
 * *ret_dev: the device it is on now.
 */
static int path_prove(
	const char *root, const struct resource *resource, uint64_t *ret_dev, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(resource->locator);
	struct error unseen = { 0 };
	struct path_seen seen;
	const char *another;
	int r = path_look(root, resource->locator, &seen, &unseen);

	if (r == -ENOENT)
		return 0;
	another = r < 0 ? NULL : another_thing(resource, &seen);
	if (another)
		return error_say(
			error, ESTALE, "path %.200s: what stands there is %s", shown, another);
	*ret_dev = r < 0 ? resource->dev : seen.st.st_dev;
	r = mounts_refuse(resource->locator, error);
	return r < 0 ? r : 1; /* what could not be looked at is trash_take's to refuse */
}

/* Sets it aside. What is in the trash already is left to purge. */
static int path_remove(
	void *state, const struct resource *resource, struct effort *effort, struct error *error)
{
	const struct settings *settings = ((struct path_state *)state)->settings;
	struct arena arena CLEANUP(arena_done) = { 0 };
	int dir CLEANUP(fd_done) = -EBADF;
	const char *root = NULL, *fault;
	uint64_t dev;
	int r;

	if (trash_root_of(settings, resource->locator))
		return 0;
	fault = path_fault(settings, resource->locator, &arena, &root);
	if (fault)
		return error_say(
			error, EINVAL, "path %s: %s", escaped(&arena, resource->locator), fault);
	r = path_prove(root, resource, &dev, error);
	if (r <= 0)
		return r;
	dir = dir_open(root, error);
	if (dir < 0)
		return dir;
	return trash_take(dir,
		&(struct trash_thing){ pathname_below(resource->locator, root), resource->run,
			resource->generation, resource->ino ? dev : 0, resource->ino,
			{ effort->deadline_ms, effort->threads }, NULL },
		&effort->deleted, error);
}

/* Deletes what the run has in the trash, unless something is mounted in it. */
static int path_purge(
	void *state, const struct resource *resource, struct effort *effort, struct error *error)
{
	const struct settings *settings = ((struct path_state *)state)->settings;
	struct arena arena CLEANUP(arena_done) = { 0 };
	const char *root = settings_root_above(settings, resource->locator);
	struct search search = {
		.resource = resource, .root = root, .arena = &arena, .error = error
	};
	const struct rmtree_limits limits = { effort->deadline_ms, effort->threads };
	int dir CLEANUP(fd_done) = -EBADF;
	int r;

	if (!root)
		return error_say(error, EINVAL, "path %s does not lie below any root",
			escaped(&arena, resource->locator));
	dir = dir_open(root, error);
	if (dir < 0)
		return dir;
	r = trash_each(dir, search_mounts, &search, error);
	if (r < 0)
		return r;
	return trash_purge(
		dir, resource->run, resource->generation, &limits, &effort->deleted, error);
}

static const struct backend_effects path_effects = {
	.remove = path_remove,
	.purge = path_purge,
};

const struct backend path_backend = {
	.name = "path",
	.open = path_open,
	.close = path_close,
	.identify = path_identify,
	.discover = path_discover,
	.probe = path_probe,
	.effects = &path_effects,
};
