#include "mount.h"

#include "base/pathname.h"
#include "base/text.h"
#include "text_list.h"

const char *mount_described(struct arena *arena, const struct mount *mount)
{
	char *type CLEANUP(mem_done) = text_escape(mount->type);
	char *source CLEANUP(mem_done) = text_escape(mount->source);

	return arena_printf(arena, "%.60s %.200s", type, source);
}

/* A tree or path of a run, in which mounts are looked for. */
struct search {
	struct mount_state *state;
	struct inventory *inventory;
	const struct mount_table *table;
	const struct run **owners; /* of the mounts in by_path */
};

/* What two runs claim is neither's: told.c refuses such runs, and here nothing is proven of it. */
static const struct run nobody;

static bool is_place(const struct settings *settings, const struct resource *resource)
{
	return (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH) &&
	       resource->proof != PROOF_NONE && resource->locator[0] == '/' &&
	       settings_root_above(settings, resource->locator);
}

static size_t index_of(const struct mount_table *table, const struct mount *const *at)
{
	return (size_t)(at - (const struct mount *const *)table->by_path);
}

static void claim_mounts(struct search *search, struct run *run, const struct resource *place)
{
	const struct mount *const *list;
	size_t count = mounts_within(search->table, place->locator, &list);

	for (size_t i = 0; i < count; i++) {
		const struct run **owner = &search->owners[index_of(search->table, list + i)];

		*owner = !*owner || *owner == run ? run : &nobody;
	}
}

static void add_mount(struct search *search, struct run *run, const struct resource *place,
	const struct mount *mount, const char *why_not)
{
	struct arena *arena = &search->inventory->arena;
	const char *what = mount_described(arena, mount);

	(void)run_add_resource(search->inventory, run,
		&(struct resource){
			.generation = place->generation,
			.kind = KIND_MOUNT,
			.proof = why_not ? PROOF_NONE : place->proof,
			.locator = mount->point,
			.at = place->locator,
			.dev = place->dev,
			.ino = place->ino,
			.token = place->token,
			.present = TRI_YES,
			.note = why_not ? arena_printf(arena, "%s: %s", what, why_not) : what,
		});
}

/* What is mounted between the tree and its root, or on it: it hides what was registered. */
static void add_above(struct search *search, struct run *run, const struct resource *place)
{
	const char *root = settings_root_above(search->state->settings, place->locator);
	char *path CLEANUP(mem_done) = mem_dup(place->locator);

	while (pathname_below(path, root)) {
		const struct mount *mount = mounts_at(search->table, path);

		if (mount)
			add_mount(search, run, place, mount,
				"mounted over what was registered, which cannot be seen");
		*strrchr(path, '/') = 0;
	}
}

static void add_below(struct search *search, struct run *run, const struct resource *place)
{
	const struct mount *const *list;
	size_t count = mounts_within(search->table, place->locator, &list);

	for (size_t i = 0; i < count; i++) {
		const struct run *owner = search->owners[index_of(search->table, list + i)];

		if (!pathname_below(list[i]->point, place->locator))
			continue;
		if (i && text_equal(list[i]->point, list[i - 1]->point))
			continue; /* one point, one resource */
		add_mount(search, run, place, list[i],
			owner == &nobody ? "it lies in the trees of two runs" : NULL);
	}
}

/* The places of a run are copied: adding resources moves the others. */
static void each_place(struct search *search, struct run *run,
	void (*each)(struct search *search, struct run *run, const struct resource *place))
{
	size_t count = run->resource_count;

	for (size_t i = 0; i < count; i++) {
		struct resource place = run->resources[i];

		if (is_place(search->state->settings, &place))
			each(search, run, &place);
	}
}

static void discover_in(struct mount_state *state, struct inventory *inventory,
	const struct mount_table *table, const char *only)
{
	const struct run **owners CLEANUP(mem_done) = mem_new((table->count + 1) * sizeof(*owners));
	struct search search = {
		.state = state,
		.inventory = inventory,
		.table = table,
		.owners = owners,
	};

	if (!table->count)
		return;
	for (size_t i = 0; i < inventory->run_count; i++)
		each_place(&search, inventory->runs[i], claim_mounts);
	for (size_t i = 0; i < inventory->run_count; i++) {
		if (only && !text_equal(inventory->runs[i]->id, only))
			continue;
		each_place(&search, inventory->runs[i], add_above);
		each_place(&search, inventory->runs[i], add_below);
	}
}

void mount_discover(void *context, struct inventory *inventory, const char *only)
{
	struct mount_state *state = context;
	struct error error = { 0 };
	int r = mount_view_now(&state->view, &error);

	inventory_add_source(
		inventory, "mounts", NULL, r < 0 ? TRI_NO : TRI_YES, r < 0 ? error.text : NULL);
	if (r < 0)
		return;
	discover_in(state, inventory, &state->view.here, only);
	discover_in(state, inventory, &state->view.there, only);
}
