#include "why.h"

#include "history_text.h"
#include "salvage_text.h"
#include "why_change.h"
#include "why_facts.h"
#include "why_next.h"

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
	const struct question question = look_question(look);
	const struct decision own = look_own_decision(look), *decided = &look->run->decision;
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

static void json_evidence(struct json_out *json, const struct why_subject *subject)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_facts facts;

	why_facts(subject, &arena, &facts);
	json_array(json, "evidence");
	for (size_t i = 0; i < facts.count; i++) {
		json_object(json, NULL);
		json_text(json, "fact", facts.items[i].name);
		json_bytes(json, "value", facts.items[i].value);
		json_moment(json, "at", facts.items[i].at_s);
		json_bytes(json, "source", facts.items[i].source);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_then(struct json_out *json, const struct why_change *change)
{
	static const char *const fates[] = {
		[FATE_GOES] = "goes",
		[FATE_SALVAGED] = "salvaged",
		[FATE_UNASKED] = "unknown",
		[FATE_STAYS] = "stays",
	};

	if (!change->decided) {
		json_null(json, "then");
		return;
	}
	json_object(json, "then");
	json_text(json, "verdict", verdict_name(change->then.verdict));
	json_text(json, "reason", reason_name(change->then.reason));
	json_moment(json, "due", change->then.due_s);
	json_text(json, "tree",
		change->then.verdict == VERDICT_REAP ? fates[change->then.fate] : NULL);
	json_object_end(json);
}

static void json_changes(struct json_out *json, const struct why_subject *subject)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_changes changes;

	why_changes(subject, &arena, &changes);
	json_array(json, "changes");
	for (size_t i = 0; i < changes.count; i++) {
		json_object(json, NULL);
		json_bytes(json, "what", changes.items[i].what);
		json_moment(json, "at", changes.items[i].at_s);
		json_then(json, &changes.items[i]);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_commands(struct json_out *json, const struct why_subject *subject)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_commands commands;

	why_commands(subject, &arena, &commands);
	json_array(json, "next");
	for (size_t i = 0; i < commands.count; i++) {
		json_object(json, NULL);
		json_text(json, "what", commands.items[i].what);
		json_text(json, "command", commands.items[i].command);
		json_object_end(json);
	}
	json_array_end(json);
}

/* A history_each callback. */
static void json_history(void *context, const struct history_entry *entry)
{
	history_json(context, entry);
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
	r = look_each_salvage(look, json_salvage, &listed, error);
	json_array_end(json);
	return r;
}

int why_json(const struct look *look, struct error *error)
{
	const struct report report = look_report(look);
	const struct why_subject subject = look_subject(look);
	struct json_out json = { .file = stdout };
	int r;

	report_json_run(&json, &report, look->run);
	json_facts(&json, &look->run->facts);
	json_evidence(&json, &subject);
	json_rules(&json, look);
	json_changes(&json, &subject);
	json_commands(&json, &subject);
	r = json_salvages(&json, look, error);
	json_array(&json, "history");
	if (r == 0)
		r = look_each_history(look, json_history, &json, error);
	json_array_end(&json);
	json_object_end(&json);
	return r;
}
