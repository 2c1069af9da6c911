/*
 * Taking away what a probe made beside the runs: at its own end, and where it was broken off, by the
 * next one.
 */
#include "probe_canary_parts.h"

#include "base/pathname.h"
#include "beside.h"
#include "notice.h"
#include "state/marker.h"
#include "state/pins.h"

enum { ID_LENGTH = 8 };

static const char prober[] = "sbx-reap probe";
/* Of its pin, before the place of what lies outside: that stays as long, wherever roots are by then. */
static const char *const reasons[] = {
	[PROBE_BROKEN_OFF] = "a canary that must stay, as must ",
	[PROBE_LEFT] = "the canary of a probe that failed, for a person to look at, as is ",
};

/* Without an end, since nothing else tells what is left. */
int canaries_pin(
	const struct probe_canaries *canaries, enum probe_remains remains, struct error *error)
{
	char *reason CLEANUP(mem_done) = mem_printf("%s%s", reasons[remains], canaries->outside);
	const struct pin pin = {
		.run = canaries->pinned.run,
		.by = prober,
		.reason = reason,
		.since_s = canaries->now_s,
	};
	bool known;
	int r = pins_set(canaries->store, &pin, &known, error);

	return r < 0 ? r : keep_write(canaries->root, &pin, error);
}

static int unpin(const struct probe_canaries *canaries, struct error *error)
{
	int r = beside_remove_keeps(canaries->settings, canaries->pinned.run, error);

	return r < 0 ? r : pins_drop(canaries->store, canaries->pinned.run, error);
}

/* The pin last: by it the next probe finds what is left. */
static int take_away(const struct probe_canaries *canaries, struct error *error)
{
	int r = outside_take_away(canaries, error);

	return r < 0 ? r : unpin(canaries, error);
}

void probe_canaries_tidy(struct probe_canaries *canaries, struct probe_findings *findings)
{
	struct error error = { 0 };

	if (take_away(canaries, &error) < 0)
		probe_findings_add(findings, "tidy", PROBE_FAILED,
			"what the probe made cannot be taken away: %s", error.text);
}

void probe_canaries_leave(struct probe_canaries *canaries, struct probe_findings *findings)
{
	struct error error = { 0 };

	if (canaries_pin(canaries, PROBE_LEFT, &error) < 0)
		probe_findings_add(findings, "leave", PROBE_FAILED,
			"the pin of the canary cannot be kept for a person: %s", error.text);
}

/* --------------------------------------------------------------------- what earlier probes left */

/* The identifier of a probe in the name of its pinned canary, or NULL. */
static const char *id_of(const char *run)
{
	const char *id = text_starts(run, PROBE_PINNED) ? run + strlen(PROBE_PINNED) : NULL;

	return id && strlen(id) == ID_LENGTH && strspn(id, "0123456789abcdef") == ID_LENGTH ? id
											    : NULL;
}

struct remains {
	probe_remains_entry *each;
	void *context;
};

/* A pins_each callback. What a person pinned anew is his. */
static void note_remains(void *context, const struct pin *pin)
{
	struct remains *remains = context;
	const char *id = id_of(pin->run);

	if (!id || !text_equal(pin->by, prober) || !pin->reason)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		const char *outside = pin->reason + strlen(reasons[i]);

		if (text_starts(pin->reason, reasons[i]) && text_equal(pathname_last(outside), id))
			remains->each(remains->context, id, outside, (enum probe_remains)i);
	}
}

int probe_remains_each(
	struct store *store, probe_remains_entry *each, void *context, struct error *error)
{
	struct remains remains = { .each = each, .context = context };

	return pins_each(store, note_remains, &remains, error);
}

struct mending {
	const struct settings *settings;
	struct store *store;
	struct error error; /* the first */
};

/* A probe_remains_entry. */
static void mend_one(void *context, const char *id, const char *outside, enum probe_remains remains)
{
	struct mending *mending = context;
	struct probe_canaries canaries CLEANUP(probe_canaries_done) = {
		.settings = mending->settings,
		.store = mending->store,
	};
	struct error error = { 0 };

	if (remains != PROBE_BROKEN_OFF)
		return;
	canaries_name(&canaries, id, outside);
	if (take_away(&canaries, &error) < 0) {
		error_prefix(&error, "take away what probe %s left, which was broken off", id);
		if (!mending->error.code)
			mending->error = error;
	} else
		notice("probe %s was broken off; what it left is taken away, and its runs go with "
		       "a pass",
			id);
}

void probe_remains_mend(
	const struct settings *settings, struct store *store, struct probe_findings *findings)
{
	struct mending mending = { .settings = settings, .store = store };
	struct error error = { 0 };

	if (probe_remains_each(store, mend_one, &mending, &error) < 0)
		probe_findings_add(findings, "mend", PROBE_CANNOT, "%s", error.text);
	if (mending.error.code)
		probe_findings_add(findings, "mend", PROBE_FAILED, "%s", mending.error.text);
}
