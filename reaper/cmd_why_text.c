#include "why.h"

#include "backend/container_leftovers.h"
#include "base/count.h"
#include "base/pathname.h"
#include "base/text.h"
#include "base/timespan.h"
#include "failures_text.h"
#include "hooks.h"
#include "report_hooks.h"
#include "salvage_text.h"
#include "why_change.h"
#include "why_facts.h"
#include "why_next.h"

static void print_line(const char *name, const char *value)
{
	char *shown CLEANUP(mem_done) = text_escape_prose(value);

	(void)printf("  %-13s%s\n", name, shown);
}

/* "2026-11-30T15:19:04Z (3h ago)", "... (in 2d 5h)". The caller frees it. */
static char *moment_text(const struct look *look, int64_t moment_s)
{
	char moment[TIMESPAN_TEXT], span[TIMESPAN_TEXT];
	int64_t ahead_s = moment_s - look->inventory.now_s;

	return mem_printf("%s (%s%s%s)", moment_format(moment, moment_s), ahead_s >= 0 ? "in " : "",
		timespan_format(span, ahead_s < 0 ? -ahead_s : ahead_s), ahead_s < 0 ? " ago" : "");
}

static void print_moment(
	const struct look *look, const char *name, int64_t moment_s, const char *source)
{
	char *moment CLEANUP(mem_done) = moment_text(look, moment_s),
		     *text CLEANUP(mem_done) = NULL;

	if (!moment_s)
		return;
	text = source ? mem_printf("%s [%s]", moment, source) : mem_dup(moment);
	print_line(name, text);
}

static void print_decision(const struct look *look)
{
	const struct run *run = look->run;
	const char *words = run->fault ? run->fault : run->live_note;

	(void)printf("%s: %s, %s\n", run->id, verdict_name(run->decision.verdict),
		reason_name(run->decision.reason));
	if (words)
		print_line("because", words);
	print_moment(look, "due", run->decision.due_s, NULL);
}

static void print_facts(const struct look *look)
{
	const struct why_subject subject = look_subject(look);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_facts facts;

	why_facts(&subject, &arena, &facts);
	for (size_t i = 0; i < facts.count; i++) {
		const struct why_fact *fact = &facts.items[i];
		char *text CLEANUP(mem_done) = NULL;

		if (fact->at_s) {
			print_moment(look, fact->name, fact->at_s, fact->source);
			continue;
		}
		text = fact->source ? mem_printf("%s [%s]", fact->value, fact->source)
				    : mem_dup(fact->value);
		print_line(fact->name, text);
	}
}

static void print_credentials(const struct look *look)
{
	const struct report report = look_report(look);
	enum revocation revocation =
		hooks_revocation(&look->session.settings, &look->inventory, look->run);
	const struct duty *duty = look->run->revocation;
	char *text CLEANUP(mem_done) = duty ? report_duty_text(&report, duty) : NULL;
	char moment[TIMESPAN_TEXT];

	(void)printf("  %-13s%s", "credentials", revocation_name(revocation));
	if (duty && duty->state == DUTY_DONE)
		(void)printf(" at %s%s%s", moment_format(moment, duty->last_s),
			duty->error ? ", but " : "", duty->error ? duty->error : "");
	(void)printf("%s%s\n", text ? ": " : "", text ? text : "");
}

static void print_failures(const struct look *look)
{
	char *text CLEANUP(mem_done) = failures_text(look->run, look->inventory.now_s);

	if (text)
		(void)printf("  %-13s%s\n", "failures", text);
}

static void print_resources(const struct look *look)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	for (size_t i = 0; i < look->run->resource_count; i++) {
		const struct resource *resource = &look->run->resources[i];
		char *locator CLEANUP(mem_done) = text_escape(resource->locator);
		char *note CLEANUP(mem_done) =
			resource->note ? text_escape_prose(resource->note) : NULL;
		char *source CLEANUP(mem_done) = text_escape(why_resource_source(resource, &arena));

		if (i == 0)
			(void)puts("resources");
		(void)printf("  %-13s%s: %s%s%s%s [%s]\n", kind_name(resource->kind), locator,
			resource->present == TRI_YES  ? "there"
			: resource->present == TRI_NO ? "gone"
						      : "unknown",
			resource->proof == PROOF_NONE ? ", not proven to be the run's" : "",
			note ? "; " : "", note ? note : "", source);
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
	char made[TIMESPAN_TEXT], ends[TIMESPAN_TEXT], bytes[COUNT_TEXT];
	int64_t ends_s = salvage_ends_s(salvage, told->policy);

	if (!told->begun)
		(void)puts("salvaged");
	told->begun = true;
	(void)printf("  %s %s, %s, until %s\n", moment_format(made, salvage->made_s),
		salvage_where(salvage, &arena), count_format(bytes, salvage->bytes, "byte"),
		ends_s ? moment_format(ends, ends_s) : "ever");
	return 0;
}

static int print_salvages(const struct look *look, bool *ret_salvaged, struct error *error)
{
	struct salvages_told told = { .policy = &look->session.settings.policy };
	int r = look_each_salvage(look, print_salvage, &told, error);

	if (told.begun)
		(void)printf("  sbx-reap restore %s brings the newest back\n", look->run->id);
	*ret_salvaged = told.begun;
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
			(void)printf("  %-13shook of one that is gone: %s\n", duty_name(duty->kind),
				text);
	}
}

/* What becomes of its trees. */
static const char *fate_words(enum fate fate)
{
	switch (fate) {
	case FATE_SALVAGED:
		return ", its unsaved work is salvaged first";
	case FATE_STAYS:
		return ", but its tree stays for its unsaved work";
	case FATE_GOES:
	case FATE_UNASKED:
		break;
	}
	return "";
}

static void print_change(const struct look *look, const struct why_change *change)
{
	char *what CLEANUP(mem_done) = text_escape_prose(change->what);
	char *at CLEANUP(mem_done) = NULL, *due CLEANUP(mem_done) = NULL;

	if (change->at_s)
		at = moment_text(look, change->at_s);
	(void)printf("  %s %s", at ? at : "if", what);
	if (change->decided)
		(void)printf(": %s, %s", verdict_name(change->then.verdict),
			reason_name(change->then.reason));
	if (change->decided && change->then.verdict == VERDICT_KEEP &&
		change->then.due_s > look->inventory.now_s) {
		due = moment_text(look, change->then.due_s);
		(void)printf(", due %s", due);
	}
	if (change->decided && change->then.verdict == VERDICT_REAP)
		(void)fputs(fate_words(change->then.fate), stdout);
	(void)putchar('\n');
}

static void print_changes(const struct look *look)
{
	const struct why_subject subject = look_subject(look);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	why_changes(&subject, &arena, &changes);
	(void)puts("what would change that");
	for (size_t i = 0; i < changes.count; i++)
		print_change(look, &changes.items[i]);
}

/* What it does stands before a command, so that the rest of the line can be pasted. */
static void print_commands(const struct why_commands *commands)
{
	if (commands->count)
		(void)puts("what you may want next");
	for (size_t i = 0; i < commands->count; i++)
		(void)printf("  %-32s%s\n", commands->items[i].what, commands->items[i].command);
}

/* What of its past there was to print. */
struct past {
	bool salvaged, history;
};

static int print_past(const struct look *look, struct past *ret_past, struct error *error)
{
	int r = print_salvages(look, &ret_past->salvaged, error);

	print_duties(look);
	return r < 0 ? r : look_each_history(look, print_history, &ret_past->history, error);
}

int why_text_past(const struct look *look, struct error *error)
{
	const struct why_subject subject = look_subject(look);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_commands commands;
	struct past past = { 0 };
	int r = print_past(look, &past, error);

	if (r < 0 || (!past.salvaged && !past.history))
		return r;
	why_commands_gone(&subject, past.salvaged, &arena, &commands);
	print_commands(&commands);
	return 0;
}

int why_text(const struct look *look, struct error *error)
{
	const struct report report = look_report(look);
	const struct why_subject subject = look_subject(look);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_commands commands;
	struct past past = { 0 };
	int r;

	print_decision(look);
	print_facts(look);
	print_failures(look);
	print_credentials(look);
	print_resources(look);
	print_rules(look);
	print_changes(look);
	report_limits(&report, stdout);
	print_sources(look);
	print_leftovers(look);
	r = print_past(look, &past, error);
	if (r < 0)
		return r;
	why_commands(&subject, &arena, &commands);
	print_commands(&commands);
	return 0;
}
