#include "unit.h"

#include "options.h"
#include "verbs.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

enum { ARGS_MAX = 32, NOW_S = 1000000 };

/* The library's table names every verb's function; the parser never calls one. */
#define NO_ACT(name)                                       \
	enum exit_code name(const struct options *options) \
	{                                                  \
		(void)options;                             \
		fail_msg("the parser acted");              \
		return EXIT_DONE;                          \
	}
NO_ACT(cmd_reap)
NO_ACT(cmd_list)
NO_ACT(cmd_why)
NO_ACT(cmd_pin)
NO_ACT(cmd_unpin)
NO_ACT(cmd_pins)
NO_ACT(cmd_register)
NO_ACT(cmd_renew)
NO_ACT(cmd_finish)
NO_ACT(cmd_forget)
NO_ACT(cmd_log)
NO_ACT(cmd_check)
NO_ACT(cmd_salvages)
NO_ACT(cmd_restore)

/* Splits at blanks; "_" stands for a blank within a word. */
static int parse(const char *line, struct options *ret_options, struct error *error)
{
	static char words[PATH_MAX];
	char *argv[ARGS_MAX + 2] = { (char[]){ "sbx-reap" } };
	char *rest = NULL;
	int argc = 1;

	assert_true(strlen(line) < sizeof(words));
	memcpy(words, line, strlen(line) + 1);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		assert_true(argc <= ARGS_MAX);
		for (char *c = word; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		argv[argc++] = word;
	}
	return options_parse(argc, argv, NOW_S, ret_options, error);
}

static void good(const char *line, struct options *ret_options)
{
	struct error error = { 0 };

	if (parse(line, ret_options, &error) < 0)
		fail_msg("'%s' was refused: %s", line, error.text);
}

/* Refused with exactly EINVAL and a text that names `says`. */
static void bad(const char *line, const char *says)
{
	struct options options CLEANUP(options_done);
	struct error error = { 0 };

	if (parse(line, &options, &error) != -EINVAL)
		fail_msg("'%s' was accepted", line);
	if (!strstr(error.text, says))
		fail_msg("'%s' was refused with '%s', not with '%s'", line, error.text, says);
}

static void without_a_verb_it_reaps(void **state)
{
	struct options options CLEANUP(options_done);

	(void)state;
	good("--run r1 --run r2 --run r1 --max 3 --time-budget 90s --json --yes -n --early",
		&options);
	assert_ptr_equal(options.verb, verb_default());
	assert_int_equal(options.runs.count, 2);
	assert_string_equal(options.runs.items[1], "r2");
	assert_int_equal(options.max, 3);
	assert_int_equal(options.time_budget_ms, 90000);
	assert_true(options.json && options.yes && options.dry_run && options.early);
	assert_false(options.size || options.exit_code);
}

static void what_is_not_given_is_told_from_zero(void **state)
{
	struct options options CLEANUP(options_done);

	(void)state;
	good("", &options);
	assert_int_equal(options.max, -1);
	assert_int_equal(options.time_budget_ms, -1);
	assert_int_equal(options.ttl_s, -1);
	assert_int_equal(options.for_s, -1);
	assert_int_equal(options.now_s, 0);
	assert_null(options.config);
}

static void options_may_stand_anywhere(void **state)
{
	static const char *const lines[] = { "--config /c why r1 --json",
		"why --json r1 --config /c", "why r1 --json --config=/c",
		"--json --config /c why -- r1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct options options CLEANUP(options_done);

		good(lines[i], &options);
		assert_string_equal(options.verb->name, "why");
		assert_string_equal(options.run, "r1");
		assert_string_equal(options.config, "/c");
		assert_true(options.json);
	}
}

static void an_option_of_another_verb_is_an_error(void **state)
{
	(void)state;
	bad("pin r1 --dry-run", "--dry-run does not go with 'pin'");
	bad("--json pin r1", "--json does not go with 'pin'");
	bad("--reason x", "--reason does not go with a pass");
	bad("list --max 3", "--max");
	bad("--sort run", "--sort does not go with a pass: it is about a plan");
	bad("--in-repo /srv --run r1", "--in-repo does not go with a pass");
	bad("--older 1d --yes", "--older does not go with a pass");
	bad("pin r1 --columns run", "--columns does not go with 'pin'");
	bad("list -n", "--dry-run");
	bad("register r1 --ok", "--ok");
	bad("check --force", "unknown");
}

static void operands_are_counted_and_checked(void **state)
{
	(void)state;
	bad("why", "needs a run");
	bad("why r1 r2", "'r2' is too much");
	bad("list r1", "takes no operand");
	bad("pin ../etc", "no run identifier");
	bad("pin r1.keep", "no run identifier");
	bad("--run a/b", "--run");
	bad("r1", "unknown verb 'r1'");
	bad("r1\n\x1b[31m", "unknown verb 'r1\\x0a\\x1b[31m'");
}

static void several_runs_are_named_or_chosen(void **state)
{
	struct options named CLEANUP(options_done), chosen CLEANUP(options_done);

	(void)state;
	good("pin r1 r2 r1 --for 1d", &named);
	assert_int_equal(named.operands.count, 2);
	assert_string_equal(named.operands.items[1], "r2");
	assert_string_equal(named.run, "r1");
	good("unpin --older 3d --if-reason pinned,live --state finished --in-repo /srv/a --yes",
		&chosen);
	assert_string_equal(chosen.view.in_repos.items[0], "/srv/a");
	assert_int_equal(chosen.operands.count, 0);
	assert_int_equal(chosen.view.reasons, 1U << REASON_PINNED | 1U << REASON_LIVE);
	assert_int_equal(chosen.view.older_s, 3 * 86400);
	bad("pin r1 --older 3d", "not both");
	bad("pin r1 --in-repo /srv/a", "not both");
	bad("pin", "needs a run");
	bad("pin --yes", "needs a run");
	bad("pin r1 --yes", "--yes goes with a filter");
	bad("pin r1 ../etc", "no run identifier");
	bad("pin --if-reason bored", "the reasons are");
	bad("why r1 --older 1d", "does not go with 'why'");
	bad("list --if-reason live", "does not go with 'list'");
}

static void bad_without_a_guess(const char *verb)
{
	struct options options CLEANUP(options_done);
	struct error error = { 0 };

	assert_int_equal(parse(verb, &options, &error), -EINVAL);
	if (strstr(error.text, "meant"))
		fail_msg("'%s'", error.text);
}

static void a_misspelt_verb_is_guessed(void **state)
{
	(void)state;
	bad("lst", "is 'list' meant?");
	bad("unpinn r1", "is 'unpin' meant?");
	bad("regsiter r1", "is 'register' meant?");
	bad("holl", "is 'hold' meant?");
	bad("pni r1", "is 'pin' meant?");
	bad_without_a_guess("foo"); /* not 'log' */
	bad_without_a_guess("frobnicate");
	bad_without_a_guess("a-very-long-word-indeed");
}

static void bad_values_are_refused_by_option_and_text(void **state)
{
	static const struct {
		const char *line, *says;
	} table[] = {
		{ "--max 0", "--max" },
		{ "--max 1x", "--max" },
		{ "--max", "needs a value" },
		{ "--json=yes", "takes no value" },
		{ "--time-budget 0", "--time-budget" },
		{ "--time-budget soon", "--time-budget" },
		{ "-x", "-x" },
		{ "--bogus", "--bogus" },
		{ "list --sort colour", "--sort: 'colour': the keys" },
		{ "list --columns run,", "--columns: '': the columns are run, state" },
		{ "list --state gone", "--state: 'gone': the states are active, finished" },
		{ "list --reason gone", "--reason: 'gone': the reasons are pinned" },
		{ "list --older soon", "--older" },
		{ "pin r1 --for 0", "--for" },
		{ "pin r1 --until @5", "is over already" },
		{ "pin r1 --reason a\nb", "--reason" },
		{ "pin r1 --reason \xff", "--reason '\\xff'" },
		{ "register r1 --pid 1", "--pid" },
		{ "register r1 --pid -5", "--pid" },
		{ "register r1 --pid 99999999999999999999", "--pid" },
		{ "register r1 --worktree /", "whole file system" },
		{ "register r1 --worktree /..", "whole file system" },
		{ "register r1 --path /a\nb", "control characters" },
		{ "register r1 --cgroup sbx.slice/r1", "--cgroup" },
		{ "register r1 --cgroup /..", "root of all groups" },
		{ "register r1 --scope r1", ".scope" },
		{ "register r1 --scope ../r1.scope", ".scope" },
		{ "register r1 --container -v", "--container" },
		{ "register r1 --container a/b", "--container" },
		{ "register r1 --branch -D", "--branch" },
		{ "register r1 --branch refs/heads/x", "--branch" },
		{ "register r1 --branch a..b", "--branch" },
		{ "register r1 --branch HEAD", "--branch" },
		{ "register r1 --created +1h", "in the future" },
		{ "register r1 --ttl 1h --ttl 2h", "given twice" },
		{ "finish r1 --ok --at 2026-13-01T00:00:00Z", "--at" },
		{ "forget r1 --resource worktree", "KIND=LOCATOR" },
		{ "forget r1 --resource planet=mars", "KIND=LOCATOR" },
		{ "forget r1 --resource container=", "KIND=LOCATOR" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		bad(table[i].line, table[i].says);
}

static void what_excludes_or_needs_each_other_is_checked(void **state)
{
	(void)state;
	bad("pin r1 --for 1d --until +1d", "--for and --until");
	bad("finish r1 --ok --failed", "--ok and --failed");
	bad("finish r1", "--ok or --failed");
	bad("register r1 --no-container --container c", "--no-container");
	bad("--early", "--early needs --run");
	bad("list --json --columns run", "--columns and --json");
	bad("--now +1d", "--now");
	bad("--root /r", "--root needs --repo");
	bad("--repo /r --config c", "--repo and --config exclude each other");
	bad("pin r1 --repo /r --config c", "--repo and --config exclude each other");
}

static void a_pass_visits_many_repositories_and_a_run_has_one(void **state)
{
	struct options many CLEANUP(options_done), one CLEANUP(options_done);

	(void)state;
	good("list --repo /a --repo /b --root /r --root /s", &many);
	assert_int_equal(many.repos.count, 2);
	assert_int_equal(many.roots.count, 2);
	good("register r1 --repo /a --config c", &one);
	assert_string_equal(one.repo, "/a");
	bad("register r1 --repo /a --repo /b", "--repo is given twice");
	bad("why r1 --repo /a --repo /b", "--repo is given twice");
	bad("register r1 --repo /a --root /r", "--root does not go with");
	bad("finish r1 --ok --repo /a", "--repo does not go with");
}

static void forecasts_go_with_dry_run_and_list(void **state)
{
	struct options dry_run CLEANUP(options_done), list CLEANUP(options_done);

	(void)state;
	good("-n --now +1d", &dry_run);
	assert_int_equal(dry_run.now_s, NOW_S + 86400);
	good("list --now @5", &list);
	assert_int_equal(list.now_s, 5);
}

static void what_is_shown_is_chosen_with_dry_run_and_list(void **state)
{
	struct options dry_run CLEANUP(options_done), list CLEANUP(options_done);
	struct options pin CLEANUP(options_done);

	(void)state;
	good("--reason live --dry-run --sort -size,run --columns run,size", &dry_run);
	assert_int_equal(dry_run.view.reasons, 1U << REASON_LIVE);
	assert_int_equal(dry_run.view.key_count, 2);
	assert_int_equal(dry_run.view.column_count, 2);
	good("list --json --state claimed --older 2d --in-repo /srv/a --in-repo /srv/b --sort age",
		&list);
	assert_int_equal(list.view.in_repos.count, 2);
	assert_string_equal(list.view.in_repos.items[1], "/srv/b");
	assert_int_equal(list.view.states, 1U << STATE_CLAIMED);
	assert_int_equal(list.view.older_s, 2 * 86400);
	good("pin r1 --reason live", &pin); /* a reason of a person's, in her own words */
	assert_int_equal(pin.view.reasons, 0);
}

static void a_pin_without_end_is_told_from_one_with(void **state)
{
	struct options never CLEANUP(options_done), day CLEANUP(options_done);

	(void)state;
	good("pin r1 --for never --reason look_at_it --by ann", &never);
	assert_true(never.never);
	assert_string_equal(never.reason, "look at it");
	good("pin r1 --for 1d", &day);
	assert_int_equal(day.for_s, 86400);
	assert_false(day.never);
}

static void registering_takes_all_kinds(void **state)
{
	struct options options CLEANUP(options_done);

	(void)state;
	good("register r1 --container a --container b --cgroup /s//r1/ --scope r1.scope "
	     "--path /nowhere/./p --pid 77 --branch sbx/r1 --ttl 2h --created -1h",
		&options);
	assert_int_equal(options.containers.count, 2);
	assert_string_equal(options.cgroups.items[0], "/s/r1");
	assert_string_equal(options.paths.items[0], "/nowhere/p");
	assert_int_equal(options.pid, 77);
	assert_int_equal(options.ttl_s, 7200);
	assert_int_equal(options.created_s, NOW_S - 3600);
}

/* A temporary directory with a symlink "link" to its directory "real"; entered. */
static void place_make(char *directory)
{
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(mkdir("real", 0700), 0);
	assert_int_equal(symlink("real", "link"), 0);
}

static void place_remove(const char *directory)
{
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(rmdir("real"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void places_resolve_all_but_their_last_component(void **state)
{
	static const struct {
		const char *given, *found;
	} table[] = {
		{ "link/r1", "real/r1" },
		{ "link", "link" },
		{ "link/", "link" },
		{ "link/.", "real" },
		{ "./link/../r1", "r1" },
		{ "missing/r1", "missing/r1" },
		{ ".", "" },
	};
	char directory[] = "/tmp/sbx-test-options-XXXXXX";

	(void)state;
	place_make(directory);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct options options CLEANUP(options_done);
		char *line CLEANUP(mem_done) =
			mem_printf("register r1 --worktree %s", table[i].given);
		char *found CLEANUP(mem_done) =
			mem_printf("%s%s%s", directory, *table[i].found ? "/" : "", table[i].found);

		good(line, &options);
		assert_string_equal(options.worktree, found);
	}
	place_remove(directory);
}

static void repositories_resolve_as_a_whole(void **state)
{
	char directory[] = "/tmp/sbx-test-options-XXXXXX";
	struct options options CLEANUP(options_done);
	char *found CLEANUP(mem_done) = NULL;

	(void)state;
	place_make(directory);
	good("register r1 --repo link", &options);
	found = mem_printf("%s/real", directory);
	assert_string_equal(options.repo, found);
	place_remove(directory);
}

static void help_needs_no_operand(void **state)
{
	struct options options CLEANUP(options_done);

	(void)state;
	good("finish --help", &options);
	assert_true(options.help);
}

static void help_lines(const struct verb *verb, size_t *ret_lines, size_t *ret_widest)
{
	char *text CLEANUP(mem_done) = NULL;
	size_t size, width = 0;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	verb_help(verb, file);
	assert_int_equal(fclose(file), 0);
	*ret_lines = *ret_widest = 0;
	for (const char *c = text; *c; c++) {
		width = *c == '\n' ? 0 : width + 1;
		*ret_lines += *c == '\n';
		*ret_widest = width > *ret_widest ? width : *ret_widest;
	}
}

static void help_fits_a_screen(void **state)
{
	static const char *const names[] = { "list", "why", "pin", "unpin", "pins", "register",
		"renew", "finish", "forget", "log", "salvages", "restore", "hold", "resume",
		"probe", "check", "stats" };
	size_t lines, widest;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		help_lines(verb_find(names[i]), &lines, &widest);
		assert_in_range(lines, 5, 24);
		assert_in_range(widest, 20, 80);
	}
	help_lines(verb_default(), &lines, &widest);
	assert_in_range(lines, 20, 44);
	assert_in_range(widest, 20, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_verb_it_reaps),
		cmocka_unit_test(what_is_not_given_is_told_from_zero),
		cmocka_unit_test(options_may_stand_anywhere),
		cmocka_unit_test(an_option_of_another_verb_is_an_error),
		cmocka_unit_test(operands_are_counted_and_checked),
		cmocka_unit_test(several_runs_are_named_or_chosen),
		cmocka_unit_test(a_misspelt_verb_is_guessed),
		cmocka_unit_test(bad_values_are_refused_by_option_and_text),
		cmocka_unit_test(what_excludes_or_needs_each_other_is_checked),
		cmocka_unit_test(forecasts_go_with_dry_run_and_list),
		cmocka_unit_test(what_is_shown_is_chosen_with_dry_run_and_list),
		cmocka_unit_test(a_pin_without_end_is_told_from_one_with),
		cmocka_unit_test(registering_takes_all_kinds),
		cmocka_unit_test(places_resolve_all_but_their_last_component),
		cmocka_unit_test(repositories_resolve_as_a_whole),
		cmocka_unit_test(a_pass_visits_many_repositories_and_a_run_has_one),
		cmocka_unit_test(help_needs_no_operand),
		cmocka_unit_test(help_fits_a_screen),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
