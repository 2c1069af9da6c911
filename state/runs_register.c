#include "base/count.h"
#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "db.h"
#include "failures.h"
#include "history.h"
#include "run_row.h"
#include "runs.h"

#include <errno.h>

/* One call of runs_register: what is told, and what is on record. */
struct registration {
	struct store *store;
	const struct record *told;
	struct run_row row; /* on record */
	struct arena arena;
	int64_t now_s, default_ttl_s;
	bool changed;
};

static void registration_done(struct registration *registration)
{
	arena_done(&registration->arena);
}

static int contradict(const struct registration *registration, struct error *error,
	const char *what, const char *recorded, const char *told)
{
	char *recorded_shown CLEANUP(mem_done) = text_escape(recorded);
	char *told_shown CLEANUP(mem_done) = text_escape(told);

	return error_say(error, EEXIST,
		"run '%s' is registered with %s '%s', not '%s'; nothing was changed",
		registration->told->run, what, recorded_shown, told_shown);
}

static int check_times(const struct registration *registration, struct error *error)
{
	const struct record *row = &registration->row.record, *told = registration->told;
	char recorded_text[TIMESPAN_TEXT], told_text[TIMESPAN_TEXT];

	if (row->finished_s)
		return error_say(error, EEXIST,
			"run '%s' is finished (%s) since %s, so nothing can be registered for it; "
			"a "
			"new run needs another identifier, or this one when it was reaped",
			told->run, outcome_name(row->outcome),
			moment_format(recorded_text, row->finished_s));
	if (told->created_s && told->created_s != row->created_s)
		return contradict(registration, error, "the creation time",
			moment_format(recorded_text, row->created_s),
			moment_format(told_text, told->created_s));
	if (told->ttl_s && told->ttl_s != row->ttl_s)
		return contradict(registration, error, "the time budget",
			timespan_format(recorded_text, row->ttl_s),
			timespan_format(told_text, told->ttl_s));
	return 0;
}

static const struct resource *find_resource(
	const struct record *record, enum kind kind, const char *locator)
{
	for (size_t i = 0; i < record->resource_count; i++)
		if (record->resources[i].kind == kind &&
			(!locator || text_equal(record->resources[i].locator, locator)))
			return &record->resources[i];
	return NULL;
}

static int check_containers(const struct registration *registration, struct error *error)
{
	const struct record *row = &registration->row.record, *told = registration->told;
	const struct resource *had = find_resource(row, KIND_CONTAINER, NULL);
	const struct resource *has = find_resource(told, KIND_CONTAINER, NULL);

	if (row->no_container && has)
		return contradict(
			registration, error, "the promise of", "no container", has->locator);
	if (told->no_container && had)
		return contradict(registration, error, "container", had->locator, "no container");
	return 0;
}

/* A told field of a resource that is on record may fill an empty one, not change a filled one. */
static int check_field(const struct registration *registration, const struct resource *resource,
	const char *field, const char *recorded, const char *told, struct error *error)
{
	char *what CLEANUP(mem_done) = NULL;

	if (!recorded || !told || text_equal(recorded, told))
		return 0;
	what = mem_printf("the %s of its %s", field, kind_name(resource->kind));
	return contradict(registration, error, what, recorded, told);
}

static int check_identity(const struct registration *registration, const struct resource *recorded,
	const struct resource *told, struct error *error)
{
	char *was CLEANUP(mem_done) = NULL, *is CLEANUP(mem_done) = NULL;

	if ((!recorded->dev && !recorded->ino) || (!told->dev && !told->ino) ||
		(recorded->dev == told->dev && recorded->ino == told->ino))
		return 0;
	was = mem_printf("%s (inode %llu)", recorded->locator, (unsigned long long)recorded->ino);
	is = mem_printf("another of that name (inode %llu)", (unsigned long long)told->ino);
	return contradict(registration, error, kind_name(told->kind), was, is);
}

/*
 * The base is not compared: HEAD moves on as the run works, and the first one is the base. Nor is
 * the token of a process: another start time means that the pid was used again, so that the first
 * one is gone.
 */
static int check_resource(const struct registration *registration, const struct resource *recorded,
	const struct resource *told, struct error *error)
{
	int r = check_field(registration, told, "repository", recorded->repo, told->repo, error);

	if (r == 0)
		r = check_field(
			registration, told, "branch", recorded->branch, told->branch, error);
	if (r == 0 && told->kind != KIND_PROCESS)
		r = check_field(
			registration, told, "identity", recorded->token, told->token, error);
	if (r == 0)
		r = check_field(registration, told, "place", recorded->at, told->at, error);
	if (r == 0)
		r = check_identity(registration, recorded, told, error);
	return r;
}

/* A run has one tree and one branch; of the other kinds any number. */
static int check_single(
	const struct registration *registration, const struct resource *told, struct error *error)
{
	const struct resource *recorded;

	if (told->kind != KIND_WORKTREE && told->kind != KIND_BRANCH)
		return 0;
	recorded = find_resource(&registration->row.record, told->kind, NULL);
	return recorded ? contradict(registration, error, kind_name(told->kind), recorded->locator,
				  told->locator)
			: 0;
}

static const char *merged(bool *filled, const char *recorded, const char *told)
{
	if (recorded || !told)
		return recorded;
	*filled = true;
	return told;
}

/* Fills the empty fields of a resource that is on record. */
static int fill_resource(struct registration *registration, const struct resource *recorded,
	const struct resource *told, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(registration->store, SQL_RESOURCE_FILL);
	bool identified = recorded->dev || recorded->ino, filled = false;
	bool again = told->kind == KIND_PROCESS && told->token &&
		     !text_equal(told->token, recorded->token);
	int r;

	query_text(&query, merged(&filled, recorded->repo, told->repo));
	query_text(&query, merged(&filled, recorded->base, told->base));
	query_text(&query, merged(&filled, recorded->branch, told->branch));
	query_text(&query, again ? told->token : merged(&filled, recorded->token, told->token));
	query_text(&query, merged(&filled, recorded->at, told->at));
	query_int(&query, (int64_t)(identified ? recorded->dev : told->dev));
	query_int(&query, (int64_t)(identified ? recorded->ino : told->ino));
	query_text(&query, registration->told->run);
	query_text(&query, kind_name(told->kind));
	query_text(&query, told->locator);
	filled |= again || (!identified && (told->dev || told->ino));
	if (!filled)
		return 0;
	r = query_run(&query, error);
	registration->changed = true;
	return r < 0 ? r : 0;
}

static int add_resource(
	struct registration *registration, const struct resource *told, struct error *error)
{
	const struct resource *recorded =
		find_resource(&registration->row.record, told->kind, told->locator);
	int r;

	if (recorded) {
		r = check_resource(registration, recorded, told, error);
		return r < 0 ? r : fill_resource(registration, recorded, told, error);
	}
	r = check_single(registration, told, error);
	if (r < 0)
		return r;
	registration->changed = true;
	return resource_row_add(registration->store, registration->told->run, told, error);
}

static int add_no_container(struct registration *registration, struct error *error)
{
	struct query query CLEANUP(query_done) = { 0 };
	int r;

	if (!registration->told->no_container || registration->row.record.no_container)
		return 0;
	query = query_new(registration->store, SQL_RUN_NO_CONTAINER);
	query_text(&query, registration->told->run);
	r = query_run(&query, error);
	registration->changed = true;
	return r < 0 ? r : 0;
}

static int note_sign(struct registration *registration, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(registration->store, SQL_RUN_SIGN);
	int64_t created_s = registration->told->created_s;
	int r;

	query_int(&query, created_s ? created_s : registration->now_s);
	query_text(&query, registration->told->run);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

static int extend(struct registration *registration, struct error *error)
{
	const struct record *told = registration->told;
	int r = check_times(registration, error);

	if (r == 0)
		r = check_containers(registration, error);
	for (size_t i = 0; r == 0 && i < told->resource_count; i++)
		r = add_resource(registration, &told->resources[i], error);
	if (r == 0)
		r = add_no_container(registration, error);
	if (r == 0)
		r = run_row_unclaim(registration->store, &registration->row, error);
	return r < 0 || !registration->changed ? r : note_sign(registration, error);
}

static int drop_sighting(struct registration *registration, struct error *error)
{
	struct query query CLEANUP(query_done) =
		query_new(registration->store, SQL_SIGHTING_DELETE);
	int r;

	query_text(&query, registration->told->run);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

static int create(struct registration *registration, struct error *error)
{
	struct run_row row = { .record = *registration->told };
	struct record *record = &row.record;
	int r;

	record->registered = true;
	record->created_s = record->created_s ? record->created_s : registration->now_s;
	record->ttl_s = record->ttl_s ? record->ttl_s : registration->default_ttl_s;
	record->deadline_s = record->created_s + record->ttl_s;
	record->last_sign_s = record->created_s;
	record->finished_s = 0;
	record->outcome = OUTCOME_NONE;
	r = run_row_generation(
		registration->store, record->run, registration->now_s, &record->generation, error);
	if (r < 0)
		return r;
	r = run_row_add(registration->store, &row, error);
	if (r < 0)
		return r;
	registration->row = row;
	registration->changed = true;
	r = drop_sighting(registration, error);
	return r < 0 ? r : failures_clear(registration->store, record->run, error);
}

static int note_history(struct registration *registration, struct error *error)
{
	char resources[COUNT_TEXT];
	char *detail CLEANUP(mem_done) = mem_printf(
		"%s told", count_format(resources, registration->told->resource_count, "resource"));

	return history_add(registration->store,
		&(struct history_entry){
			.at_s = registration->now_s,
			.run = registration->told->run,
			.generation = registration->row.record.generation,
			.action = "registered",
			.detail = detail,
		},
		error);
}

/* Within the transaction. */
static int registration_apply(struct registration *registration, struct error *error)
{
	const char *run = registration->told->run;
	int r = run_row_get(
		registration->store, run, &registration->arena, &registration->row, error);

	if (r > 0) {
		r = run_row_check_free(&registration->row, error);
		if (r < 0)
			return r;
		if (registration->row.record.registered)
			return extend(registration, error);
		/* Somebody registers what a pass was about to take for an orphan. */
		r = run_row_delete(registration->store, run, error);
	}
	return r < 0 ? r : create(registration, error);
}

static int resource_check(
	const struct record *record, const struct resource *resource, struct error *error)
{
	const struct resource *first = find_resource(record, resource->kind, NULL);
	bool single = resource->kind == KIND_WORKTREE || resource->kind == KIND_BRANCH;

	if (!resource->locator || !*resource->locator)
		return error_say(error, EINVAL, "run '%s': a %s without a name", record->run,
			kind_name(resource->kind));
	if (single && !text_equal(first->locator, resource->locator))
		return error_say(error, EINVAL, "run '%s' can have one %s, not two", record->run,
			kind_name(resource->kind));
	return 0;
}

/* What a caller must have checked; the last place before it is on record. */
static int record_check(const struct record *record, int64_t default_ttl_s, struct error *error)
{
	int64_t ttl_s = record->ttl_s ? record->ttl_s : default_ttl_s;
	int r = runid_check(record->run, error);

	if (r < 0)
		return r;
	if (record->created_s < 0 || record->created_s > MOMENT_MAX_S || ttl_s <= 0 ||
		ttl_s > TIMESPAN_MAX_S)
		return error_say(error, EINVAL,
			"run '%s': its creation time must be before the year 10000 and its time "
			"budget between a second and a hundred years",
			record->run);
	if (record->no_container && find_resource(record, KIND_CONTAINER, NULL))
		return error_say(error, EINVAL,
			"run '%s' cannot have a container and be without one", record->run);
	for (size_t i = 0; r == 0 && i < record->resource_count; i++)
		r = resource_check(record, &record->resources[i], error);
	return r;
}

int runs_register(struct store *store, const struct record *record, int64_t default_ttl_s,
	int64_t now_s, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct registration registration CLEANUP(registration_done) = {
		.store = store,
		.told = record,
		.now_s = now_s,
		.default_ttl_s = default_ttl_s,
	};
	int r = record_check(record, default_ttl_s, error);

	if (r < 0)
		return r;
	r = transaction_write(&transaction, store, error);
	if (r < 0)
		return r;
	r = registration_apply(&registration, error);
	if (r == 0 && registration.changed)
		r = note_history(&registration, error);
	if (r == 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : registration.changed;
}
