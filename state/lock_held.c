#include "lock_held.h"

#include "db.h"

static int held_count(struct store *store, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_LOCK_HELD_ADD);

	query_int(&query, now_s);
	return query_run(&query, error);
}

static int held_get(struct store *store, struct lock_held *ret_held, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_LOCK_HELD_GET);
	int r = query_step(&query, error);

	if (r > 0)
		*ret_held = (struct lock_held){
			.since_s = column_int(&query, 0),
			.count = column_int(&query, 1),
		};
	return r < 0 ? r : 0;
}

int lock_held_add(
	struct store *store, int64_t now_s, struct lock_held *ret_held, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct lock_held held = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r >= 0)
		r = held_count(store, now_s, error);
	if (r >= 0)
		r = held_get(store, &held, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	if (r >= 0)
		*ret_held = held;
	return r < 0 ? r : 0;
}

int lock_held_clear(struct store *store, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_LOCK_HELD_DELETE);
	int r = query_run(&query, error);

	return r < 0 ? r : 0;
}
