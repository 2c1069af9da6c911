#include "database.h"

#include "base/text.h"
#include "state/history.h"

struct store *database_open(struct workdir *workdir, enum store_access access)
{
	struct error error = { 0 };
	struct store *store = NULL;

	if (store_open(workdir_path(workdir, "state.db"), access, &store, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	return store;
}

int database_setup(void **state)
{
	struct workdir *workdir;

	if (workdir_setup(state) < 0)
		return -1;
	workdir = *state;
	workdir->more = database_open(workdir, STORE_WRITE);
	return 0;
}

int database_teardown(void **state)
{
	struct workdir *workdir = *state;

	store_close(workdir->more);
	return workdir_teardown(state);
}

struct store *database(void **state)
{
	struct workdir *workdir = *state;

	return workdir->more;
}

static void add_action(void *context, const struct history_entry *entry)
{
	struct text *text = context;

	text_addf(text, "%s%s", text->length ? " " : "", entry->action);
}

char *database_history(struct store *store, const char *run)
{
	struct text text = { 0 };

	text_add(&text, "");
	if (history_each(store, run, 0, add_action, &text, NULL) < 0)
		abort();
	return text.data;
}

const struct record *database_row(struct store *store, const char *run, struct inventory *inventory)
{
	const struct run *found;

	inventory_done(inventory);
	if (runs_load(store, inventory, run, NULL) < 0)
		abort();
	found = inventory_find(inventory, run);
	return found ? found->row : NULL;
}

int database_register(struct store *store, const char *run, const struct resource *resources,
	size_t count, struct error *error)
{
	struct resource copies[8];

	assert(count <= ARRAY_SIZE(copies));
	for (size_t i = 0; i < count; i++)
		copies[i] = resources[i];
	return runs_register(store,
		&(struct record){ .run = run, .resources = copies, .resource_count = count }, TTL,
		NOW, error);
}
