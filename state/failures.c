#include "failures.h"

#include "db.h"
#include "gone.h"

/* An error that quotes what it met may be long, and this is read in each pass. */
enum { WHY_MAX = 1000 };

static int delete_of(struct store *store, enum sql sql, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, sql);
	int r;

	query_text(&query, run);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

static void failure_read(struct query *query, struct arena *arena, struct failures *ret_failures)
{
	*ret_failures = (struct failures){
		.since_s = column_int(query, 1),
		.count = column_int(query, 2),
		.last_s = column_int(query, 3),
		.error = arena_dup(arena, column_text(query, 4)),
	};
}

static int load_failures(struct store *store, struct inventory *inventory, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_FAILURE_EACH);
	int r;

	while ((r = query_step(&query, error)) > 0) {
		struct run *run = inventory_find(inventory, column_text(&query, 0));
		struct failures *failures;

		if (!run)
			continue;
		failures = arena_new(&inventory->arena, sizeof(*failures));
		failure_read(&query, &inventory->arena, failures);
		run->failures = failures;
		run->facts.failed_count = failures->count;
		run->facts.failed_last_s = failures->last_s;
	}
	return r;
}

static int load_unfinished(struct store *store, struct inventory *inventory, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_UNFINISHED_EACH);
	int r;

	while ((r = query_step(&query, error)) > 0) {
		struct run *run = inventory_find(inventory, column_text(&query, 0));

		if (run)
			run->facts.unfinished = true;
	}
	return r;
}

int failures_load(struct store *store, struct inventory *inventory, struct error *error)
{
	int r = load_failures(store, inventory, error);

	return r < 0 ? r : load_unfinished(store, inventory, error);
}

static int failure_count(
	struct store *store, const char *run, int64_t now_s, const char *why, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_FAILURE_ADD);
	char cut[WHY_MAX + 1];

	(void)snprintf(cut, sizeof(cut), "%s", why);
	query_text(&query, run);
	query_int(&query, now_s);
	query_text(&query, cut);
	return query_run(&query, error);
}

static int failure_get(struct store *store, const char *run, struct arena *arena,
	struct failures *ret_failures, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_FAILURE_GET);
	int r;

	query_text(&query, run);
	r = query_step(&query, error);
	if (r > 0)
		failure_read(&query, arena, ret_failures);
	return r < 0 ? r : 0;
}

int failures_add(struct store *store, const char *run, int64_t now_s, const char *why,
	struct arena *arena, struct failures *ret_failures, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct failures failures = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r >= 0)
		r = failure_count(store, run, now_s, why, error);
	if (r >= 0)
		r = delete_of(store, SQL_UNFINISHED_DELETE, run, error);
	if (r >= 0)
		r = failure_get(store, run, arena, &failures, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	if (r >= 0)
		*ret_failures = failures;
	return r < 0 ? r : 0;
}

int failures_note_unfinished(
	struct store *store, const char *run, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_UNFINISHED_ADD);
	int r;

	query_text(&query, run);
	query_int(&query, now_s);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

int failures_clear(struct store *store, const char *run, struct error *error)
{
	int r = delete_of(store, SQL_FAILURE_DELETE, run, error);

	return r < 0 ? r : delete_of(store, SQL_UNFINISHED_DELETE, run, error);
}

static bool is_gone(const struct run *run)
{
	return !run;
}

int failures_drop_gone(struct store *store, const struct inventory *inventory, struct error *error)
{
	struct gone gone CLEANUP(gone_done) = { 0 };
	int r = gone_find(&gone, store, SQL_FAILURE_EACH, inventory, is_gone, error);

	if (r >= 0)
		r = gone_find(&gone, store, SQL_UNFINISHED_EACH, inventory, is_gone, error);
	for (size_t i = 0; r >= 0 && i < gone.count; i++)
		r = failures_clear(store, gone.runs[i], error);
	return r < 0 ? r : 0;
}
