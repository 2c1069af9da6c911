#include "report_hooks.h"

#include "base/count.h"
#include "base/json_out.h"
#include "base/text.h"
#include "base/timespan.h"
#include "hooks.h"

enum { RUNS_SHOWN = 5 };

/* 0: by the next pass. What failed in this pass did so after the moment that it decides for. */
static int64_t retry_s(const struct report *report, const struct duty *duty)
{
	int64_t now_s = report->inventory->now_s;
	int64_t at_s = duty->last_s > now_s && report->kind == REPORT_PASS ? duty->last_s : now_s;
	int64_t retry = hooks_retry_s(duty, at_s);

	return retry > at_s ? retry : 0;
}

static enum duty_wait waits_for(const struct report *report, const struct duty *duty)
{
	return hooks_waits_for(report->settings, report->inventory, duty);
}

static char *wait_text(enum duty_wait wait, enum duty_kind kind, const char *run)
{
	char *shown CLEANUP(mem_done) = text_escape(run);

	switch (wait) {
	case DUTY_WAITS_HOOK:
		return mem_printf(
			"[hooks] %s is not set: set it, or do by hand what it did and say "
			"'sbx-reap forget %s --hooks'",
			duty_name(kind), shown);
	case DUTY_WAITS_NAME:
		return mem_dup("another run has that name, and its revocation counts for both");
	case DUTY_WAITS_END:
		return mem_dup("it was given more time, and is revoked when that is over");
	case DUTY_WAITS_PASS:
		return mem_dup(
			"this pass had no time for it, or was not to act on it; the next one "
			"tries");
	case DUTY_WAITS:
		break;
	}
	return NULL;
}

/* When what failed is tried again. */
static char *again_text(const struct report *report, const struct duty *duty)
{
	enum duty_wait wait = waits_for(report, duty);
	int64_t again_s = retry_s(report, duty);
	char *waits CLEANUP(mem_done) = wait_text(wait, duty->kind, duty->run);
	char retry[TIMESPAN_TEXT];

	if (wait != DUTY_WAITS_PASS)
		return mem_printf("is not tried now (%s)", waits);
	return mem_printf("is tried again %s%s", again_s ? "at " : "by the next pass",
		again_s ? moment_format(retry, again_s) : "");
}

char *report_duty_text(const struct report *report, const struct duty *duty)
{
	char since[TIMESPAN_TEXT], last[TIMESPAN_TEXT], times[COUNT_TEXT];
	char *again CLEANUP(mem_done) = NULL, *why CLEANUP(mem_done) = NULL;
	enum duty_wait wait = waits_for(report, duty);

	if (duty->state == DUTY_PENDING && wait != DUTY_WAITS_PASS)
		return wait_text(wait, duty->kind, duty->run);
	if (duty->state != DUTY_FAILED)
		return NULL;
	again = again_text(report, duty);
	why = text_escape_prose(duty->error);
	return mem_printf("failed %s in a row since %s, last %s, %s: %s",
		count_format(times, duty->count, "time"), moment_format(since, duty->since_s),
		moment_format(last, duty->last_s), again, why);
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
	char *program CLEANUP(mem_done) = NULL, runs[COUNT_TEXT];

	if (!hooks_program(report->settings, kind))
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
	program = text_escape(hooks_program(report->settings, kind));
	(void)fprintf(file, "hook: %s %s would run for %s%s: %s%s\n", duty_name(kind), program,
		count_format(runs, naming.count, "run"),
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

/* Nobody can do anything: the end of a run comes. What failed and waits for another run is an alert. */
static bool only_waits(const struct duty *duty, enum duty_wait wait)
{
	return wait == DUTY_WAITS_END || (wait == DUTY_WAITS_NAME && duty->state != DUTY_FAILED);
}

void report_count_duties(const struct report *report, int64_t ret_counts[DUTY_KINDS][DUTY_STATES])
{
	const struct inventory *inventory = report->inventory;

	memset(ret_counts, 0, DUTY_KINDS * sizeof(*ret_counts));
	for (size_t i = 0; i < inventory->duty_count; i++) {
		const struct duty *duty = &inventory->duties[i];

		if (duty->ripe && !only_waits(duty, waits_for(report, duty)))
			ret_counts[duty->kind][duty->state]++;
	}
}

/* Of a plan and of what `after` is owed, the next pass is nothing to tell of. */
static bool tells_of(const struct report *report, enum duty_kind kind, enum duty_wait wait)
{
	return wait != DUTY_WAITS_PASS || (kind == DUTY_REVOKE && report->kind == REPORT_PASS);
}

static void print_untried(
	const struct report *report, enum duty_kind kind, enum duty_wait wait, FILE *file)
{
	struct naming naming CLEANUP(naming_done) = { 0 };
	char *text CLEANUP(mem_done) = wait_text(wait, kind, "RUN");

	for (size_t i = 0; i < report->inventory->duty_count; i++) {
		const struct duty *duty = &report->inventory->duties[i];

		if (duty->kind == kind && duty->ripe && duty->state == DUTY_PENDING &&
			waits_for(report, duty) == wait)
			name_run(&naming, duty->run);
	}
	if (naming.count && tells_of(report, kind, wait))
		(void)fprintf(file, "%s: %s%s: %s\n",
			kind == DUTY_REVOKE ? "not revoked yet" : "hook after not run yet",
			naming.text.data, naming.count > RUNS_SHOWN ? " …" : "", text);
}

void report_hooks(const struct report *report, FILE *file)
{
	for (enum duty_kind kind = 0; kind < DUTY_KINDS; kind++)
		if (report->kind == REPORT_PLAN)
			print_would(report, kind, file);
	for (enum duty_kind kind = 0; kind < DUTY_KINDS; kind++)
		for (enum duty_wait wait = 0; wait < DUTY_WAITS; wait++)
			print_untried(report, kind, wait, file);
	for (enum duty_kind kind = 0; kind < DUTY_KINDS; kind++)
		print_failed(report, kind, file);
}

static bool needs_person(const struct report *report, const struct duty *duty)
{
	enum duty_wait wait = waits_for(report, duty);

	if (only_waits(duty, wait))
		return false;
	if (duty->state == DUTY_FAILED || wait == DUTY_WAITS_HOOK)
		return true;
	return wait == DUTY_WAITS_PASS && tells_of(report, duty->kind, wait);
}

bool report_hooks_need_person(const struct report *report)
{
	for (size_t i = 0; i < report->inventory->duty_count; i++)
		if (report->inventory->duties[i].ripe &&
			needs_person(report, &report->inventory->duties[i]))
			return true;
	return false;
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
