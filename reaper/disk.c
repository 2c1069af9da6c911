#include "disk.h"

#include "base/clock.h"
#include "base/pathname.h"
#include "os/dir.h"
#include "os/errands.h"
#include "os/filesystem.h"
#include "os/treesize.h"
#include "progress.h"
#include "tree_sum.h"

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

bool disk_run_takes_space(const struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (disk_takes_space(&run->resources[i]))
			return true;
	return false;
}

/* What was set aside by an earlier pass stands elsewhere. */
static const char *place_of(const struct resource *resource)
{
	return resource->set_aside ? resource->set_aside : resource->locator;
}

/* The sum of all, since they come in no certain order; 0 where one is 0. */
static void add_tree(uint64_t *sum, uint64_t tree, bool *whole)
{
	*whole &= tree != 0;
	*sum += tree;
}

uint64_t disk_trees(const struct run *run)
{
	uint64_t sum = 0;
	bool whole = true;

	for (size_t i = 0; i < run->resource_count; i++)
		if (disk_takes_space(&run->resources[i]))
			add_tree(&sum, tree_sum(place_of(&run->resources[i])), &whole);
	return whole ? sum : 0;
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

/* What came of one tree. */
struct measured {
	uint64_t tree;         /* which it was before; 0: not known */
	struct tree_size size; /* also of one that was not measured to the end */
	int answer;
};

static struct measured *measured_new(const struct run *run)
{
	struct measured *all = mem_new((run->resource_count + 1) * sizeof(*all));

	for (size_t i = 0; i < run->resource_count; i++)
		all[i].answer = -ETIME;
	return all;
}

static void measure_each(const struct run *run, int64_t deadline_ms, struct measured *all)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (!disk_takes_space(resource))
			continue;
		all[i].tree = tree_sum(place_of(resource));
		all[i].answer = measure(place_of(resource), deadline_ms, &all[i].size);
	}
}

/* The sum is only told as such when it is one of all. */
static void take(struct run *run, const struct measured *all)
{
	bool some = false, whole = true, known = true;
	uint64_t trees = 0;
	int64_t sum = 0;

	for (size_t i = 0; i < run->resource_count; i++) {
		if (!disk_takes_space(&run->resources[i]))
			continue;
		some = true;
		whole &= all[i].answer == 0;
		sum += all[i].size.bytes;
		add_tree(&trees, all[i].tree, &known);
		share_fill(run, i, &all[i].size);
		if (all[i].answer == 0)
			run->resources[i].bytes = all[i].size.bytes;
	}
	run->measured = true;
	run->bytes = some && whole ? sum : -1;
	run->bytes_least = whole ? 0 : sum;
	run->trees = whole && known ? trees : 0;
}

void disk_measure_run(struct run *run, int64_t deadline_ms)
{
	struct measured *all CLEANUP(mem_done) = NULL;

	if (run->measured)
		return;
	all = measured_new(run);
	measure_each(run, deadline_ms, all);
	take(run, all);
}

/* ---------------------------------------------------------------------------------- side by side */

struct task {
	struct run *run;
	struct errand *errand;
	struct measured *all;
};

struct measuring {
	struct task *tasks;
	struct errand *errands;
	size_t count, done;
	struct progress *progress;
};

static void measuring_done(struct measuring *measuring)
{
	for (size_t i = 0; i < measuring->count; i++)
		free(measuring->tasks[i].all);
	free(measuring->tasks);
	free(measuring->errands);
}

/* In a child: what is slow, or hangs, is not ours. */
static int measure_work(void *context, void *result, struct error *error)
{
	const struct task *task = context;

	(void)error;
	measure_each(task->run, task->errand->deadline_ms, result);
	return 0;
}

static void add_task(struct measuring *measuring, struct run *run)
{
	size_t place = measuring->count++;
	struct task *task = &measuring->tasks[place];

	*task = (struct task){ run, &measuring->errands[place], measured_new(run) };
	*task->errand = (struct errand){
		.work = measure_work,
		.context = task,
		.what = "measure a run",
		.result = task->all,
		.result_size = run->resource_count * sizeof(*task->all),
	};
}

/* An errands_run callback. */
static void take_task(void *context, size_t place, int answer)
{
	struct measuring *measuring = context;
	struct task *task = &measuring->tasks[place];

	if (answer != -EINTR)
		take(task->run, task->all);
	progress_run(measuring->progress, ++measuring->done, task->run->id);
}

static void measure_runs(
	struct inventory *inventory, bool pinned_only, int64_t budget_ms, struct progress *progress)
{
	enum { PART_ONE = 4, PART_ALL = 2 };
	struct measuring measuring CLEANUP(measuring_done) = {
		.tasks = mem_new((inventory->run_count + 1) * sizeof(*measuring.tasks)),
		.errands = mem_new((inventory->run_count + 1) * sizeof(*measuring.errands)),
		.progress = progress,
	};
	struct errands errands = {
		.items = measuring.errands,
		.each_ms = budget_ms / PART_ONE,
		.end_ms = deadline_in_ms(budget_ms / PART_ALL),
		.done = take_task,
		.context = &measuring,
	};

	for (size_t i = 0; i < inventory->run_count; i++) {
		struct run *run = inventory->runs[i];

		if (pinned_only && run->facts.pin == PIN_NONE)
			continue;
		if (!run->measured && disk_run_takes_space(run))
			add_task(&measuring, run);
		else
			run->measured = true;
	}
	errands.count = measuring.count;
	progress_begin(progress, PROGRESS_MEASURING, measuring.count);
	errands_run(&errands);
}

void disk_measure_runs(struct inventory *inventory, int64_t budget_ms, struct progress *progress)
{
	measure_runs(inventory, false, budget_ms, progress);
}

void disk_measure_pinned(struct inventory *inventory, int64_t budget_ms)
{
	measure_runs(inventory, true, budget_ms, NULL);
}
