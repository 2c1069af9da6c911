#include "run_guess.h"

#include "base/runid.h"
#include "base/spelling.h"
#include "beside.h"

struct guess {
	struct arena arena; /* of the names that are near */
	struct spelling spelling;
};

static void guess_done(struct guess *guess)
{
	arena_done(&guess->arena);
}

/* A names_each callback. The name outlives the call only where it is near. */
static void consider(void *context, const char *run)
{
	struct spelling alone = { .word = ((struct guess *)context)->spelling.word };
	struct guess *guess = context;

	spelling_consider(&alone, run);
	if (alone.count && runid_valid(run))
		spelling_consider(&guess->spelling, arena_dup(&guess->arena, run));
}

/* A beside_entry. */
static int consider_entry(void *context, int root, const char *root_path, const char *run)
{
	(void)root;
	(void)root_path;
	consider(context, run);
	return 0;
}

static void consider_roots(struct guess *guess, const struct text_list *roots, enum names among)
{
	for (size_t i = 0; i < roots->count; i++) {
		const char *root = roots->items[i];

		if (among == NAMES_PINNED) {
			(void)beside_each(root, ".keep", consider_entry, guess, NULL);
		} else if (among != NAMES_SALVAGED) {
			(void)beside_each(root, ".sbx", consider_entry, guess, NULL);
			(void)beside_each(root, "", consider_entry, guess, NULL);
		}
	}
}

char *run_guess(
	const struct settings *settings, struct store *store, const char *run, enum names among)
{
	struct guess guess CLEANUP(guess_done) = { .spelling.word = run };

	if (store)
		(void)names_each(store, among, consider, &guess, NULL);
	consider_roots(&guess, &settings->roots, among);
	return spelling_text(&guess.spelling);
}

char *run_guess_seen(const struct inventory *inventory, const char *run)
{
	struct spelling spelling = { .word = run };

	for (size_t i = 0; i < inventory->run_count; i++)
		if (runid_valid(inventory->runs[i]->id))
			spelling_consider(&spelling, inventory->runs[i]->id);
	return spelling_text(&spelling);
}
