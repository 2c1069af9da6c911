/* sbx-reap check: what it looks at, one line a finding. Each of these says what it found. */
#pragma once

#include "base/error.h"
#include "books.h"
#include "verbs.h"

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_BAD };

struct check {
	struct books books;
	enum exit_code code; /* LEVEL_BAD makes it at least EXIT_ATTENTION */
};

/* "warn  root        DETAIL". The detail is escaped here, wherever it comes from. */
void check_say(struct check *check, enum level level, const char *what, const char *detail);

/* The error below a line of its own; its text is escaped already. */
void check_say_error(
	struct check *check, enum level level, const char *what, const struct error *error);

/* A further line on the finding before, as it stands. */
void check_say_more(const char *text);

/* What the reaper has written, or reads: the database, its lock, a hold, markers, pins, salvages. */
void check_books(struct check *check);

/* The calls that nothing goes without. Before any settings are read. */
void check_kernel(struct check *check);

/* Whether trees are deleted by a process that cannot reach anything else. */
void check_wall(struct check *check);
void check_cgroups(struct check *check);

/* What it works with: engines and other sources, cgroups, systemd, mounts, Landlock, processes. */
void check_host(struct check *check);

/* What containers left on this host that nobody looks after, and what would remove it. */
void check_leftovers(struct check *check);

/* Whether the pass that systemd starts may write where it has to. After check_books(). */
void check_unit(struct check *check);

/* What probes left that were broken off, or failed. After check_books(). */
void check_probe(struct check *check);
