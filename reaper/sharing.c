#include "sharing.h"

#include "base/pathname.h"
#include "base/text.h"
#include "facts.h"
#include "os/answering.h"
#include "text_list.h"

#include <errno.h>
#include <sys/stat.h>

/* Something that a run claims, by what it is and not by what it is called. */
struct thing {
	enum kind kind; /* worktree and path are both path, cgroup and scope both cgroup */
	char *key;
	struct run *run;
	const struct resource *resource;
};

struct sharing {
	struct inventory *inventory;
	const struct settings *settings;
	struct thing *things;
	size_t count, room;
};

static void sharing_done(struct sharing *sharing)
{
	for (size_t i = 0; i < sharing->count; i++)
		free(sharing->things[i].key);
	free(sharing->things);
}

static int thing_compare(const void *a, const void *b)
{
	const struct thing *left = a, *right = b;

	return left->kind != right->kind ? (int)left->kind - (int)right->kind
					 : strcmp(left->key, right->key);
}

/*
 * Device and inode of a directory, NULL when there is none. Of a file it says nothing: a run can give
 * another run's file a second name.
 */
static char *directory_key(const struct settings *settings, const char *path)
{
	const char *root = settings_root_above(settings, path);
	struct stat st;

	if (answering_look(root ? root : "/", path, &st) < 0 || !S_ISDIR(st.st_mode))
		return NULL;
	return mem_printf(
		"%llx:%llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
}

/* What makes two resources the same, or NULL: it says nothing about that. The caller owns it. */
static char *thing_key(
	const struct settings *settings, const struct resource *resource, enum kind *ret_kind)
{
	*ret_kind = resource->kind;
	switch (resource->kind) {
	case KIND_WORKTREE:
		*ret_kind = KIND_PATH;
		return directory_key(settings, resource->locator);
	case KIND_PATH:
		return directory_key(settings, resource->locator);
	case KIND_CGROUP:
		return mem_dup(resource->locator);
	case KIND_SCOPE:
		*ret_kind = KIND_CGROUP;
		return mem_dup(resource->group);
	case KIND_CONTAINER:
		return mem_dup(resource->token);
	case KIND_PROCESS:
		return resource->alive != TRI_NO && resource->token
			       ? mem_printf("%s:%s", resource->locator, resource->token)
			       : NULL;
	case KIND_BRANCH: /* one within its repository, and what it holds is not lost with it */
	case KIND_VOLUME:
	case KIND_NETWORK: /* by the label alone, which names one run */
	case KIND_MOUNT:
	case KIND_COUNT:
		break;
	}
	return NULL;
}

static void sharing_add(struct sharing *sharing, struct run *run, const struct resource *resource)
{
	struct thing thing = { .run = run, .resource = resource };

	if (!(resource->proof & (PROOF_ROW | PROOF_MARKER)) || resource->present == TRI_NO ||
		resource->silent)
		return;
	thing.key = thing_key(sharing->settings, resource, &thing.kind);
	if (!thing.key)
		return;
	if (sharing->count == sharing->room) {
		sharing->room = sharing->room * 2 + 16;
		sharing->things = mem_grow(sharing->things, sharing->room, sizeof(thing));
	}
	sharing->things[sharing->count++] = thing;
}

static void refuse_both(
	struct sharing *sharing, const struct thing *outer, const struct thing *inner)
{
	const struct resource *holds = outer->resource, *lies = inner->resource;

	if (outer->run == inner->run)
		return;
	run_refuse(sharing->inventory, outer->run,
		"run %s claims %s %s too, which is or lies in its %s %s", inner->run->id,
		kind_name(lies->kind), lies->locator, kind_name(holds->kind), holds->locator);
	run_refuse(sharing->inventory, inner->run,
		"its %s %s is or lies in %s %s, which run %s claims too", kind_name(lies->kind),
		lies->locator, kind_name(holds->kind), holds->locator, outer->run->id);
}

/* Sorted, whatever lies in a group follows it before anything that does not begin with its path. */
static void check_equal_and_groups(struct sharing *sharing)
{
	for (size_t i = 0; i < sharing->count; i++) {
		const struct thing *outer = &sharing->things[i];

		for (size_t j = i + 1; j < sharing->count; j++) {
			const struct thing *inner = &sharing->things[j];

			if (inner->kind != outer->kind || !text_starts(inner->key, outer->key))
				break;
			if (text_equal(inner->key, outer->key) ||
				(outer->kind == KIND_CGROUP &&
					pathname_below(inner->key, outer->key)))
				refuse_both(sharing, outer, inner);
		}
	}
}

/* Everything that is the directory of that path. */
static void refuse_at(struct sharing *sharing, const char *path, const struct thing *inner)
{
	char *key CLEANUP(mem_done) = directory_key(sharing->settings, path);
	const struct thing wanted = { .kind = KIND_PATH, .key = key };
	const struct thing *found = NULL, *first = sharing->things;

	if (key)
		found = bsearch(&wanted, first, sharing->count, sizeof(*first), thing_compare);
	while (found && found > first && thing_compare(found - 1, &wanted) == 0)
		found--;
	for (; found && found < first + sharing->count && thing_compare(found, &wanted) == 0;
		found++)
		refuse_both(sharing, found, inner);
}

/* The directories that a tree or path lies in, up to its root: each may be another run's. */
static void check_directories_above(struct sharing *sharing, const struct thing *inner)
{
	char *path CLEANUP(mem_done) = pathname_parent(inner->resource->locator);

	while (settings_root_above(sharing->settings, path)) {
		char *above = pathname_parent(path);

		refuse_at(sharing, path, inner);
		free(path);
		path = above;
	}
}

void sharing_check(struct inventory *inventory, const struct settings *settings)
{
	struct sharing sharing CLEANUP(
		sharing_done) = { .inventory = inventory, .settings = settings };

	for (size_t i = 0; i < inventory->run_count; i++)
		for (size_t j = 0; j < inventory->runs[i]->resource_count; j++)
			sharing_add(
				&sharing, inventory->runs[i], &inventory->runs[i]->resources[j]);
	if (!sharing.count)
		return;
	qsort(sharing.things, sharing.count, sizeof(*sharing.things), thing_compare);
	check_equal_and_groups(&sharing);
	for (size_t i = 0; i < sharing.count; i++)
		if (sharing.things[i].kind == KIND_PATH)
			check_directories_above(&sharing, &sharing.things[i]);
}
