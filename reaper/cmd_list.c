/*
 * list, and --dry-run: the plan, read only. Nothing here includes what can remove.
 */
#include "base/clock.h"
#include "choice.h"
#include "complain.h"
#include "config.h"
#include "inventory.h"
#include "pass_id.h"
#include "plan.h"
#include "report.h"
#include "report_progress.h"
#include "session.h"
#include "size_notes.h"
#include "verbs.h"
#include "visit.h"

#include <errno.h>

static int list_plan(const struct options *options, const struct choice *choice,
	const struct session *session, struct inventory *inventory, struct plan *plan,
	struct error *error)
{
	struct report_progress shown CLEANUP(report_progress_clear) = { 0 };
	const struct inventory_request request = choice_request(choice, options,
		report_progress_start(
			&shown, stderr, terminal_ask(options->json ? -EBADF : STDERR_FILENO)));
	const struct plan_wish wish = choice_wish(choice, options, &session->world, options->yes);
	int r = inventory_gather(inventory, &session->world, &request, error);

	if (r < 0)
		return r;
	plan_make(plan, inventory, &wish);
	return size_notes_load(session->store, inventory, error);
}

static enum exit_code list_report(
	const struct options *options, const struct report *report, const struct plan *plan)
{
	enum exit_code code = report_exit_code(report);

	if (options->json)
		report_json(report, stdout);
	else
		report_table(report, stdout);
	return options->exit_code && plan->count ? exit_code_worse(code, EXIT_DUE) : code;
}

enum exit_code cmd_list_by(const struct options *options, struct settings *settings)
{
	struct session session CLEANUP(session_close) = { 0 };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct plan plan CLEANUP(plan_done) = { 0 };
	struct choice choice CLEANUP(choice_done) = { 0 };
	int64_t start_ms = clock_boot_ms();
	struct error error = { 0 };
	char pass[PASS_ID];
	struct report report;
	enum exit_code code = choice_open(options, settings, &choice);
	int r;

	if (code != EXIT_DONE)
		return code;
	r = session_open(&session, settings, STORE_READ, &error);
	if (r >= 0)
		r = list_plan(options, &choice, &session, &inventory, &plan, &error);
	if (r < 0)
		return complain(&error, r);
	choice_tell_missing(&choice, &inventory);
	report = (struct report){
		.kind = REPORT_PLAN,
		.settings = &session.settings,
		.inventory = &inventory,
		.pass = pass_id(pass, inventory.now_s),
		.took_ms = clock_boot_ms() - start_ms,
		.view = &options->view,
		.terminal = terminal_ask(STDOUT_FILENO),
	};
	return list_report(options, &report, &plan);
}

enum exit_code cmd_list(const struct options *options)
{
	struct settings settings = { 0 };
	struct error error = { 0 };

	if (options->repos.count)
		return visit_each(options, cmd_list_by);
	if (config_load(options->config, &settings, &error) < 0)
		return complain(&error, EUCLEAN);
	return cmd_list_by(options, &settings);
}
