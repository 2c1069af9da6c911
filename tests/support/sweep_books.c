#include "sweep_books.h"

#include "copy.h"
#include "state/history.h"
#include "state/runs.h"
#include "state/store.h"
#include "unit.h"

#include <errno.h>
#include <sys/stat.h>

struct books {
	char *directory;
	struct store *store;
	struct inventory inventory;
};

static void books_done(struct books *books)
{
	inventory_done(&books->inventory);
	store_close(books->store);
	if (books->directory) {
		empty_tree(books->directory);
		(void)rmdir(books->directory);
	}
	free(books->directory);
}

/* Opening them undoes what was half written, and that is for the next pass to do. */
static char *books_open(struct books *books, const struct sweep_world *world)
{
	static const char *const files[] = { "reap.db", "reap.db-journal", "reap.db.stamp" };
	char *path CLEANUP(mem_done) = mem_printf("%s/books/reap.db", world->base);
	struct error error = { 0 };
	int r;

	books->directory = mem_printf("%s/books", world->base);
	assert_return_code(mkdir(books->directory, 0700), errno);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *from CLEANUP(mem_done) = mem_printf("%s/%s", world->state, files[i]);
		char *to CLEANUP(mem_done) = mem_printf("%s/%s", books->directory, files[i]);

		if (access(from, F_OK) == 0)
			copy_tree(from, to);
	}
	r = store_open(path, STORE_WRITE, &books->store, &error);
	if (r == 0)
		r = runs_load(books->store, &books->inventory, NULL, &error);
	return r < 0 ? mem_printf("the books cannot be read: %s", error.text) : NULL;
}

static void note_end(void *context, const struct history_entry *entry)
{
	bool *ended = context;

	*ended |= text_equal(entry->action, "reaped") || text_equal(entry->action, "stopped");
}

static bool is_begun(const struct record *row)
{
	return row && (row->claim == CLAIM_BEGUN_REAP || row->claim == CLAIM_BEGUN_STOP);
}

static char *run_fault(const struct books *books, const struct sweep_world *world, const char *id)
{
	const struct run *run = inventory_find(&books->inventory, id);
	bool ended = false;

	assert_int_equal(history_each(books->store, id, 0, note_end, &ended, NULL), 0);
	if (ended && !sweep_world_is_done(world, id))
		return mem_printf("the books say that %s has ended, and it has not", id);
	if (!ended && !is_begun(run ? run->row : NULL) && !sweep_world_is_whole(world, id))
		return mem_printf("something of %s is gone, and the books do not know why", id);
	if (!sweep_world_is_proven(world, id))
		return mem_printf("the marker of %s is gone, and more of it is left", id);
	if (!sweep_world_is_recorded(world, id))
		return mem_printf("git's record of %s is gone, and its tree is in its place", id);
	return NULL;
}

char *sweep_books_fault(const struct sweep_world *world)
{
	static const char *const due[] = { "all", "unsaved", "overdue" };
	struct books books CLEANUP(books_done) = { 0 };
	char *fault = books_open(&books, world);

	for (size_t i = 0; i < ARRAY_SIZE(due) && !fault; i++)
		fault = run_fault(&books, world, due[i]);
	return fault;
}
