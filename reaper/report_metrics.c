#include "report_metrics.h"

#include "base/text.h"
#include "failures_text.h"
#include "metric_text.h"
#include "probe_findings.h"
#include "report_hooks.h"
#include "report_view.h"

#include <inttypes.h>

/* --------------------------------------------------------------------------------------- the runs */

static bool is_over(const struct run *run)
{
	return run->result == RESULT_REAPED || report_stopped(run);
}

/* Since when it should not be there any more, or not run; 0: it may. */
static int64_t overdue_since_s(const struct run *run, int64_t now_s)
{
	int64_t due_s = run->decision.due_s;

	if (is_over(run))
		return 0;
	if (run_is_failing(run))
		return run->failures->since_s;
	return due_s > 0 && due_s <= now_s ? due_s : 0;
}

struct survey {
	int64_t states[STATE_COUNT], reasons[REASON_COUNT], results[RESULT_FAILED + 1];
	int64_t pinned, pinned_bytes, pin_since_s, pin_until_s;
	bool bytes_known;
	int64_t overdue, overdue_since_s, stuck, persons;
};

static void earlier(int64_t *moment_s, int64_t candidate_s)
{
	if (candidate_s > 0 && (!*moment_s || candidate_s < *moment_s))
		*moment_s = candidate_s;
}

static void survey_pin(struct survey *survey, const struct run *run)
{
	if (run->facts.pin == PIN_NONE)
		return;
	survey->pinned++;
	if (run->bytes >= 0)
		survey->pinned_bytes += run->bytes;
	else if (!run->measured || run->share_count)
		survey->bytes_known = false;
	if (!run->pin)
		return;
	earlier(&survey->pin_since_s, run->pin->since_s);
	earlier(&survey->pin_until_s, run->pin->until_s);
}

static void survey_run(struct survey *survey, const struct run *run, int64_t now_s)
{
	int64_t since_s = overdue_since_s(run, now_s);

	survey->states[report_state_of(run)] += run->result != RESULT_REAPED;
	survey->reasons[run->decision.reason]++;
	survey->results[run->result]++;
	survey_pin(survey, run);
	survey->overdue += since_s > 0;
	earlier(&survey->overdue_since_s, since_s);
	survey->stuck += run_is_failing(run);
	survey->persons +=
		run->decision.verdict == VERDICT_KEEP && reason_needs_person(run->decision.reason);
}

static void print_pins(const struct survey *survey, FILE *file)
{
	metric_gauge(file, "pinned_runs", "Runs that are pinned.", survey->pinned);
	if (survey->bytes_known)
		metric_gauge(file, "pinned_bytes", "Bytes on disk that pinned runs take.",
			survey->pinned_bytes);
	metric_moment(file, "oldest_pin_timestamp_seconds", "When the oldest pin was made.",
		survey->pin_since_s);
	metric_moment(file, "next_pin_end_timestamp_seconds", "When the next pin ends.",
		survey->pin_until_s);
}

static void print_pins_limit(const struct report *report, FILE *file)
{
	int64_t limit = report->settings->policy.pinned_bytes_warn;

	if (limit)
		metric_gauge(file, "pinned_bytes_limit",
			"[policy] pinned_bytes_warn: more than this is too much.", limit);
}

static void print_survey(const struct survey *survey, int64_t now_s, FILE *file)
{
	metric_head(file, "runs", "gauge", "Runs that are there after the last pass, by state.");
	for (enum report_state state = 0; state < STATE_COUNT; state++)
		metric_sample_of(
			file, "runs", "state", report_state_name(state), survey->states[state]);
	metric_head(
		file, "decisions", "gauge", "Runs that the last pass decided on, by its reason.");
	for (enum reason reason = 0; reason < REASON_COUNT; reason++)
		metric_sample_of(
			file, "decisions", "reason", reason_name(reason), survey->reasons[reason]);
	metric_head(
		file, "results", "gauge", "Runs that the last pass acted on, by what came of it.");
	for (enum result result = RESULT_REAPED; result <= RESULT_FAILED; result++)
		metric_sample_of(
			file, "results", "result", result_name(result), survey->results[result]);
	print_pins(survey, file);
	metric_gauge(file, "overdue_runs", "Runs that should be gone, or stopped, and are not.",
		survey->overdue);
	metric_gauge(file, "oldest_overdue_seconds",
		"For how long the oldest of them has been overdue.",
		survey->overdue_since_s ? now_s - survey->overdue_since_s : 0);
	metric_gauge(file, "stuck_runs", "Runs that could not be taken apart and are tried again.",
		survey->stuck);
	metric_gauge(file, "attention_runs", "Runs that are kept until a person looks.",
		survey->persons);
}

static void print_hooks(const struct report *report, FILE *file)
{
	static const char *const names[DUTY_KINDS] = {
		[DUTY_REVOKE] = "revocations",
		[DUTY_AFTER] = "after_hooks",
	};
	static const char *const helps[DUTY_KINDS] = {
		[DUTY_REVOKE] =
			"Runs whose credentials are to be revoked, also of runs that are gone, "
			"by whether that failed.",
		[DUTY_AFTER] =
			"Runs that are gone and whose after hook is owed, by whether it failed.",
	};
	int64_t counts[DUTY_KINDS][DUTY_STATES];

	report_count_duties(report, counts);
	for (enum duty_kind kind = 0; kind < DUTY_KINDS; kind++) {
		metric_head(file, names[kind], "gauge", helps[kind]);
		metric_sample_of(file, names[kind], "state", "pending", counts[kind][DUTY_PENDING]);
		metric_sample_of(file, names[kind], "state", "failed", counts[kind][DUTY_FAILED]);
	}
}

static void print_runs(const struct report *report, FILE *file)
{
	const struct inventory *inventory = report->inventory;
	struct survey survey = { .bytes_known = true };

	for (size_t i = 0; i < inventory->run_count; i++)
		survey_run(&survey, inventory->runs[i], inventory->now_s);
	print_survey(&survey, inventory->now_s, file);
	print_pins_limit(report, file);
	metric_gauge(file, "last_pass_freed_bytes", "Bytes on disk that the last pass freed.",
		report_count(report).bytes_freed);
	print_hooks(report, file);
	metric_gauge(file, "hold", "Whether a person, or a probe that failed, holds all passes.",
		inventory->hold != NULL);
	metric_gauge(file, "brake",
		"Whether too much fell due at once, so that nothing goes for a while.",
		inventory->brake.state == BRAKE_HOLDS);
}

/* -------------------------------------------------------------------------------- what it works on */

static void print_source(const struct source *source, FILE *file)
{
	(void)fputs("sbx_reap_source_up", file);
	metric_label(file, "source", source->name, "{");
	metric_label(file, "at", source->at ? source->at : "", ",");
	(void)fprintf(file, "} %d\n", source->ok == TRI_YES);
}

static bool is_same_source(const struct source *source, const struct source *other)
{
	return text_equal(other->name, source->name) &&
	       text_equal(other->at ? other->at : "", source->at ? source->at : "");
}

/* Two answers of one source would be one sample twice, of which Prometheus takes none. */
static bool is_repeated(const struct metrics *metrics, size_t place)
{
	const struct inventory *inventory = metrics->report->inventory;
	const struct source *source = &inventory->sources[place];

	if (is_same_source(source, &metrics->failed))
		return true;
	for (size_t i = 0; i < inventory->source_count; i++) {
		const struct source *other = &inventory->sources[i];

		if (i != place && is_same_source(source, other) &&
			(other->ok == source->ok ? i < place : other->ok == TRI_NO))
			return true;
	}
	return false;
}

static void print_sources(const struct metrics *metrics, FILE *file)
{
	const struct inventory *inventory = metrics->report ? metrics->report->inventory : NULL;
	int64_t blind = metrics->failed.name != NULL;

	if (!inventory && !blind)
		return;
	metric_head(
		file, "source_up", "gauge", "Whether what the last pass asked for facts answered.");
	if (metrics->failed.name)
		print_source(&metrics->failed, file);
	for (size_t i = 0; inventory && i < inventory->source_count; i++) {
		const struct source *source = &inventory->sources[i];

		if (source->ok == TRI_UNKNOWN || is_repeated(metrics, i))
			continue;
		print_source(source, file);
		blind += source->ok == TRI_NO;
	}
	metric_gauge(file, "blind_sources", "How many of them did not.", blind);
}

/* One sample for each filesystem, named by the first root on it. */
static void print_filesystem(const struct inventory *inventory, const char *name, const char *help,
	int64_t (*value)(const struct filesystem *fs), FILE *file)
{
	if (inventory->filesystem_count)
		metric_head(file, name, "gauge", help);
	for (size_t i = 0; i < inventory->filesystem_count; i++)
		metric_sample_of(file, name, "root", inventory->filesystems[i].roots[0],
			value(&inventory->filesystems[i]));
}

static int64_t fs_size(const struct filesystem *fs)
{
	return fs->total_bytes;
}

static int64_t fs_used(const struct filesystem *fs)
{
	return fs->used_bytes;
}

static int64_t fs_inodes(const struct filesystem *fs)
{
	return fs->total_inodes;
}

static int64_t fs_inodes_used(const struct filesystem *fs)
{
	return fs->used_inodes;
}

static int64_t fs_pressure(const struct filesystem *fs)
{
	return fs->full && !fs->relieved;
}

static void print_filesystems(const struct inventory *inventory, FILE *file)
{
	static const struct {
		const char *name, *help;
		int64_t (*value)(const struct filesystem *fs);
	} metrics[] = {
		{ "filesystem_size_bytes", "Bytes that the filesystem of a root has.", fs_size },
		{ "filesystem_used_bytes", "Bytes of them that were used before the last pass.",
			fs_used },
		{ "filesystem_inodes", "Inodes that it has; 0: no fixed number.", fs_inodes },
		{ "filesystem_inodes_used", "Inodes of them that were used.", fs_inodes_used },
		{ "filesystem_pressure", "Whether what goes does not bring it below [disk] low.",
			fs_pressure },
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		print_filesystem(
			inventory, metrics[i].name, metrics[i].help, metrics[i].value, file);
}

static void print_probes(const struct metrics *metrics, FILE *file)
{
	if (!metrics->probe_count)
		return;
	metric_head(file, "probe_ok", "gauge", "Whether the last probe found this as it must be.");
	for (size_t i = 0; i < metrics->probe_count; i++) {
		if (text_equal(metrics->probes[i].outcome, probe_outcome_name(PROBE_PUT_OFF)))
			continue; /* nothing was found out, and nothing is held for it */
		metric_sample_of(file, "probe_ok", "check", metrics->probes[i].check,
			text_equal(metrics->probes[i].outcome, probe_outcome_name(PROBE_OK)));
	}
	metric_moment(file, "last_probe_timestamp_seconds", "When the last probe ended.",
		metrics->probes[0].at_s);
}

static void print_pass(const struct metrics *metrics, FILE *file)
{
	metric_head(file, "build_info", "gauge", "The program's version; always 1.");
	metric_sample_of(file, "build_info", "version", SBX_REAP_VERSION, 1);
	metric_moment(file, "last_pass_timestamp_seconds",
		"When the last pass ended, whatever came of it.", metrics->now_s);
	metric_moment(file, "last_success_timestamp_seconds",
		"When the last pass ended that had nothing to complain of (exit code 0).",
		metrics->done_s);
	metric_head(file, "last_pass_duration_seconds", "gauge", "How long the last pass took.");
	(void)fprintf(file, "sbx_reap_last_pass_duration_seconds %" PRId64 ".%03d\n",
		metrics->took_ms / 1000, (int)(metrics->took_ms % 1000));
	metric_gauge(file, "last_pass_exit_code", "Exit code of the last pass, as in sbx-reap(8).",
		metrics->code);
}

void report_metrics(const struct metrics *metrics, FILE *file)
{
	print_pass(metrics, file);
	print_sources(metrics, file);
	if (metrics->report) {
		print_runs(metrics->report, file);
		print_filesystems(metrics->report->inventory, file);
	}
	if (!metrics->booked)
		return;
	report_metrics_totals(&metrics->totals, file);
	print_probes(metrics, file);
}
