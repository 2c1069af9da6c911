#include "report_select.h"

#include "failures_text.h"
#include "text_list.h"

void report_selection_done(struct report_selection *selection)
{
	free(selection->runs);
	*selection = (struct report_selection){ 0 };
}

static bool is_in_repos(const struct run *run, const struct text_list *repos)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].repo && text_list_at_or_above(repos, run->resources[i].repo))
			return true;
	return false;
}

bool report_view_shows(const struct report *report, const struct run *run)
{
	const struct report_view *view = report->view;

	if (!view)
		return true;
	if (view->states && !(view->states >> report_state_of(run) & 1))
		return false;
	if (view->reasons && !(view->reasons >> run->decision.reason & 1))
		return false;
	if (view->in_repos.count && !is_in_repos(run, &view->in_repos))
		return false;
	return !view->older_s ||
	       (run->age_since_s && report->inventory->now_s - run->age_since_s >= view->older_s);
}

bool report_shows(const struct report *report, const struct run *run)
{
	if (report->kind == REPORT_PLAN)
		return true;
	return run->decision.verdict != VERDICT_KEEP || run->error ||
	       run->decision.reason == REASON_UNKNOWN ||
	       reason_needs_person(run->decision.reason) || run_is_failing(run);
}

/* What matters comes first: what goes, what needs somebody, what is kept anyway. */
static int weight(const struct run *run)
{
	if (run->decision.verdict != VERDICT_KEEP)
		return run->decision.verdict == VERDICT_REAP ? 0 : 1;
	if (reason_needs_person(run->decision.reason))
		return 2;
	return run->decision.reason == REASON_FOREIGN ? 4 : 3;
}

/* What a key compares, where it is a number; -1: nobody knows it. */
static int64_t number_of(const struct run *run, enum report_column column, int64_t now_s)
{
	int64_t age_s = run->age_since_s ? now_s - run->age_since_s : -1;

	if (column == COLUMN_AGE)
		return age_s < 0 && run->age_since_s ? 0 : age_s;
	if (column == COLUMN_SIZE)
		return report_bytes(run);
	return run->decision.due_s ? run->decision.due_s : -1;
}

static const char *text_of(const struct run *run, enum report_column column)
{
	if (column == COLUMN_STATE)
		return report_state_name(report_state_of(run));
	return column == COLUMN_REASON ? reason_name(run->decision.reason) : run->id;
}

/* What is not known comes last, whichever way round. */
static int compare_numbers(int64_t a, int64_t b, bool reversed)
{
	if (a < 0 || b < 0)
		return (a < 0) - (b < 0);
	return reversed ? (a < b) - (a > b) : (a > b) - (a < b);
}

static int compare_by(const struct report *report, const struct report_key *key,
	const struct run *a, const struct run *b)
{
	enum report_column column = key->column;
	int64_t now_s = report->inventory->now_s;
	int r;

	if (column == COLUMN_AGE || column == COLUMN_SIZE || column == COLUMN_DUE)
		return compare_numbers(
			number_of(a, column, now_s), number_of(b, column, now_s), key->reversed);
	r = strcmp(text_of(a, column), text_of(b, column));
	return key->reversed ? -r : r;
}

/* 0: the view's keys tell no difference. */
static int compare_in_view(const struct report *report, const struct run *a, const struct run *b)
{
	int r = 0;

	for (size_t i = 0; report->view && r == 0 && i < report->view->key_count; i++)
		r = compare_by(report, &report->view->keys[i], a, b);
	return r;
}

/* qsort_r(3) callbacks. */
static int order_of_programs(const void *a, const void *b, void *context)
{
	const struct run *left = *(const struct run *const *)a;
	const struct run *right = *(const struct run *const *)b;
	int r = compare_in_view(context, left, right);

	return r ? r : strcmp(left->id, right->id);
}

static int order_of_table(const void *a, const void *b, void *context)
{
	const struct run *left = *(const struct run *const *)a;
	const struct run *right = *(const struct run *const *)b;
	int r = compare_in_view(context, left, right);

	if (r == 0)
		r = weight(left) - weight(right);
	return r ? r : strcmp(left->id, right->id);
}

static void fill(const struct report *report, bool table, struct report_selection *selection)
{
	const struct inventory *inventory = report->inventory;

	selection->count = 0;
	selection->runs = mem_grow(NULL, inventory->run_count, sizeof(*selection->runs));
	for (size_t i = 0; i < inventory->run_count; i++) {
		const struct run *run = inventory->runs[i];

		if (report_view_shows(report, run) && (!table || report_shows(report, run)))
			selection->runs[selection->count++] = run;
	}
}

void report_select_table(const struct report *report, struct report_selection *ret_selection)
{
	struct report context = *report;

	fill(report, true, ret_selection);
	if (ret_selection->count)
		qsort_r(ret_selection->runs, ret_selection->count, sizeof(*ret_selection->runs),
			order_of_table, &context);
}

void report_select_all(const struct report *report, struct report_selection *ret_selection)
{
	struct report context = *report;

	fill(report, false, ret_selection);
	if (ret_selection->count)
		qsort_r(ret_selection->runs, ret_selection->count, sizeof(*ret_selection->runs),
			order_of_programs, &context);
}
