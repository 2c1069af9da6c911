#include "probe_findings.h"

#include <stdarg.h>

const char *probe_outcome_name(enum probe_outcome outcome)
{
	static const char *const names[] = {
		[PROBE_OK] = "ok",
		[PROBE_PUT_OFF] = "put off",
		[PROBE_FAILED] = "FAILED",
		[PROBE_CANNOT] = "cannot run",
	};

	return names[outcome];
}

void probe_findings_add(struct probe_findings *findings, const char *check,
	enum probe_outcome outcome, const char *format, ...)
{
	char *why CLEANUP(mem_done) = NULL;
	va_list arguments;

	assert(findings->count < PROBE_FINDINGS);
	va_start(arguments, format);
	if (vasprintf(&why, format, arguments) < 0)
		abort();
	va_end(arguments);
	findings->list[findings->count++] = (struct probe_finding){
		.check = check,
		.outcome = outcome,
		.why = arena_dup(&findings->arena, why),
	};
}

void probe_findings_done(struct probe_findings *findings)
{
	arena_done(&findings->arena);
}

enum probe_outcome probe_findings_worst(const struct probe_findings *findings)
{
	enum probe_outcome worst = findings->count ? PROBE_OK : PROBE_CANNOT;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].outcome > worst)
			worst = findings->list[i].outcome;
	return worst;
}

char *probe_findings_reason(const struct probe_findings *findings)
{
	const struct probe_finding *first = NULL;
	size_t bad = 0;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].outcome > PROBE_PUT_OFF && bad++ == 0)
			first = &findings->list[i];
	if (!first)
		return mem_dup("nothing was found out");
	return bad > 1 ? mem_printf("%s: %s: %s (and %zu more; see 'sbx-reap log')", first->check,
				 probe_outcome_name(first->outcome), first->why, bad - 1)
		       : mem_printf("%s: %s: %s", first->check, probe_outcome_name(first->outcome),
				 first->why);
}
