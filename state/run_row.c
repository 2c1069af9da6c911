#include "run_row.h"
#include "base/text.h"
#include "base/timespan.h"
#include "record.h"

#include <errno.h>

static enum claim claim_read(const char *goal, bool begun)
{
	if (!goal)
		return CLAIM_NONE;
	if (!begun)
		return CLAIM_OPEN;
	return text_equal(goal, "stop") ? CLAIM_BEGUN_STOP : CLAIM_BEGUN_REAP;
}

enum outcome outcome_read(const char *name)
{
	if (!name)
		return OUTCOME_NONE;
	return text_equal(name, "ok") ? OUTCOME_OK : OUTCOME_FAILED;
}

void run_row_read(struct query *query, struct arena *arena, struct run_row *ret_row)
{
	*ret_row = (struct run_row){
		.record = {
			.run = arena_dup(arena, column_text(query, 0)),
			.generation = column_int(query, 1),
			.registered = column_int(query, 2) != 0,
			.created_s = column_int(query, 3),
			.ttl_s = column_int(query, 4),
			.deadline_s = column_int(query, 5),
			.last_sign_s = column_int(query, 6),
			.finished_s = column_int(query, 7),
			.outcome = outcome_read(column_text(query, 8)),
			.no_container = column_int(query, 9) != 0,
			.engine_clear_s = column_int(query, 10),
			.claim_pass = arena_dup(arena, column_text(query, 11)),
			.claim = claim_read(column_text(query, 12), column_int(query, 14) != 0),
			.salvage_failed_s = column_int(query, 15),
			.salvage_failed = arena_dup(arena, column_text(query, 16)),
			.claim_begun_s = column_int(query, 14),
		},
		.claim_s = column_int(query, 13),
	};
}

int resource_row_read(
	struct query *query, struct arena *arena, struct record *record, struct error *error)
{
	enum kind kind;

	if (kind_from_name(column_text(query, 1), &kind) < 0)
		return error_say(error, EUCLEAN, "database '%s': a resource of unknown kind",
			query->store->path);
	*record_add(arena, record) = (struct resource){
		.run = record->run,
		.generation = record->generation,
		.span_from_s = record->created_s,
		.span_to_s = record->finished_s,
		.kind = kind,
		.proof = PROOF_ROW,
		.locator = arena_dup(arena, column_text(query, 2)),
		.repo = arena_dup(arena, column_text(query, 3)),
		.base = arena_dup(arena, column_text(query, 4)),
		.branch = arena_dup(arena, column_text(query, 5)),
		.token = arena_dup(arena, column_text(query, 6)),
		.at = arena_dup(arena, column_text(query, 7)),
		.dev = (uint64_t)column_int(query, 8),
		.ino = (uint64_t)column_int(query, 9),
		.bytes = -1,
	};
	return 0;
}

static int resources_get(
	struct store *store, struct arena *arena, struct record *record, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RESOURCE_OF);
	int r;

	query_text(&query, record->run);
	while ((r = query_step(&query, error)) > 0) {
		r = resource_row_read(&query, arena, record, error);
		if (r < 0)
			return r;
	}
	return r;
}

int run_row_get(struct store *store, const char *run, struct arena *arena, struct run_row *ret_row,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_GET);
	struct run_row row;
	int r;

	query_text(&query, run);
	r = query_step(&query, error);
	if (r <= 0)
		return r;
	run_row_read(&query, arena, &row);
	r = resources_get(store, arena, &row.record, error);
	if (r < 0)
		return r;
	*ret_row = row;
	return 1;
}

static int run_row_insert(struct store *store, const struct run_row *row, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_ADD);

	query_text(&query, row->record.run);
	query_int(&query, row->record.generation);
	query_int(&query, row->record.registered);
	query_int(&query, row->record.created_s);
	query_int(&query, row->record.ttl_s);
	query_int(&query, row->record.deadline_s);
	query_moment(&query, row->record.last_sign_s);
	query_moment(&query, row->record.finished_s);
	query_text(&query, outcome_name(row->record.outcome));
	query_int(&query, row->record.no_container);
	return query_run(&query, error);
}

int run_row_add(struct store *store, const struct run_row *row, struct error *error)
{
	int r = run_row_insert(store, row, error);

	for (size_t i = 0; r >= 0 && i < row->record.resource_count; i++)
		r = resource_row_add(store, row->record.run, &row->record.resources[i], error);
	return r < 0 ? r : 0;
}

static int resource_check_owner(
	struct store *store, const char *run, const struct resource *resource, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RESOURCE_OWNER);
	char *shown CLEANUP(mem_done) = text_escape(resource->locator);
	int r;

	query_text(&query, kind_name(resource->kind));
	query_text(&query, resource->locator);
	query_text(&query, run);
	query_text(&query, resource->repo);
	r = query_step(&query, error);
	if (r <= 0)
		return r;
	return error_say(error, EADDRINUSE,
		"run '%s': %s '%s' is registered for run '%s' already; reap that one first, or "
		"drop it with sbx-reap forget",
		run, kind_name(resource->kind), shown, column_text(&query, 0));
}

int resource_row_add(
	struct store *store, const char *run, const struct resource *resource, struct error *error)
{
	struct query query CLEANUP(query_done) = { 0 };
	int r = resource_check_owner(store, run, resource, error);

	if (r < 0)
		return r;
	query = query_new(store, SQL_RESOURCE_ADD);
	query_text(&query, run);
	query_text(&query, kind_name(resource->kind));
	query_text(&query, resource->locator);
	query_text(&query, resource->repo);
	query_text(&query, resource->base);
	query_text(&query, resource->branch);
	query_text(&query, resource->token);
	query_text(&query, resource->at);
	query_int(&query, (int64_t)resource->dev);
	query_int(&query, (int64_t)resource->ino);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

int run_row_generation(struct store *store, const char *run, int64_t now_s, int64_t *ret_generation,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_GENERATION);
	int r;

	query_int(&query, now_s);
	query_text(&query, run);
	r = query_step(&query, error);
	if (r < 0)
		return r;
	*ret_generation = column_int(&query, 0);
	return 0;
}

int run_row_delete(struct store *store, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_DELETE);

	query_text(&query, run);
	return query_run(&query, error);
}

int run_row_unclaim(struct store *store, const struct run_row *row, struct error *error)
{
	struct query query CLEANUP(query_done) = { 0 };
	int r;

	if (row->record.claim == CLAIM_NONE)
		return 0;
	query = query_new(store, row->record.registered ? SQL_CLAIM_DROP : SQL_RUN_DELETE);
	query_text(&query, row->record.run);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

bool run_row_begun(const struct run_row *row)
{
	return row->record.claim == CLAIM_BEGUN_STOP || row->record.claim == CLAIM_BEGUN_REAP;
}

int run_row_check_free(const struct run_row *row, struct error *error)
{
	char moment[TIMESPAN_TEXT];

	if (!run_row_begun(row))
		return 0;
	return error_say(error, EBUSY, "run '%s' is being taken apart since %s by pass %s",
		row->record.run, moment_format(moment, row->record.claim_begun_s),
		row->record.claim_pass);
}
