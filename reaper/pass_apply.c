/*
 * Who gets how much of a pass's time. One run may be a tree of ten million files, or hang in each of
 * its steps: it must neither keep the others waiting, nor go without the time that they leave.
 */
#include "base/clock.h"
#include "base/text.h"
#include "inventory.h"
#include "os/signals.h"
#include "pass.h"
#include "pass_hold.h"
#include "pass_silence.h"
#include "state/failures.h"
#include "state/history.h"
#include "state/runs.h"

enum {
	SHARE_LEAST_MS = 5 * 1000,
	/*
	 * What did nothing at all in this time hangs: it gets no more of what is left, and has failed.
	 * Where a pass has less than twice of it, half of the pass is that much.
	 */
	HANGS_MS = 30 * 1000
};

struct rounds {
	const struct session *session;
	const char *pass;
	int64_t deadline_ms, hangs_ms;
	struct inventory *inventory;
	struct pass_silence silence;
	struct progress *progress;
	size_t all;
	struct run **runs; /* that have not had their last turn */
	size_t count;
	size_t turns; /* taken in this round */
};

static void rounds_done(struct rounds *rounds)
{
	free(rounds->runs);
}

/* Who may take long comes later; last what nobody has looked into yet, for that takes time to no avail. */
enum { CLEAR, TROUBLED, UNASKED, RANKS };

static int rank_of(const struct run *run)
{
	if (run->facts.work_unasked)
		return UNASKED;
	return run->facts.failed_count || run->facts.unfinished ? TROUBLED : CLEAR;
}

/* Each in the order of work. */
static void rounds_fill(struct rounds *rounds, const struct plan *plan)
{
	rounds->runs = mem_grow(NULL, plan->count, sizeof(*rounds->runs));
	for (int rank = CLEAR; rank < RANKS; rank++)
		for (size_t i = 0; i < plan->count; i++)
			if (rank_of(plan->due[i]) == rank)
				rounds->runs[rounds->count++] = plan->due[i];
	rounds->all = rounds->count;
}

/* `waiting`: how many have not had their turn in this round, with this one. */
static int64_t share_ms(const struct rounds *rounds, size_t waiting)
{
	int64_t left_ms = deadline_left_ms(rounds->deadline_ms);
	int64_t share_ms = left_ms / (int64_t)waiting;

	if (share_ms < SHARE_LEAST_MS)
		share_ms = SHARE_LEAST_MS;
	return share_ms < left_ms ? share_ms : left_ms;
}

/* Also where looking into its trees took all of its turn, what was learned is of some use. */
static int64_t left_of_turn_ms(const struct rounds *rounds, int64_t turn_ends_ms)
{
	int64_t turn_ms = deadline_left_ms(turn_ends_ms);
	int64_t left_ms = deadline_left_ms(rounds->deadline_ms);
	int64_t least_ms = left_ms < SHARE_LEAST_MS ? left_ms : SHARE_LEAST_MS;

	return turn_ms > least_ms ? turn_ms : least_ms;
}

static int note_failure(struct rounds *rounds, struct run *run, struct error *error)
{
	struct arena *arena = &rounds->inventory->arena;
	struct failures *failures = arena_new(arena, sizeof(*failures));
	int r = failures_add(rounds->session->store, run->id, clock_wall_s(),
		run->error ? run->error : "", arena, failures, error);

	if (r >= 0)
		run->failures = failures;
	return r;
}

/* Its row as the last turn left it; the claim on it must still be this pass's. 1, 0, -errno. */
static int load_again(struct rounds *rounds, struct run *run, struct error *error)
{
	int r;

	run->row = NULL;
	r = runs_load(rounds->session->store, rounds->inventory, run->id, error);
	if (r < 0)
		return r;
	run->facts.claim = run->row ? run->row->claim : CLAIM_NONE;
	return run->row && run->row->claim_begun_s &&
	       text_equal(run->row->claim_pass, rounds->pass);
}

/* It gets no more time in this pass: what is said of it is now what its history says. */
static int end_turns(struct rounds *rounds, struct run *run, struct error *error)
{
	bool failed = run->result == RESULT_FAILED && run->turns_ms >= rounds->hangs_ms;
	const struct history_entry entry = {
		.at_s = clock_wall_s(),
		.pass = rounds->pass,
		.run = run->id,
		.generation = run->row ? run->row->generation : 0,
		.action = failed ? "failed" : "partial",
		.reason = reason_name(run->decision.reason),
		.detail = run->error,
		.bytes = run->bytes_freed,
	};
	int r = history_add(rounds->session->store, &entry, error);

	if (!failed) /* too little time is nobody's failure */
		run->result = RESULT_PARTIAL;
	return r < 0 || !failed ? r : note_failure(rounds, run, error);
}

/* 1: it wants another turn, 0: it does not, -errno. */
static int apply_in(struct rounds *rounds, struct run *run, int64_t time_ms, struct error *error)
{
	const struct application application = {
		.world = &rounds->session->world,
		.pass = rounds->pass,
		.deadline_ms = deadline_in_ms(time_ms),
		.progress = rounds->progress,
	};
	int64_t steps = run->steps_done, entries = run->entries_deleted;
	int64_t began_ms = clock_boot_ms();
	int r = apply_run(&application, run, &rounds->inventory->arena, error);

	run->took_ms += clock_boot_ms() - began_ms;
	rounds->turns++;
	if (r == APPLY_DONE && run->result == RESULT_FAILED)
		return note_failure(rounds, run, error);
	if (r != APPLY_INTERRUPTED)
		return r;
	/* At once: the pass may be killed for this very run. */
	r = failures_note_unfinished(rounds->session->store, run->id, clock_wall_s(), error);
	if (r < 0)
		return r;
	run->facts.unfinished = true;
	run->turns_ms += time_ms;
	if (time_ms >= rounds->hangs_ms && run->steps_done == steps &&
		run->entries_deleted == entries)
		return end_turns(rounds, run, error);
	return 1;
}

/*
 * Whether it is still due now that its trees were looked into, if nobody had before. That is a part of
 * its turn.
 */
static bool ask_in_turn(struct rounds *rounds, struct run *run, int64_t turn_ms)
{
	bool hangs_if_cut = turn_ms >= rounds->hangs_ms;

	if (!run->facts.work_unasked)
		return true;
	inventory_ask_in_turn(
		rounds->inventory, &rounds->session->world, run, deadline_in_ms(turn_ms));
	if (signals_stop_wanted() || (!hangs_if_cut && deadline_left_ms(rounds->deadline_ms) == 0))
		plan_defer(run); /* what was broken off tells nothing */
	return run->decision.verdict != VERDICT_KEEP;
}

/* Nobody answers any more behind what it lies on. What was begun goes on when somebody does. */
static int leave_silent(
	struct rounds *rounds, struct run *run, const char *why, struct error *error)
{
	if (run->result == RESULT_NONE) {
		plan_blind(run, why);
		return 0;
	}
	run->error = why;
	return end_turns(rounds, run, error);
}

/* The same, for one that may have had turns before. */
static int take_turn_seen(
	struct rounds *rounds, struct run *run, size_t waiting, struct error *error)
{
	struct inventory *inventory = rounds->inventory;
	bool begun = run->result != RESULT_NONE;
	int r = pass_look_for_hold(rounds->session->store, inventory, error);
	bool over = signals_stop_wanted() || deadline_left_ms(rounds->deadline_ms) == 0;
	int64_t turn_ms = share_ms(rounds, waiting), turn_ends_ms = deadline_in_ms(turn_ms);

	if (r < 0)
		return r;
	if (begun && (inventory->hold || over))
		return 1;
	if (inventory->hold)
		plan_hold(run);
	else if (over)
		plan_defer(run);
	if (inventory->hold || over || !ask_in_turn(rounds, run, turn_ms))
		return 0;
	r = begun ? load_again(rounds, run, error) : 1;
	if (r == 0)
		return end_turns(rounds, run, error);
	return r < 0 ? r : apply_in(rounds, run, left_of_turn_ms(rounds, turn_ends_ms), error);
}

static int take_turn(struct rounds *rounds, struct run *run, size_t waiting, struct error *error)
{
	const char *silent;

	pass_silence_look(&rounds->silence);
	silent = pass_silence_of(&rounds->silence, run);
	return silent ? leave_silent(rounds, run, silent, error)
		      : take_turn_seen(rounds, run, waiting, error);
}

static int take_turn_watched(
	struct rounds *rounds, struct run *run, size_t waiting, struct error *error)
{
	int64_t freed_before = run->bytes_freed;
	int r;

	progress_run(rounds->progress, rounds->all - waiting - rounds->count, run->id);
	r = take_turn(rounds, run, waiting, error);
	if (rounds->progress)
		rounds->progress->bytes_freed += run->bytes_freed - freed_before;
	return r;
}

static int go_round(struct rounds *rounds, struct error *error)
{
	size_t waiting = rounds->count;

	rounds->count = rounds->turns = 0;
	for (size_t i = 0; i < waiting; i++) {
		struct run *run = rounds->runs[i];
		int r = take_turn_watched(rounds, run, waiting - i, error);

		if (r < 0)
			return r;
		if (r > 0)
			rounds->runs[rounds->count++] = run;
	}
	return 0;
}

int pass_apply(const struct session *session, const char *pass, const struct pass_time *time,
	const struct plan *plan, struct inventory *inventory, struct error *error)
{
	struct rounds rounds CLEANUP(rounds_done) = {
		.session = session,
		.pass = pass,
		.deadline_ms = time->start_ms + time->budget_ms,
		.hangs_ms = time->budget_ms < 2 * HANGS_MS ? time->budget_ms / 2 : HANGS_MS,
		.inventory = inventory,
		.silence = { session, inventory },
		.progress = time->progress,
	};
	int r;

	rounds_fill(&rounds, plan);
	progress_begin(rounds.progress, PROGRESS_ACTING, rounds.all);
	do
		r = go_round(&rounds, error);
	while (r >= 0 && rounds.count > 0 && rounds.turns > 0);
	for (size_t i = 0; r >= 0 && i < rounds.count; i++)
		r = end_turns(&rounds, rounds.runs[i], error);
	pass_silence_look(&rounds.silence);
	return r < 0 ? r : 0;
}
