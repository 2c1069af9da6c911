#include "passes.h"

#include "base/clock.h"
#include "base/count.h"
#include "db.h"
#include "history.h"
#include "lock_held.h"
#include "os/processes.h"

#include <errno.h>

enum { STEP_S = 5 * 60, SUSPEND_MS = 60 * 1000 };

int pass_clocks_now(struct pass_clocks *ret_clocks, struct error *error)
{
	struct pass_clocks clocks = {
		.wall_s = clock_wall_s(),
		.boot_ms = clock_boot_ms(),
		.awake_ms = clock_awake_ms(),
	};
	int r = process_boot_id(clocks.boot_id, error);

	if (r < 0)
		return r;
	*ret_clocks = clocks;
	return 0;
}

int pass_last(struct store *store, struct pass_clocks *ret_clocks, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PASS_LAST);
	int r = query_step(&query, error);

	if (r <= 0)
		return r;
	*ret_clocks = (struct pass_clocks){
		.wall_s = column_int(&query, 0),
		.boot_ms = column_int(&query, 1),
		.awake_ms = column_int(&query, 2),
		.resumed_s = column_int(&query, 4),
	};
	(void)snprintf(
		ret_clocks->boot_id, sizeof(ret_clocks->boot_id), "%s", column_text(&query, 3));
	return 1;
}

int pass_last_done(struct store *store, int64_t *ret_ended_s, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PASS_LAST_DONE);
	int r = query_step(&query, error);

	if (r > 0)
		*ret_ended_s = column_int(&query, 0);
	return r;
}

/*
 * How far the wall clock went apart from the boot clock, which counts the time suspended, so that a
 * suspend is no step.
 */
static int64_t wall_step_s(const struct pass_clocks *last, const struct pass_clocks *now)
{
	return (now->wall_s - last->wall_s) - (now->boot_ms - last->boot_ms) / 1000;
}

static bool was_suspended(const struct pass_clocks *last, const struct pass_clocks *now)
{
	return (now->boot_ms - last->boot_ms) - (now->awake_ms - last->awake_ms) > SUSPEND_MS;
}

void pass_compare(
	const struct pass_clocks *last, const struct pass_clocks *now, struct host_facts *ret_host)
{
	int64_t boot_s = now->wall_s - now->boot_ms / 1000, step_s;
	struct host_facts host = { .boot_s = boot_s > 0 ? boot_s : 0 };

	if (last && !text_equal(last->boot_id, now->boot_id)) {
		/* Of a machine that was off, only that time does not run backwards is known. */
		host.clock_stepped = now->wall_s < last->wall_s - STEP_S;
	} else if (last) {
		step_s = wall_step_s(last, now);
		host.clock_stepped = step_s > STEP_S || step_s < -STEP_S;
		host.clock_step_s = host.clock_stepped ? step_s : 0;
		if (was_suspended(last, now))
			host.resumed_s = now->wall_s;
		else if (last->resumed_s) /* the same moment, in what the wall clock says now */
			host.resumed_s = last->resumed_s + (host.clock_stepped ? step_s : 0);
	}
	*ret_host = host;
}

static int pass_add(struct store *store, const char *pass, const struct pass_clocks *clocks,
	struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PASS_BEGIN);

	query_text(&query, pass);
	query_int(&query, clocks->wall_s);
	query_int(&query, clocks->boot_ms);
	query_int(&query, clocks->awake_ms);
	query_text(&query, clocks->boot_id);
	query_int(&query, clocks->resumed_s);
	return query_run(&query, error);
}

static int moments_shift(
	struct store *store, enum sql sql, const struct pass_clocks *clocks, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, sql);

	query_int(&query, clocks->step_s);
	query_int(&query, clocks->wall_s);
	return query_run(&query, error);
}

int pass_begin(struct store *store, const char *pass, const struct pass_clocks *clocks,
	struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r >= 0)
		r = pass_add(store, pass, clocks, error);
	if (r >= 0)
		r = moments_shift(store, SQL_SIGHTING_SHIFT, clocks, error);
	if (r >= 0)
		r = moments_shift(store, SQL_FAILURE_SHIFT, clocks, error);
	if (r >= 0)
		r = lock_held_clear(store, error);
	return r < 0 ? r : transaction_commit(&transaction, error);
}

static int pass_set_end(struct store *store, const char *pass, int64_t now_s,
	const struct pass_counts *counts, struct error *error)
{
	struct query query CLEANUP(query_done) = query_new(store, SQL_PASS_END);

	query_int(&query, now_s);
	query_int(&query, counts->runs);
	query_int(&query, counts->reaped);
	query_int(&query, counts->partial);
	query_int(&query, counts->failed);
	query_int(&query, counts->stopped);
	query_int(&query, counts->bytes_freed);
	query_int(&query, counts->exit_code);
	query_text(&query, counts->blind);
	query_text(&query, pass);
	return query_run(&query, error);
}

/* Only what a reader of the log looks for: that every pass ran stands in the table of passes. */
static int pass_note(struct store *store, const char *pass, int64_t now_s,
	const struct pass_counts *counts, struct error *error)
{
	char *detail CLEANUP(mem_done) = NULL;
	char runs[COUNT_TEXT];

	if (!counts->reaped && !counts->partial && !counts->failed && !counts->stopped &&
		!counts->exit_code && !counts->blind)
		return 0;
	detail = mem_printf("%s: %lld reaped, %lld partly, %lld failed, %lld stopped; exit "
			    "code %d%s%s",
		count_format(runs, counts->runs, "run"), (long long)counts->reaped,
		(long long)counts->partial, (long long)counts->failed, (long long)counts->stopped,
		counts->exit_code, counts->blind ? "; blind: " : "",
		counts->blind ? counts->blind : "");
	return history_add(store,
		&(struct history_entry){
			.at_s = now_s,
			.pass = pass,
			.action = "pass",
			.detail = detail,
			.bytes = counts->bytes_freed,
		},
		error);
}

int pass_end(struct store *store, const char *pass, int64_t now_s, const struct pass_counts *counts,
	struct error *error)
{
	struct transaction transaction CLEANUP(transaction_done) = { 0 };
	int r = transaction_write(&transaction, store, error);

	if (r < 0)
		return r;
	r = pass_set_end(store, pass, now_s, counts, error);
	if (r == 0)
		return error_say(error, ENOENT, "pass '%s' has not begun", pass);
	if (r > 0)
		r = pass_note(store, pass, now_s, counts, error);
	return r < 0 ? r : transaction_commit(&transaction, error);
}
