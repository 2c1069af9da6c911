#include "disk.h"

#include "base/pathname.h"
#include "os/dir.h"
#include "os/filesystem.h"
#include "os/treesize.h"

#include <errno.h>

static struct filesystem *filesystem_of(
	struct inventory *inventory, const struct filesystem_space *space)
{
	struct filesystem *fs;

	for (size_t i = 0; i < inventory->filesystem_count; i++)
		if (memcmp(inventory->filesystems[i].id, space->id, sizeof(space->id)) == 0)
			return &inventory->filesystems[i];
	fs = &inventory->filesystems[inventory->filesystem_count++];
	*fs = (struct filesystem){
		.id = { space->id[0], space->id[1] },
		.used_bytes = space->used_bytes,
		.total_bytes = space->total_bytes,
		.used_inodes = space->used_inodes,
		.total_inodes = space->total_inodes,
	};
	return fs;
}

static void look_at_root(struct inventory *inventory, const char *root, size_t room)
{
	struct filesystem_space space;
	struct error error = { 0 };
	struct filesystem *fs;

	if (filesystem_ask(root, &space, &error) < 0) {
		inventory_add_source(inventory, "disk", root, TRI_NO, error.text);
		return;
	}
	fs = filesystem_of(inventory, &space);
	if (!fs->roots)
		fs->roots = arena_new(&inventory->arena, room * sizeof(*fs->roots));
	fs->roots[fs->root_count++] = arena_dup(&inventory->arena, root);
}

void disk_look(struct inventory *inventory, const struct settings *settings)
{
	const struct text_list *lists[] = { &settings->roots, &settings->path_roots };
	size_t room = settings->roots.count + settings->path_roots.count;

	inventory->filesystems =
		arena_new(&inventory->arena, room * sizeof(*inventory->filesystems));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (size_t j = 0; j < lists[i]->count; j++)
			look_at_root(inventory, lists[i]->items[j], room);
}

/* The innermost root counts. False: it lies below none. */
static bool filesystem_above(const struct inventory *inventory, const char *path, size_t *ret_place)
{
	size_t longest = 0;

	for (size_t i = 0; i < inventory->filesystem_count; i++)
		for (size_t j = 0; j < inventory->filesystems[i].root_count; j++) {
			const char *root = inventory->filesystems[i].roots[j];

			if (strlen(root) > longest && pathname_below(path, root)) {
				longest = strlen(root);
				*ret_place = i;
			}
		}
	return longest > 0;
}

bool disk_takes_space(const struct resource *resource)
{
	return (resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH) &&
	       (resource->present == TRI_YES || resource->set_aside);
}

void disk_place_run(struct inventory *inventory, struct run *run)
{
	run->shares = arena_new(&inventory->arena, run->resource_count * sizeof(*run->shares));
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];
		struct share share = { .resource = i };

		if (disk_takes_space(resource) && resource->proof != PROOF_NONE &&
			filesystem_above(inventory, resource->locator, &share.filesystem))
			run->shares[run->share_count++] = share;
	}
}

static void share_fill(struct run *run, size_t resource, const struct tree_size *size)
{
	for (size_t i = 0; i < run->share_count; i++)
		if (run->shares[i].resource == resource) {
			run->shares[i].bytes = size->bytes;
			run->shares[i].inodes = size->inodes;
		}
}

static int measure(const char *path, int64_t deadline_ms, struct tree_size *ret_size)
{
	char *parent CLEANUP(mem_done) = pathname_parent(path);
	int fd CLEANUP(fd_done) = dir_open(parent, NULL);

	return fd < 0 ? fd : treesize(fd, pathname_last(path), deadline_ms, ret_size, NULL);
}

void disk_measure_run(struct run *run, int64_t deadline_ms)
{
	if (run->measured)
		return;
	run->measured = true;
	for (size_t i = 0; i < run->resource_count; i++) {
		struct resource *resource = &run->resources[i];
		struct tree_size size = { 0 };
		int r;

		if (!disk_takes_space(resource))
			continue;
		r = measure(resource->set_aside ? resource->set_aside : resource->locator,
			deadline_ms, &size);
		if (r == 0 || r == -ETIME)
			share_fill(run, i, &size);
		if (r < 0)
			continue;
		resource->bytes = size.bytes;
		run->bytes = (run->bytes < 0 ? 0 : run->bytes) + size.bytes;
	}
}
