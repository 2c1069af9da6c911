#include "report.h"

#include "base/json_out.h"
#include "failures_text.h"
#include "pin_watch.h"
#include "report_hooks.h"
#include "report_select.h"
#include "seal.h"

/* Whether something was ok; not configured is null. */
static void json_ok(struct json_out *json, const char *key, enum tri value)
{
	if (value == TRI_UNKNOWN)
		json_null(json, key);
	else
		json_bool(json, key, value == TRI_YES);
}

static void json_sources(struct json_out *json, const struct inventory *inventory)
{
	json_array(json, "sources");
	for (size_t i = 0; i < inventory->source_count; i++) {
		const struct source *source = &inventory->sources[i];

		json_object(json, NULL);
		json_text(json, "name", source->name);
		json_bytes(json, "at", source->at);
		json_ok(json, "ok", source->ok);
		json_bytes(json, "error", source->error);
		json_object_end(json);
	}
	json_array_end(json);
}

/* What a person keeps or holds: who, why, since when, until when. */
static void json_kept(
	struct json_out *json, const char *by, const char *reason, int64_t since_s, int64_t until_s)
{
	json_bytes(json, "by", by);
	json_bytes(json, "reason", reason);
	json_moment(json, "since", since_s);
	json_moment(json, "until", until_s);
	json_object_end(json);
}

static void json_pin(struct json_out *json, const struct pin *pin)
{
	if (!pin) {
		json_null(json, "pin");
		return;
	}
	json_object(json, "pin");
	json_kept(json, pin->by, pin->reason, pin->since_s, pin->until_s);
}

static void json_resources(struct json_out *json, const struct run *run)
{
	static const char *const proofs[] = { "row", "marker", "label", "adopted", "trash" };

	json_array(json, "resources");
	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		json_object(json, NULL);
		json_text(json, "kind", kind_name(resource->kind));
		json_bytes(json, "locator", resource->locator);
		json_text(json, "present", tri_name(resource->present));
		json_array(json, "proof");
		for (size_t bit = 0; bit < ARRAY_SIZE(proofs); bit++)
			if (resource->proof & 1U << bit)
				json_text(json, NULL, proofs[bit]);
		json_array_end(json);
		json_bytes(json, "note", resource->note);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_ages(struct json_out *json, const struct report *report, const struct run *run)
{
	int64_t now_s = report->inventory->now_s;

	json_moment(json, "created", run->facts.created_s);
	if (run->age_since_s) {
		json_int(json, "age_s", now_s - run->age_since_s);
		json_int(json, "active_s", now_s - run->active_s);
	} else {
		json_null(json, "age_s");
		json_null(json, "active_s");
	}
	json_text(json, "age_from", run->age_from);
}

static void json_size(struct json_out *json, const struct run *run)
{
	int64_t bytes = report_bytes(run);

	if (bytes >= 0)
		json_int(json, "bytes", bytes);
	else
		json_null(json, "bytes");
	json_moment(json, "bytes_at", run->noted ? run->noted->at_s : 0);
	if (run->bytes_least > 0)
		json_int(json, "bytes_least", run->bytes_least);
	else
		json_null(json, "bytes_least");
}

void report_json_run(struct json_out *json, const struct report *report, const struct run *run)
{
	char seal[SEAL_TEXT];

	json_object(json, NULL);
	json_bytes(json, "run", run->id);
	json_text(json, "state", report_state_name(report_state_of(run)));
	json_text(json, "outcome", outcome_name(run->facts.outcome));
	json_ages(json, report, run);
	json_text(json, "verdict", verdict_name(run->decision.verdict));
	json_text(json, "reason", reason_name(run->decision.reason));
	json_moment(json, "due", run->decision.due_s);
	json_text(json, "seal", seal_of(run, seal));
	json_text(json, "live", tri_name(run->facts.live));
	json_text(json, "work", work_name(run->facts.work));
	json_pin(json, run->pin);
	json_size(json, run);
	json_resources(json, run);
	json_text(json, "result", result_name(run->result));
	json_bytes(json, "error", run->error ? run->error : run->fault);
	json_bytes(json, "salvaged", run->salvaged);
	failures_json(json, run, report->inventory->now_s);
	report_json_credentials(json, report, run);
}

static void json_totals(struct json_out *json, const struct report *report)
{
	struct report_totals totals = report_count(report);

	json_object(json, "totals");
	json_int(json, "runs", (int64_t)totals.runs);
	json_int(json, "keep", (int64_t)totals.keep);
	json_int(json, "stop", (int64_t)totals.stop);
	json_int(json, "reap", (int64_t)totals.reap);
	json_int(json, "reaped", (int64_t)totals.reaped);
	json_int(json, "partial", (int64_t)totals.partial);
	json_int(json, "failed", (int64_t)totals.failed);
	json_int(json, "hidden", (int64_t)totals.hidden);
	json_int(json, "bytes_freed", totals.bytes_freed);
	json_int(json, "due_bytes", totals.due_bytes);
	json_int(json, "kept_bytes", totals.kept_bytes);
	json_int(json, "pinned_bytes", totals.pinned_bytes);
	json_int(json, "unmeasured", (int64_t)totals.unmeasured);
	json_double(json, "seconds", (double)report->took_ms / 1000.0);
	json_object_end(json);
}

static void json_hold(struct json_out *json, const struct hold *hold)
{
	if (!hold) {
		json_null(json, "hold");
		return;
	}
	json_object(json, "hold");
	json_kept(json, hold->by, hold->reason, hold->since_s, hold->until_s);
}

static void json_brake(struct json_out *json, const struct report *report)
{
	const struct brake *brake = &report->inventory->brake;

	if (brake->state != BRAKE_HOLDS) {
		json_null(json, "brake");
		return;
	}
	json_object(json, "brake");
	json_moment(json, "since", brake->tripped_s);
	json_moment(json, "until", brake->until_s);
	json_int(json, "due", (int64_t)brake->due);
	json_int(json, "proven", (int64_t)brake->proven);
	json_object_end(json);
}

/* What to say of pins to whoever they belong to: those that end within a day, and that they hold much. */
static void json_pins(struct json_out *json, const struct report *report)
{
	const struct inventory *inventory = report->inventory;

	json_object(json, "pins");
	json_bool(json, "too_large", pins_are_too_large(report));
	json_array(json, "ending");
	for (size_t i = 0; i < inventory->run_count; i++) {
		const struct run *run = inventory->runs[i];

		if (!pin_ends_soon(run->pin, inventory->now_s))
			continue;
		json_object(json, NULL);
		json_bytes(json, "run", run->id);
		json_moment(json, "until", run->pin->until_s);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void json_share(struct json_out *json, const char *key, int64_t used, int64_t total)
{
	if (total > 0)
		json_double(json, key, (double)used / (double)total);
	else
		json_null(json, key);
}

static void json_pressure(struct json_out *json, const struct report *report)
{
	const struct inventory *inventory = report->inventory;

	json_array(json, "pressure");
	for (size_t i = 0; i < inventory->filesystem_count; i++) {
		const struct filesystem *fs = &inventory->filesystems[i];

		if (!fs->full)
			continue;
		json_object(json, NULL);
		json_bytes(json, "at", fs->roots[0]);
		json_double(json, "high", (double)report->settings->disk.high / 100);
		json_double(json, "low", (double)report->settings->disk.low / 100);
		json_share(json, "used_bytes_share", fs->used_bytes, fs->total_bytes);
		json_share(json, "used_inodes_share", fs->used_inodes, fs->total_inodes);
		json_bool(json, "relieved", fs->relieved);
		json_object_end(json);
	}
	json_array_end(json);
}

const char *report_host(char buffer[HOST_TEXT])
{
	if (gethostname(buffer, HOST_TEXT) < 0)
		buffer[0] = 0;
	buffer[HOST_TEXT - 1] = 0;
	return buffer;
}

void report_json(const struct report *report, FILE *file)
{
	struct json_out json = { .file = file };
	struct report_selection selection CLEANUP(report_selection_done);
	char host[HOST_TEXT];

	json_object(&json, NULL);
	json_int(&json, "schema", 1);
	json_text(&json, "pass", report->pass);
	json_bytes(&json, "host", report_host(host));
	json_moment(&json, "now", report->inventory->now_s);
	json_bool(&json, "dry_run", report->kind == REPORT_PLAN);
	if (report->settings->visited)
		json_bytes(&json, "repo", report->settings->visited);
	json_sources(&json, report->inventory);
	json_array(&json, "runs");
	report_select_all(report, &selection);
	for (size_t i = 0; i < selection.count; i++) {
		report_json_run(&json, report, selection.runs[i]);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_hold(&json, report->inventory->hold);
	json_brake(&json, report);
	json_pins(&json, report);
	json_pressure(&json, report);
	report_json_hooks(&json, report);
	json_totals(&json, report);
	json_object_end(&json);
}
