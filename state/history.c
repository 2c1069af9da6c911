#include "history.h"
#include "db.h"

/* Read and called back page by page, so that no lock is held while a slow reader takes its time. */
enum { PAGE = 512 };

struct page {
	struct arena arena;
	struct history_entry entries[PAGE];
	size_t count;
	int64_t last_at_s, last_id;
};

static void page_done(struct page **page)
{
	arena_done(&(*page)->arena);
	free(*page);
}

int history_add(struct store *store, const struct history_entry *entry, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_HISTORY_ADD);
	int r;

	query_int(&query, entry->at_s);
	query_text(&query, entry->pass);
	query_text(&query, entry->run);
	query_moment(&query, entry->generation);
	query_text(&query, entry->action);
	query_text(&query, entry->reason);
	query_text(&query, entry->resource);
	query_text(&query, entry->detail);
	query_int(&query, entry->bytes);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

static void page_add(struct page *page, struct query *query)
{
	struct arena *arena = &page->arena;

	page->last_id = column_int(query, 0);
	page->last_at_s = column_int(query, 1);
	page->entries[page->count++] = (struct history_entry){
		.at_s = page->last_at_s,
		.pass = arena_dup(arena, column_text(query, 2)),
		.run = arena_dup(arena, column_text(query, 3)),
		.generation = column_int(query, 4),
		.action = arena_dup(arena, column_text(query, 5)),
		.reason = arena_dup(arena, column_text(query, 6)),
		.resource = arena_dup(arena, column_text(query, 7)),
		.detail = arena_dup(arena, column_text(query, 8)),
		.bytes = column_int(query, 9),
	};
}

/* The page behind the one that is there. */
static int page_fill(struct store *store, const char *run, struct page *page, struct error *error)
{
	struct query query CLEANUP(query_done) =
		query_new(store, run ? SQL_HISTORY_PAGE_OF : SQL_HISTORY_PAGE);
	int r;

	arena_done(&page->arena);
	page->count = 0;
	query_int(&query, page->last_at_s);
	query_int(&query, page->last_id);
	if (run)
		query_text(&query, run);
	query_int(&query, PAGE);
	while ((r = query_step(&query, error)) > 0)
		page_add(page, &query);
	return r;
}

int history_each(struct store *store, const char *run, int64_t since_s,
	void (*each)(void *context, const struct history_entry *entry), void *context,
	struct error *error)
{
	struct page *page CLEANUP(page_done) = mem_new(sizeof(*page));

	page->last_at_s = since_s;
	page->last_id = -1;
	do {
		int r = page_fill(store, run, page, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < page->count; i++)
			each(context, &page->entries[i]);
	} while (page->count == PAGE);
	return 0;
}

/*
 * A piece is one transaction: what it takes of the disk for its journal, and the time for which nobody
 * else can write, are bounded, also when there is much at once (the time to keep was made shorter, or
 * nothing has been trimmed for long). A pass takes so many pieces, and the next goes on.
 */
enum { TRIM_ROWS = 200, TRIM_PIECES = 100 };

static int trim_piece(struct store *store, enum sql sql, int64_t before_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, sql);

	query_int(&query, before_s);
	query_int(&query, TRIM_ROWS);
	return query_run(&query, error);
}

static int trim(struct store *store, enum sql sql, int64_t before_s, struct error *error)
{
	int r = TRIM_ROWS;

	for (int i = 0; i < TRIM_PIECES && r == TRIM_ROWS; i++)
		r = trim_piece(store, sql, before_s, error);
	return r < 0 ? r : 0;
}

int history_trim(struct store *store, int64_t before_s, struct error *error)
{
	int r = trim(store, SQL_HISTORY_TRIM, before_s, error);

	return r < 0 ? r : trim(store, SQL_PASS_TRIM, before_s, error);
}
