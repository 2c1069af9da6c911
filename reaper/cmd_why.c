/*
 * why: everything about one run, and which rule decides.
 */
#include "base/clock.h"
#include "base/json_out.h"
#include "base/text.h"
#include "base/timespan.h"
#include "complain.h"
#include "failures_text.h"
#include "inventory.h"
#include "notice.h"
#include "plan.h"
#include "policy.h"
#include "policy_limit.h"
#include "report.h"
#include "salvage_text.h"
#include "session.h"
#include "state/history.h"
#include "state/salvages.h"
#include "verbs.h"

#include <errno.h>

/* A run, looked at. */
struct look {
	struct session session;
	struct inventory inventory;
	struct run *run;
};

static void look_done(struct look *look)
{
	inventory_done(&look->inventory);
	session_close(&look->session);
}

static struct question question_of(const struct look *look)
{
	return (struct question){
		.facts = &look->run->facts,
		.host = &look->inventory.host,
		.settings = &look->session.settings.policy,
		.now_s = look->inventory.now_s,
	};
}

/* By rules 1 to 8, whatever a hold, a full disk or the brake makes of it. */
static struct decision own_decision(const struct look *look)
{
	const struct question question = question_of(look);

	return policy_decide(&question);
}

static struct report report_of(const struct look *look)
{
	return (struct report){
		.kind = REPORT_PLAN,
		.settings = &look->session.settings,
		.inventory = &look->inventory,
	};
}

static int each_history(const struct look *look,
	void (*each)(void *context, const struct history_entry *entry), void *context,
	struct error *error)
{
	if (!look->session.store)
		return 0;
	return history_each(look->session.store, look->run->id, 0, each, context, error);
}

static int each_salvage(const struct look *look,
	int (*each)(void *context, const struct salvage *salvage), void *context,
	struct error *error)
{
	if (!look->session.store)
		return 0;
	return salvages_each(look->session.store, look->run->id, 0, each, context, error);
}

/* ---- text */

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
	print_line("state", report_state(run));
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
	const struct question question = question_of(look);
	const struct decision own = own_decision(look), *decided = &own;
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
	int r = each_salvage(look, print_salvage, &told, error);

	if (told.begun)
		(void)printf("  sbx-reap restore %s brings the newest back\n", look->run->id);
	return r;
}

static int why_text(const struct look *look, struct error *error)
{
	const struct report report = report_of(look);
	bool begun = false;
	int r;

	print_decision(look);
	print_pin(look);
	print_failures(look);
	print_resources(look);
	print_rules(look);
	report_limits(&report, stdout);
	print_sources(look);
	r = print_salvages(look, error);
	return r < 0 ? r : each_history(look, print_history, &begun, error);
}

/* ---- JSON */

static void json_facts(struct json_out *json, const struct facts *facts)
{
	static const char *const pins[] = { "none", "held", "unreadable" };
	static const char *const claims[] = { "none", "open", "begun_stop", "begun_reap" };

	json_object(json, "facts");
	json_bool(json, "refused", facts->refused);
	json_bool(json, "recorded", facts->recorded);
	json_bool(json, "proven", facts->proven);
	json_text(json, "pin", pins[facts->pin]);
	json_bool(json, "locked", facts->locked);
	json_text(json, "claim", claims[facts->claim]);
	json_moment(json, "created", facts->created_s);
	json_moment(json, "deadline", facts->deadline_s);
	json_moment(json, "last_sign", facts->last_sign_s);
	json_moment(json, "finished", facts->finished_s);
	json_moment(json, "first_seen", facts->first_seen_s);
	json_bool(json, "blind", facts->blind);
	json_text(json, "live", tri_name(facts->live));
	json_bool(json, "live_is_own", facts->live_is_own);
	json_bool(json, "occupied", facts->occupied);
	json_text(json, "work", work_name(facts->work));
	json_moment(json, "salvage_failed", facts->salvage_failed_s);
	json_bool(json, "others_present", facts->others_present);
	json_int(json, "failed_count", facts->failed_count);
	json_moment(json, "failed_last", facts->failed_last_s);
	json_bool(json, "unfinished", facts->unfinished);
	json_object_end(json);
}

static void json_rule(struct json_out *json, unsigned rule, bool holds, const char *reason)
{
	json_object(json, NULL);
	json_int(json, "rule", rule);
	json_text(json, "asks", policy_rule_name(rule));
	json_bool(json, "holds", holds);
	json_text(json, "reason", reason);
	json_object_end(json);
}

static void json_rules(struct json_out *json, const struct look *look)
{
	const struct question question = question_of(look);
	const struct decision own = own_decision(look), *decided = &look->run->decision;
	struct decision decision;

	json_array(json, "rules");
	for (unsigned rule = 1; rule <= own.rule; rule++) {
		bool holds = policy_rule(rule, &question, &decision);

		json_rule(json, rule, holds, holds ? reason_name(decision.reason) : NULL);
	}
	if (decided->rule > POLICY_RULES)
		json_rule(json, decided->rule, true, reason_name(decided->reason));
	json_array_end(json);
}

static void json_history(void *context, const struct history_entry *entry)
{
	struct json_out *json = context;

	json_object(json, NULL);
	json_moment(json, "at", entry->at_s);
	json_text(json, "action", entry->action);
	json_text(json, "reason", entry->reason);
	json_bytes(json, "resource", entry->resource);
	json_bytes(json, "detail", entry->detail);
	json_int(json, "bytes", entry->bytes);
	json_text(json, "pass", entry->pass);
	json_object_end(json);
}

struct salvages_listed {
	struct json_out *json;
	const struct policy_settings *policy;
};

/* A salvages_each callback. */
static int json_salvage(void *context, const struct salvage *salvage)
{
	const struct salvages_listed *listed = context;

	salvage_json(listed->json, NULL, salvage, listed->policy);
	return 0;
}

static int json_salvages(struct json_out *json, const struct look *look, struct error *error)
{
	struct salvages_listed listed = { json, &look->session.settings.policy };
	int r;

	json_array(json, "salvages");
	r = each_salvage(look, json_salvage, &listed, error);
	json_array_end(json);
	return r;
}

static int why_json(const struct look *look, struct error *error)
{
	const struct report report = report_of(look);
	struct json_out json = { .file = stdout };
	int r;

	report_json_run(&json, &report, look->run);
	json_facts(&json, &look->run->facts);
	json_rules(&json, look);
	r = json_salvages(&json, look, error);
	json_array(&json, "history");
	if (r == 0)
		r = each_history(look, json_history, &json, error);
	json_array_end(&json);
	json_object_end(&json);
	return r;
}

/* A run of which nothing is known any more, but whose history may tell why. */
static bool nothing_known(const struct run *run)
{
	return !run || (!run->facts.recorded && !run->resource_count && !run->marker_path &&
			       !run->keep_path && !run->pin);
}

static enum exit_code tell_unknown(
	struct look *look, const struct options *options, struct error *error)
{
	const char *id = options->run;
	bool begun = false;
	int r;

	notice("nothing is known of run %s now%s", id,
		options->json ? "; 'log RUN --json' has what was done with it" : "");
	if (options->json)
		return EXIT_ATTENTION;
	look->run = inventory_run(&look->inventory, id);
	r = print_salvages(look, error);
	if (r == 0)
		r = each_history(look, print_history, &begun, error);
	return r < 0 ? complain(error, r) : EXIT_ATTENTION;
}

/* Whether other runs may matter too: for the brake, or for who goes first on a full disk. */
static bool depends_on_plan(const struct look *look)
{
	const struct inventory *inventory = &look->inventory;
	bool full = false;

	if (!look->run)
		return false;
	for (size_t i = 0; i < inventory->filesystem_count; i++)
		full |= policy_is_full(
			&inventory->filesystems[i], look->session.settings.disk.high);
	return look->run->decision.verdict != VERDICT_KEEP ||
	       (full && look->run->decision.reason == REASON_RETAINED);
}

static int gather(struct look *look, const char *run, enum work_wish work, struct error *error)
{
	const struct inventory_request request = { .work = work, .explain = run };
	int r = inventory_gather(&look->inventory, &look->session.world, &request, error);

	look->run = r < 0 ? NULL : inventory_find(&look->inventory, run);
	return r;
}

/* What all the other trees hold is asked only when it may matter: it takes as long as a plan. */
static int look_at(struct look *look, const char *run, struct error *error)
{
	const struct text_list all = { 0 };
	const struct plan_wish wish = {
		.world = &look->session.world,
		.only = &all,
		.max_runs = look->session.settings.limits.max_runs,
	};
	struct plan plan CLEANUP(plan_done) = { 0 };
	int r = gather(look, run, WORK_LEAVE, error);

	if (r < 0 || !depends_on_plan(look))
		return r;
	inventory_done(&look->inventory);
	r = gather(look, run, WORK_WHERE_IT_DECIDES, error);
	if (r >= 0)
		plan_make(&plan, &look->inventory, &wish);
	return r;
}

enum exit_code cmd_why(const struct options *options)
{
	struct look look CLEANUP(look_done) = { 0 };
	struct error error = { 0 };
	int r = session_open(&look.session, options->config, STORE_READ, &error);

	if (r >= 0)
		r = look_at(&look, options->run, &error);
	if (r < 0)
		return complain(&error, r);
	if (nothing_known(look.run))
		return tell_unknown(&look, options, &error);
	r = options->json ? why_json(&look, &error) : why_text(&look, &error);
	return r < 0 ? complain(&error, r) : EXIT_DONE;
}
