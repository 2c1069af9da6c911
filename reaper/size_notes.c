#include "size_notes.h"

#include "base/clock.h"
#include "disk.h"
#include "os/errand.h"
#include "state/sizes.h"

enum { LOOK_MS = 2000 };

/* An errand: whether each run has the trees that were measured. */
static int compare_work(void *context, void *result, struct error *error)
{
	const struct inventory *inventory = context;
	bool *same = result;

	(void)error;
	for (size_t i = 0; i < inventory->run_count; i++) {
		const struct run *run = inventory->runs[i];

		same[i] = run->noted && run->noted->trees == disk_trees(run);
	}
	return 0;
}

static bool any_noted(const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->run_count; i++)
		if (inventory->runs[i]->noted)
			return true;
	return false;
}

int size_notes_load(struct store *store, struct inventory *inventory, struct error *error)
{
	bool *same CLEANUP(mem_done) = NULL;
	struct errand errand = {
		.work = compare_work, .context = inventory, .what = "look at trees"
	};
	int r = store ? sizes_load(store, inventory, clock_wall_s(), error) : 0;

	if (r < 0 || !any_noted(inventory))
		return r;
	errand.result_size = inventory->run_count * sizeof(*same);
	errand.result = same = mem_new(errand.result_size);
	errand.deadline_ms = deadline_in_ms(LOOK_MS);
	(void)errand_run(&errand, NULL); /* what it did not come to is not the same */
	for (size_t i = 0; i < inventory->run_count; i++)
		if (!same[i])
			inventory->runs[i]->noted = NULL;
	return 0;
}
