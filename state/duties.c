#include "duties.h"

#include "db.h"
#include "history.h"
#include "run_row.h"

static enum duty_kind kind_of(const char *name)
{
	enum duty_kind kind = DUTY_REVOKE;

	while (kind < DUTY_AFTER && !text_equal(duty_name(kind), name))
		kind++;
	return kind;
}

static enum duty_state state_of(const char *name)
{
	enum duty_state state = DUTY_PENDING;

	while (state < DUTY_FAILED && !text_equal(duty_state_name(state), name))
		state++;
	return state;
}

static struct duty duty_read(struct query *query, struct arena *arena)
{
	return (struct duty){
		.run = arena_dup(arena, column_text(query, 0)),
		.generation = column_int(query, 1),
		.kind = kind_of(column_text(query, 2)),
		.since_s = column_int(query, 3),
		.reason = arena_dup(arena, column_text(query, 4)),
		.outcome = outcome_read(column_text(query, 5)),
		.root = arena_dup(arena, column_text(query, 6)),
		.deadline_s = column_int(query, 7),
		.state = state_of(column_text(query, 8)),
		.count = column_int(query, 9),
		.last_s = column_int(query, 10),
		.error = arena_dup(arena, column_text(query, 11)),
		.ripe = column_int(query, 12) != 0,
	};
}

static void duty_bind(struct query *query, const struct duty *duty)
{
	query_text(query, duty->run);
	query_int(query, duty->generation);
	query_text(query, duty_name(duty->kind));
	query_int(query, duty->since_s);
	query_text(query, duty->reason);
	query_text(query, outcome_name(duty->outcome));
	query_text(query, duty->root);
	query_int(query, duty->deadline_s);
}

/*
 * One of a run that the inventory shows is that run's when it is of its generation; and what was done for
 * an earlier deadline than it has now is not done. What is not done yet is done for the deadline of now.
 */
static void tell_run(struct inventory *inventory, struct duty *duty)
{
	struct run *run = inventory_find(inventory, duty->run);
	struct duty *copy;

	if (!run || !run->row || run->row->generation != duty->generation ||
		duty->kind != DUTY_REVOKE)
		return;
	if (duty->state == DUTY_DONE && run->facts.deadline_s > duty->deadline_s)
		return;
	duty->deadline_s = run->facts.deadline_s;
	copy = arena_new(&inventory->arena, sizeof(*copy));
	*copy = *duty;
	run->revocation = copy;
}

struct duties {
	struct duty *items;
	size_t count;
};

static void duties_done(struct duties *duties)
{
	free(duties->items);
}

int duties_load(struct store *store, struct inventory *inventory, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_DUTY_EACH);
	struct duties left CLEANUP(duties_done) = { 0 };
	int r;

	while ((r = query_step(&query, error)) > 0) {
		struct duty duty = duty_read(&query, &inventory->arena);

		tell_run(inventory, &duty);
		if (duty.state == DUTY_DONE)
			continue;
		left.items = mem_grow(left.items, left.count + 1, sizeof(*left.items));
		left.items[left.count++] = duty;
	}
	if (r < 0)
		return r;
	inventory->duties = arena_new(&inventory->arena, (left.count + 1) * sizeof(*left.items));
	if (left.count)
		memcpy(inventory->duties, left.items, left.count * sizeof(*left.items));
	inventory->duty_count = left.count;
	return 0;
}

int duties_expect(struct store *store, const struct duty *duty, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_DUTY_EXPECT);
	int r;

	duty_bind(&query, duty);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}

static int note_try(struct store *store, const struct duty *duty, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_DUTY_SET);

	duty_bind(&query, duty);
	query_text(&query, duty_state_name(duty->state));
	query_int(&query, duty->count);
	query_int(&query, duty->last_s);
	query_text(&query, duty->error);
	return query_run(&query, error);
}

static int supersede(struct store *store, const struct duty *duty, struct error *error)
{
	struct query query CLEANUP(query_done) = { 0 };

	if (duty->kind != DUTY_REVOKE || duty->state != DUTY_DONE)
		return 0;
	query = query_new(store, SQL_DUTY_SUPERSEDE);
	query_int(&query, duty->last_s);
	query_text(&query, duty->run);
	query_int(&query, duty->generation);
	return query_run(&query, error);
}

static const char *action_of(const struct duty *duty)
{
	if (duty->kind == DUTY_REVOKE)
		return duty->state == DUTY_DONE ? "revoked" : "revoke failed";
	return duty->state == DUTY_DONE ? "after" : "after failed";
}

int duties_set(struct store *store, const struct duty *duty, const char *pass, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	const struct history_entry entry = {
		.at_s = duty->last_s,
		.pass = pass,
		.run = duty->run,
		.generation = duty->generation,
		.action = action_of(duty),
		.reason = duty->reason,
		.detail = duty->error,
	};
	int r = transaction_write(&transaction, store, error);

	if (r >= 0)
		r = note_try(store, duty, error);
	if (r >= 0)
		r = supersede(store, duty, error);
	if (r >= 0)
		r = history_add(store, &entry, error);
	return r < 0 ? r : transaction_commit(&transaction, error);
}

static int forget(struct store *store, const struct duty *duty, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_DUTY_FORGET);

	query_text(&query, duty->run);
	query_int(&query, duty->generation);
	query_text(&query, duty_name(duty->kind));
	return query_run(&query, error);
}

int duties_forget(struct store *store, const struct duty *duty, int64_t now_s, struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	const struct history_entry entry = {
		.at_s = now_s,
		.run = duty->run,
		.generation = duty->generation,
		.action = "forgotten",
		.detail = duty->kind == DUTY_REVOKE ? "its revocation" : "its after hook",
	};
	int r = transaction_write(&transaction, store, error);
	int count = r < 0 ? r : forget(store, duty, error);

	if (count <= 0)
		return count;
	r = history_add(store, &entry, error);
	if (r >= 0)
		r = transaction_commit(&transaction, error);
	return r < 0 ? r : count;
}

int duties_trim(struct store *store, int64_t before_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_DUTY_TRIM);
	int r;

	query_int(&query, before_s);
	r = query_run(&query, error);
	return r < 0 ? r : 0;
}
