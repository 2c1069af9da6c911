#include "probe_attend.h"

#include "base/timespan.h"
#include "os/bus.h"
#include "os/signals.h"
#include "os/trespass.h"
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

static bool in_the_unit(void)
{
	char unit[UNIT_NAME];

	return bus_own_unit(unit) == 0 && text_equal(unit, PROBE_UNIT);
}

int probe_attend(struct store *store, const char *pass, int64_t now_s, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct probe *probe = NULL;
	int64_t age_s;
	int r = probe_get(store, &arena, &probe, error);

	if (r < 0 || !probe || probe->judged_s)
		return r;
	age_s = now_s - probe->asked_s;
	if (age_s >= PROBE_JUDGED_S || age_s <= -PROBE_JUDGED_S) /* the clock may have been set */
		return hold_for(store, probe, now_s, error);
	if (probe->answered_s || age_s >= PROBE_YOUNG_S || !in_the_unit())
		return 0;
	return answer(store, probe, pass, now_s, error);
}
