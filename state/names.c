#include "names.h"

#include "db.h"

int names_each(struct store *store, enum names names, void (*each)(void *context, const char *run),
	void *context, struct error *error)
{
	static const enum sql statements[] = {
		[NAMES_ON_RECORD] = SQL_RUN_NAMES,
		[NAMES_EVER] = SQL_RUN_NAMES_EVER,
		[NAMES_PINNED] = SQL_PIN_NAMES,
		[NAMES_SALVAGED] = SQL_SALVAGE_NAMES,
	};
	struct query query CLEANUP(query_done) = query_new(store, statements[names]);
	int r;

	while ((r = query_step(&query, error)) > 0)
		each(context, column_text(&query, 0));
	return r;
}
