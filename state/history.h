/*
 * History: one row for each thing done, told or decided that acted, and the tombstones of runs.
 * Bounded by [policy] history. Errors as in runs.h.
 */
#pragma once

#include "model.h"
#include "store.h"

struct history_entry {
	int64_t at_s;
	const char *pass;     /* NULL: a verb */
	const char *run;      /* NULL: the pass itself */
	int64_t generation;   /* 0: none */
	const char *action;   /* registered renewed finished pinned unpinned forgotten claimed
				 stopped reaped partial kept failed resumed pass salvaged
				 "salvage ended" held braked released probe revoked
				 "revoke failed" after "after failed" */
	const char *reason;   /* reason_name(), or NULL */
	const char *resource; /* "worktree /srv/…", or NULL */
	const char *detail;   /* what happened in words, an error, who did it; or NULL */
	int64_t bytes;        /* freed; 0 */
};

int history_add(struct store *store, const struct history_entry *entry, struct error *error);

/* Calls back in order of time, oldest first; run NULL: all; since_s 0: all. 0. */
int history_each(struct store *store, const char *run, int64_t since_s,
	void (*each)(void *context, const struct history_entry *entry), void *context,
	struct error *error);

/*
 * Drops what is older than before_s, except the last tombstone of a run that has pins, and passes
 * before the last. In small transactions, and of very much only a part: the next call goes on. 0.
 */
int history_trim(struct store *store, int64_t before_s, struct error *error);
