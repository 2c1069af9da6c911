#include "probe.h"

#include "db.h"

int probe_ask(struct store *store, const struct probe *probe, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PROBE_ASK);
	int r;

	query_int(&query, probe->asked_s);
	query_text(&query, probe->directory);
	query_int(&query, probe->port);
	query_text(&query, probe->token);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

static struct probe_attempt attempt_read(struct query *query, int column, struct arena *arena)
{
	return (struct probe_attempt){
		.step = arena_dup(arena, column_text(query, column)),
		.code = column_int(query, column + 1),
		.note = arena_dup(arena, column_text(query, column + 2)),
	};
}

int probe_get(
	struct store *store, struct arena *arena, struct probe **ret_probe, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PROBE_GET);
	struct probe *probe = arena_new(arena, sizeof(*probe));
	int r = query_step(&query, error);

	if (r < 0)
		return r;
	if (r > 0)
		*probe = (struct probe){
			.asked_s = column_int(&query, 0),
			.directory = arena_dup(arena, column_text(&query, 1)),
			.port = column_int(&query, 2),
			.token = arena_dup(arena, column_text(&query, 3)),
			.answered_s = column_int(&query, 4),
			.pass = arena_dup(arena, column_text(&query, 5)),
			.file = attempt_read(&query, 6, arena),
			.network = attempt_read(&query, 9, arena),
			.judged_s = column_int(&query, 12),
		};
	*ret_probe = r > 0 ? probe : NULL;
	return 0;
}

static void attempt_bind(struct query *query, const struct probe_attempt *attempt)
{
	query_text(query, attempt->step);
	query_int(query, attempt->code);
	query_text(query, attempt->note);
}

int probe_answer(struct store *store, const struct probe *probe, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PROBE_ANSWER);

	query_text(&query, probe->token);
	query_int(&query, probe->answered_s);
	query_text(&query, probe->pass);
	attempt_bind(&query, &probe->file);
	attempt_bind(&query, &probe->network);
	return query_run(&query, error);
}

int probe_judge(struct store *store, const char *token, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PROBE_JUDGE);

	query_text(&query, token);
	query_int(&query, now_s);
	return query_run(&query, error);
}

static int result_add(
	struct store *store, const struct probe_result *result, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PROBE_RESULT_ADD);

	query_text(&query, result->check);
	query_text(&query, result->outcome);
	query_int(&query, now_s);
	return query_run(&query, error);
}

static int results_drop(struct store *store, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PROBE_RESULT_DELETE);

	return query_run(&query, error);
}

int probe_set_results(struct store *store, const struct probe_result *results, size_t count,
	int64_t now_s, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r >= 0)
		r = results_drop(store, error);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = result_add(store, &results[i], now_s, error);
	return r < 0 ? r : transaction_commit(&transaction, error);
}

int probe_each_result(struct store *store,
	void (*each)(void *context, const struct probe_result *result), void *context,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PROBE_RESULT_EACH);
	int r;

	while ((r = query_step(&query, error)) > 0)
		each(context, &(const struct probe_result){
				      .check = column_text(&query, 0),
				      .outcome = column_text(&query, 1),
				      .at_s = column_int(&query, 2),
			      });
	return r;
}
