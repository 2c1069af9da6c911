/* sbx-reap why: everything about one run, and which rule decides. */
#include "base/clock.h"
#include "base/shell.h"
#include "complain.h"
#include "disk.h"
#include "notice.h"
#include "plan.h"
#include "policy_limit.h"
#include "run_guess.h"
#include "size_notes.h"
#include "verbs.h"
#include "visit.h"
#include "why.h"

static void look_done(struct look *look)
{
	inventory_done(&look->inventory);
	session_close(&look->session);
	free(look->manner);
}

static void add_option(struct text *text, const char *name, const char *value)
{
	text_addf(text, " %s ", name);
	text_add_quoted(text, value);
}

/* Another verb must find the same settings, or the same repository. */
static char *manner_of(const struct options *options)
{
	struct text text = { 0 };

	text_add(&text, "");
	if (options->config)
		add_option(&text, "--config", options->config);
	for (size_t i = 0; i < options->repos.count; i++)
		add_option(&text, "--repo", options->repos.items[i]);
	for (size_t i = 0; i < options->roots.count; i++)
		add_option(&text, "--root", options->roots.items[i]);
	return text.data;
}

struct why_subject look_subject(const struct look *look)
{
	return (struct why_subject){
		.run = look->run,
		.inventory = &look->inventory,
		.settings = &look->session.settings,
		.manner = look->manner,
	};
}

struct question look_question(const struct look *look)
{
	return inventory_question(&look->inventory, &look->session.world, look->run);
}

struct decision look_own_decision(const struct look *look)
{
	const struct question question = look_question(look);

	return policy_decide(&question);
}

struct report look_report(const struct look *look)
{
	return (struct report){
		.kind = REPORT_PLAN,
		.settings = &look->session.settings,
		.inventory = &look->inventory,
	};
}

int look_each_history(const struct look *look,
	void (*each)(void *context, const struct history_entry *entry), void *context,
	struct error *error)
{
	if (!look->session.store)
		return 0;
	return history_each(look->session.store, look->run->id, 0, each, context, error);
}

int look_each_salvage(const struct look *look,
	int (*each)(void *context, const struct salvage *salvage), void *context,
	struct error *error)
{
	if (!look->session.store)
		return 0;
	return salvages_each(look->session.store, look->run->id, 0, each, context, error);
}

/* A run of which nothing is known any more, but whose history may tell why. */
static bool nothing_known(const struct run *run)
{
	return !run || (!run->facts.recorded && !run->resource_count && !run->marker_path &&
			       !run->keep_path && !run->pin);
}

static enum exit_code tell_unknown(
	struct look *look, const struct options *options, struct error *error)
{
	const char *id = options->run;
	char *guess CLEANUP(mem_done) = NULL;
	int r;

	guess = run_guess(&look->session.settings, look->session.store, id, NAMES_EVER);
	if (!*guess) { /* what only an engine or a group shows */
		free(guess);
		guess = run_guess_seen(&look->inventory, id);
	}
	notice("nothing is known of run %s now%s%s", id,
		options->json ? "; 'log RUN --json' has what was done with it" : "", guess);
	if (options->json)
		return EXIT_ATTENTION;
	look->run = inventory_run(&look->inventory, id);
	r = why_text_past(look, error);
	return r < 0 ? complain(error, r) : EXIT_ATTENTION;
}

/* Whether other runs may matter too: for the brake, or for who goes first on a full disk. */
static bool depends_on_plan(const struct look *look)
{
	const struct inventory *inventory = &look->inventory;
	bool full = false;

	if (!look->run)
		return false;
	for (size_t i = 0; i < inventory->filesystem_count; i++)
		full |= policy_is_full(
			&inventory->filesystems[i], look->session.settings.disk.high);
	return look->run->decision.verdict != VERDICT_KEEP ||
	       (full && look->run->decision.reason == REASON_RETAINED);
}

static int gather(struct look *look, const char *run, enum work_wish work, struct error *error)
{
	const struct inventory_request request = { .work = work, .explain = run };
	int r = inventory_gather(&look->inventory, &look->session.world, &request, error);

	look->run = r < 0 ? NULL : inventory_find(&look->inventory, run);
	return r;
}

/* What all the other trees hold is asked only when it may matter: it takes as long as a plan. */
static int look_at(struct look *look, const char *run, struct error *error)
{
	const struct text_list all = { 0 };
	const struct plan_wish wish = {
		.world = &look->session.world,
		.only = &all,
		.max_runs = look->session.settings.limits.max_runs,
	};
	struct plan plan CLEANUP(plan_done) = { 0 };
	int r = gather(look, run, WORK_LEAVE, error);

	if (r < 0 || !depends_on_plan(look))
		return r;
	inventory_done(&look->inventory);
	r = gather(look, run, WORK_WHERE_IT_DECIDES, error);
	if (r >= 0)
		plan_make(&plan, &look->inventory, &wish);
	return r;
}

/* When all is decided, so that what an earlier pass measured decides nothing. */
static int tell_size(struct look *look, struct error *error)
{
	enum { SIZE_LIMIT_MS = 60 * 1000 };
	int r = size_notes_load(look->session.store, &look->inventory, error);

	if (r >= 0 && look->run && !look->run->noted)
		disk_measure_run(look->run, deadline_in_ms(SIZE_LIMIT_MS));
	return r;
}

enum exit_code cmd_why(const struct options *options)
{
	struct look look CLEANUP(look_done) = { 0 };
	struct error error = { 0 };
	struct settings settings = { 0 };
	enum exit_code code = visit_settings(options, &settings, &error);
	int r;

	if (code != EXIT_DONE) {
		notice("%s", error.text);
		return code;
	}
	look.manner = manner_of(options);
	r = session_open(&look.session, &settings, STORE_READ, &error);
	if (r >= 0)
		r = look_at(&look, options->run, &error);
	if (r >= 0)
		r = tell_size(&look, &error);
	if (r < 0)
		return complain(&error, r);
	if (nothing_known(look.run))
		return tell_unknown(&look, options, &error);
	r = options->json ? why_json(&look, &error) : why_text(&look, &error);
	return r < 0 ? complain(&error, r) : EXIT_DONE;
}
