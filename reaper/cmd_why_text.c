#include "why.h"

#include "backend/container_leftovers.h"
#include "base/pathname.h"
#include "base/text.h"
#include "base/timespan.h"
#include "failures_text.h"
#include "hooks.h"
#include "report_hooks.h"
#include "salvage_text.h"

static void print_line(const char *name, const char *value)
{
	char *shown CLEANUP(mem_done) = text_escape_prose(value);

	(void)printf("  %-12s%s\n", name, shown);
}

static void print_moment(const struct look *look, const char *name, int64_t moment_s)
{
	char moment[TIMESPAN_TEXT], span[TIMESPAN_TEXT];
	int64_t ahead_s = moment_s - look->inventory.now_s;

	if (!moment_s)
		return;
	(void)printf("  %-12s%s (%s%s%s)\n", name, moment_format(moment, moment_s),
		ahead_s >= 0 ? "in " : "", timespan_format(span, ahead_s < 0 ? -ahead_s : ahead_s),
		ahead_s < 0 ? " ago" : "");
}

static void print_decision(const struct look *look)
{
	const struct run *run = look->run;
	const char *words = run->fault ? run->fault : run->live_note;
	char age[TIMESPAN_TEXT];

	(void)printf("%s: %s, %s\n", run->id, verdict_name(run->decision.verdict),
		reason_name(run->decision.reason));
	if (words)
		print_line("because", words);
	print_moment(look, "due", run->decision.due_s);
	print_line("state", report_state_name(report_state_of(run)));
	if (run->facts.outcome != OUTCOME_NONE)
		print_line("outcome", outcome_name(run->facts.outcome));
	if (run->age_since_s)
		(void)printf("  %-12s%s, from its %s\n", "age",
			timespan_format(age, look->inventory.now_s - run->age_since_s),
			text_equal(run->age_from, "first seen") ? "first sighting" : run->age_from);
	print_moment(look, "created", run->facts.created_s);
	print_moment(look, "last sign", run->facts.last_sign_s);
	print_moment(look, "deadline", run->facts.deadline_s);
	print_moment(look, "finished", run->facts.finished_s);
	print_line("live", tri_name(run->facts.live));
	print_line("work", work_name(run->facts.work));
	if (run->work_note)
		print_line("", run->work_note);
}

static void print_pin(const struct look *look)
{
	const struct pin *pin = look->run->pin;
	char until[TIMESPAN_TEXT];
	char *text CLEANUP(mem_done) = NULL;

	if (!pin)
		return;
	text = mem_printf("by %s, until %s: %s", pin->by ? pin->by : "somebody",
		pin->until_s ? moment_format(until, pin->until_s) : "unpinned",
		pin->reason ? pin->reason : "no reason given");
	print_line("pin", text);
}

static void print_credentials(const struct look *look)
{
	const struct report report = look_report(look);
	enum revocation revocation =
		hooks_revocation(&look->session.settings, &look->inventory, look->run);
	const struct duty *duty = look->run->revocation;
	char *text CLEANUP(mem_done) = duty ? report_duty_text(&report, duty) : NULL;
	char moment[TIMESPAN_TEXT];

	(void)printf("  %-12s%s", "credentials", revocation_name(revocation));
	if (duty && duty->state == DUTY_DONE)
		(void)printf(" at %s", moment_format(moment, duty->last_s));
	(void)printf("%s%s\n", text ? ": " : "", text ? text : "");
}

static void print_failures(const struct look *look)
{
	char *text CLEANUP(mem_done) = failures_text(look->run, look->inventory.now_s);

	if (text)
		(void)printf("  %-12s%s\n", "failures", text);
}

static void print_resources(const struct look *look)
{
	for (size_t i = 0; i < look->run->resource_count; i++) {
		const struct resource *resource = &look->run->resources[i];
		char *locator CLEANUP(mem_done) = text_escape(resource->locator);
		char *note CLEANUP(mem_done) =
			resource->note ? text_escape_prose(resource->note) : NULL;

		if (i == 0)
			(void)puts("resources");
		(void)printf("  %-12s%s: %s%s%s%s\n", kind_name(resource->kind), locator,
			resource->present == TRI_YES  ? "there"
			: resource->present == TRI_NO ? "gone"
						      : "unknown",
			resource->proof == PROOF_NONE ? ", not proven to be the run's" : "",
			note ? "; " : "", note ? note : "");
	}
}

static void print_rules(const struct look *look)
{
	const struct question question = look_question(look);
	const struct decision own = look_own_decision(look), *decided = &own;
	struct decision decision = own;

	(void)puts("rules in turn, the first that holds decides");
	for (unsigned rule = 1; rule <= own.rule; rule++) {
		bool holds = policy_rule(rule, &question, &decision);

		(void)printf("  %u %-4s%s", rule, holds ? "yes" : "no", policy_rule_name(rule));
		if (holds)
			(void)printf(": %s, %s", verdict_name(decision.verdict),
				reason_name(decision.reason));
		(void)putchar('\n');
	}
	if (decision.reason != decided->reason) /* what is unsaved is asked last */
		(void)printf("  but its work is %s: %s, %s\n", work_name(look->run->facts.work),
			verdict_name(decided->verdict), reason_name(decided->reason));
	decided = &look->run->decision;
	if (decided->rule > POLICY_RULES)
		(void)printf("  %-2u yes %s: %s, %s\n", decided->rule,
			policy_rule_name(decided->rule), verdict_name(decided->verdict),
			reason_name(decided->reason));
}

static void print_sources(const struct look *look)
{
	for (size_t i = 0; i < look->inventory.source_count; i++) {
		const struct source *source = &look->inventory.sources[i];
		char *error CLEANUP(mem_done) = NULL, *at CLEANUP(mem_done) = NULL;

		if (source->ok != TRI_NO)
			continue;
		at = text_escape(source->at ? source->at : "this host");
		error = text_escape_prose(source->error ? source->error : "no reason given");
		(void)printf("not seen: %s at %s: %s\n", source->name, at, error);
	}
}

static void print_history(void *context, const struct history_entry *entry)
{
	char moment[TIMESPAN_TEXT];
	char *detail CLEANUP(mem_done) = entry->detail ? text_escape_prose(entry->detail) : NULL;
	char *resource CLEANUP(mem_done) = entry->resource ? text_escape(entry->resource) : NULL;
	bool *begun = context;

	if (!*begun)
		(void)puts("history");
	*begun = true;
	(void)printf("  %s %s%s%s%s%s%s%s\n", moment_format(moment, entry->at_s), entry->action,
		entry->reason ? " " : "", entry->reason ? entry->reason : "", resource ? " " : "",
		resource ? resource : "", detail ? ": " : "", detail ? detail : "");
}

struct salvages_told {
	const struct policy_settings *policy;
	bool begun;
};

/* A salvages_each callback. */
static int print_salvage(void *context, const struct salvage *salvage)
{
	struct salvages_told *told = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	char made[TIMESPAN_TEXT], ends[TIMESPAN_TEXT];
	int64_t ends_s = salvage_ends_s(salvage, told->policy);

	if (!told->begun)
		(void)puts("salvaged");
	told->begun = true;
	(void)printf("  %s %s, %lld bytes, until %s\n", moment_format(made, salvage->made_s),
		salvage_where(salvage, &arena), (long long)salvage->bytes,
		ends_s ? moment_format(ends, ends_s) : "ever");
	return 0;
}

static int print_salvages(const struct look *look, struct error *error)
{
	struct salvages_told told = { .policy = &look->session.settings.policy };
	int r = look_each_salvage(look, print_salvage, &told, error);

	if (told.begun)
		(void)printf("  sbx-reap restore %s brings the newest back\n", look->run->id);
	return r;
}

static bool lies_in(const char *path, const char *place)
{
	return path && (text_equal(path, place) || pathname_below(path, place));
}

/* Only what a record proves to be the run's says whose a leftover is. */
static bool is_of_run(const struct run *run, const struct leftover *leftover)
{
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];
		bool tree = resource->kind == KIND_WORKTREE || resource->kind == KIND_PATH;

		if (resource->proof != PROOF_NONE &&
			((tree && lies_in(leftover->path, resource->locator)) ||
				(resource->kind == KIND_CGROUP &&
					lies_in(leftover->cgroup, resource->locator))))
			return true;
	}
	return false;
}

static void print_leftovers(const struct look *look)
{
	struct leftovers leftovers CLEANUP(leftovers_done) = { 0 };
	bool begun = false;

	if (leftovers_find(&leftovers, NULL) < 0)
		return; /* check says what is wrong */
	for (size_t i = 0; i < leftovers.count; i++) {
		const struct leftover *leftover = &leftovers.items[i];
		char *shown CLEANUP(mem_done) = NULL;

		if (!is_of_run(look->run, leftover))
			continue;
		if (!begun)
			(void)puts("left by a container, and what removes it");
		begun = true;
		shown = text_escape(leftover->detail);
		(void)printf("  %s\n    %s\n", shown, leftover->command);
	}
}

/* What is left to do for runs of this name that are gone. */
static void print_duties(const struct look *look)
{
	const struct report report = look_report(look);
	const struct record *row = look->run->row;

	for (size_t i = 0; i < look->inventory.duty_count; i++) {
		const struct duty *duty = &look->inventory.duties[i];
		char *text CLEANUP(mem_done) = report_duty_text(&report, duty);

		if (text_equal(duty->run, look->run->id) && duty->ripe && text &&
			(!row || row->generation != duty->generation))
			(void)printf("  %-12shook of one that is gone: %s\n", duty_name(duty->kind),
				text);
	}
}

int why_text_past(const struct look *look, struct error *error)
{
	bool begun = false;
	int r = print_salvages(look, error);

	print_duties(look);
	return r < 0 ? r : look_each_history(look, print_history, &begun, error);
}

int why_text(const struct look *look, struct error *error)
{
	const struct report report = look_report(look);

	print_decision(look);
	print_pin(look);
	print_failures(look);
	print_credentials(look);
	print_resources(look);
	print_rules(look);
	report_limits(&report, stdout);
	print_sources(look);
	print_leftovers(look);
	return why_text_past(look, error);
}
