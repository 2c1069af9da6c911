#include "sizes.h"

#include "base/runid.h"
#include "db.h"
#include "gone.h"

int sizes_load(struct store *store, struct inventory *inventory, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SIZE_EACH);
	int r;

	while ((r = query_step(&query, error)) > 0) {
		struct run *run = inventory_find(inventory, column_text(&query, 0));
		int64_t age_s = now_s - column_int(&query, 3);
		struct size_note *noted;

		if (!run || run->measured || age_s < 0 || age_s > SIZES_FRESH_S)
			continue;
		noted = arena_new(&inventory->arena, sizeof(*noted));
		noted->trees = (uint64_t)column_int(&query, 1);
		noted->bytes = column_int(&query, 2);
		noted->at_s = column_int(&query, 3);
		run->noted = noted;
	}
	return r;
}

/* What was taken apart, even in part, is not what was measured. */
static bool is_over(const struct run *run)
{
	return !run || run->result != RESULT_NONE;
}

static bool is_news(const struct run *run)
{
	return run->trees && !is_over(run) && runid_valid(run->id);
}

static bool any_news(const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->run_count; i++)
		if (is_news(inventory->runs[i]))
			return true;
	return false;
}

static int forget(struct store *store, const struct gone *gone, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < gone->count; i++) {
		struct query query CLEANUP(query_done) = query_new(store, SQL_SIZE_DELETE);

		query_text(&query, gone->runs[i]);
		r = query_run(&query, error);
	}
	return r;
}

static int note(struct store *store, const struct inventory *inventory, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < inventory->run_count; i++) {
		const struct run *run = inventory->runs[i];
		struct query query CLEANUP(query_done) = { 0 };

		if (!is_news(run))
			continue;
		query = query_new(store, SQL_SIZE_SET);
		query_text(&query, run->id);
		query_int(&query, (int64_t)run->trees);
		query_int(&query, run->bytes);
		query_int(&query, inventory->now_s);
		r = query_run(&query, error);
	}
	return r;
}

int sizes_note(struct store *store, const struct inventory *inventory, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct gone over CLEANUP(gone_done) = { 0 };
	int r = gone_find(&over, store, SQL_SIZE_EACH, inventory, is_over, error);

	if (r < 0 || (over.count == 0 && !any_news(inventory)))
		return r < 0 ? r : 0;
	r = transaction_write(&transaction, store, error);
	if (r >= 0)
		r = forget(store, &over, error);
	if (r >= 0)
		r = note(store, inventory, error);
	return r < 0 ? r : transaction_commit(&transaction, error);
}
