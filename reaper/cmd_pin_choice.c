#include "pin_choice.h"

#include "base/runid.h"
#include "complain.h"
#include "notice.h"
#include "plan.h"
#include "report_select.h"
#include "session.h"
#include "text_list.h"
#include "visit.h"

static void take(const struct report *report, bool (*fits)(const struct run *run),
	struct text_list *ret_runs)
{
	struct report_selection selection CLEANUP(report_selection_done);

	report_select_all(report, &selection);
	for (size_t i = 0; i < selection.count; i++) {
		const struct run *run = selection.runs[i];

		if (runid_valid(run->id) && fits(run))
			text_list_add(ret_runs, run->id);
	}
}

/* 0, 1 not all could be seen, which is said; -errno. */
static int look(const struct options *options, struct session *session,
	bool (*fits)(const struct run *run), struct text_list *ret_runs, struct error *error)
{
	static const struct text_list all = { 0 };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct plan plan CLEANUP(plan_done) = { 0 };
	const struct inventory_request request = { .chosen = &all };
	const struct plan_wish wish = {
		.world = &session->world,
		.only = &all,
		.max_runs = session->settings.limits.max_runs,
	};
	const struct report report = {
		.kind = REPORT_PLAN,
		.settings = &session->settings,
		.inventory = &inventory,
		.view = &options->view,
	};
	int r = inventory_gather(&inventory, &session->world, &request, error);

	if (r < 0)
		return r;
	plan_make(&plan, &inventory, &wish);
	take(&report, fits, ret_runs);
	if (!inventory_failed_source(&inventory, NULL))
		return 0;
	report_blindness(&inventory, stderr);
	return 1;
}

static enum exit_code confirm(const struct options *options, const struct text_list *runs)
{
	if (runs->count == 0)
		notice("no run is like that");
	if (runs->count < 2 || options->yes)
		return EXIT_DONE;
	for (size_t i = 0; i < runs->count; i++)
		(void)puts(runs->items[i]);
	notice("these are %zu runs, and nothing was done; --yes does it", runs->count);
	return EXIT_ATTENTION;
}

/* With a session of its own, which is over before anything is written. EXIT_BLIND: with some unseen. */
static enum exit_code choose(const struct options *options, bool (*fits)(const struct run *run),
	struct text_list *ret_runs, bool *ret_chosen)
{
	struct session session CLEANUP(session_close) = { 0 };
	struct settings settings = { 0 };
	struct error error = { 0 };
	enum exit_code code = visit_settings(options, &settings, &error);
	int r;

	if (code != EXIT_DONE) {
		notice("%s", error.text);
		return code;
	}
	r = session_open(&session, &settings, STORE_READ, &error);
	if (r >= 0)
		r = look(options, &session, fits, ret_runs, &error);
	if (r < 0)
		return complain(&error, r);
	code = confirm(options, ret_runs);
	*ret_chosen = code == EXIT_DONE && ret_runs->count;
	return r > 0 ? exit_code_worse(code, EXIT_BLIND) : code;
}

enum exit_code pin_choice(const struct options *options, bool (*fits)(const struct run *run),
	enum exit_code (*act)(const struct options *options, const struct text_list *runs))
{
	struct text_list runs CLEANUP(text_list_done) = { 0 };
	bool chosen = false;
	enum exit_code code = choose(options, fits, &runs, &chosen);

	return chosen ? exit_code_worse(code, act(options, &runs)) : code;
}
