/* The groups below the root that nobody told us: listed as foreign, never touched. */
#include "cgroup.h"

#include "base/pathname.h"
#include "base/text.h"

#include <errno.h>

enum { LEVELS_MAX = 8, FOREIGN_MAX = 10000, CONTAINER_ID = 64 };

/* Names in order, so that a question costs a binary search. */
struct names {
	const char **items;
	size_t count, room;
};

struct discovery {
	struct cgroup_state *state;
	struct inventory *inventory;
	const char *only;
	struct names groups;     /* paths of told groups */
	struct names units;      /* told scopes */
	struct names containers; /* full ids: an engine may put its groups there */
	unsigned foreign;
};

/* The group whose children are visited. */
struct level {
	struct discovery *discovery;
	const char *path;
	unsigned depth;
};

static int discover_below(struct discovery *discovery, const char *path, unsigned depth);

static void names_add(struct names *names, const char *name)
{
	if (names->count == names->room) {
		names->room = names->room * 2 + 16;
		names->items = mem_grow(names->items, names->room, sizeof(*names->items));
	}
	names->items[names->count++] = name;
}

static int name_compare(const void *a, const void *b)
{
	const char *const *left = a, *const *right = b;

	return strcmp(*left, *right);
}

static void names_sort(struct names *names)
{
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), name_compare);
}

/* The first name that is not smaller; "" behind the last. */
static const char *names_from(const struct names *names, const char *name)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(names->items[middle], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < names->count ? names->items[low] : "";
}

static void discovery_done(struct discovery *discovery)
{
	free(discovery->groups.items);
	free(discovery->units.items);
	free(discovery->containers.items);
}

static void discovery_note_told(struct discovery *discovery, const struct resource *resource)
{
	const char *id = resource->token ? resource->token : resource->locator;

	if (resource->proof == PROOF_NONE)
		return;
	if (resource->kind == KIND_CGROUP)
		names_add(&discovery->groups, resource->locator);
	else if (resource->kind == KIND_SCOPE)
		names_add(&discovery->units, resource->locator);
	else if (resource->kind == KIND_CONTAINER && strlen(id) == CONTAINER_ID)
		names_add(&discovery->containers, id);
}

static void discovery_collect(struct discovery *discovery)
{
	const struct inventory *inventory = discovery->inventory;

	for (size_t i = 0; i < inventory->run_count; i++)
		for (size_t j = 0; j < inventory->runs[i]->resource_count; j++)
			discovery_note_told(discovery, &inventory->runs[i]->resources[j]);
	names_sort(&discovery->groups);
	names_sort(&discovery->units);
	names_sort(&discovery->containers);
}

/* Whether a path component has a told container's id in it: "libpod-<id>.scope", "<id>". */
static bool names_container(const struct discovery *discovery, const char *name)
{
	if (strlen(name) < CONTAINER_ID)
		return false;
	for (size_t i = 0; i < discovery->containers.count; i++)
		if (strstr(name, discovery->containers.items[i]))
			return true;
	return false;
}

static bool holds_told(const struct discovery *discovery, const char *path)
{
	char *prefix CLEANUP(mem_done) = mem_printf("%s/", path);

	return text_starts(names_from(&discovery->groups, prefix), prefix);
}

static int discover_foreign(struct discovery *discovery, const char *path, const char *name)
{
	struct resource foreign = {
		.kind = KIND_CGROUP,
		.proof = PROOF_NONE,
		.locator = path,
	};

	if (discovery->only && !text_equal(discovery->only, name))
		return 0;
	if (discovery->foreign++ == FOREIGN_MAX)
		return -E2BIG;
	group_probe(discovery->state, &foreign, path, &discovery->inventory->arena);
	if (foreign.present != TRI_NO)
		(void)run_add_resource(
			discovery->inventory, inventory_run(discovery->inventory, name), &foreign);
	return 0;
}

static int discover_child(void *context, const char *name)
{
	const struct level *level = context;
	struct discovery *discovery = level->discovery;
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", level->path, name);

	if (text_equal(names_from(&discovery->groups, path), path) ||
		text_equal(names_from(&discovery->units, name), name) ||
		names_container(discovery, name))
		return 0;
	if (text_ends(name, ".slice") || holds_told(discovery, path))
		return discover_below(discovery, path, level->depth + 1);
	return discover_foreign(discovery, path, name);
}

static int discover_below(struct discovery *discovery, const char *path, unsigned depth)
{
	struct level level = { .discovery = discovery, .path = path, .depth = depth };
	int group CLEANUP(fd_done) = cgroupfs_open_group(discovery->state->cgroupfs, path, NULL);

	if (group == -ENOENT)
		return 0;
	if (group < 0)
		return group;
	if (depth > LEVELS_MAX)
		return -ELOOP;
	return cgroupfs_children(group, discover_child, &level, NULL);
}

void cgroup_discover(void *context, struct inventory *inventory, const char *only)
{
	struct cgroup_state *state = context;
	struct discovery discovery CLEANUP(
		discovery_done) = { .state = state, .inventory = inventory, .only = only };
	char *at CLEANUP(mem_done) = NULL;
	struct error error = { 0 };
	int r;

	if (state->visits) {
		inventory_add_source(inventory, "cgroups", NULL, TRI_UNKNOWN, NULL);
		return;
	}
	discovery_collect(&discovery);
	if (state->absent < 0) {
		bool needed = discovery.groups.count + discovery.units.count > 0 ||
			      state->absent != -ENOENT;

		inventory_add_source(inventory, "cgroups", NULL, needed ? TRI_NO : TRI_UNKNOWN,
			state->absent_error.text);
		return;
	}
	at = mem_printf("%s%s", cgroupfs_mount(state->cgroupfs), state->root);
	r = discover_below(&discovery, state->root, 0);
	if (r < 0)
		(void)error_set(&error, -r, "list the cgroups below %s", at);
	inventory_add_source(
		inventory, "cgroups", at, r < 0 ? TRI_NO : TRI_YES, r < 0 ? error.text : NULL);
}
