#include "base/text.h"
#include "base/timespan.h"
#include "db.h"
#include "failures.h"
#include "history.h"
#include "run_row.h"
#include "runs.h"

#include <errno.h>

/*
 * MUST, each in the one IMMEDIATE transaction that changes the row:
 * 1. A pinned run is neither claimed nor begun.
 * 2. A claim is only taken on the row that the decision was made from.
 * 3. A claim is only begun, and only ends a run, while it is the pass's own.
 */

struct claiming {
	struct transaction transaction;
	struct arena arena;
	struct run_row row;
	bool found;
};

static void claiming_done(struct claiming *claiming)
{
	transaction_done(&claiming->transaction);
	arena_done(&claiming->arena);
}

static int claiming_begin(
	struct claiming *claiming, struct store *store, const char *run, struct error *error)
{
	int r = transaction_write(&claiming->transaction, store, error);

	if (r < 0)
		return r;
	r = run_row_get(store, run, &claiming->arena, &claiming->row, error);
	claiming->found = r > 0;
	return r < 0 ? r : 0;
}

static const char *goal_name(enum claim goal)
{
	assert(goal == CLAIM_BEGUN_STOP || goal == CLAIM_BEGUN_REAP);
	return goal == CLAIM_BEGUN_STOP ? "stop" : "reap";
}

static int check_pin(struct store *store, const char *run, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_GET);
	char moment[TIMESPAN_TEXT];
	int64_t until_s;
	int r;

	query_text(&query, run);
	r = query_step(&query, error);
	if (r <= 0)
		return r;
	until_s = column_int(&query, 4);
	if (until_s && until_s <= now_s)
		return 0;
	return error_say(error, EPERM, "run '%s' is pinned%s%s", run, until_s ? " until " : "",
		until_s ? moment_format(moment, until_s) : "");
}

static int stale(const char *run, const char *what, struct error *error)
{
	return error_say(error, ESTALE, "run '%s' %s since it was looked at", run, what);
}

/* What changed since the row was loaded, or NULL. */
static const char *row_difference(const struct record *now, const struct record *then)
{
	if (now->generation != then->generation)
		return "was registered anew";
	if (now->finished_s != then->finished_s || now->outcome != then->outcome)
		return "was finished";
	if (now->last_sign_s != then->last_sign_s || now->deadline_s != then->deadline_s)
		return "was renewed";
	if (now->created_s != then->created_s || now->no_container != then->no_container ||
		now->resource_count != then->resource_count)
		return "was changed";
	return NULL;
}

/* What is proven to be its own, so that the next pass knows what this one was about to remove. */
static size_t proven_resources(const struct run *run, struct resource *ret_resources)
{
	size_t count = 0;

	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].proof)
			ret_resources[count++] = run->resources[i];
	return count;
}

static int64_t first_of(int64_t a_s, int64_t b_s, int64_t c_s)
{
	return a_s ? a_s : b_s ? b_s : c_s;
}

/* A row for what has none: times from the marker where there is one. */
static int add_unregistered(
	struct store *store, const struct run *run, int64_t now_s, struct error *error)
{
	struct resource *resources CLEANUP(mem_done) =
		mem_new(run->resource_count * sizeof(*resources));
	struct run_row row = { 0 };
	int r;

	if (run->marker)
		row.record = *run->marker;
	row.record.run = run->id;
	row.record.resources = resources;
	row.record.resource_count = proven_resources(run, resources);
	row.record.created_s = first_of(row.record.created_s, run->facts.created_s,
		first_of(run->facts.first_seen_s, now_s, now_s));
	row.record.deadline_s =
		first_of(row.record.deadline_s, run->facts.deadline_s, row.record.created_s);
	r = run_row_generation(store, run->id, now_s, &row.record.generation, error);
	return r < 0 ? r : run_row_add(store, &row, error);
}

/* MUST 2: the row is the one that was loaded, or there is still none and it is made. */
static int claiming_match(struct claiming *claiming, struct store *store, const struct run *run,
	int64_t now_s, struct error *error)
{
	const char *difference;
	int r;

	/* The opening of a pass voids rows that a claim made and that are claimed no more. */
	if (!run->row || (!run->row->registered && !claiming->found)) {
		if (claiming->found)
			return stale(run->id, "was registered", error);
		r = add_unregistered(store, run, now_s, error);
		return r < 0 ? r
			     : run_row_get(store, run->id, &claiming->arena, &claiming->row, error);
	}
	if (!claiming->found)
		return stale(run->id, "was dropped from the books", error);
	difference = row_difference(&claiming->row.record, run->row);
	return difference ? stale(run->id, difference, error) : 0;
}

static int claim_take(struct store *store, const char *pass, const char *run, enum claim goal,
	int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_CLAIM_TAKE);

	query_text(&query, pass);
	query_text(&query, goal_name(goal));
	query_int(&query, now_s);
	query_text(&query, run);
	return query_run(&query, error);
}

static int claim_history(struct store *store, const char *pass, const struct run *run,
	int64_t generation, const char *action, int64_t now_s, struct error *error)
{
	return history_add(store,
		&(struct history_entry){
			.at_s = now_s,
			.pass = pass,
			.run = run->id,
			.generation = generation,
			.action = action,
			.reason = reason_name(run->decision.reason),
		},
		error);
}

int runs_claim(struct store *store, const char *pass, const struct run *run, enum claim goal,
	int64_t now_s, struct error *error)
{
	struct claiming claiming CLEANUP(claiming_done) = { 0 };
	int r = claiming_begin(&claiming, store, run->id, error);

	if (r == 0)
		r = check_pin(store, run->id, now_s, error);
	if (r == 0)
		r = claiming_match(&claiming, store, run, now_s, error);
	if (r < 0)
		return r;
	/* What has begun to be removed cannot go back to being stopped. */
	if (claiming.row.record.claim == CLAIM_BEGUN_REAP)
		goal = CLAIM_BEGUN_REAP;
	r = claim_take(store, pass, run->id, goal, now_s, error);
	if (r < 0)
		return r;
	r = claim_history(store, pass, run, claiming.row.record.generation,
		run_row_begun(&claiming.row) ? "resumed" : "claimed", now_s, error);
	if (r == 0)
		r = transaction_commit(&claiming.transaction, error);
	return r < 0 ? r : 1;
}

/* MUST 3. */
static int check_ours(
	const struct claiming *claiming, const char *pass, const char *run, struct error *error)
{
	if (claiming->found && text_equal(claiming->row.record.claim_pass, pass))
		return 0;
	return stale(
		run, "was taken from this pass (pinned, renewed, finished or forgotten)", error);
}

/*
 * Another run may have been registered since the plan, with a tree in this one's. The next inventory
 * refuses both; here there is only this run to be looked at again.
 */
static int check_shared(struct store *store, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_CLAIM_SHARED);
	char *shown CLEANUP(mem_done) = NULL, *what CLEANUP(mem_done) = NULL;
	int r;

	query_text(&query, run);
	r = query_step(&query, error);
	if (r <= 0)
		return r;
	shown = text_escape(column_text(&query, 1));
	what = mem_printf("shares %.200s with run %s", shown, column_text(&query, 0));
	return stale(run, what, error);
}

int runs_begin(struct store *store, const char *pass, const char *run, enum claim goal,
	int64_t now_s, struct error *error)
{
	struct claiming claiming CLEANUP(claiming_done) = { 0 };
	struct query query CLEANUP(query_done) = { 0 };
	int r = claiming_begin(&claiming, store, run, error);

	if (r == 0)
		r = check_pin(store, run, now_s, error);
	if (r == 0)
		r = check_ours(&claiming, pass, run, error);
	if (r == 0)
		r = check_shared(store, run, error);
	if (r < 0)
		return r;
	query = query_new(store, SQL_CLAIM_BEGIN);
	query_text(&query, goal_name(goal));
	query_int(&query, now_s);
	query_text(&query, run);
	r = query_run(&query, error);
	if (r >= 0)
		r = transaction_commit(&claiming.transaction, error);
	return r < 0 ? r : 1;
}

int runs_release(struct store *store, const char *pass, const char *run, struct error *error)
{
	struct claiming claiming CLEANUP(claiming_done) = { 0 };
	int r = claiming_begin(&claiming, store, run, error);

	if (r < 0 || !claiming.found || !text_equal(claiming.row.record.claim_pass, pass))
		return r;
	r = run_row_unclaim(store, &claiming.row, error);
	return r < 0 ? r : transaction_commit(&claiming.transaction, error);
}

static int void_claims(struct store *store, enum sql sql, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, sql);

	return query_run(&query, error);
}

int runs_void_claims(struct store *store, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	r = void_claims(store, SQL_CLAIM_VOID_UNREGISTERED, error);
	if (r >= 0)
		r = void_claims(store, SQL_CLAIM_VOID_OTHERS, error);
	return r < 0 ? r : transaction_commit(&transaction, error);
}

int runs_end_claim(struct store *store, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_CLAIM_DROP);
	int r;

	query_text(&query, run);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

int runs_drop_claimed(struct store *store, const char *run, struct error *error)
{
	struct claiming claiming CLEANUP(claiming_done) = { 0 };
	int r = claiming_begin(&claiming, store, run, error);

	if (r < 0 || !claiming.found || claiming.row.record.registered)
		return r;
	r = run_row_delete(store, run, error);
	if (r >= 0) /* they are of the run that the row was of */
		r = failures_clear(store, run, error);
	if (r >= 0)
		r = transaction_commit(&claiming.transaction, error);
	return r < 0 ? r : 1;
}

static int delete_of(struct store *store, enum sql sql, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, sql);

	query_text(&query, run);
	return query_run(&query, error);
}

/* Begins a change of a run that this pass has claimed. 0, -ESTALE it has not, or -errno. */
static int claiming_begin_ours(struct claiming *claiming, struct store *store, const char *pass,
	const char *run, struct error *error)
{
	int r = claiming_begin(claiming, store, run, error);

	return r < 0 ? r : check_ours(claiming, pass, run, error);
}

/* The entry that ends a run, of the row that it ends. */
static struct history_entry ending(const struct claiming *claiming, const char *pass,
	const struct run *run, const char *action, int64_t now_s)
{
	return (struct history_entry){
		.at_s = now_s,
		.pass = pass,
		.run = run->id,
		.generation = claiming->row.record.generation,
		.action = action,
		.reason = reason_name(run->decision.reason),
		.bytes = run->bytes_freed,
	};
}

/* From now on it is all that is left of the run's work, however long ago it was first salvaged. */
static int keep_salvages_from(
	struct store *store, const struct run *run, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SALVAGE_KEEP_FROM);

	query_text(&query, run->id);
	query_int(&query, run->facts.created_s);
	query_int(&query, now_s);
	return query_run(&query, error);
}

int runs_reaped(struct store *store, const char *pass, const struct run *run, int64_t now_s,
	struct error *error)
{
	struct claiming claiming CLEANUP(claiming_done) = { 0 };
	struct history_entry entry;
	int r = claiming_begin_ours(&claiming, store, pass, run->id, error);

	if (r < 0)
		return r;
	entry = ending(&claiming, pass, run, "reaped", now_s);
	r = history_add(store, &entry, error);
	if (r >= 0)
		r = keep_salvages_from(store, run, now_s, error);
	if (r >= 0)
		r = run_row_delete(store, run->id, error);
	if (r >= 0)
		r = delete_of(store, SQL_SIGHTING_DELETE, run->id, error);
	if (r >= 0)
		r = failures_clear(store, run->id, error);
	return r < 0 ? r : transaction_commit(&claiming.transaction, error);
}

static int record_failed(struct store *store, const char *run, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_FINISH);

	query_int(&query, now_s);
	query_text(&query, outcome_name(OUTCOME_FAILED));
	query_text(&query, run);
	return query_run(&query, error);
}

int runs_stopped(struct store *store, const char *pass, const struct run *run, int64_t now_s,
	struct error *error)
{
	struct claiming claiming CLEANUP(claiming_done) = { 0 };
	struct history_entry entry;
	int r = claiming_begin_ours(&claiming, store, pass, run->id, error);

	if (r < 0)
		return r;
	entry = ending(&claiming, pass, run, "stopped", now_s);
	entry.reason = reason_name(REASON_OVER_DEADLINE);
	r = record_failed(store, run->id, now_s, error);
	if (r >= 0)
		r = history_add(store, &entry, error);
	if (r >= 0)
		r = delete_of(store, SQL_CLAIM_DROP, run->id, error);
	if (r >= 0)
		r = failures_clear(store, run->id, error);
	return r < 0 ? r : transaction_commit(&claiming.transaction, error);
}
