/*
 * The default verb: one pass. A dry run is another command: it ends where the plan is made.
 */
#include "base/clock.h"
#include "base/count.h"
#include "base/timespan.h"
#include "choice.h"
#include "complain.h"
#include "config.h"
#include "hooks.h"
#include "inventory.h"
#include "metrics.h"
#include "notice.h"
#include "os/confine.h"
#include "os/hook.h"
#include "os/journal.h"
#include "os/lock.h"
#include "os/signals.h"
#include "pass.h"
#include "pass_id.h"
#include "probe_attend.h"
#include "report_journal.h"
#include "report_progress.h"
#include "state/brake.h"
#include "state/lock_held.h"
#include "verbs.h"
#include "visit.h"

#include <errno.h>
#include <poll.h>

/* One pass, while it runs. */
struct reaping {
	const struct options *options;
	struct choice choice;
	struct session session;
	struct inventory inventory;
	struct plan plan;
	struct report_progress shown;
	struct hooks hooks;
	size_t salvages_left; /* that were to end and could not */
	struct hold unjudged; /* by a probe that died; since_s 0: none */
	char pass[PASS_ID];
	int64_t start_ms;
	int lock;
	bool hook_refused;
};

static void reaping_done(struct reaping *reaping)
{
	plan_done(&reaping->plan);
	inventory_done(&reaping->inventory);
	session_close(&reaping->session);
	choice_done(&reaping->choice);
	fd_done(&reaping->lock);
}

/* So many passes in a row may find the lock held by one that is merely long. */
enum { HELD_PASSES = 2 };

/* The pass that holds it may be stopped, or stuck in the kernel: nobody else would ever say so. */
static void note_held(const struct reaping *reaping, const char *path)
{
	char holder[LOCK_HOLDER], since[TIMESPAN_TEXT];
	struct lock_held held = { 0 };
	struct error error = { 0 };
	bool described = lock_describe_holder(path, holder);

	if (lock_held_add(reaping->session.store, clock_wall_s(), &held, &error) < 0)
		notice("that cannot be noted: %s", error.text);
	else if (held.count > HELD_PASSES)
		alert("%lld passes in a row found the lock '%s' held, since %s, so nothing is "
		      "reaped; by %s",
			(long long)held.count, path, moment_format(since, held.since_s),
			described ? holder : "a process that cannot be named");
	else if (described)
		notice("it is held by %s", holder);
}

static int take_lock(struct reaping *reaping, struct error *error)
{
	char *path CLEANUP(mem_done) = mem_printf("%s.lock", reaping->session.settings.database);
	struct error why;

	do {
		why = (struct error){ 0 };
		reaping->lock = lock_take(path, clock_wall_s(), &why);
	} while (error_is_full(reaping->lock) && store_give_room(reaping->session.store));
	if (reaping->lock == -EBUSY) {
		(void)complain(&why, EBUSY);
		note_held(reaping, path);
	}
	return reaping->lock < 0 ? error_say(error, why.code, "%s", why.text) : 0;
}

/* Before anything is planned, since it may hold this pass, too: also where that cannot be written. */
static void attend_to_probe(struct reaping *reaping)
{
	const struct probe_time time = {
		.now_s = clock_wall_s(),
		.booted_s = clock_wall_s() - clock_boot_ms() / 1000,
	};
	struct error error = { 0 };
	int r = probe_attend(reaping->session.store, reaping->pass, &time, &error);

	if (r < 0)
		notice("a probe waits for an answer, and gets none: %s", error.text);
	else if (r > 0)
		alert("the last probe never came to an end, so every pass is held until 'sbx-reap "
		      "resume'%s%s",
			error.code ? "; that cannot be noted: " : "", error.text);
	if (r > 0)
		reaping->unjudged = (struct hold){
			.by = "sbx-reap probe",
			.reason = "a probe that was never judged",
			.since_s = clock_wall_s(),
		};
}

static bool will_ask(const struct options *options)
{
	return !options->yes && !options->plan && (isatty(STDIN_FILENO) || isatty(STDERR_FILENO));
}

/* A report for programs, and whoever is at a terminal only to read it, need no line that moves. */
static struct progress *watch(struct reaping *reaping)
{
	return report_progress_start(&reaping->shown, stderr,
		terminal_ask(reaping->options->json ? -EBADF : STDERR_FILENO));
}

static int make_plan(struct reaping *reaping, struct error *error)
{
	const struct options *options = reaping->options;
	const struct inventory_request request =
		choice_request(&reaping->choice, options, watch(reaping));
	const struct plan_wish wish = choice_wish(&reaping->choice, options,
		&reaping->session.world, options->yes || will_ask(options));
	int r = inventory_gather(&reaping->inventory, &reaping->session.world, &request, error);

	report_progress_clear(&reaping->shown);
	if (r < 0)
		return r;
	if (reaping->unjudged.since_s && !reaping->inventory.hold)
		reaping->inventory.hold = &reaping->unjudged;
	if (!signals_stop_wanted())
		plan_make(&reaping->plan, &reaping->inventory, &wish);
	if (signals_stop_wanted()) {
		plan_done(&reaping->plan);
		plan_stop(&reaping->inventory);
	}
	return 0;
}

static struct report report_of(const struct reaping *reaping, enum report_kind kind, FILE *file)
{
	return (struct report){
		.kind = kind,
		.settings = &reaping->session.settings,
		.inventory = &reaping->inventory,
		.pass = reaping->pass,
		.took_ms = clock_boot_ms() - reaping->start_ms,
		.terminal = terminal_ask(fileno(file)),
	};
}

/* The lock is held meanwhile, so a terminal left alone must not keep every other pass away. */
enum { ANSWER_WAIT_MS = 2 * 60 * 1000 };

static bool answered_yes(void)
{
	int r = signals_wait(STDIN_FILENO, POLLIN, deadline_in_ms(ANSWER_WAIT_MS));
	char *line CLEANUP(mem_done) = NULL;
	size_t room = 0;

	if (r == 0)
		(void)fputs("\nNo answer in two minutes. ", stderr);
	return r > 0 && getline(&line, &room, stdin) > 0 && (line[0] == 'y' || line[0] == 'Y');
}

/* Whether a person at a terminal agrees; without one, whoever started us has. */
static bool confirmed(const struct reaping *reaping)
{
	struct report report = report_of(reaping, REPORT_PLAN, stderr);
	char runs[COUNT_TEXT];
	bool yes;

	if (reaping->plan.count == 0 || !will_ask(reaping->options))
		return true;
	report_table(&report, stderr);
	(void)fprintf(
		stderr, "Go on with %s? [y/N] ", count_format(runs, reaping->plan.count, "run"));
	yes = answered_yes();
	if (!yes)
		(void)fputs("Nothing was changed.\n", stderr);
	return yes;
}

/* Once a pass that deletes: whoever reads it may want another kernel. */
static void say_without_wall(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->due[i]->decision.verdict != VERDICT_REAP)
			continue;
		if (confine_abi(NULL) == 0)
			notice("this kernel has no Landlock: trees are deleted without a second "
			       "wall");
		return;
	}
}

/* Of pass_end_salvages. */
static void salvage_stays(void *context, const struct salvage *salvage, const struct error *error)
{
	struct reaping *reaping = context;

	report_progress_clear(&reaping->shown);
	notice("what was salvaged from run %s is kept for another pass: %s", salvage->run,
		error->text);
	reaping->salvages_left++;
}

/* Said once, when it trips; the report says it in each pass. */
static void alert_of_brake(const struct reaping *reaping, int64_t tripped_before_s)
{
	const struct brake *brake = &reaping->inventory.brake;
	char until[TIMESPAN_TEXT], runs[COUNT_TEXT];

	if (brake->state == BRAKE_HOLDS && !tripped_before_s)
		alert("brake: %zu of %s fell due at once, so none of them goes before %s; "
		      "see 'sbx-reap list', and 'sbx-reap hold' if they must not go",
			brake->due, count_format(runs, brake->proven, "run"),
			moment_format(until, brake->until_s));
}

static struct pass_time time_of(struct reaping *reaping)
{
	return (struct pass_time){
		.start_ms = reaping->start_ms,
		.budget_ms = reaping->session.settings.limits.time_budget_ms,
		.progress = watch(reaping),
	};
}

/* What a person does not select is filtered in such a pass, and left alone. */
static bool selects(const struct reaping *reaping)
{
	return reaping->choice.runs->count || reaping->choice.approval;
}

/* One that nobody may run fails for every run: said in each pass, also where none is due. */
static bool hook_is_refused(const char *name, const char *path)
{
	struct error error = { 0 };

	if (!path || hook_check(path, &error) >= 0)
		return false;
	alert("the %s hook is not run: %s", name, error.text);
	return true;
}

/* Nobody set up hooks for what is only visited. */
static void prepare_hooks(struct reaping *reaping)
{
	const struct settings *settings = &reaping->session.settings;

	if (settings->visited)
		return;
	reaping->hooks = (struct hooks){
		.settings = settings,
		.store = reaping->session.store,
		.pass = reaping->pass,
	};
	reaping->session.world.hooks = &reaping->hooks;
	reaping->hook_refused = hook_is_refused("revoke", settings->hooks.revoke);
	reaping->hook_refused |= hook_is_refused("after", settings->hooks.after);
}

/* Those that hang keep three quarters of a pass for what is to be done, and each part has its own. */
enum { HOOKS_FIRST = 8, HOOKS_WITHIN = 4, HOOKS_LAST = 16 };

static int act_with_hooks(
	struct reaping *reaping, const struct pass_time *time, struct error *error)
{
	struct hooks *hooks = reaping->session.world.hooks;
	int r = 0;

	hooks_begin(hooks, time->budget_ms / HOOKS_FIRST);
	if (!selects(reaping))
		r = hooks_revoke_all(hooks, &reaping->inventory, error);
	hooks_begin(hooks, time->budget_ms / HOOKS_WITHIN);
	if (r >= 0)
		r = pass_apply(&reaping->session, reaping->pass, time, &reaping->plan,
			&reaping->inventory, error);
	hooks_begin(hooks, time->budget_ms / HOOKS_LAST);
	if (r >= 0)
		r = hooks_run_after(hooks, &reaping->inventory,
			selects(reaping) ? &reaping->plan : NULL, error);
	return r;
}

static int act(struct reaping *reaping, struct error *error)
{
	const struct pass_time time = time_of(reaping);
	int64_t tripped_before_s = 0;
	int r = brake_get(reaping->session.store, &tripped_before_s, error);

	if (r >= 0)
		r = pass_open(&reaping->session, reaping->pass, &reaping->inventory, error);
	if (r < 0)
		return r;
	if (!signals_stop_wanted())
		alert_of_brake(reaping, tripped_before_s);
	r = act_with_hooks(reaping, &time, error);
	return r < 0 || selects(reaping) ? r
					 : pass_end_salvages(&reaping->session, &reaping->inventory,
						   salvage_stays, reaping, error);
}

/* Nobody would wonder at a pass that only ever defers: the next one may find no more time either. */
static bool starved(const struct reaping *reaping)
{
	for (size_t i = 0; i < reaping->plan.count; i++)
		if (reaping->plan.due[i]->decision.reason != REASON_DEFERRED ||
			reaping->plan.due[i]->result != RESULT_NONE)
			return false;
	return reaping->plan.count > 0 && !signals_stop_wanted();
}

/*
 * For Prometheus, of a pass that failed as well. Not of one that a person selects runs for: all others
 * are filtered in it, which says nothing of the host.
 */
static enum exit_code publish(
	const struct reaping *reaping, const struct report *report, enum exit_code code)
{
	const struct pass_end end = {
		.report = report,
		.took_ms = clock_boot_ms() - reaping->start_ms,
		.code = code,
	};
	struct error error = { 0 };

	if (selects(reaping) || metrics_write(&reaping->session, &end, &error) >= 0)
		return code;
	alert("the metrics are those of an earlier pass: %s", error.text);
	return exit_code_worse(code, EXIT_ATTENTION);
}

/* The report is given also when the database failed in the middle: what was done was done. */
static enum exit_code tell(struct reaping *reaping, int failed, struct error *error)
{
	struct report report = report_of(reaping, REPORT_PASS, stdout);
	enum exit_code code = report_exit_code(&report);
	char runs[COUNT_TEXT];

	if (reaping->hooks.leaving)
		alert("what hooks had started does not die, though %zu of them did well: see "
		      "'sbx-reap log'",
			reaping->hooks.leaving);
	if (reaping->salvages_left || reaping->hook_refused || reaping->hooks.leaving)
		code = exit_code_worse(code, EXIT_ATTENTION);
	if (starved(reaping)) {
		alert("looking took all the time of this pass, so none of %s had a turn; "
		      "see [limits] time_budget",
			count_format(runs, reaping->plan.count, "due run"));
		code = exit_code_worse(code, EXIT_ATTENTION);
	}
	if (failed >= 0)
		failed = probe_note_kept(
			reaping->session.store, reaping->pass, &reaping->inventory, error);
	if (failed >= 0)
		failed = pass_close(&reaping->session, &report, code, error);
	if (failed < 0)
		code = exit_code_worse(code, complain(error, failed));
	code = publish(reaping, &report, code); /* before anybody who reads may keep us waiting */
	if (reaping->options->json)
		report_json(&report, stdout);
	else if (!journal_has(STDOUT_FILENO) || report_journal(&report, code) < 0)
		report_table(&report, stdout);
	return code;
}

/* A visit_act. */
static enum exit_code reap_by(const struct options *options, struct settings *settings)
{
	struct reaping reaping CLEANUP(reaping_done) = { .options = options, .lock = -EBADF };
	struct error error = { 0 };
	enum exit_code code;
	int64_t asked_ms;
	bool due;
	int r;

	reaping.start_ms = clock_boot_ms();
	(void)pass_id(reaping.pass, clock_wall_s());
	code = choice_open(options, settings, &reaping.choice);
	if (code != EXIT_DONE)
		return code;
	r = session_open(&reaping.session, settings, STORE_WRITE, &error);
	if (r < 0)
		return publish(&reaping, NULL, complain(&error, r));
	r = take_lock(&reaping, &error);
	if (r == -EBUSY)
		return EXIT_LOCKED;
	if (r < 0) {
		(void)complain(&error, r);
		return publish(&reaping, NULL, EXIT_STATE);
	}
	if (!will_ask(options))
		signals_hold(); /* else nothing has been done yet that anybody would miss */
	attend_to_probe(&reaping);
	r = make_plan(&reaping, &error);
	if (r < 0)
		return publish(&reaping, NULL, complain(&error, r));
	due = reaping.plan.count > 0;
	choice_tell_missing(&reaping.choice, &reaping.inventory);
	asked_ms = clock_boot_ms();
	if (!confirmed(&reaping))
		return EXIT_DONE;
	reaping.start_ms += clock_boot_ms() - asked_ms; /* thinking is not part of the pass */
	signals_hold();
	say_without_wall(&reaping.plan);
	prepare_hooks(&reaping);
	r = act(&reaping, &error);
	report_progress_clear(&reaping.shown);
	return options->exit_code && due ? exit_code_worse(EXIT_DUE, tell(&reaping, r, &error))
					 : tell(&reaping, r, &error);
}

/* What is due once its trees are looked into is unknown before. */
static bool may_be_due(const struct run *run)
{
	return run->decision.verdict != VERDICT_KEEP ||
	       (run->facts.proven && run->decision.reason == REASON_UNKNOWN);
}

/* Whether the first visit to a repository may do anything. What cannot be told says the pass itself. */
static bool first_has_work(const struct options *options, struct settings *settings)
{
	struct session session CLEANUP(session_close) = { 0 };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct inventory_request request = {
		.early = options->early ? &options->runs : NULL,
		.work = WORK_LEAVE,
	};
	struct error unsaid = { 0 };
	int r = session_open(&session, settings, STORE_READ, &unsaid);
	bool has_work;

	if (r >= 0)
		r = inventory_gather(&inventory, &session.world, &request, &unsaid);
	has_work = r < 0;
	for (size_t i = 0; i < inventory.run_count; i++)
		has_work |= may_be_due(inventory.runs[i]);
	*settings = session.settings;
	session.settings = (struct settings){ 0 };
	return has_work;
}

/* Where nothing is to be done no books are made: a directory may hold repositories by the hundred. */
static enum exit_code reap_visited(const struct options *options, struct settings *settings)
{
	if (access(settings->database, F_OK) == 0 || first_has_work(options, settings))
		return reap_by(options, settings);
	return cmd_list_by(options, settings);
}

/* What nobody set up to be reaped is reaped only when somebody says yes. */
static enum exit_code reap_visits(const struct options *options)
{
	if (options->yes || will_ask(options))
		return visit_each(options, reap_visited);
	notice("--repo acts only when somebody agrees, and there is no terminal to ask at: look "
	       "with "
	       "--dry-run, agree with --yes");
	return EXIT_USAGE;
}

enum exit_code cmd_reap(const struct options *options)
{
	struct settings settings = { 0 };
	struct error error = { 0 };

	if (options->dry_run)
		return cmd_list(options);
	if (options->repos.count)
		return reap_visits(options);
	if (config_load(options->config, &settings, &error) < 0)
		return complain(&error, EUCLEAN);
	return reap_by(options, &settings);
}
