#include "probe_attend.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/timespan.h"
#include "os/bus.h"
#include "os/signals.h"
#include "os/trespass.h"
#include "state/history.h"
#include "state/hold.h"

static struct probe_attempt attempt_of(const struct trespass *trespass)
{
	return (struct probe_attempt){
		.step = trespass_step_name(trespass->step),
		.code = trespass->code,
		.note = *trespass->note ? trespass->note : NULL,
	};
}

static int answer(struct store *store, const struct probe *asked, const char *pass, int64_t now_s,
	struct error *error)
{
	const struct trespass file = trespass_file(asked->directory, asked->token);
	const struct trespass network = trespass_network((uint16_t)asked->port, asked->token);
	const struct probe probe = {
		.token = asked->token,
		.answered_s = now_s,
		.pass = pass,
		.file = attempt_of(&file),
		.network = attempt_of(&network),
	};
	int r;

	if (signals_stop_wanted())
		return 0; /* what was broken off was not blocked: the next pass answers */
	r = probe_answer(store, &probe, error);
	return r < 0 ? r : 0;
}

/* Where a person holds already, it is looked at again when that ends. */
static int hold_for(
	struct store *store, const struct probe *probe, int64_t now_s, struct error *error)
{
	char asked[TIMESPAN_TEXT];
	char *reason CLEANUP(mem_done) =
		mem_printf("the probe of %s was never judged: it was killed, or could not write",
			moment_format(asked, probe->asked_s));
	const struct hold hold = { .by = "sbx-reap probe", .reason = reason, .since_s = now_s };
	int r = hold_add(store, &hold, error);

	if (r == 0)
		return 0;
	if (r > 0)
		(void)probe_judge(store, probe->token, now_s, error);
	return 1;
}

/* Also where the clock was set by hours: then nothing is held for that, and the next probe comes. */
static int give_up(
	struct store *store, const struct probe *probe, int64_t now_s, struct error *error)
{
	char asked[TIMESPAN_TEXT];
	char *detail CLEANUP(mem_done) =
		mem_printf("the probe of %s was put off: its host went down",
			moment_format(asked, probe->asked_s));
	int r = probe_judge(store, probe->token, now_s, error);

	if (r > 0)
		r = history_add(store,
			&(struct history_entry){
				.at_s = now_s,
				.action = "probe",
				.detail = detail,
			},
			error);
	return r < 0 ? r : 0;
}

static bool in_the_unit(void)
{
	char unit[UNIT_NAME];

	return bus_own_unit(unit) == 0 && text_equal(unit, PROBE_UNIT);
}

int probe_attend(
	struct store *store, const char *pass, const struct probe_time *time, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe = NULL;
	int64_t now_s = time->now_s, age_s;
	int r = probe_get(store, &arena, &probe, error);

	if (r < 0 || !probe || probe->judged_s)
		return r;
	age_s = now_s - probe->asked_s;
	if (age_s >= PROBE_JUDGED_S && probe->asked_s < time->booted_s)
		return give_up(store, probe, now_s, error);
	if (age_s >= PROBE_JUDGED_S || age_s <= -PROBE_JUDGED_S) /* the clock may have been set */
		return hold_for(store, probe, now_s, error);
	if (probe->answered_s || age_s >= PROBE_YOUNG_S || !in_the_unit())
		return 0;
	return answer(store, probe, pass, now_s, error);
}

bool probe_reason_puts_off(const char *reason)
{
	static const enum reason none_of_its_own[] = {
		REASON_HELD,
		REASON_BRAKE,
		REASON_DEFERRED, /* max_runs, the time of the pass, or a stop */
		REASON_CLOCK,
	};

	for (size_t i = 0; i < ARRAY_SIZE(none_of_its_own); i++)
		if (text_equal(reason, reason_name(none_of_its_own[i])))
			return true;
	return false;
}

/* What was begun when the pass was asked to stop is as good as deferred. NULL: nothing of the kind. */
static const char *reason_of_staying(const struct run *run)
{
	const char *reason = reason_name(run->decision.reason);

	if (run->decision.verdict != VERDICT_KEEP)
		return run->result == RESULT_PARTIAL && signals_stop_wanted()
			       ? reason_name(REASON_DEFERRED)
			       : NULL;
	return probe_reason_puts_off(reason) ? reason : NULL;
}

static int note_kept(struct store *store, const char *pass, const struct run *run,
	const char *reason, struct error *error)
{
	return history_add(store,
		&(struct history_entry){
			.at_s = clock_wall_s(),
			.pass = pass,
			.run = run->id,
			.generation = run->row ? run->row->generation : 0,
			.action = "kept",
			.reason = reason,
		},
		error);
}

int probe_note_kept(struct store *store, const char *pass, const struct inventory *inventory,
	struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe = NULL;
	int r = probe_get(store, &arena, &probe, error);

	if (r < 0 || !probe || probe->judged_s)
		return r < 0 ? r : 0;
	for (size_t i = 0; i < inventory->run_count && r >= 0; i++) {
		const struct run *run = inventory->runs[i];
		const char *reason =
			text_starts(run->id, PROBE_PREFIX) ? reason_of_staying(run) : NULL;

		if (reason)
			r = note_kept(store, pass, run, reason, error);
	}
	return r < 0 ? r : 0;
}
