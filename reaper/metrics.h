/*
 * What Prometheus is told of a pass, in the file that [metrics] textfile names.
 */
#pragma once

#include "report.h"
#include "session.h"

/* How a pass ended, for whoever watches it. */
struct pass_end {
	const struct report *report; /* NULL: before it had seen the host */
	int64_t took_ms;
	enum exit_code code;
};

/*
 * Writes the file anew: its readers see the old or the new one. Of a database that cannot be read the
 * counts are missing; the rest is written all the same. Asks first whether anybody answers behind its
 * directory. Needs the pass lock, or no database. 1; 0: none is configured; -errno.
 */
int metrics_write(const struct session *session, const struct pass_end *end, struct error *error);

/* Whether the directory of that file can be opened as metrics_write() would. 0 or -errno. */
int metrics_reachable(const char *path, struct error *error);
