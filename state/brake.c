#include "brake.h"

#include "db.h"
#include "history.h"

int brake_get(struct store *store, int64_t *ret_tripped_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_BRAKE_GET);
	int r = query_step(&query, error);

	if (r < 0)
		return r;
	*ret_tripped_s = r > 0 ? column_int(&query, 0) : 0;
	return 0;
}

static int brake_put(struct store *store, int64_t tripped_s, struct error *error)
{
	struct query query CLEANUP(query_done) =
		query_new(store, tripped_s ? SQL_BRAKE_SET : SQL_BRAKE_DELETE);

	if (tripped_s)
		query_int(&query, tripped_s);
	return query_run(&query, error);
}

int brake_set(struct store *store, int64_t tripped_s, const char *pass, int64_t now_s,
	const char *detail, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int64_t before_s = 0;
	int r = transaction_write(&transaction, store, error);

	if (r >= 0)
		r = brake_get(store, &before_s, error);
	if (r < 0 || before_s == tripped_s)
		return r;
	r = brake_put(store, tripped_s, error);
	if (r >= 0)
		r = history_add(store,
			&(struct history_entry){
				.at_s = now_s,
				.pass = pass,
				.action = tripped_s ? "braked" : "released",
				.detail = detail,
			},
			error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}
