/*
 * The settings as data: what config.c reads and everything else obeys. Part of the model, so it
 * depends on nothing that can act. Durations in seconds where policy uses them, in milliseconds
 * where they limit waiting.
 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

struct text_list {
	char **items;
	size_t count;
};

enum adopt { ADOPT_NONE, ADOPT_WORKTREES };
/*
 * What is taken for granted of processes that may not be looked at; see os/processes.h. TOLD: nothing,
 * but a person is told of them before anything is done, and decides (of a visit only).
 */
enum unseen { UNSEEN_UNKNOWN, UNSEEN_ELSEWHERE, UNSEEN_TOLD };
enum unsaved { UNSAVED_SALVAGE, UNSAVED_KEEP, UNSAVED_DISCARD };
enum branch_rule { BRANCH_MERGED, BRANCH_KEEP, BRANCH_DELETE };

struct policy_settings {
	int64_t ttl_s;
	int64_t lease_s;
	int64_t deadline_grace_s;
	int64_t keep_ok_s, keep_failed_s, keep_abandoned_s, keep_orphan_s;
	int64_t pin_for_s; /* default length of a pin */
	/* More than so much that is held by pins is said each pass; 0: it is never. */
	int64_t pinned_bytes_warn;
	int64_t history_s;
	int64_t salvage_keep_s; /* how long what was salvaged is kept */
	enum unsaved unsaved;
	enum branch_rule branch;
};

struct limit_settings {
	int64_t max_runs;       /* 0: no limit */
	int64_t time_budget_ms; /* of a whole pass */
	int64_t engine_timeout_ms;
	int64_t kill_timeout_ms;
	int64_t hook_timeout_ms;
	int64_t threads;     /* that delete side by side; 0: as many as suit the filesystem */
	int64_t brake_runs;  /* 0: no brake */
	int64_t brake_share; /* percent */
	int64_t brake_hold_s;
};

/* In percent of bytes and of inodes; high = 100 is never exceeded. */
struct disk_settings {
	int64_t high, low;
};

/* Programs of the site (os/hook.h); NULL: none. */
struct hook_settings {
	char *revoke, *after;
};

/* Every path is absolute and without a trailing slash; lists hold no duplicates. */
struct settings {
	char *database;
	/*
	 * Of a visit (config_visit.h): the common git directory of the one repository that it is to;
	 * NULL: it is none.
	 */
	char *visited;
	struct text_list roots; /* existing and trusted, globs expanded */
	/* Configured, but they could not be opened: their runs are unseen. */
	struct text_list lost_roots;
	struct text_list repos;      /* as configured: a working tree or a git directory */
	struct text_list lost_repos; /* the same, but nobody answers behind them */
	/* What of all that nobody answers behind (os/answering.h): not to be touched. */
	struct text_list silent;
	struct text_list path_roots; /* existing and trusted */
	enum adopt adopt;
	enum unseen unseen;
	uid_t *owners; /* trusted besides root and ourselves */
	size_t owner_count;
	struct policy_settings policy;
	struct text_list engines; /* unix:///path */
	char *label;              /* "sbx.run" */
	char *cgroup_root;        /* "sbx.slice": below the cgroup v2 mount, no leading slash */
	struct limit_settings limits;
	struct disk_settings disk;
	struct hook_settings hooks;
	char *textfile; /* for Prometheus' node exporter; NULL: none is written */
};
