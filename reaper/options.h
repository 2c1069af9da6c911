/*
 * The command line, parsed and checked: a verb's function sees only values that are valid, and only
 * options that its verb takes. An option given to a verb that does not take it is an error, never
 * ignored.
 */
#pragma once

#include "base/error.h"
#include "model.h"
#include "report_view.h"

struct verb;

enum option_id {
	OPTION_CONFIG,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_DRY_RUN,
	OPTION_JSON,
	OPTION_RUN,
	OPTION_MAX,
	OPTION_TIME_BUDGET,
	OPTION_SIZE,
	OPTION_YES,
	OPTION_EXIT_CODE,
	OPTION_EARLY,
	OPTION_PLAN,
	OPTION_NOW,
	OPTION_REASON,
	OPTION_BY,
	OPTION_FOR,
	OPTION_UNTIL,
	OPTION_WORKTREE,
	OPTION_REPO,
	OPTION_ROOT,
	OPTION_CONTAINER,
	OPTION_CGROUP,
	OPTION_SCOPE,
	OPTION_PATH,
	OPTION_PID,
	OPTION_BRANCH,
	OPTION_TTL,
	OPTION_CREATED,
	OPTION_NO_CONTAINER,
	OPTION_OK,
	OPTION_FAILED,
	OPTION_AT,
	OPTION_RESOURCE,
	OPTION_HOOKS,
	OPTION_SINCE,
	OPTION_HTML,
	OPTION_FROM,
	OPTION_NEW_DATABASE,
	OPTION_STATE,
	OPTION_OLDER,
	OPTION_IN_REPO,
	OPTION_IF_REASON,
	OPTION_SORT,
	OPTION_COLUMNS,
	OPTION_COUNT
};

/* A set of options, one bit each. */
#define OPTION_BIT(id) (UINT64_C(1) << OPTION_##id)

struct options {
	const struct verb *verb; /* never NULL; the one without a name: reap */
	uint64_t given;          /* OPTION_BITs */
	char *run;               /* the operand RUN, a valid identifier; NULL: none */
	/* Of a verb that takes several, all of them, each once; the first is `run`. */
	struct text_list operands;
	char *config;     /* NULL: the default places */
	int64_t now_s;    /* --now: the moment to forecast; 0: really now */
	int64_t parsed_s; /* when the command line was parsed: what "+2h" counts from */

	bool help, version;

	/* reap, list, why, pins, log */
	bool dry_run, json, size, yes, exit_code, early;
	struct text_list runs;  /* --run; empty: all */
	char *plan;             /* the file of one that was approved, "-": stdin; NULL: not given */
	int64_t max;            /* -1: not given */
	int64_t time_budget_ms; /* -1: not given */
	int64_t since_s;        /* 0: not given */
	/* --repo: repositories, or directories that hold them; empty: by the settings. register: one. */
	struct text_list repos;
	struct text_list roots; /* --root: further ones of those */

	/* list, --dry-run: what is shown; --reason is parsed into it too */
	struct report_view view;

	/* pin */
	char *reason, *by;
	int64_t for_s;   /* -1: not given, or never */
	int64_t until_s; /* 0: not given; in the future */
	bool never;      /* --for never */

	/* register, renew; paths are absolute and clean, and the directory they lie in is resolved;
	 * that of a repository is resolved as a whole */
	char *worktree;
	const char *repo; /* the first of repos, or NULL */
	struct text_list containers, cgroups, scopes, paths;
	char *branch;
	int64_t pid;       /* 0: not given */
	int64_t ttl_s;     /* -1: not given */
	int64_t created_s; /* 0: not given; not in the future */
	bool no_container;
	bool hooks;

	/* finish */
	bool ok, failed;
	int64_t at_s; /* 0: not given; not in the future */

	/* forget; the locator is NULL when the whole record is meant */
	enum kind resource_kind;
	char *resource_locator;

	/* restore; the directory as the worktree above */
	char *directory, *from; /* NULL: not given */

	/* stats; absolute and clean, and the directory it lies in is resolved */
	char *html; /* NULL: not given */

	/* check */
	bool new_database;
};

/*
 * Parses the command line. 0, or -EINVAL with an error that says what would be right; then
 * ret_options->verb says whose --help has more. Times without a date count from now_s. To be freed
 * with options_done() in any case.
 */
int options_parse(
	int argc, char **argv, int64_t now_s, struct options *ret_options, struct error *error);
void options_done(struct options *options);

/* One line of help for each option of the set, in a fixed order. */
void options_describe(uint64_t set, FILE *file);

/*
 * What a shell completes: the last of these words, which may be empty or a beginning; they are what stands
 * behind "sbx-reap". Verbs, options and words of a fixed list go to `file`, "WORD\tWHAT IT IS" in a line;
 * what only the caller or the shell knows is in the answer.
 */
enum option_wanted { WANTED_NOTHING, WANTED_RUN, WANTED_FILE, WANTED_DIRECTORY };

struct option_place {
	const struct verb *verb; /* NULL: there is no such verb */
	enum option_wanted wanted;
	const char *beginning; /* what is there of it: behind "--run=", too */
};

void options_complete(char *const *words, int count, struct option_place *ret_place, FILE *file);
