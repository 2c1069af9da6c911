#include "approval.h"

#include "base/text.h"
#include "db.h"
#include "text_list.h"

#define WANTED "what 'sbx-reap --dry-run --json' printed is wanted"

void approval_done(struct approval *approval)
{
	for (size_t i = 0; i < approval->runs.count; i++)
		free(approval->seals[i]);
	free(approval->seals);
	text_list_done(&approval->runs);
	text_list_done(&approval->early);
	*approval = (struct approval){ 0 };
}

/* In the order of SQL_APPROVAL_HEAD. */
enum head { HEAD_SCHEMA, HEAD_DRY_RUN, HEAD_RUNS, HEAD_HOST };

static int check_head(struct query *query, const char *host, struct error *error)
{
	const char *from = column_text(query, HEAD_HOST);
	char *shown CLEANUP(mem_done) = NULL;

	if (!text_equal(column_text(query, HEAD_RUNS), "array"))
		return error_say(error, EINVAL, "it lists no runs; " WANTED);
	if (column_int(query, HEAD_SCHEMA) != 1)
		return error_say(error, EINVAL, "it is of schema %lld, and this program knows 1",
			(long long)column_int(query, HEAD_SCHEMA));
	if (!text_equal(column_text(query, HEAD_DRY_RUN), "true"))
		return error_say(error, EINVAL, "it tells of a pass that was made; " WANTED);
	if (text_equal(from, host))
		return 0;
	shown = text_escape(from ? from : "an unnamed host");
	return error_say(error, EINVAL, "it is of %.100s, and this host is %.100s", shown, host);
}

static int read_head(struct store *json, const char *text, const char *host, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(json, SQL_APPROVAL_HEAD);
	int r;

	query_text(&query, text);
	r = query_step(&query, error);
	return r < 0 ? r : check_head(&query, host, error);
}

/* A row of SQL_APPROVAL_EACH: run, seal, reason; sorted by run. */
static int take_run(struct approval *approval, struct query *query, struct error *error)
{
	const char *run = column_text(query, 0), *seal = column_text(query, 1);
	size_t count = approval->runs.count;

	if (!run || !seal)
		return error_say(
			error, EINVAL, "a run in it has no %s; " WANTED, run ? "seal" : "name");
	if (count && text_equal(approval->runs.items[count - 1], run))
		return error_say(error, EINVAL, "it lists a run twice; " WANTED);
	approval->seals = mem_grow(approval->seals, count + 1, sizeof(*approval->seals));
	approval->seals[count] = mem_dup(seal);
	text_list_add(&approval->runs, run);
	if (text_equal(column_text(query, 2), reason_name(REASON_REQUESTED)))
		text_list_add(&approval->early, run);
	return 0;
}

static int read_runs(
	struct approval *approval, struct store *json, const char *text, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(json, SQL_APPROVAL_EACH);
	int r;

	query_text(&query, text);
	while ((r = query_step(&query, error)) > 0) {
		r = take_run(approval, &query, error);
		if (r < 0)
			break;
	}
	return r;
}

static int check_json(struct store *json, const char *text, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(json, SQL_APPROVAL_VALID);
	int r;

	query_text(&query, text);
	r = query_step(&query, error);
	if (r < 0 || column_int(&query, 0))
		return r < 0 ? r : 0;
	return error_say(error, EINVAL, "it is no JSON, or not all of it; " WANTED);
}

/* SQLite reads the JSON: its reader is there anyway, bounded in depth, and hardened. */
int approval_parse(const char *bytes, size_t length, const char *host,
	struct approval *ret_approval, struct error *error)
{
	struct approval approval CLEANUP(approval_done) = { 0 };
	struct store *json CLEANUP(db_done) = NULL;
	int r;

	if (strlen(bytes) != length)
		return error_say(error, EINVAL, "it holds a NUL byte; " WANTED);
	r = db_open(":memory:", SQLITE_OPEN_READONLY | SQLITE_OPEN_MEMORY, &json, error);
	if (r >= 0)
		r = check_json(json, bytes, error);
	if (r >= 0)
		r = read_head(json, bytes, host, error);
	if (r >= 0)
		r = read_runs(&approval, json, bytes, error);
	if (r < 0)
		return r;
	*ret_approval = approval;
	approval = (struct approval){ 0 };
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Its seal, or NULL. */
static const char *seal_under(const struct approval *approval, const char *run)
{
	char *const *found = approval->runs.count
				     ? bsearch(&run, approval->runs.items, approval->runs.count,
					       sizeof(run), compare_runs)
				     : NULL;

	return found ? approval->seals[found - approval->runs.items] : NULL;
}

bool approval_has(const struct approval *approval, const char *run)
{
	return seal_under(approval, run) != NULL;
}

bool approval_holds(const struct approval *approval, const char *run, const char *seal)
{
	return text_equal(seal_under(approval, run), seal);
}
