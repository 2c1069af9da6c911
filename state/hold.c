#include "hold.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/timespan.h"
#include "db.h"
#include "history.h"

static bool hold_ended(const struct hold *hold, int64_t now_s)
{
	return hold->until_s && hold->until_s <= now_s;
}

/* 1 there is a row, 0 there is none. */
static int hold_read(
	struct store *store, struct arena *arena, struct hold *ret_hold, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_HOLD_GET);
	int r = query_step(&query, error);

	if (r > 0)
		*ret_hold = (struct hold){
			.by = arena_dup(arena, column_text(&query, 0)),
			.reason = arena_dup(arena, column_text(&query, 1)),
			.since_s = column_int(&query, 2),
			.until_s = column_int(&query, 3),
		};
	return r;
}

static int hold_put(struct store *store, const struct hold *hold, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_HOLD_SET);

	query_text(&query, hold->by);
	query_text(&query, hold->reason);
	query_int(&query, hold->since_s);
	query_moment(&query, hold->until_s);
	return query_run(&query, error);
}

static int hold_delete(struct store *store, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_HOLD_DELETE);

	return query_run(&query, error);
}

/* `before`: what is said ahead of the hold itself. */
static int hold_history(struct store *store, const struct hold *hold, const char *action,
	const char *before, int64_t at_s, struct error *error)
{
	struct text detail CLEANUP(text_done) = { 0 };
	char moment[TIMESPAN_TEXT];

	text_addf(&detail, "%s%s%s", before, hold->until_s ? "until " : "until somebody resumes",
		hold->until_s ? moment_format(moment, hold->until_s) : "");
	if (hold->by)
		text_addf(&detail, " by %s", hold->by);
	if (hold->reason)
		text_addf(&detail, ": %s", hold->reason);
	return history_add(store,
		&(struct history_entry){ .at_s = at_s, .action = action, .detail = detail.data },
		error);
}

static bool hold_same(const struct hold *a, const struct hold *b)
{
	return text_equal(a->by, b->by) && text_equal(a->reason, b->reason) &&
	       a->until_s == b->until_s;
}

int hold_set(struct store *store, const struct hold *hold, struct arena *arena,
	struct hold **ret_before, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct hold *before = arena_new(arena, sizeof(*before));
	int there, r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	there = hold_read(store, arena, before, error);
	if (there < 0)
		return there;
	/* One that has ended is no hold any more; no pass has noticed yet. */
	there = there && !hold_ended(before, hold->since_s);
	*ret_before = there ? before : NULL;
	if (there && hold_same(before, hold))
		return 0;
	r = hold_put(store, hold, error);
	if (r >= 0)
		r = hold_history(store, hold, "held", "", hold->since_s, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}

int hold_add(struct store *store, const struct hold *hold, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold before;
	int r = transaction_write(&transaction, store, error);

	if (r >= 0)
		r = hold_read(store, &arena, &before, error);
	if (r < 0)
		return r;
	if (r > 0 && !hold_ended(&before, hold->since_s))
		return 0;
	r = hold_put(store, hold, error);
	if (r >= 0)
		r = hold_history(store, hold, "held", "", hold->since_s, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}

int hold_drop(struct store *store, const char *by, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	char *before CLEANUP(mem_done) =
		by ? mem_printf("by %s; it was held ", by) : mem_dup("it was held ");
	struct hold hold;
	int r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	r = hold_read(store, &arena, &hold, error);
	if (r <= 0)
		return r;
	r = hold_delete(store, error);
	if (r >= 0)
		r = hold_history(store, &hold, "resumed", before, clock_wall_s(), error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}

int hold_get(struct store *store, int64_t now_s, struct arena *arena, struct hold **ret_hold,
	struct error *error)
{
	struct hold *hold = arena_new(arena, sizeof(*hold));
	int r = hold_read(store, arena, hold, error);

	if (r < 0)
		return r;
	*ret_hold = r > 0 && !hold_ended(hold, now_s) ? hold : NULL;
	return 0;
}

int hold_expire(struct store *store, int64_t now_s, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold hold;
	int r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	r = hold_read(store, &arena, &hold, error);
	if (r < 0 || r == 0 || !hold_ended(&hold, now_s))
		return r < 0 ? r : 0;
	r = hold_delete(store, error);
	if (r >= 0)
		r = hold_history(
			store, &hold, "resumed", "it ended; it was held ", hold.until_s, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}
