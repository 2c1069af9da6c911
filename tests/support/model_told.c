#include "model_told.h"

#include <jansson.h>

static void take(char *to, size_t size, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	(void)snprintf(to, size, "%s", text ? text : "");
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (text_equal(word, *words))
			return true;
	return false;
}

/* DESIGN, exit codes: of those that hold, 1 comes before 69. */
static int code_of_run(const struct told_run *run)
{
	static const char *const person[] = { "refused", "pin_unknown", "clock", "unsaved_work",
		"brake", "held", "backoff", NULL };

	if (is_one_of(run->reason, person) || text_equal(run->result, "failed") ||
		text_equal(run->result, "partial"))
		return 1;
	return text_equal(run->reason, "unknown") ? 69 : 0;
}

static int worse(int a, int b)
{
	if (a == 1 || b == 1)
		return 1;
	return a ? a : b;
}

static void take_run(struct told *told, const json_t *object)
{
	struct told_run *run = &told->runs[told->count++];

	take(run->run, sizeof(run->run), object, "run");
	take(run->state, sizeof(run->state), object, "state");
	take(run->verdict, sizeof(run->verdict), object, "verdict");
	take(run->reason, sizeof(run->reason), object, "reason");
	take(run->result, sizeof(run->result), object, "result");
	take(run->error, sizeof(run->error), object, "error");
	told->code = worse(told->code, code_of_run(run));
	if (!*run->run || !*run->verdict || !*run->reason)
		(void)snprintf(
			told->fault, sizeof(told->fault), "a run without words: %.100s", run->run);
}

static void check_totals(struct told *told, const json_t *report)
{
	const json_t *totals = json_object_get(report, "totals");
	unsigned reaped = 0;

	for (unsigned i = 0; i < told->count; i++)
		reaped += text_equal(told->runs[i].result, "reaped");
	if (json_integer_value(json_object_get(totals, "runs")) != told->count ||
		json_integer_value(json_object_get(totals, "reaped")) != reaped)
		(void)snprintf(told->fault, sizeof(told->fault), "the totals are not those");
}

void told_read(struct told *told, const char *path)
{
	json_error_t error;
	json_t *report = json_load_file(path, 0, &error), *runs, *sources;

	*told = (struct told){ 0 };
	runs = json_object_get(report, "runs");
	if (!json_is_array(runs) || json_array_size(runs) > TOLD_RUNS) {
		(void)snprintf(told->fault, sizeof(told->fault), "no report: %.100s, line %d",
			error.text, error.line);
		json_decref(report);
		return;
	}
	sources = json_object_get(report, "sources");
	for (size_t i = 0; i < json_array_size(sources); i++)
		if (json_is_false(json_object_get(json_array_get(sources, i), "ok")))
			told->code = 69;
	for (size_t i = 0; i < json_array_size(runs); i++)
		take_run(told, json_array_get(runs, i));
	check_totals(told, report);
	json_decref(report);
}

const struct told_run *told_find(const struct told *told, const char *run)
{
	for (unsigned i = 0; i < told->count; i++)
		if (text_equal(told->runs[i].run, run))
			return &told->runs[i];
	return NULL;
}

int told_tombstones(const char *path, const char *run)
{
	json_t *log = json_load_file(path, 0, NULL), *entries = json_object_get(log, "entries");
	int count = log ? 0 : -1;

	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);

		count += text_equal(json_string_value(json_object_get(entry, "run")), run) &&
			 text_equal(json_string_value(json_object_get(entry, "action")), "reaped");
	}
	json_decref(log);
	return count;
}
