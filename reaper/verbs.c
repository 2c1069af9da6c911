#include "verbs.h"
#include "base/spelling.h"
#include "base/text.h"

#define BIT(id) OPTION_BIT(id)

/* The default verb comes first. */
static const struct verb verbs[] = {
	{
		.name = "",
		.synopsis = "[--dry-run] [OPTION]...",
		.summary = "removes what finished and abandoned runs left behind",
		.options = BIT(DRY_RUN) | BIT(JSON) | BIT(RUN) | BIT(MAX) | BIT(TIME_BUDGET) |
			   BIT(SIZE) | BIT(YES) | BIT(EXIT_CODE) | BIT(EARLY) | BIT(NOW) |
			   BIT(PLAN) | BIT(REPO) | BIT(ROOT) | OPTIONS_VIEW,
		.many_repos = true,
		.act = cmd_reap,
	},
	{
		.name = "list",
		.synopsis =
			"list [--json] [--size] [--now TIME] [--state WORDS]\n"
			"                [--reason WORDS] [--older DUR] [--in-repo DIR]...\n"
			"                [--sort KEYS] [--columns WORDS] [--repo DIR]... [--root "
			"DIR]...",
		.summary = "every workspace with its verdict; its options go with --dry-run, too",
		.details =
			"WORDS and KEYS have commas between them; a wrong one lists the right "
			"ones.\n"
			"A run that fails again and again is `backoff`; below the table stands "
			"why.\n"
			"Exits 0, 1 when a person is needed, 69 when a source could not be read.",
		.options = BIT(JSON) | BIT(SIZE) | BIT(NOW) | BIT(REPO) | BIT(ROOT) | OPTIONS_VIEW,
		.many_repos = true,
		.act = cmd_list,
	},
	{
		.name = "why",
		.synopsis = "why RUN [--json] [--repo DIR [--root DIR]...]",
		.summary = "every fact about a run, the rule that decides, what changes it",
		.details = "Also when it falls due, how often in a row it could not be taken apart "
			   "and why,\nits history, and commands for what you may want next.\n"
			   "Exits 1 when nothing is known under that name.",
		.operand = OPERAND_RUN,
		.options = BIT(JSON) | BIT(REPO) | BIT(ROOT),
		.act = cmd_why,
	},
	{
		.name = "pin",
		.synopsis =
			"pin RUN... [--reason TEXT] [--by WHO]\n"
			"                [--for DUR | --until TIME] [--repo DIR [--root DIR]...]\n"
			"       sbx-reap pin [--state WORDS] [--if-reason WORDS] "
			"[--older DUR]\n"
			"                [--in-repo DIR]... [--yes]",
		.summary = "keep a run whole, whatever happens to it",
		.details = "Exits 1 and pins none when one is already being taken apart. More than "
			   "one that\n"
			   "a filter chooses need --yes. Also: touch ROOT/RUN.keep",
		.operand = OPERAND_RUNS,
		.options = BIT(REASON) | BIT(BY) | BIT(FOR) | BIT(UNTIL) | BIT(REPO) | BIT(ROOT) |
			   BIT(YES) | OPTIONS_FILTER,
		.act = cmd_pin,
	},
	{
		.name = "unpin",
		.synopsis = "unpin RUN... [--repo DIR [--root DIR]...]\n"
			    "       sbx-reap unpin [--state WORDS] [--if-reason WORDS] "
			    "[--older DUR]\n"
			    "                [--in-repo DIR]... [--yes]",
		.summary = "end a pin, and the .keep files of that run",
		.details = "It is success when there is none. More than one that a filter chooses "
			   "need\n--yes.",
		.operand = OPERAND_RUNS,
		.options = BIT(REPO) | BIT(ROOT) | BIT(YES) | OPTIONS_FILTER,
		.act = cmd_unpin,
	},
	{
		.name = "pins",
		.synopsis = "pins [--json] [--repo DIR [--root DIR]...]",
		.summary = "every pin with what it holds, also .keep files made by hand",
		.details = "What holds most comes first.\nExits 1 when one cannot be read, 69 when "
			   "a root cannot be.",
		.options = BIT(JSON) | BIT(REPO) | BIT(ROOT),
		.act = cmd_pins,
	},
	{
		.name = "register",
		.synopsis = "register RUN [--worktree DIR] [--repo DIR] [--container REF]...\n"
			    "                [--cgroup PATH]... [--scope UNIT]... [--path DIR]... "
			    "[--pid PID]\n"
			    "                [--branch NAME] [--ttl DUR] [--created TIME] "
			    "[--no-container]",
		.summary = "put a run, or more of what it owns, on record",
		.details = "The worktree is ROOT/RUN when there is such a directory.",
		.operand = OPERAND_RUN,
		.options = BIT(WORKTREE) | BIT(REPO) | BIT(CONTAINER) | BIT(CGROUP) | BIT(SCOPE) |
			   BIT(PATH) | BIT(PID) | BIT(BRANCH) | BIT(TTL) | BIT(CREATED) |
			   BIT(NO_CONTAINER),
		.act = cmd_register,
	},
	{
		.name = "renew",
		.synopsis = "renew RUN [--ttl DUR]",
		.summary = "a sign of life; with --ttl the deadline is moved to now + DUR",
		.operand = OPERAND_RUN,
		.options = BIT(TTL),
		.act = cmd_renew,
	},
	{
		.name = "finish",
		.synopsis = "finish RUN (--ok | --failed) [--at TIME]",
		.summary = "record how a run ended",
		.operand = OPERAND_RUN,
		.options = BIT(OK) | BIT(FAILED) | BIT(AT),
		.act = cmd_finish,
	},
	{
		.name = "forget",
		.synopsis = "forget RUN [--resource KIND=LOCATOR | --hooks]",
		.summary = "drop a record, a resource of it, or what hooks owe from the books",
		.details =
			"Removes nothing else: what it named stays, and is nobody's from then on.",
		.operand = OPERAND_RUN,
		.options = BIT(RESOURCE) | BIT(HOOKS),
		.act = cmd_forget,
	},
	{
		.name = "log",
		.synopsis = "log [RUN] [--json] [--since TIME] [--repo DIR [--root DIR]...]",
		.summary = "what was done, when and why",
		.operand = OPERAND_MAYBE_RUN,
		.options = BIT(JSON) | BIT(SINCE) | BIT(REPO) | BIT(ROOT),
		.act = cmd_log,
	},
	{
		.name = "stats",
		.synopsis = "stats [--since TIME] [--json] [--html FILE]",
		.summary = "what was reclaimed by day and cause, leaks, what is there now",
		.details = "Of the last 28 days, or of those since TIME (also DUR: so long ago). "
			   "Days are\nUTC's. Every run that is there is measured.\n"
			   "Exits 69 when a source could not be read.",
		.options = BIT(JSON) | BIT(SINCE) | BIT(HTML),
		.act = cmd_stats,
	},
	{
		.name = "salvages",
		.synopsis = "salvages [RUN] [--json]",
		.summary = "what was salvaged before its tree went, where it is, until when",
		.details = "Newest first. It ends after [policy] salvage_keep, unless the run is "
			   "pinned.",
		.operand = OPERAND_MAYBE_RUN,
		.options = BIT(JSON),
		.act = cmd_salvages,
	},
	{
		.name = "restore",
		.synopsis = "restore RUN [DIR] [--from WHICH]",
		.summary = "bring back what was salvaged from a run, as a git worktree",
		.details =
			"DIR (default: ./RUN) must not exist, or be an empty directory. Without\n"
			"--from it is the newest salvage of the run. What is restored is nobody's "
			"run\n"
			"until it is registered, and what was salvaged stays where it is.\n"
			"Exits 1 when there is nothing, or it cannot be brought back.",
		.operand = OPERAND_RUN_MAYBE_DIR,
		.options = BIT(FROM),
		.act = cmd_restore,
	},
	{
		.name = "hold",
		.synopsis = "hold [--for DUR] [--reason TEXT] [--by WHO]",
		.summary = "no pass acts on any run, until 'resume' or for a time",
		.details =
			"Passes go on looking and noting; what is due is `held`, and they exit 1.\n"
			"One that is at work ends with the run that it is at. A second hold "
			"replaces\nthe first.",
		.options = BIT(REASON) | BIT(BY) | BIT(FOR),
		.act = cmd_hold,
	},
	{
		.name = "resume",
		.synopsis = "resume",
		.summary = "end a hold",
		.details = "It is success when there is none.",
		.act = cmd_resume,
	},
	{
		.name = "probe",
		.synopsis = "probe",
		.summary = "try in earnest what a pass removes, keeps, and is kept from",
		.details =
			"Has sbx-reap.service do a pass over canaries: one that is due, one that "
			"is\n"
			"pinned, and a file outside of the root that the due one leads to; and "
			"from\n"
			"inside that unit tries to write where it may not and to take a credential "
			"to\n"
			"an endpoint. Whatever is not as it must be, or cannot be tried, holds "
			"every\n"
			"pass until 'resume' (exit 1). sbx-reap-probe.timer starts it once a day.",
		.act = cmd_probe,
	},
	{
		.name = "check",
		.synopsis = "check [--new-database]",
		.summary = "is the set-up sane: settings, roots, database, engines, unit",
		.details = "A lost database is made anew on purpose only: --new-database does it, "
			   "and\n"
			   "reads the markers and pins beside the workspaces in again; killed in\n"
			   "the middle, it is called again.\n"
			   "Exits 1 when something is bad, 65 for settings or database.",
		.options = BIT(NEW_DATABASE),
		.act = cmd_check,
	},
};

const struct verb *verb_default(void)
{
	return &verbs[0];
}

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (text_equal(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

const struct verb *verb_at(size_t at)
{
	return at + 1 < ARRAY_SIZE(verbs) ? &verbs[at + 1] : NULL;
}

void verb_guess(struct spelling *guess)
{
	for (size_t i = 1; i < ARRAY_SIZE(verbs); i++)
		spelling_consider(guess, verbs[i].name);
}

/* 40 lines; of a verb 23, so that on a terminal of 24 the prompt stands below (test-documented.sh). */
static void program_help(FILE *file)
{
	(void)fprintf(file, "Usage: sbx-reap %s\n       sbx-reap VERB [OPTION]...\n\n",
		verbs[0].synopsis);
	(void)fputs(
		"Without a verb: removes what runs that are over left behind; on a terminal it\n"
		"asks first.\n",
		file);
	for (size_t i = 1; i < ARRAY_SIZE(verbs); i++)
		(void)fprintf(file, "  %-9s %s\n", verbs[i].name, verbs[i].summary);
	(void)fputs("\n", file);
	/* What is about a plan only, 'list' tells. */
	options_describe((verbs[0].options & ~(OPTIONS_VIEW | BIT(NOW))) | OPTIONS_COMMON, file);
	(void)fputs("Exits 0 done, 1 a person is needed, 2 usage, 3 plan not empty (--exit-code),\n"
		    "65 bad settings or database, 69 a source could not be read, 75 locked\n",
		file);
}

void verb_help(const struct verb *verb, FILE *file)
{
	if (verb == verb_default()) {
		program_help(file);
		return;
	}
	(void)fprintf(file, "Usage: sbx-reap %s\n\n%s: %s.\n\n", verb->synopsis, verb->name,
		verb->summary);
	options_describe(verb->options | (OPTIONS_COMMON & ~BIT(VERSION)), file);
	if (verb->details)
		(void)fprintf(file, "\n%s\n", verb->details);
}
