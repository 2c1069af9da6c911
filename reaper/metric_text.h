/*
 * Prometheus' text format, a metric at a time. Names are given without the sbx_reap_ that each begins
 * with; what labels say is escaped here, wherever it comes from.
 */
#pragma once

#include "base/base.h"

#include <stdio.h>

/* The lines that come before the samples of one metric: "counter" or "gauge", and a sentence. */
void metric_head(FILE *file, const char *name, const char *type, const char *help);

void metric_sample(FILE *file, const char *name, int64_t value);
void metric_sample_of(
	FILE *file, const char *name, const char *key, const char *label, int64_t value);

/* One label; `before` is "{" or ",". */
void metric_label(FILE *file, const char *key, const char *value, const char *before);

/* All of a gauge that has one sample; of a moment only where there is one (not 0). */
void metric_gauge(FILE *file, const char *name, const char *help, int64_t value);
void metric_moment(FILE *file, const char *name, const char *help, int64_t value_s);
