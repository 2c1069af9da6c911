#include "sweep_report.h"

#include "exit_code.h"

#include <jansson.h>
#include <sys/wait.h>

static const char *const due[] = { "all", "unsaved", "overdue" };

static const char *text_of(const json_t *run, const char *key)
{
	const char *text = json_string_value(json_object_get(run, key));

	return text ? text : "";
}

/* The report of a run, or NULL. */
static const json_t *run_of(const json_t *report, const char *name)
{
	const json_t *runs = json_object_get(report, "runs");

	for (size_t i = 0; i < json_array_size(runs); i++)
		if (text_equal(text_of(json_array_get(runs, i), "run"), name))
			return json_array_get(runs, i);
	return NULL;
}

static char *run_fault(const struct sweep_world *world, const json_t *report, const char *name,
	int code, bool stopped)
{
	const json_t *run = run_of(report, name);
	bool done = sweep_world_is_done(world, name);
	const char *reason = text_of(run, "reason");

	if (text_equal(text_of(run, "result"), "reaped") && !done)
		return mem_printf("%s is said to be reaped, and is not", name);
	if (code != 0 || done)
		return NULL;
	if (stopped && text_equal(reason, "deferred"))
		return NULL;
	return mem_printf("exit code 0, and %s was due and is left: %s %s %s", name,
		text_of(run, "verdict"), reason, text_of(run, "error"));
}

/* ------------------------------------------------------------------------ what it has to say */

enum { SAID_MAX = 400, OUTPUT_SHOWN = 200 };

static const char *known(const char *text)
{
	return *text ? text : "-";
}

/* Of a source that failed, or was not asked. */
static void digest_source(struct text *text, const json_t *source)
{
	if (!json_is_false(json_object_get(source, "ok")))
		return;
	text_addf(text, "; %s at %s: %s", text_of(source, "name"), text_of(source, "at"),
		text_of(source, "error"));
}

static void digest_run(struct text *text, const json_t *run)
{
	text_addf(text, "; %s %s %s", text_of(run, "run"), text_of(run, "verdict"),
		text_of(run, "reason"));
	if (*text_of(run, "result") || *text_of(run, "error"))
		text_addf(text, " %s %s", known(text_of(run, "result")),
			known(text_of(run, "error")));
}

static void digest(struct text *text, const char *output)
{
	json_t *report = json_loads(output, 0, NULL);
	const json_t *sources = json_object_get(report, "sources");
	const json_t *runs = json_object_get(report, "runs");

	if (!report)
		text_addf(text, "; output: %.*s", OUTPUT_SHOWN, output);
	for (size_t i = 0; i < json_array_size(sources); i++)
		digest_source(text, json_array_get(sources, i));
	for (size_t i = 0; i < json_array_size(runs); i++)
		digest_run(text, json_array_get(runs, i));
	json_decref(report);
}

char *sweep_report_said(const struct sweep_world *world, int code)
{
	char *output CLEANUP(mem_done) = sweep_world_output(world);
	char *said CLEANUP(mem_done) = sweep_world_complaints(world);
	struct text text = { 0 };

	text_addf(&text, "exit code %d", code);
	if (*said)
		text_addf(&text, "; %.*s", SAID_MAX, said);
	digest(&text, output);
	return text.data;
}

/* -------------------------------------------------------------------------- what is wrong with it */

static char *output_fault(const struct sweep_world *world, int code, bool stopped)
{
	char *output CLEANUP(mem_done) = sweep_world_output(world), *fault = NULL;
	char *said CLEANUP(mem_done) = sweep_world_complaints(world);
	json_error_t where;
	json_t *report;

	/* Before there is a plan there is nothing to report, and the code says so. */
	if (!*output && code != 0)
		return NULL;
	report = json_loads(output, 0, &where);
	if (!report && code != 0 && strstr(said, "write standard output"))
		return NULL;
	if (!report)
		return mem_printf("exit code %d, and the report is no JSON: %s", code, where.text);
	for (size_t i = 0; i < ARRAY_SIZE(due) && !fault; i++)
		fault = run_fault(world, report, due[i], code, stopped);
	json_decref(report);
	return fault;
}

char *sweep_report_fault(const struct sweep_world *world, int status, bool stopped)
{
	static const char *const signs[] = { "Sanitizer", "runtime error:", "Assertion" };
	char *said CLEANUP(mem_done) = sweep_world_complaints(world);

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (strstr(said, signs[i]))
			return mem_printf("it says %.400s", strstr(said, signs[i]));
	if (status == TRACER_HANGS)
		return mem_printf("it hangs");
	if (WIFSIGNALED(status))
		return mem_printf("it died of signal %d", WTERMSIG(status));
	return output_fault(world, WEXITSTATUS(status), stopped);
}

/* ------------------------------------------------------------------------------- asked to stop */

static bool says_stopped(const json_t *object)
{
	return strstr(text_of(object, "error"), "asked to stop") != NULL;
}

static bool source_was_stopped(const json_t *report)
{
	const json_t *sources = json_object_get(report, "sources");

	for (size_t i = 0; i < json_array_size(sources); i++)
		if (says_stopped(json_array_get(sources, i)))
			return true;
	return false;
}

/* Nothing of it may make the next pass wait, or look as if something were wrong with it. */
static char *stopped_run_fault(const json_t *run, struct text *partial)
{
	const char *name = text_of(run, "run"), *result = text_of(run, "result");

	if (text_equal(result, "failed") || json_is_object(json_object_get(run, "failures")))
		return mem_printf("%s has failed, they say: %s", name, text_of(run, "error"));
	if (!text_equal(result, "partial"))
		return NULL;
	text_addf(partial, "history %s partial\n", name);
	return says_stopped(run) ? NULL
				 : mem_printf("%s is partial, and not because of the signal: %s",
					   name, text_of(run, "error"));
}

static enum exit_code stop_code(const json_t *report, const struct text *partial)
{
	if (partial->length)
		return EXIT_ATTENTION;
	return source_was_stopped(report) ? EXIT_BLIND : EXIT_DONE;
}

static char *stop_fault(const json_t *report, int code, struct text *partial)
{
	const json_t *runs = json_object_get(report, "runs");
	char *fault = NULL;

	for (size_t i = 0; i < json_array_size(runs) && !fault; i++)
		fault = stopped_run_fault(json_array_get(runs, i), partial);
	if (!fault && code != (int)stop_code(report, partial))
		fault = mem_printf("it ends with %d, not %d", code, stop_code(report, partial));
	return fault;
}

char *sweep_report_stop_fault(const struct sweep_world *world, int status, struct text *ret_partial)
{
	char *fault = sweep_report_fault(world, status, true);
	char *output CLEANUP(mem_done) = sweep_world_output(world);
	json_t *report;

	if (fault)
		return fault;
	report = json_loads(output, 0, NULL);
	fault = report ? stop_fault(report, WEXITSTATUS(status), ret_partial)
		       : mem_printf("no report, and it ends with %d", WEXITSTATUS(status));
	json_decref(report);
	return fault;
}

char *sweep_report_hasty(const struct sweep_world *world)
{
	char *output CLEANUP(mem_done) = sweep_world_output(world), *fault = NULL;
	json_t *report = json_loads(output, 0, NULL);
	const json_t *run = run_of(report, "unsaved");

	if (strstr(text_of(run, "error"),
		    "could not be salvaged: ")) /* and is not tried for an hour */
		fault = mem_printf("what was short for the moment leaves it to a person: %s",
			text_of(run, "error"));
	json_decref(report);
	return fault;
}

char *sweep_report_end_fault(struct sweep_world *world)
{
	int code = sweep_world_run(world, "--json");
	char *said CLEANUP(mem_done) = sweep_report_said(world, code);

	if (code == EXIT_ATTENTION && !sweep_world_is_done(world, "unsaved"))
		code = sweep_world_run(world, "--json --run unsaved --early");
	if (code != 0)
		return mem_printf("the next pass: %s", said);
	for (size_t i = 0; i < ARRAY_SIZE(due); i++)
		if (!sweep_world_is_done(world, due[i]))
			return mem_printf("the next pass leaves %s", due[i]);
	return sweep_world_holds_unsaved(world) ? NULL : mem_printf("unsaved work is lost");
}
