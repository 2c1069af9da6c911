#include "salvages.h"
#include "base/count.h"
#include "base/runid.h"
#include "base/text.h"
#include "db.h"
#include "history.h"

#include <errno.h>

/* Read whole before anybody is called back, so that no lock is held meanwhile. */
struct salvage_list {
	struct arena arena;
	struct salvage *salvages;
	size_t count;
};

static void salvage_list_done(struct salvage_list *list)
{
	free(list->salvages);
	arena_done(&list->arena);
}

static const char *form_name(enum salvage_form form)
{
	return form == SALVAGE_COMMIT ? "commit" : "archive";
}

static struct salvage salvage_read(struct query *query, struct arena *arena)
{
	const char *form = column_text(query, 3);

	return (struct salvage){
		.run = arena_dup(arena, column_text(query, 0)),
		.generation = column_int(query, 1),
		.made_s = column_int(query, 2),
		.form = text_equal(form, "commit") ? SALVAGE_COMMIT : SALVAGE_ARCHIVE,
		.tree = arena_dup(arena, column_text(query, 4)),
		.branch = arena_dup(arena, column_text(query, 5)),
		.repo = arena_dup(arena, column_text(query, 6)),
		.ref = arena_dup(arena, column_text(query, 7)),
		.commit = arena_dup(arena, column_text(query, 8)),
		.path = arena_dup(arena, column_text(query, 9)),
		.bytes = column_int(query, 10),
	};
}

static int salvage_list_read(struct salvage_list *list, struct store *store, const char *run,
	int64_t before_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SALVAGE_EACH);
	int r;

	query_text(&query, run);
	query_int(&query, before_s ? before_s : INT64_MAX);
	while ((r = query_step(&query, error)) > 0) {
		if ((list->count & (list->count - 1)) == 0)
			list->salvages = mem_grow(list->salvages, list->count ? list->count * 2 : 1,
				sizeof(*list->salvages));
		list->salvages[list->count++] = salvage_read(&query, &list->arena);
	}
	return r;
}

int salvages_each(struct store *store, const char *run, int64_t before_s,
	int (*each)(void *context, const struct salvage *salvage), void *context,
	struct error *error)
{
	struct salvage_list list CLEANUP(salvage_list_done) = { 0 };
	int r = salvage_list_read(&list, store, run, before_s, error);

	for (size_t i = 0; r == 0 && i < list.count; i++) {
		r = each(context, &list.salvages[i]);
		r = r < 0 ? r : 0;
	}
	return r;
}

/* A private sentence of where it is; the caller owns it. */
static char *salvage_place(const struct salvage *salvage)
{
	if (salvage->form == SALVAGE_ARCHIVE)
		return mem_printf("archive %s%s%s", salvage->path, salvage->ref ? " and " : "",
			salvage->ref ? salvage->ref : "");
	return mem_printf("%s in %s", salvage->ref, salvage->repo);
}

static int salvage_history(struct store *store, const char *pass, const struct salvage *salvage,
	const char *action, const char *detail, int64_t at_s, struct error *error)
{
	char *place CLEANUP(mem_done) = salvage_place(salvage);

	return history_add(store,
		&(struct history_entry){
			.at_s = at_s,
			.pass = pass,
			.run = salvage->run,
			.generation = salvage->generation,
			.action = action,
			.resource = place,
			.detail = detail,
		},
		error);
}

/* What names one: its ref in its repository, or its path. */
static void query_place(struct query *query, const struct salvage *salvage)
{
	query_text(query, salvage->repo);
	query_text(query, salvage->ref);
	query_text(query, salvage->path);
}

/* 1 just this one is on the books, 0 it is not, or -errno. */
static int salvage_same(struct store *store, const struct salvage *salvage, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SALVAGE_SAME);

	query_place(&query, salvage);
	query_text(&query, salvage->run);
	query_int(&query, salvage->generation);
	query_text(&query, salvage->commit);
	return query_step(&query, error);
}

/* In its place there can be nothing else any more, so an older row of that place is void. */
static int salvage_delete(struct store *store, const struct salvage *salvage, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SALVAGE_DELETE);

	query_place(&query, salvage);
	return query_run(&query, error);
}

static int salvage_insert(struct store *store, const struct salvage *salvage, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_SALVAGE_ADD);

	query_text(&query, salvage->run);
	query_int(&query, salvage->generation);
	query_int(&query, salvage->made_s);
	query_text(&query, form_name(salvage->form));
	query_text(&query, salvage->tree);
	query_text(&query, salvage->branch);
	query_text(&query, salvage->repo);
	query_text(&query, salvage->ref);
	query_text(&query, salvage->commit);
	query_text(&query, salvage->path);
	query_int(&query, salvage->bytes);
	return query_run(&query, error);
}

int salvages_add(
	struct store *store, const char *pass, const struct salvage *salvage, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	char bytes[COUNT_TEXT];
	char *detail CLEANUP(mem_done) =
		mem_printf("%s of %s", count_format(bytes, salvage->bytes, "byte"), salvage->tree);
	int r = runid_check(salvage->run, error);

	if (r < 0)
		return r;
	r = transaction_write(&transaction, store, error);
	if (r < 0)
		return r;
	r = salvage_same(store, salvage, error);
	if (r != 0)
		return r < 0 ? r : 0;
	r = salvage_delete(store, salvage, error);
	if (r >= 0)
		r = salvage_insert(store, salvage, error);
	if (r >= 0)
		r = salvage_history(
			store, pass, salvage, "salvaged", detail, salvage->made_s, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}

int salvages_drop(struct store *store, const struct salvage *salvage, const char *why,
	int64_t now_s, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	r = salvage_same(store, salvage, error);
	if (r <= 0)
		return r;
	r = salvage_delete(store, salvage, error);
	if (r >= 0)
		r = salvage_history(store, NULL, salvage, "salvage ended", why, now_s, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}

int salvages_note_failure(
	struct store *store, const char *run, int64_t now_s, const char *why, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_RUN_SALVAGE_FAILED);
	int r;

	query_moment(&query, why ? now_s : 0);
	query_text(&query, why);
	query_text(&query, run);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}
