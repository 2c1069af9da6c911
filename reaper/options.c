#include "options.h"
#include "base/runid.h"
#include "base/spelling.h"
#include "base/text.h"
#include "option_take.h"
#include "text_list.h"
#include "verbs.h"

#include <errno.h>
#include <getopt.h>

#define AT(field) offsetof(struct options, field)
#define FLAG(name, field, help)                                        \
	{                                                              \
		name, NULL, help, option_take_flag, AT(field), true, 0 \
	}
#define ONCE(name, value, take, field, help)                               \
	{                                                                  \
		name, value, help, option_take_##take, AT(field), false, 0 \
	}
#define MANY(name, value, take, field, help)                              \
	{                                                                 \
		name, value, help, option_take_##take, AT(field), true, 0 \
	}

/* In the order of enum option_id, which is the order of the help. */
static const struct option_spec specs[] = {
	[OPTION_CONFIG] = ONCE("config", "FILE", file, config, "read this settings file alone"),
	[OPTION_HELP] = { "help", NULL, "show this help", option_take_flag, AT(help), true, 'h' },
	[OPTION_VERSION] = FLAG("version", version, "show the version"),
	[OPTION_DRY_RUN] = { "dry-run", NULL, "show what would be done, and change nothing",
		option_take_flag, AT(dry_run), true, 'n' },
	[OPTION_JSON] = FLAG("json", json, "write JSON instead of a table"),
	[OPTION_RUN] = MANY("run", "RUN", run, runs, "only this run; may be repeated"),
	[OPTION_MAX] = ONCE("max", "N", count, max, "act on at most N runs"),
	[OPTION_TIME_BUDGET] = ONCE("time-budget", "DUR", span_ms, time_budget_ms,
		"start nothing more after this time"),
	[OPTION_SIZE] = FLAG("size", size, "measure what each workspace takes on disk"),
	[OPTION_YES] = FLAG("yes", yes, "do not ask before acting"),
	[OPTION_EXIT_CODE] = FLAG("exit-code", exit_code, "exit 3 when the plan is not empty"),
	[OPTION_EARLY] = FLAG("early", early, "with --run: also what is retained or backs off"),
	[OPTION_PLAN] =
		ONCE("plan", "FILE", file, plan, "only what this dry run's JSON shows, unchanged"),
	[OPTION_NOW] = ONCE("now", "TIME", moment, now_s, "decide as if it were that moment"),
	[OPTION_REASON] = ONCE("reason", "TEXT", text, reason, "why it is kept, or held"),
	[OPTION_BY] = ONCE("by", "WHO", text, by, "who wants it (default: you)"),
	[OPTION_FOR] = ONCE("for", "DUR", pin_length, for_s, "for how long, or 'never' to end"),
	[OPTION_UNTIL] = ONCE("until", "TIME", future, until_s, "until when"),
	[OPTION_WORKTREE] = ONCE("worktree", "DIR", place, worktree, "its git worktree"),
	[OPTION_REPO] = MANY("repo", "DIR", repo, repos, "its repository"),
	[OPTION_ROOT] = MANY("root", "DIR", places, roots, "with --repo: worktrees in DIR, too"),
	[OPTION_CONTAINER] =
		MANY("container", "REF", container, containers, "a container, by id or name"),
	[OPTION_CGROUP] = MANY("cgroup", "PATH", cgroup, cgroups, "a cgroup, like /sbx.slice/r1"),
	[OPTION_SCOPE] = MANY("scope", "UNIT", scope, scopes, "a systemd scope"),
	[OPTION_PATH] = MANY("path", "DIR", places, paths, "a temporary path"),
	[OPTION_PID] = ONCE("pid", "PID", pid, pid, "the process that is the run"),
	[OPTION_BRANCH] =
		ONCE("branch", "NAME", branch, branch, "its branch (default: checked out)"),
	[OPTION_TTL] = ONCE("ttl", "DUR", span_s, ttl_s, "its time budget"),
	[OPTION_CREATED] = ONCE("created", "TIME", past, created_s, "when it began (default: now)"),
	[OPTION_NO_CONTAINER] = FLAG("no-container", no_container, "it never has a container"),
	[OPTION_OK] = FLAG("ok", ok, "it ended well"),
	[OPTION_FAILED] = FLAG("failed", failed, "it failed"),
	[OPTION_AT] = ONCE("at", "TIME", past, at_s, "when it ended (default: now)"),
	[OPTION_RESOURCE] = ONCE("resource", "KIND=LOCATOR", resource, resource_locator,
		"drop only this from the record"),
	[OPTION_HOOKS] = FLAG("hooks", hooks, "only what hooks still owe for that name"),
	[OPTION_SINCE] = ONCE("since", "TIME", since, since_s, "only what happened since then"),
	[OPTION_HTML] = ONCE("html", "FILE", place, html, "write a page of its own instead"),
	[OPTION_FROM] = ONCE(
		"from", "WHICH", text, from, "this ref, path, commit or generation of 'salvages'"),
	[OPTION_NEW_DATABASE] =
		FLAG("new-database", new_database, "make a new database in place of a lost one"),
	[OPTION_STATE] = ONCE("state", "WORDS", states, view, "only runs in these states"),
	[OPTION_OLDER] =
		ONCE("older", "DUR", span_s, view.older_s, "only runs of at least this age"),
	[OPTION_IN_REPO] = MANY("in-repo", "DIR", repo, view.in_repos,
		"only runs of this repository, or of those below DIR"),
	[OPTION_IF_REASON] = ONCE("if-reason", "WORDS", reasons, view,
		"only runs that 'list' shows for these reasons"),
	[OPTION_SORT] =
		ONCE("sort", "KEYS", keys, view, "in this order; '-' before a key turns it"),
	[OPTION_COLUMNS] = ONCE("columns", "WORDS", columns, view, "these columns, in this order"),
};

_Static_assert(ARRAY_SIZE(specs) == OPTION_COUNT && OPTION_COUNT <= 64, "a bit for each option");

/* What getopt_long returns for a long option: its id behind the range of characters. */
enum { GETOPT_FIRST = 256, GETOPT_OPERAND = 1 };

static void getopt_table(struct option table[OPTION_COUNT + 1])
{
	for (int id = 0; id < OPTION_COUNT; id++)
		table[id] = (struct option){
			.name = specs[id].name,
			.has_arg = specs[id].value ? required_argument : no_argument,
			.val = GETOPT_FIRST + id,
		};
	table[OPTION_COUNT] = (struct option){ 0 };
}

static const struct option_spec *spec_of(int answer)
{
	if (answer >= GETOPT_FIRST)
		return &specs[answer - GETOPT_FIRST];
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		if (specs[i].letter && specs[i].letter == answer)
			return &specs[i];
	return NULL;
}

static int option_given(struct options *options, const struct option_spec *spec, const char *value,
	struct error *error)
{
	uint64_t bit = UINT64_C(1) << (spec - specs);

	if (!spec->repeats && options->given & bit)
		return error_say(error, EINVAL, "--%s is given twice", spec->name);
	options->given |= bit;
	return spec->take(spec, options, value, error);
}

/* What getopt_long could not read: `word` is the argument it stands in. */
static int option_unreadable(int answer, const char *word, struct error *error)
{
	const struct option_spec *spec = spec_of(optopt);
	char *shown CLEANUP(mem_done) = text_escape(word);

	if (answer == ':')
		return error_say(error, EINVAL, "--%s needs a value: %s", spec ? spec->name : shown,
			spec ? spec->value : "");
	if (spec)
		return error_say(error, EINVAL, "--%s takes no value", spec->name);
	if (optopt)
		return error_say(error, EINVAL, "unknown option -%c in '%.80s'",
			optopt > 0x20 && optopt < 0x7f ? optopt : '?', shown);
	return error_say(error, EINVAL, "unknown or ambiguous option '%.80s'", shown);
}

static int verb_unknown(const char *name, struct error *error)
{
	struct spelling guess = { .word = name };
	char *shown CLEANUP(mem_done) = text_escape(name), *meant CLEANUP(mem_done) = NULL;

	verb_guess(&guess);
	meant = spelling_text(&guess);
	return error_say(error, EINVAL, "unknown verb '%.80s'%s", shown, meant);
}

static int operand_take_another(struct options *options, const char *word, struct error *error)
{
	int r = runid_check(word, error);

	if (r == 0)
		text_list_add_new(&options->operands, word);
	return r;
}

/* The first operand is the verb, the second its run, and a third a directory. */
static int operand_take(struct options *options, const char *word, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(word);
	const struct verb *verb = options->verb;

	if (!*verb->name) {
		verb = *word ? verb_find(word) : NULL;
		if (!verb)
			return verb_unknown(word, error);
		options->verb = verb;
		return 0;
	}
	if (verb->operand == OPERAND_NONE)
		return error_say(
			error, EINVAL, "'%s' takes no operand: '%.80s'", verb->name, shown);
	if (options->run && verb->operand == OPERAND_RUNS)
		return operand_take_another(options, word, error);
	if (options->run && verb->operand == OPERAND_RUN_MAYBE_DIR && !options->directory)
		return option_take_directory(options, word, error);
	if (options->run)
		return error_say(error, EINVAL, "'%s' takes one run: '%.80s' is too much",
			verb->name, shown);
	if (runid_check(word, error) < 0)
		return -EINVAL;
	options->run = mem_dup(word);
	text_list_add(&options->operands, word);
	return 0;
}

static int options_read(int argc, char **argv, struct options *options, struct error *error)
{
	struct option table[OPTION_COUNT + 1];
	int answer, r = 0;

	getopt_table(table);
	opterr = 0;
	optind = 0; /* glibc: begin anew, also after an earlier call */
	/* "-": operands are delivered in their place, ":" tells a missing value from the rest. */
	while (r == 0 && (answer = getopt_long(argc, argv, "-:hn", table, NULL)) != -1) {
		const struct option_spec *spec = spec_of(answer);

		if (answer == GETOPT_OPERAND)
			r = operand_take(options, optarg, error);
		else if (answer == '?' || answer == ':')
			r = option_unreadable(answer, argv[optind - 1], error);
		else
			r = option_given(options, spec, optarg, error);
	}
	for (; r == 0 && optind < argc; optind++)
		r = operand_take(options, argv[optind], error);
	return r;
}

/* What excludes or needs each other, whatever the verb. */
static const struct option_rule {
	uint64_t given, other;
	bool needs; /* other must be given too; else: must not */
	const char *text;
} rules[] = {
	{ OPTION_BIT(FOR), OPTION_BIT(UNTIL), false, "--for and --until exclude each other" },
	{ OPTION_BIT(OK), OPTION_BIT(FAILED), false, "--ok and --failed exclude each other" },
	{ OPTION_BIT(CONTAINER), OPTION_BIT(NO_CONTAINER), false,
		"--container and --no-container exclude each other" },
	{ OPTION_BIT(PLAN), OPTION_BIT(RUN) | OPTION_BIT(EARLY), false,
		"--plan names its runs itself: it goes without --run and --early" },
	{ OPTION_BIT(HOOKS), OPTION_BIT(RESOURCE), false,
		"--hooks and --resource exclude each other" },
	{ OPTION_BIT(HTML), OPTION_BIT(JSON), false, "--html and --json exclude each other" },
	{ OPTION_BIT(COLUMNS), OPTION_BIT(JSON), false, "--columns and --json exclude each other" },
	{ OPTION_BIT(EARLY), OPTION_BIT(RUN), true, "--early needs --run: it is for named runs" },
	{ OPTION_BIT(PLAN), OPTION_BIT(REPO), false,
		"--plan is of the configured runs: it goes without --repo" },
	{ OPTION_BIT(ROOT), OPTION_BIT(REPO), true,
		"--root needs --repo: without it roots are in the settings" },
};

/* Whether --repo says what to visit, in the place of settings; else it is a fact about a run. */
static bool may_visit(const struct options *options)
{
	return options->verb->options & OPTION_BIT(ROOT);
}

static int options_check_repos(const struct options *options, struct error *error)
{
	if (may_visit(options) && options->given & OPTION_BIT(REPO) &&
		options->given & OPTION_BIT(CONFIG))
		return error_say(error, EINVAL,
			"--repo and --config exclude each other: with --repo no settings are read");
	if (options->repos.count > 1 && !options->verb->many_repos)
		return error_say(error, EINVAL, "--repo is given twice");
	return 0;
}

/* A pass shows what it did: what is chosen for the eyes must not look like a choice of what goes. */
static int options_check_plan_only(const struct options *options, struct error *error)
{
	static const uint64_t only = OPTIONS_VIEW | OPTION_BIT(NOW);
	uint64_t given = options->given & only;

	if (!given || *options->verb->name || options->dry_run)
		return 0;
	return error_say(error, EINVAL,
		"--%s does not go with a pass: it is about a plan, --dry-run or 'list'",
		specs[__builtin_ctzll(given)].name);
}

/* What the word means depends on the verb, which may stand behind it. */
static int options_take_reasons(struct options *options, struct error *error)
{
	int r;

	if (!options->reason || !(options->verb->options & OPTION_BIT(SORT)))
		return 0;
	r = report_view_take_reasons(&options->view, options->reason, error);
	if (r < 0)
		error_prefix(error, "--reason");
	return r;
}

static int options_check_rules(struct options *options, struct error *error)
{
	int r = options_check_repos(options, error);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (options->given & rules[i].given &&
			!(options->given & rules[i].other) == rules[i].needs)
			return error_say(error, EINVAL, "%s", rules[i].text);
	r = options_check_plan_only(options, error);
	return r < 0 ? r : options_take_reasons(options, error);
}

/* They are named, or chosen by what they are like. */
static int options_check_runs(const struct options *options, struct error *error)
{
	const struct verb *verb = options->verb;
	bool chosen = options->given & OPTIONS_FILTER;

	if (options->run && chosen)
		return error_say(error, EINVAL,
			"'%s' takes runs by name, or those that a filter chooses: not both",
			verb->name);
	if (!options->run && !chosen)
		return error_say(
			error, EINVAL, "'%s' needs a run: sbx-reap %s", verb->name, verb->synopsis);
	if (options->run && options->yes)
		return error_say(error, EINVAL, "--yes goes with a filter: these are named");
	return 0;
}

static int options_check_verb(struct options *options, struct error *error)
{
	int r = 0;
	const struct verb *verb = options->verb;
	uint64_t foreign = options->given & ~(verb->options | OPTIONS_COMMON);

	if (foreign)
		return error_say(error, EINVAL, "--%s does not go with %s%s%s",
			specs[__builtin_ctzll(foreign)].name, *verb->name ? "'" : "",
			*verb->name ? verb->name : "a pass", *verb->name ? "'" : "");
	if (options->help || options->version)
		return 0;
	if ((verb->operand == OPERAND_RUN || verb->operand == OPERAND_RUN_MAYBE_DIR) &&
		!options->run)
		return error_say(
			error, EINVAL, "'%s' needs a run: sbx-reap %s", verb->name, verb->synopsis);
	if (verb->operand == OPERAND_RUNS)
		r = options_check_runs(options, error);
	if (r < 0)
		return r;
	if (verb->options & OPTION_BIT(OK) && !options->ok && !options->failed)
		return error_say(
			error, EINVAL, "'%s' needs the outcome: --ok or --failed", verb->name);
	return options_check_rules(options, error);
}

int options_parse(
	int argc, char **argv, int64_t now_s, struct options *ret_options, struct error *error)
{
	int r;

	*ret_options = (struct options){
		.verb = verb_default(),
		.parsed_s = now_s,
		.max = -1,
		.time_budget_ms = -1,
		.for_s = -1,
		.ttl_s = -1,
	};
	r = options_read(argc, argv, ret_options, error);
	ret_options->repo = ret_options->repos.count ? ret_options->repos.items[0] : NULL;
	return r < 0 ? r : options_check_verb(ret_options, error);
}

void options_done(struct options *options)
{
	free(options->run);
	free(options->config);
	free(options->reason);
	free(options->by);
	free(options->worktree);
	free(options->branch);
	free(options->resource_locator);
	free(options->directory);
	free(options->from);
	free(options->plan);
	free(options->html);
	text_list_done(&options->operands);
	text_list_done(&options->runs);
	text_list_done(&options->repos);
	text_list_done(&options->roots);
	text_list_done(&options->view.in_repos);
	text_list_done(&options->containers);
	text_list_done(&options->cgroups);
	text_list_done(&options->scopes);
	text_list_done(&options->paths);
	*options = (struct options){ 0 };
}

/* What an option is called and does depends on what else its verb takes. */
static const struct other_help {
	enum option_id id;
	uint64_t beside;
	const char *value, *help;
} other_help[] = {
	{ OPTION_REASON, OPTION_BIT(SORT), "WORDS", "only runs with these reasons" },
	{ OPTION_REPO, OPTION_BIT(ROOT), "DIR", "without settings: this one, or all below DIR" },
};

struct option_spec option_spec_of(enum option_id id, uint64_t set)
{
	struct option_spec spec = specs[id];

	for (size_t i = 0; i < ARRAY_SIZE(other_help); i++)
		if (other_help[i].id == id && set & other_help[i].beside) {
			spec.value = other_help[i].value;
			spec.help = other_help[i].help;
		}
	return spec;
}

static void option_describe(const struct option_spec *spec, FILE *file)
{
	char *left CLEANUP(mem_done) = mem_printf(
		"--%s%s%s", spec->name, spec->value ? " " : "", spec->value ? spec->value : "");

	if (spec->letter)
		(void)fprintf(file, "  -%c, %-20s %s\n", spec->letter, left, spec->help);
	else
		(void)fprintf(file, "      %-20s %s\n", left, spec->help);
}

void options_describe(uint64_t set, FILE *file)
{
	for (int id = 0; id < OPTION_COUNT; id++) {
		struct option_spec spec = option_spec_of((enum option_id)id, set);

		if (set >> id & 1)
			option_describe(&spec, file);
	}
}
