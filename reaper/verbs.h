/*
 * The verbs: what each is called, takes, and does. A verb's function returns an enum exit_code.
 */
#pragma once

#include "exit_code.h"
#include "options.h"

enum operand {
	OPERAND_NONE,
	OPERAND_RUN,
	OPERAND_RUNS, /* one or more; none where a filter is given */
	OPERAND_MAYBE_RUN,
	OPERAND_RUN_MAYBE_DIR
};

struct verb {
	const char *name;     /* "" for the default one, which reaps */
	const char *synopsis; /* what follows "sbx-reap " */
	const char *summary;  /* one line */
	const char *details;  /* a few lines below the options */
	enum operand operand;
	bool many_repos;  /* it visits each that --repo leads to */
	uint64_t options; /* OPTION_BITs; those of every verb are added by the parser */
	enum exit_code (*act)(const struct options *options);
};

/* What every verb takes. */
#define OPTIONS_COMMON (OPTION_BIT(CONFIG) | OPTION_BIT(HELP) | OPTION_BIT(VERSION))

/* What chooses the runs of a verb that takes several. */
#define OPTIONS_FILTER \
	(OPTION_BIT(STATE) | OPTION_BIT(OLDER) | OPTION_BIT(IN_REPO) | OPTION_BIT(IF_REASON))

/* What of a plan is shown, and how. */
#define OPTIONS_VIEW                                                                        \
	(OPTION_BIT(STATE) | OPTION_BIT(REASON) | OPTION_BIT(OLDER) | OPTION_BIT(IN_REPO) | \
		OPTION_BIT(SORT) | OPTION_BIT(COLUMNS))

const struct verb *verb_default(void);
const struct verb *verb_find(const char *name); /* or NULL */

const struct verb *verb_at(size_t at); /* without the default one; NULL behind the last */

struct spelling;
/* Takes every verb in: which one was most likely meant. */
void verb_guess(struct spelling *guess);

/* Help on one verb; on the default verb it is that of the whole program. */
void verb_help(const struct verb *verb, FILE *file);

enum exit_code cmd_reap(const struct options *options); /* also --dry-run */
enum exit_code cmd_list(const struct options *options);
/* The same by these settings, which are its own from then on (visit.h). */
enum exit_code cmd_list_by(const struct options *options, struct settings *settings);
enum exit_code cmd_why(const struct options *options);
enum exit_code cmd_pin(const struct options *options);
enum exit_code cmd_unpin(const struct options *options);
enum exit_code cmd_pins(const struct options *options);
enum exit_code cmd_register(const struct options *options);
enum exit_code cmd_renew(const struct options *options);
enum exit_code cmd_finish(const struct options *options);
enum exit_code cmd_forget(const struct options *options);
enum exit_code cmd_log(const struct options *options);
enum exit_code cmd_stats(const struct options *options);
enum exit_code cmd_salvages(const struct options *options);
enum exit_code cmd_restore(const struct options *options);
enum exit_code cmd_probe(const struct options *options);
enum exit_code cmd_check(const struct options *options);
enum exit_code cmd_hold(const struct options *options);
enum exit_code cmd_resume(const struct options *options);

/* Not for people, so it is none of the table: what the completion of a shell asks (cmd_complete.c). */
enum exit_code cmd_complete(int count, char **words);
