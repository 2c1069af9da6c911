#include "report_hooks.h"

#include "base/json_out.h"
#include "base/text.h"
#include "base/timespan.h"
#include "hooks.h"

enum { RUNS_SHOWN = 5 };

static const char *program_of(const struct report *report, enum duty_kind kind)
{
	const struct hook_settings *hooks = &report->settings->hooks;

	return kind == DUTY_REVOKE ? hooks->revoke : hooks->after;
}

/* 0: by the next pass. What failed in this pass did so after the moment that it decides for. */
static int64_t retry_s(const struct report *report, const struct duty *duty)
{
	int64_t now_s = report->inventory->now_s;
	int64_t at_s = duty->last_s > now_s && report->kind == REPORT_PASS ? duty->last_s : now_s;
	int64_t retry = hooks_retry_s(duty, at_s);

	return retry > at_s ? retry : 0;
}

char *report_duty_text(const struct report *report, const struct duty *duty)
{
	char since[TIMESPAN_TEXT], last[TIMESPAN_TEXT], retry[TIMESPAN_TEXT];
	char *again CLEANUP(mem_done) = NULL, *why CLEANUP(mem_done) = NULL;
	int64_t again_s = retry_s(report, duty);

	if (duty->state != DUTY_FAILED)
		return NULL;
	if (!program_of(report, duty->kind))
		again = mem_printf(
			"is not tried again, for [hooks] %s is not set ('sbx-reap forget %s' "
			"drops it)",
			duty_name(duty->kind), duty->run);
	else
		again = mem_printf("is tried again %s%s", again_s ? "at " : "by the next pass",
			again_s ? moment_format(retry, again_s) : "");
	why = text_escape_prose(duty->error);
	return mem_printf("failed %lld time%s in a row since %s, last %s, %s: %s",
		(long long)duty->count, duty->count == 1 ? "" : "s",
		moment_format(since, duty->since_s), moment_format(last, duty->last_s), again, why);
}

/* ---------------------------------------------------------------------------- what would be run */

struct naming {
	struct text text;
	size_t count;
};

static void naming_done(struct naming *naming)
{
	text_done(&naming->text);
}

static void name_run(struct naming *naming, const char *run)
{
	char *shown CLEANUP(mem_done) = text_escape(run);

	if (naming->count++ < RUNS_SHOWN)
		text_addf(&naming->text, "%s%s", naming->count > 1 ? ", " : "", shown);
}

static bool would_revoke(const struct report *report, const struct run *run)
{
	switch (hooks_revocation(report->settings, report->inventory, run)) {
	case REVOCATION_PENDING:
		return true;
	case REVOCATION_FAILED:
		return !report->inventory->hold && retry_s(report, run->revocation) == 0;
	case REVOCATION_NONE:
	case REVOCATION_REVOKED:
		break;
	}
	return false;
}

static bool would_run(const struct report *report, const struct run *run, enum duty_kind kind)
{
	return kind == DUTY_REVOKE ? would_revoke(report, run)
				   : run->decision.verdict == VERDICT_REAP;
}

static void print_would(const struct report *report, enum duty_kind kind, FILE *file)
{
	const struct inventory *inventory = report->inventory;
	struct naming naming CLEANUP(naming_done) = { 0 };
	char *program CLEANUP(mem_done) = NULL;

	if (!program_of(report, kind))
		return;
	for (size_t i = 0; i < inventory->run_count; i++)
		if (would_run(report, inventory->runs[i], kind))
			name_run(&naming, inventory->runs[i]->id);
	for (size_t i = 0; i < inventory->duty_count && !inventory->hold; i++) {
		const struct duty *duty = &inventory->duties[i];

		if (duty->kind == kind && duty->ripe && retry_s(report, duty) == 0 &&
			!inventory_find(inventory, duty->run))
			name_run(&naming, duty->run);
	}
	if (!naming.count)
		return;
	program = text_escape(program_of(report, kind));
	(void)fprintf(file, "hook: %s %s would run for %zu run%s%s: %s%s\n", duty_name(kind),
		program, naming.count, naming.count == 1 ? "" : "s",
		kind == DUTY_REVOKE ? ", before anything of them is touched"
				    : " when they are gone",
		naming.text.data, naming.count > RUNS_SHOWN ? " …" : "");
}

/* ----------------------------------------------------------------------------------- what failed */

static void print_failed(const struct report *report, enum duty_kind kind, FILE *file)
{
	const struct inventory *inventory = report->inventory;
	size_t count = 0;

	for (size_t i = 0; i < inventory->duty_count; i++) {
		const struct duty *duty = &inventory->duties[i];
		char *run CLEANUP(mem_done) = text_escape(duty->run),
			  *text CLEANUP(mem_done) = NULL;

		if (duty->kind != kind || duty->state != DUTY_FAILED || count++ >= RUNS_SHOWN)
			continue;
		text = report_duty_text(report, duty);
		(void)fprintf(file, "%s: %s: %s\n",
			kind == DUTY_REVOKE ? "not revoked" : "hook after failed", run, text);
	}
	if (count > RUNS_SHOWN)
		(void)fprintf(file, "%s: %zu more, see 'sbx-reap list --json'\n",
			kind == DUTY_REVOKE ? "not revoked" : "hook after failed",
			count - RUNS_SHOWN);
}

void report_count_duties(
	const struct inventory *inventory, int64_t ret_counts[DUTY_KINDS][DUTY_STATES])
{
	memset(ret_counts, 0, DUTY_KINDS * sizeof(*ret_counts));
	for (size_t i = 0; i < inventory->duty_count; i++)
		if (inventory->duties[i].ripe)
			ret_counts[inventory->duties[i].kind][inventory->duties[i].state]++;
}

static void print_untried(const struct report *report, FILE *file)
{
	int64_t counts[DUTY_KINDS][DUTY_STATES], count;

	report_count_duties(report->inventory, counts);
	count = counts[DUTY_REVOKE][DUTY_PENDING];
	if (report->kind == REPORT_PASS && count)
		(void)fprintf(file,
			"not revoked: %lld run%s for which this pass had no time; the next one "
			"tries\n",
			(long long)count, count == 1 ? "" : "s");
}

void report_hooks(const struct report *report, FILE *file)
{
	for (enum duty_kind kind = 0; kind < DUTY_KINDS; kind++)
		if (report->kind == REPORT_PLAN)
			print_would(report, kind, file);
	print_untried(report, file);
	for (enum duty_kind kind = 0; kind < DUTY_KINDS; kind++)
		print_failed(report, kind, file);
}

bool report_hooks_need_person(const struct report *report)
{
	int64_t counts[DUTY_KINDS][DUTY_STATES];

	report_count_duties(report->inventory, counts);
	return counts[DUTY_REVOKE][DUTY_FAILED] || counts[DUTY_AFTER][DUTY_FAILED] ||
	       (report->kind == REPORT_PASS && counts[DUTY_REVOKE][DUTY_PENDING]);
}

/* ---------------------------------------------------------------------------------- for programs */

static void json_tries(struct json_out *json, const struct report *report, const struct duty *duty)
{
	bool failed = duty && duty->state == DUTY_FAILED;

	json_int(json, "failed_count", failed ? duty->count : 0);
	json_moment(json, "last_try", duty ? duty->last_s : 0);
	json_moment(json, "retry", failed ? retry_s(report, duty) : 0);
	json_bytes(json, "error", failed ? duty->error : NULL);
}

void report_json_credentials(
	struct json_out *json, const struct report *report, const struct run *run)
{
	enum revocation revocation = hooks_revocation(report->settings, report->inventory, run);

	json_object(json, "credentials");
	json_text(json, "state", revocation_name(revocation));
	json_tries(json, report, run->revocation);
	json_object_end(json);
}

void report_json_hooks(struct json_out *json, const struct report *report)
{
	json_array(json, "hooks");
	for (size_t i = 0; i < report->inventory->duty_count; i++) {
		const struct duty *duty = &report->inventory->duties[i];

		if (!duty->ripe)
			continue;
		json_object(json, NULL);
		json_text(json, "hook", duty_name(duty->kind));
		json_bytes(json, "run", duty->run);
		json_int(json, "generation", duty->generation);
		json_text(json, "state", duty_state_name(duty->state));
		json_moment(json, "since", duty->since_s);
		json_tries(json, report, duty);
		json_object_end(json);
	}
	json_array_end(json);
}
