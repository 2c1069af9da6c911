#include "tally.h"

#include "db.h"

static struct tally tally_of(struct query *query)
{
	return (struct tally){
		.action = column_text(query, 0),
		.reason = column_text(query, 1),
		.cause = column_text(query, 2),
		.runs = column_int(query, 3),
		.bytes = column_int(query, 4),
	};
}

int tally_each(struct store *store, void (*each)(void *context, const struct tally *tally),
	void *context, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_TALLY_EACH);
	int r;

	while ((r = query_step(&query, error)) > 0) {
		const struct tally tally = tally_of(&query);

		each(context, &tally);
	}
	return r;
}

int tally_each_day(struct store *store, int64_t day,
	void (*each)(void *context, int64_t day, const struct tally *tally), void *context,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_TALLY_EACH_DAY);
	int r;

	query_int(&query, day);
	while ((r = query_step(&query, error)) > 0) {
		const struct tally tally = tally_of(&query);

		each(context, column_int(&query, 5), &tally);
	}
	return r;
}
