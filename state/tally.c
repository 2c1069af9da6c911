#include "tally.h"

#include "db.h"

int tally_each(struct store *store, void (*each)(void *context, const struct tally *tally),
	void *context, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_TALLY_EACH);
	int r;

	while ((r = query_step(&query, error)) > 0)
		each(context, &(const struct tally){
				      .action = column_text(&query, 0),
				      .reason = column_text(&query, 1),
				      .cause = column_text(&query, 2),
				      .runs = column_int(&query, 3),
				      .bytes = column_int(&query, 4),
			      });
	return r;
}
