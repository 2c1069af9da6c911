#include "report_journal.h"

#include "base/text.h"
#include "base/timespan.h"
#include "failures_text.h"
#include "os/journal.h"
#include "pin_watch.h"
#include "report_hooks.h"

#include <syslog.h>

/* Fixed for good: somebody looks for them. */
#define ID_REAPED "d02c6119e27e41eba03109fad5007d9d"
#define ID_STOPPED "03658a8785804092b40790335a485cc4"
#define ID_PARTIAL "05a7a3ee2a7c4c63a1a1e457481030a5"
#define ID_FAILED "2558f66ffd8d4c73810f564b28a1dbdc"
#define ID_KEPT "7c45b8e85fa84ab3bdac30fc245c9655"
#define ID_PASS "2dda208da56e4ccbba16b102008a6e06"
#define ID_BLIND "38704463c8ba4925943e2eeec165ff26"
#define ID_NOT_REVOKED "6f1a8c52d0b94e7d9a3be5c47f10d28e"
#define ID_AFTER_FAILED "b94d07e35a1c4f6f8e62c0d9137ab5f4"
#define ID_PIN_ENDS "f0a54d4b50bb4dde913a9df6b5174896"
#define ID_PINNED_BYTES "6c1afff5177043a3bde2c54ff469d836"

enum { FIELDS = 40 };

/* An entry while it is put together; its values are in the arena. */
struct entry {
	struct arena arena;
	struct journal_field fields[FIELDS];
	size_t count;
};

static void entry_done(struct entry *entry)
{
	arena_done(&entry->arena);
}

/* NULL: it is left out. */
static void add(struct entry *entry, const char *name, const char *value)
{
	if (!value)
		return;
	assert(entry->count < FIELDS);
	entry->fields[entry->count++] = (struct journal_field){
		.name = name,
		.value = arena_dup(&entry->arena, value),
	};
}

static void add_escaped(struct entry *entry, const char *name, const char *value)
{
	char *shown CLEANUP(mem_done) = value ? text_escape(value) : NULL;

	add(entry, name, shown);
}

static void add_int(struct entry *entry, const char *name, int64_t value)
{
	add(entry, name, arena_printf(&entry->arena, "%lld", (long long)value));
}

static void begin(struct entry *entry, const struct report *report, const char *id, int priority)
{
	add(entry, "MESSAGE_ID", id);
	add_int(entry, "PRIORITY", priority);
	add(entry, "SYSLOG_IDENTIFIER", "sbx-reap");
	add(entry, "SBX_PASS", report->pass);
}

static int send(const struct entry *entry)
{
	return journal_send(entry->fields, entry->count);
}

/* ---------------------------------------------------------------------------------------- the runs */

/* Which kind of entry it is, by what a pass did. */
static const char *id_of(const struct run *run, int *ret_priority)
{
	*ret_priority = LOG_INFO;
	if (run->result == RESULT_REAPED)
		return ID_REAPED;
	if (report_stopped(run))
		return ID_STOPPED;
	*ret_priority = LOG_WARNING;
	if (run->result == RESULT_PARTIAL)
		return ID_PARTIAL;
	if (run->result != RESULT_FAILED)
		return ID_KEPT;
	*ret_priority = LOG_ERR;
	return ID_FAILED;
}

static void add_kinds(struct entry *entry, const struct run *run)
{
	for (enum kind kind = 0; kind < KIND_COUNT; kind++)
		for (size_t i = 0; i < run->resource_count; i++)
			if (run->resources[i].kind == kind) {
				add(entry, "SBX_KIND", kind_name(kind));
				break;
			}
}

static void add_message(struct entry *entry, const struct report *report, const struct run *run)
{
	const char *words = report_words(run);
	char *id CLEANUP(mem_done) = text_escape(run->id);
	char *shown CLEANUP(mem_done) = words ? text_escape_prose(words) : NULL;
	char *failures CLEANUP(mem_done) = failures_text(run, report->inventory->now_s);
	struct text text CLEANUP(text_done) = { 0 };

	text_addf(&text, "%s: %s, %s", id, report_decision(report, run),
		reason_name(run->decision.reason));
	if (shown)
		text_addf(&text, ": %s", shown);
	if (failures)
		text_addf(&text, "; %s", failures);
	add(entry, "MESSAGE", text.data);
}

static int send_run(const struct report *report, const struct run *run)
{
	struct entry entry CLEANUP(entry_done) = { 0 };
	int priority;
	const char *id = id_of(run, &priority);

	begin(&entry, report, id, priority);
	add_message(&entry, report, run);
	add_escaped(&entry, "SBX_RUN", run->id);
	add_kinds(&entry, run);
	add(&entry, "SBX_STATE", report_state_name(report_state_of(run)));
	add(&entry, "SBX_OUTCOME", outcome_name(run->facts.outcome));
	add(&entry, "SBX_VERDICT", verdict_name(run->decision.verdict));
	add(&entry, "SBX_REASON", reason_name(run->decision.reason));
	add(&entry, "SBX_RESULT", result_name(run->result));
	if (run->result != RESULT_NONE) {
		add_int(&entry, "SBX_BYTES", run->bytes_freed);
		add_int(&entry, "SBX_DURATION_US", run->took_ms * 1000);
	}
	return send(&entry);
}

/* ---------------------------------------------------------------------------------------- the rest */

static int worse(int r, int next)
{
	return r < 0 ? r : next;
}

static int send_source(const struct report *report, const struct source *source)
{
	struct entry entry CLEANUP(entry_done) = { 0 };
	char *at CLEANUP(mem_done) = source->at ? text_escape(source->at) : NULL;
	char *why CLEANUP(mem_done) =
		text_escape_prose(source->error ? source->error : "no reason given");

	begin(&entry, report, ID_BLIND, LOG_WARNING);
	add(&entry, "MESSAGE",
		arena_printf(&entry.arena, "not seen: %s%s%s: %s", source->name, at ? " at " : "",
			at ? at : "", why));
	add(&entry, "SBX_SOURCE", source->name);
	add(&entry, "SBX_AT", at);
	return send(&entry);
}

static int send_duty(const struct report *report, const struct duty *duty)
{
	struct entry entry CLEANUP(entry_done) = { 0 };
	bool revoke = duty->kind == DUTY_REVOKE;
	char *words CLEANUP(mem_done) = report_duty_text(report, duty);

	begin(&entry, report, revoke ? ID_NOT_REVOKED : ID_AFTER_FAILED, LOG_ERR);
	add(&entry, "MESSAGE",
		arena_printf(&entry.arena, "%s: %s %s", duty->run,
			revoke ? "its credentials are not revoked:" : "its after hook", words));
	add(&entry, "SBX_RUN", duty->run);
	add(&entry, "SBX_HOOK", duty_name(duty->kind));
	add_int(&entry, "SBX_FAILURES", duty->count);
	return send(&entry);
}

static int send_pin_end(const struct report *report, const struct run *run)
{
	struct entry entry CLEANUP(entry_done) = { 0 };
	char *words CLEANUP(mem_done) = pin_end_text(run, report->inventory->now_s);
	char until[TIMESPAN_TEXT];

	begin(&entry, report, ID_PIN_ENDS, LOG_WARNING);
	add(&entry, "MESSAGE", words);
	add_escaped(&entry, "SBX_RUN", run->id);
	add_escaped(&entry, "SBX_PIN_BY", run->pin->by);
	add(&entry, "SBX_PIN_UNTIL", moment_format(until, run->pin->until_s));
	return send(&entry);
}

static int send_pins(const struct report *report)
{
	const struct inventory *inventory = report->inventory;
	struct entry entry CLEANUP(entry_done) = { 0 };
	char *words CLEANUP(mem_done) = pins_too_large_text(report);
	int r = 0;

	for (size_t i = 0; i < inventory->run_count; i++)
		if (pin_end_is_news(inventory, inventory->runs[i]))
			r = worse(r, send_pin_end(report, inventory->runs[i]));
	if (!words)
		return r;
	begin(&entry, report, ID_PINNED_BYTES, LOG_WARNING);
	add(&entry, "MESSAGE", words);
	add_int(&entry, "SBX_PINNED_BYTES", report_count(report).pinned_bytes);
	return worse(r, send(&entry));
}

/* The totals, and what limits the whole plan: one entry of more lines than one where something does. */
static char *pass_words(const struct report *report)
{
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		abort();
	report_totals_line(report, file);
	report_limits(report, file);
	report_hooks(report, file);
	report_pins(report, file);
	if (fclose(file) != 0)
		abort(); /* memory alone can be short */
	while (length > 0 && text[length - 1] == '\n')
		text[--length] = 0;
	return text;
}

static int send_pass(const struct report *report, enum exit_code code)
{
	struct report_totals totals = report_count(report);
	struct entry entry CLEANUP(entry_done) = { 0 };
	char *words CLEANUP(mem_done) = pass_words(report);

	begin(&entry, report, ID_PASS, code == EXIT_DONE ? LOG_INFO : LOG_WARNING);
	add(&entry, "MESSAGE", words);
	add_int(&entry, "SBX_EXIT_CODE", code);
	add_int(&entry, "SBX_RUNS", (int64_t)totals.runs);
	add_int(&entry, "SBX_REAPED", (int64_t)totals.reaped);
	add_int(&entry, "SBX_PARTIAL", (int64_t)totals.partial);
	add_int(&entry, "SBX_FAILED", (int64_t)totals.failed);
	add_int(&entry, "SBX_STOPPED", (int64_t)totals.stopped);
	add_int(&entry, "SBX_KEPT", (int64_t)totals.keep);
	add_int(&entry, "SBX_BYTES", totals.bytes_freed);
	add_int(&entry, "SBX_DURATION_US", report->took_ms * 1000);
	return send(&entry);
}

/* Of what was due and had no turn only the next pass has something to tell. */
static bool had_turn(const struct run *run)
{
	return run->decision.verdict == VERDICT_KEEP || run->result != RESULT_NONE;
}

int report_journal(const struct report *report, enum exit_code code)
{
	const struct inventory *inventory = report->inventory;
	int r = 0;

	for (size_t i = 0; i < inventory->run_count; i++)
		if (report_shows(report, inventory->runs[i]) && had_turn(inventory->runs[i]))
			r = worse(r, send_run(report, inventory->runs[i]));
	for (size_t i = 0; i < inventory->source_count; i++)
		if (inventory->sources[i].ok == TRI_NO)
			r = worse(r, send_source(report, &inventory->sources[i]));
	for (size_t i = 0; i < inventory->duty_count; i++)
		if (inventory->duties[i].state == DUTY_FAILED)
			r = worse(r, send_duty(report, &inventory->duties[i]));
	r = worse(r, send_pins(report));
	return worse(r, send_pass(report, code));
}
