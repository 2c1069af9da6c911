#include "worktree_branch_probe.h"

#include "worktree_activity.h"
#include "worktree_ask.h"

struct branch_ask worktree_branch_question(const struct settings *settings,
	const struct worktree_memory *memory, const struct resource *resource)
{
	const struct branch_memory *known =
		worktree_memory_of(memory, resource->run, resource->locator);

	return (struct branch_ask){
		.repo = resource->repo,
		.name = resource->locator,
		.run = resource->run,
		.rule = settings->policy.branch,
		.own_tree = known ? known->own_tree : NULL,
		.proved = known ? known->proved : NULL,
	};
}

/* A branch that stays on purpose is present and not alive, and its note begins with "kept: ". */
static void branch_seen(const struct settings *settings, const struct branch_view *view,
	struct resource *resource, struct arena *arena)
{
	resource->alive = TRI_NO;
	if (settings->visited && resource->repo)
		resource->active_s = worktree_branch_active_s(resource->repo, resource->locator);
	switch (view->answer) {
	case BRANCH_ABSENT:
		resource->present = TRI_NO;
		return;
	case BRANCH_STAYS:
		resource->present = TRI_YES;
		resource->note = arena_printf(arena, "kept: %s", view->why);
		return;
	case BRANCH_GOES:
		resource->present = TRI_YES;
		return;
	case BRANCH_UNSEEN:
		resource->present = TRI_UNKNOWN;
		resource->note = view->why;
		return;
	}
}

static int repo_order(const void *a, const void *b)
{
	const struct resource *left = *(struct resource *const *)a;
	const struct resource *right = *(struct resource *const *)b;

	if (!left->repo || !right->repo)
		return (left->repo != NULL) - (right->repo != NULL);
	return strcmp(left->repo, right->repo);
}

void worktree_branches_probe(const struct settings *settings, const struct worktree_memory *memory,
	struct resource **branches, size_t count, struct arena *arena)
{
	struct branch_ask *asks CLEANUP(mem_done) = mem_new((count + 1) * sizeof(*asks));
	struct branch_view *views CLEANUP(mem_done) = mem_new((count + 1) * sizeof(*views));

	if (count > 1)
		qsort(branches, count, sizeof(*branches), repo_order);
	for (size_t i = 0; i < count; i++)
		asks[i] = worktree_branch_question(settings, memory, branches[i]);
	worktree_ask_branches(asks, count, worktree_ask_ms(settings), arena, views);
	for (size_t i = 0; i < count; i++)
		branch_seen(settings, &views[i], branches[i], arena);
}
