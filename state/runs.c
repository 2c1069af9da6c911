#include "runs.h"
#include "base/text.h"
#include "base/timespan.h"
#include "db.h"
#include "failures.h"
#include "history.h"
#include "run_row.h"

#include <errno.h>

/* One change of one row: a transaction, and the row as it is in it. */
struct change {
	struct transaction transaction;
	struct arena arena;
	struct run_row row;
};

static void change_done(struct change *change)
{
	transaction_done(&change->transaction);
	arena_done(&change->arena);
}

/* Reads the row to be changed. 1, 0 there is none, -EBUSY begun to be taken apart, or -errno. */
static int change_begin(
	struct change *change, struct store *store, const char *run, struct error *error)
{
	int r = transaction_write(&change->transaction, store, error);

	if (r < 0)
		return r;
	r = run_row_get(store, run, &change->arena, &change->row, error);
	if (r <= 0)
		return r;
	r = run_row_check_free(&change->row, error);
	return r < 0 ? r : 1;
}

/* Voids a claim, writes the entry (may be NULL) and commits. 1 or -errno. */
static int change_commit(
	struct change *change, const struct history_entry *entry, struct error *error)
{
	struct store *store = change->transaction.store;
	int r = run_row_unclaim(store, &change->row, error);

	if (r == 0 && entry)
		r = history_add(store, entry, error);
	if (r == 0)
		r = transaction_commit(&change->transaction, error);
	return r < 0 ? r : 1;
}

/* A row that only a claim made is no registration. */
static int refuse_unregistered(
	const struct change *change, int found, const char *run, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL;

	if (found < 0 || (found > 0 && change->row.record.registered))
		return found;
	shown = text_escape(run);
	return error_say(error, ENOENT, "there is no run '%s' on record", shown);
}

static int run_renew(struct store *store, const char *run, int64_t now_s, int64_t deadline_s,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_RENEW);

	query_int(&query, now_s);
	query_int(&query, deadline_s);
	query_text(&query, run);
	return query_run(&query, error);
}

int runs_renew(
	struct store *store, const char *run, int64_t now_s, int64_t ttl_s, struct error *error)
{
	struct change change CLEANUP(change_done) = { 0 };
	const struct record *record = &change.row.record;
	char text[TIMESPAN_TEXT], *detail CLEANUP(mem_done) = NULL;
	int r = change_begin(&change, store, run, error);

	r = refuse_unregistered(&change, r, run, error);
	if (r < 0)
		return r;
	if (record->finished_s)
		return error_say(error, EALREADY, "run '%s' is finished (%s) since %s", run,
			outcome_name(record->outcome), moment_format(text, record->finished_s));
	r = run_renew(store, run, now_s, ttl_s > 0 ? now_s + ttl_s : record->deadline_s, error);
	if (r < 0)
		return r;
	if (ttl_s <= 0) /* heartbeats are not history */
		return change_commit(&change, NULL, error);
	detail = mem_printf("deadline %s", moment_format(text, now_s + ttl_s));
	return change_commit(&change,
		&(struct history_entry){
			.at_s = now_s,
			.run = run,
			.generation = record->generation,
			.action = "renewed",
			.detail = detail,
		},
		error);
}

/* Whether the recorded end is the one that is told: 0, or -EEXIST. */
static int check_end(const struct record *record, enum outcome outcome, int64_t at_s, int64_t now_s,
	struct error *error)
{
	char recorded[TIMESPAN_TEXT], told[TIMESPAN_TEXT];
	bool timed = at_s && at_s != now_s;

	if (record->outcome == outcome && (!timed || at_s == record->finished_s))
		return 0;
	return error_say(error, EEXIST,
		"run '%s' is recorded as finished (%s) at %s, not as %s at %s; nothing was changed",
		record->run, outcome_name(record->outcome),
		moment_format(recorded, record->finished_s), outcome_name(outcome),
		moment_format(told, at_s ? at_s : now_s));
}

static int run_finish(struct store *store, const char *run, enum outcome outcome, int64_t at_s,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_FINISH);

	query_int(&query, at_s);
	query_text(&query, outcome_name(outcome));
	query_text(&query, run);
	return query_run(&query, error);
}

int runs_finish(struct store *store, const char *run, enum outcome outcome, int64_t at_s,
	int64_t now_s, struct error *error)
{
	struct change change CLEANUP(change_done) = { 0 };
	char moment[TIMESPAN_TEXT], end[TIMESPAN_TEXT], *detail CLEANUP(mem_done) = NULL;
	int64_t end_s = at_s ? at_s : now_s;
	int r = change_begin(&change, store, run, error);

	assert(outcome != OUTCOME_NONE);
	r = refuse_unregistered(&change, r, run, error);
	if (r < 0)
		return r;
	if (change.row.record.finished_s)
		return check_end(&change.row.record, outcome, at_s, now_s, error);
	if (at_s && at_s < change.row.record.created_s)
		return error_say(error, EEXIST,
			"run '%s' began at %s, so it did not finish at %s; nothing was changed",
			run, moment_format(moment, change.row.record.created_s),
			moment_format(end, at_s));
	r = run_finish(store, run, outcome, end_s, error);
	if (r < 0)
		return r;
	detail = mem_printf("%s at %s", outcome_name(outcome), moment_format(moment, end_s));
	return change_commit(&change,
		&(struct history_entry){
			.at_s = now_s,
			.run = run,
			.generation = change.row.record.generation,
			.action = "finished",
			.detail = detail,
		},
		error);
}

static int forget_resource(struct store *store, const char *run, enum kind kind,
	const char *locator, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RESOURCE_DELETE);

	query_text(&query, run);
	query_text(&query, kind_name(kind));
	query_text(&query, locator);
	return query_run(&query, error);
}

int runs_forget(struct store *store, const char *run, enum kind kind, const char *locator,
	int64_t now_s, struct error *error)
{
	struct change change CLEANUP(change_done) = { 0 };
	char *resource CLEANUP(mem_done) =
		locator ? mem_printf("%s %s", kind_name(kind), locator) : NULL;
	int r = change_begin(&change, store, run, error);

	if (r <= 0)
		return r;
	r = locator ? forget_resource(store, run, kind, locator, error)
		    : run_row_delete(store, run, error);
	if (r <= 0)
		return r;
	r = failures_clear(store, run, error); /* the resource may be what it failed for */
	if (r < 0)
		return r;
	return change_commit(&change,
		&(struct history_entry){
			.at_s = now_s,
			.run = run,
			.generation = change.row.record.generation,
			.action = "forgotten",
			.resource = resource,
		},
		error);
}

int runs_note_engine_clear(struct store *store, const char *run, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_ENGINE_CLEAR);
	int r;

	query_int(&query, now_s);
	query_text(&query, run);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}
