#include "gone.h"

int gone_find(struct gone *gone, struct store *store, enum sql sql,
	const struct inventory *inventory, gone_ask *is_gone, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, sql);
	int r;

	while ((r = query_step(&query, error)) > 0) {
		if (!is_gone(inventory_find(inventory, column_text(&query, 0))))
			continue;
		gone->runs = mem_grow(gone->runs, gone->count + 1, sizeof(*gone->runs));
		gone->runs[gone->count++] = arena_dup(&gone->arena, column_text(&query, 0));
	}
	return r;
}

void gone_done(struct gone *gone)
{
	free(gone->runs);
	arena_done(&gone->arena);
}
