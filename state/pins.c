#include "pins.h"
#include "base/clock.h"
#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "db.h"
#include "history.h"
#include "run_row.h"

#include <errno.h>

/* Read whole before anybody is called back, so that no lock is held meanwhile. */
struct pin_list {
	struct arena arena;
	struct pin *pins;
	size_t count;
};

static void pin_list_done(struct pin_list *list)
{
	free(list->pins);
	arena_done(&list->arena);
}

static struct pin pin_read(struct query *query, struct arena *arena)
{
	return (struct pin){
		.run = arena_dup(arena, column_text(query, 0)),
		.by = arena_dup(arena, column_text(query, 1)),
		.reason = arena_dup(arena, column_text(query, 2)),
		.since_s = column_int(query, 3),
		.until_s = column_int(query, 4),
	};
}

static int pin_list_read(struct pin_list *list, struct query *query, struct error *error)
{
	int r;

	while ((r = query_step(query, error)) > 0) {
		if ((list->count & (list->count - 1)) == 0)
			list->pins = mem_grow(
				list->pins, list->count ? list->count * 2 : 1, sizeof(*list->pins));
		list->pins[list->count++] = pin_read(query, &list->arena);
	}
	return r;
}

static int pin_list_all(struct store *store, struct pin_list *list, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_EACH);

	return pin_list_read(list, &query, error);
}

static int pin_list_ended(
	struct store *store, int64_t now_s, struct pin_list *list, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_ENDED);

	query_int(&query, now_s);
	return pin_list_read(list, &query, error);
}

/* 1 the same pin (but for since when) is there, 0 it is not, or -errno. */
static int pin_same(struct store *store, const struct pin *pin, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_GET);
	int r;

	query_text(&query, pin->run);
	r = query_step(&query, error);
	if (r <= 0)
		return r;
	return text_equal(column_text(&query, 1), pin->by) &&
	       text_equal(column_text(&query, 2), pin->reason) &&
	       column_int(&query, 4) == pin->until_s;
}

static int pin_put(struct store *store, const struct pin *pin, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_SET);

	query_text(&query, pin->run);
	query_text(&query, pin->by);
	query_text(&query, pin->reason);
	query_moment(&query, pin->since_s);
	query_moment(&query, pin->until_s);
	return query_run(&query, error);
}

static int pin_history(struct store *store, const struct pin *pin, const char *action,
	const char *why, int64_t at_s, struct error *error)
{
	struct text detail CLEANUP(text_done) = { 0 };
	char moment[TIMESPAN_TEXT];

	if (why)
		text_addf(&detail, "%s; it was ", why);
	text_addf(&detail, "%s%s", pin->until_s ? "until " : "without end",
		pin->until_s ? moment_format(moment, pin->until_s) : "");
	if (pin->by)
		text_addf(&detail, " by %s", pin->by);
	if (pin->reason)
		text_addf(&detail, ": %s", pin->reason);
	return history_add(store,
		&(struct history_entry){
			.at_s = at_s,
			.run = pin->run,
			.action = action,
			.detail = detail.data,
		},
		error);
}

/* Voids a claim that has not begun. 0, -EBUSY when it has. */
static int pin_stop_claim(
	struct store *store, const char *run, bool *ret_known, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct run_row row;
	int r = run_row_get(store, run, &arena, &row, error);

	if (r < 0)
		return r;
	*ret_known = r > 0 && row.record.registered;
	if (r == 0)
		return 0;
	r = run_row_check_free(&row, error);
	return r < 0 ? r : run_row_unclaim(store, &row, error);
}

/* Within a transaction. */
static int pin_set_one(
	struct store *store, const struct pin *pin, bool *ret_known, struct error *error)
{
	int same, r = pin_stop_claim(store, pin->run, ret_known, error);

	if (r < 0)
		return r;
	same = r = pin_same(store, pin, error);
	if (r == 0)
		r = pin_put(store, pin, error);
	if (r >= 0 && !same)
		r = pin_history(store, pin, "pinned", NULL, clock_wall_s(), error);
	return r < 0 ? r : !same;
}

int pins_set_all(struct store *store, const struct pin *pins, size_t count, bool *ret_known,
	struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int changed = 0, r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = runid_check(pins[i].run, error);
	if (r == 0)
		r = transaction_write(&transaction, store, error);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		ret_known[i] = false;
		r = pin_set_one(store, &pins[i], &ret_known[i], error);
		changed += r > 0;
	}
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : changed;
}

int pins_set(struct store *store, const struct pin *pin, bool *ret_known, struct error *error)
{
	bool known = false;
	int r = pins_set_all(store, pin, 1, &known, error);

	if (r >= 0)
		*ret_known = known;
	return r;
}

static int pin_get(struct store *store, const char *run, struct arena *arena, struct pin *ret_pin,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_GET);
	int r;

	query_text(&query, run);
	r = query_step(&query, error);
	if (r > 0)
		*ret_pin = pin_read(&query, arena);
	return r;
}

static int pin_delete(struct store *store, const char *run, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_DELETE);

	query_text(&query, run);
	return query_run(&query, error);
}

int pins_drop(struct store *store, const char *run, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct pin pin;
	int r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	r = pin_get(store, run, &arena, &pin, error);
	if (r <= 0)
		return r;
	r = pin_delete(store, run, error);
	if (r >= 0)
		r = pin_history(store, &pin, "unpinned", NULL, clock_wall_s(), error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : 1;
}

int pins_load(struct store *store, struct inventory *inventory, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_EACH);
	int r;

	while ((r = query_step(&query, error)) > 0) {
		struct pin *pin = arena_new(&inventory->arena, sizeof(*pin));

		*pin = pin_read(&query, &inventory->arena);
		if (!pin->until_s || pin->until_s > inventory->now_s)
			inventory_run(inventory, pin->run)->pin = pin;
	}
	return r;
}

static int pins_delete_ended(
	struct store *store, const struct pin_list *ended, int64_t now_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PIN_DELETE_ENDED);
	int r;

	query_int(&query, now_s);
	r = query_run(&query, error);
	for (size_t i = 0; r >= 0 && i < ended->count; i++)
		r = pin_history(store, &ended->pins[i], "unpinned", "it ended", now_s, error);
	return r < 0 ? r : 0;
}

int pins_expire(struct store *store, int64_t now_s,
	void (*ended)(void *context, const struct pin *pin), void *context, struct error *error)
{
	struct pin_list list CLEANUP(pin_list_done) = { 0 };
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	r = pin_list_ended(store, now_s, &list, error);
	if (r == 0 && list.count > 0)
		r = pins_delete_ended(store, &list, now_s, error);
	if (r == 0)
		r = transaction_commit(&transaction, error);
	for (size_t i = 0; r == 0 && i < list.count; i++)
		ended(context, &list.pins[i]);
	return r;
}

int pins_each(struct store *store, void (*each)(void *context, const struct pin *pin),
	void *context, struct error *error)
{
	struct pin_list list CLEANUP(pin_list_done) = { 0 };
	int r = pin_list_all(store, &list, error);

	for (size_t i = 0; r == 0 && i < list.count; i++)
		each(context, &list.pins[i]);
	return r;
}
