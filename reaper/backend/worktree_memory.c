#include "worktree_memory.h"

#include "base/text.h"

#include <search.h>

static int memory_compare(const void *a, const void *b)
{
	const struct branch_memory *left = a, *right = b;
	int r = strcmp(left->run, right->run);

	return r ? r : strcmp(left->branch, right->branch);
}

const struct branch_memory *worktree_memory_of(
	const struct worktree_memory *memory, const char *run, const char *branch)
{
	const struct branch_memory wanted = { .run = run, .branch = branch };
	const struct branch_memory *const *found = tfind(&wanted, &memory->index, memory_compare);

	return found ? *found : NULL;
}

struct branch_memory *worktree_remember(
	struct worktree_memory *memory, const struct resource *resource)
{
	const struct branch_memory wanted = { .run = resource->run, .branch = resource->branch };
	struct branch_memory *const *found = tfind(&wanted, &memory->index, memory_compare);
	struct branch_memory *made;

	if (found)
		return *found;
	made = arena_new(&memory->arena, sizeof(*made));
	made->run = arena_dup(&memory->arena, resource->run);
	made->branch = arena_dup(&memory->arena, resource->branch);
	made->own_tree = arena_dup(&memory->arena, resource->locator);
	if (!tsearch(made, &memory->index, memory_compare))
		abort();
	return made;
}

static void not_owned(void *memory)
{
	(void)memory; /* it lives in the arena */
}

void worktree_memory_done(struct worktree_memory *memory)
{
	tdestroy(memory->index, not_owned);
	arena_done(&memory->arena);
	*memory = (struct worktree_memory){ 0 };
}
