#include "metric_text.h"

#include "base/text.h"

#include <inttypes.h>

/* Prometheus, "Exposition formats": what \ and " are in a label's value. Control characters are gone. */
void metric_label(FILE *file, const char *key, const char *value, const char *before)
{
	char *shown CLEANUP(mem_done) = text_escape(value);

	(void)fprintf(file, "%s%s=\"", before, key);
	for (const char *at = shown; *at; at++)
		(void)fprintf(file, *at == '\\' || *at == '"' ? "\\%c" : "%c", *at);
	(void)fputc('"', file);
}

void metric_head(FILE *file, const char *name, const char *type, const char *help)
{
	(void)fprintf(
		file, "# HELP sbx_reap_%s %s\n# TYPE sbx_reap_%s %s\n", name, help, name, type);
}

void metric_sample(FILE *file, const char *name, int64_t value)
{
	(void)fprintf(file, "sbx_reap_%s %" PRId64 "\n", name, value);
}

void metric_sample_of(
	FILE *file, const char *name, const char *key, const char *label, int64_t value)
{
	(void)fprintf(file, "sbx_reap_%s", name);
	metric_label(file, key, label, "{");
	(void)fprintf(file, "} %" PRId64 "\n", value);
}

void metric_gauge(FILE *file, const char *name, const char *help, int64_t value)
{
	metric_head(file, name, "gauge", help);
	metric_sample(file, name, value);
}

/* A moment, or nothing where there is none. */
void metric_moment(FILE *file, const char *name, const char *help, int64_t value_s)
{
	if (value_s > 0)
		metric_gauge(file, name, help, value_s);
}
