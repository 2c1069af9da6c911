#include "why_facts.h"

#include "base/text.h"
#include "base/timespan.h"
#include "facts.h"
#include "report_columns.h"
#include "report_view.h"

struct telling {
	const struct why_subject *subject;
	struct arena *arena;
	struct why_facts *facts;
};

static void tell(struct telling *telling, const char *name, const char *value, const char *source)
{
	struct why_facts *facts = telling->facts;

	if (value && facts->count < WHY_FACTS_MAX)
		facts->items[facts->count++] =
			(struct why_fact){ .name = name, .value = value, .source = source };
}

static void tell_moment(struct telling *telling, const char *name, int64_t at_s, const char *source)
{
	struct why_facts *facts = telling->facts;

	if (at_s && facts->count < WHY_FACTS_MAX)
		facts->items[facts->count++] =
			(struct why_fact){ .name = name, .at_s = at_s, .source = source };
}

/* ------------------------------------------------------------------------------ what was told */

static const struct record *row_of(const struct run *run)
{
	return run->row && run->row->registered ? run->row : NULL;
}

static const char *marker_source(const struct telling *telling)
{
	const struct run *run = telling->subject->run;

	return run->marker_path ? arena_printf(telling->arena, "marker %s", run->marker_path)
				: NULL;
}

/* Which of both records says so; of a moment that follows from settings, which one it is of. */
static const char *source_of(
	const struct telling *telling, size_t offset, int64_t value_s, const char *else_from)
{
	const struct run *run = telling->subject->run;
	const struct record *row = row_of(run);

	if (row && *(const int64_t *)((const char *)row + offset) == value_s)
		return "row";
	if (run->marker && *(const int64_t *)((const char *)run->marker + offset) == value_s)
		return marker_source(telling);
	return else_from;
}

#define SOURCE(telling, field, else_from)                                                        \
	source_of(telling, offsetof(struct record, field), (telling)->subject->run->facts.field, \
		else_from)

static const char *record_source(const struct telling *telling)
{
	const struct run *run = telling->subject->run;
	const char *marker = run->marker ? marker_source(telling) : NULL;

	if (row_of(run) && marker)
		return arena_printf(telling->arena, "row, %s", marker);
	return row_of(run) ? "row" : marker;
}

static void tell_age(struct telling *telling)
{
	const struct run *run = telling->subject->run;
	char age[TIMESPAN_TEXT];

	if (run->age_since_s)
		tell(telling, "age",
			arena_dup(telling->arena,
				timespan_format(age,
					telling->subject->inventory->now_s - run->age_since_s)),
			run->age_from);
}

static void tell_size(struct telling *telling)
{
	const struct run *run = telling->subject->run;
	int64_t bytes = report_bytes(run), least = bytes < 0 ? run->bytes_least : bytes;
	char *size CLEANUP(mem_done) = report_size_text(least);
	char at[TIMESPAN_TEXT];

	if (bytes >= 0 || least > 0)
		tell(telling, "size",
			arena_printf(telling->arena, "%s%s", bytes < 0 ? "at least " : "", size),
			run->noted ? arena_printf(telling->arena, "a pass, %s",
					     moment_format(at, run->noted->at_s))
				   : "measured now");
}

static void tell_times(struct telling *telling)
{
	const struct facts *facts = &telling->subject->run->facts;

	tell_moment(telling, "created", facts->created_s, SOURCE(telling, created_s, NULL));
	tell_moment(telling, "last sign", facts->last_sign_s,
		SOURCE(telling, last_sign_s, "when it was created"));
	tell_moment(telling, "deadline", facts->deadline_s,
		SOURCE(telling, deadline_s, "created and [policy] ttl"));
	tell_moment(telling, "finished", facts->finished_s, SOURCE(telling, finished_s, NULL));
	if (!facts->recorded)
		tell_moment(telling, "first seen", facts->first_seen_s,
			text_equal(telling->subject->run->age_from, "git's record") ? "git's record"
										    : "passes");
}

/* ------------------------------------------------------------------------------- who keeps it */

static void tell_pin(struct telling *telling)
{
	const struct run *run = telling->subject->run;
	const struct pin *pin = run->pin;
	char until[TIMESPAN_TEXT];

	if (pin)
		tell(telling, "pin",
			arena_printf(telling->arena, "by %s, until %s: %s",
				pin->by ? pin->by : "somebody",
				pin->until_s ? moment_format(until, pin->until_s) : "unpinned",
				pin->reason ? pin->reason : "no reason given"),
			pin->file ? arena_printf(telling->arena, "file %s", pin->file) : "row");
	else if (run->facts.pin == PIN_UNREADABLE)
		tell(telling, "pin", "it cannot be read", run->keep_path);
}

static void tell_locks(struct telling *telling)
{
	const struct run *run = telling->subject->run;

	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (resource->lock == LOCK_NONE)
			continue;
		tell(telling, "lock",
			arena_printf(telling->arena, "%s: %s",
				resource->lock == LOCK_HELD ? "it counts" : "its process is gone",
				resource->note ? resource->note : "no text"),
			resource->record
				? arena_printf(telling->arena, "git, %s/locked", resource->record)
				: "git");
	}
}

static void tell_claim(struct telling *telling)
{
	static const char *const words[] = {
		[CLAIM_NONE] = NULL,
		[CLAIM_OPEN] = "open, nothing was begun",
		[CLAIM_BEGUN_STOP] = "begun, to stop it",
		[CLAIM_BEGUN_REAP] = "begun, to remove it",
	};
	const struct run *run = telling->subject->run;

	tell(telling, "claim", words[run->facts.claim],
		run->row && run->row->claim_pass
			? arena_printf(telling->arena, "row, pass %s", run->row->claim_pass)
			: "what lies in the trash");
}

/* -------------------------------------------------------------------------------- what is seen */

static const char *seen_by(const struct resource *resource, struct arena *arena)
{
	switch (resource->kind) {
	case KIND_WORKTREE:
	case KIND_BRANCH:
		return resource->repo ? arena_printf(arena, "git, %s", resource->repo) : "git";
	case KIND_CONTAINER:
	case KIND_VOLUME:
	case KIND_NETWORK:
		return resource->at ? arena_printf(arena, "engine %s", resource->at) : "engines";
	case KIND_CGROUP:
		return "cgroups";
	case KIND_SCOPE:
		return "systemd";
	case KIND_PATH:
		return "filesystem";
	case KIND_MOUNT:
		return "mount table";
	case KIND_PROCESS:
		return "process table";
	case KIND_COUNT:
		break;
	}
	return NULL;
}

const char *why_resource_source(const struct resource *resource, struct arena *arena)
{
	static const char *const proofs[] = { "row", "marker", "label", "adopted", "trash" };
	struct text text CLEANUP(text_done) = { 0 };

	for (size_t bit = 0; bit < ARRAY_SIZE(proofs); bit++)
		if (resource->proof & 1U << bit)
			text_addf(&text, "%s%s", text.length ? ", " : "", proofs[bit]);
	text_addf(&text, "%sseen by %s", text.length ? "; " : "", seen_by(resource, arena));
	return arena_dup(arena, text.data);
}

static void tell_life_of(struct telling *telling, const struct resource *resource)
{
	bool stranger = resource->kind == KIND_PROCESS && !resource_proven(resource);

	if (resource->alive != TRI_YES && !(stranger && resource->alive == TRI_UNKNOWN))
		return;
	tell(telling, "alive",
		arena_printf(telling->arena, "%s %s%s%s%s", kind_name(resource->kind),
			resource->locator, stranger ? " (not the run's)" : "",
			resource->note ? ": " : "", resource->note ? resource->note : ""),
		seen_by(resource, telling->arena));
}

static void tell_life(struct telling *telling)
{
	const struct run *run = telling->subject->run;
	const struct question question = why_question(telling->subject);
	int64_t lease_s = policy_lease_end_s(&question);

	tell(telling, "live", tri_name(run->facts.live), NULL);
	if (run->facts.recorded && !run->facts.finished_s && lease_s > question.now_s)
		tell_moment(telling, "lease ends", lease_s, "last sign and [policy] lease");
	for (size_t i = 0; i < run->resource_count; i++)
		tell_life_of(telling, &run->resources[i]);
}

static void tell_work(struct telling *telling)
{
	const struct run *run = telling->subject->run;
	const char *name = work_name(run->facts.work);

	tell(telling, "work",
		run->work_note ? arena_printf(telling->arena, "%s: %s", name, run->work_note)
			       : name,
		run->facts.work == WORK_NONE ? NULL : "git");
	tell_moment(telling, "not salvaged", run->facts.salvage_failed_s, "row");
	if (run->row && run->row->salvage_failed)
		tell(telling, "because", run->row->salvage_failed, "row");
}

void why_facts(const struct why_subject *subject, struct arena *arena, struct why_facts *ret_facts)
{
	struct telling telling = { subject, arena, ret_facts };
	const struct run *run = subject->run;

	*ret_facts = (struct why_facts){ 0 };
	tell(&telling, "state", report_state_name(report_state_of(run)),
		run->facts.recorded ? record_source(&telling) : NULL);
	tell(&telling, "outcome", outcome_name(run->facts.outcome),
		SOURCE(&telling, finished_s, NULL));
	tell_age(&telling);
	tell_size(&telling);
	tell_times(&telling);
	tell_pin(&telling);
	tell_locks(&telling);
	tell_claim(&telling);
	tell_life(&telling);
	tell_work(&telling);
}
