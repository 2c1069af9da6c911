/*
 * Private to state/: names of runs in a table whose rows have had their time.
 */
#pragma once

#include "db.h"
#include "model.h"

struct gone {
	struct arena arena;
	const char **runs;
	size_t count;
};

/* Of a run that has a row, as the inventory shows it; NULL: it does not. */
typedef bool gone_ask(const struct run *run);

/* Adds each run of a statement's first column that is gone, as who asks understands it. 0 or -errno. */
int gone_find(struct gone *gone, struct store *store, enum sql sql,
	const struct inventory *inventory, gone_ask *is_gone, struct error *error);
void gone_done(struct gone *gone);
