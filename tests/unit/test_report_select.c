#include "unit.h"

#include "base/text.h"
#include "gathered.h"
#include "report_select.h"
#include "text_list.h"

static struct report report_of(const struct gathered *gathered, const struct report_view *view)
{
	return (struct report){
		.settings = &gathered->settings,
		.inventory = &gathered->inventory,
		.view = view,
	};
}

static void gathered_done(struct gathered *gathered)
{
	inventory_done(&gathered->inventory);
}

/* The runs of a selection with blanks between them, the long name as "agent" and other ones as "…". */
static char *names_of(const struct report_selection *selection)
{
	struct text names = { 0 };

	for (size_t i = 0; i < selection->count; i++) {
		const char *id = selection->runs[i]->id;

		text_addf(&names, "%s%s", i ? " " : "",
			text_starts(id, "agent") ? "agent"
			: strlen(id) == 2        ? id
						 : "?");
	}
	return names.data ? names.data : mem_dup("");
}

struct wanted {
	const char *states, *reasons, *keys;
	int64_t older_s;
	const char *in_repo; /* and /srv/git/none */
	const char *names;
};

static void check_view(const struct gathered *gathered, const struct wanted *wanted)
{
	struct report_selection selection CLEANUP(report_selection_done);
	char *names CLEANUP(mem_done) = NULL;
	struct report_view view = { .older_s = wanted->older_s };
	struct report report = report_of(gathered, &view);

	if (wanted->in_repo) {
		text_list_add(&view.in_repos, "/srv/git/none");
		text_list_add(&view.in_repos, wanted->in_repo);
	}
	if (wanted->states)
		assert_int_equal(report_view_take_states(&view, wanted->states, NULL), 0);
	if (wanted->reasons)
		assert_int_equal(report_view_take_reasons(&view, wanted->reasons, NULL), 0);
	if (wanted->keys)
		assert_int_equal(report_view_take_keys(&view, wanted->keys, NULL), 0);
	report_select_table(&report, &selection);
	names = names_of(&selection);
	assert_string_equal(names, wanted->names);
	assert_int_equal(
		report_count(&report).hidden, gathered->inventory.run_count - selection.count);
	text_list_done(&view.in_repos);
}

static void a_view_takes_in_what_all_its_filters_do(void **state)
{
	static const struct wanted table[] = {
		{ .names = "agent r2 r8 r3 r7 r9 r1 r4 r5 r6 ? ?" },
		{ .states = "claimed", .names = "r8" },
		{ .states = "finished,claimed", .names = "r2 r8 r7 r4 r6" },
		{ .states = "unregistered", .names = "?" },
		{ .reasons = "pinned,retained", .names = "r4 r5 r6" },
		{ .states = "finished", .reasons = "pinned", .names = "r4" },
		{ .older_s = 3 * 86400, .names = "agent r7 r4 r5" },
		{ .older_s = 400 * 86400, .names = "r5" },
		{ .older_s = 400 * 86400 + 1, .names = "" },
		{ .reasons = "locked", .names = "" },
		{ .in_repo = "/srv/git/tools.git", .names = "agent" },
		{ .in_repo = "/srv/git/app", .names = "r2 r3 r1 r4 r5 r6 ?" },
		{ .in_repo = "/srv/git", .states = "active", .names = "agent r3 r1 r5 ?" },
		{ .in_repo = "/srv/git/app", .reasons = "pinned", .names = "r4 r5" },
		{ .in_repo = "/srv/git/ap", .names = "" },
	};
	struct gathered gathered CLEANUP(gathered_done) = { 0 };

	(void)state;
	gathered_make(&gathered);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		check_view(&gathered, &table[i]);
}

static void keys_order_and_what_is_unknown_comes_last(void **state)
{
	static const struct wanted table[] = {
		{ .keys = "-size", .names = "r4 agent r2 r6 r1 r7 ? r5 r8 r3 r9 ?" },
		{ .keys = "size", .names = "r5 ? r7 r1 r6 r2 agent r4 r8 r3 r9 ?" },
		{ .keys = "age", .names = "? r1 r9 r2 r8 r6 r3 agent r7 r4 r5 ?" },
		{ .keys = "-age", .names = "r5 r4 r7 agent r3 r6 r8 r2 r9 r1 ? ?" },
		{ .keys = "due", .names = "agent r8 r2 r6 r3 r7 r9 r1 r4 r5 ? ?" },
		{ .keys = "-run", .reasons = "pinned,live", .names = "r5 r4 r1" },
		{ .keys = "reason,-age", .reasons = "pinned,live", .names = "r1 r5 r4" },
		{ .keys = "-state,run", .older_s = 86400, .names = "r4 r7 agent r3 r5" },
	};
	struct gathered gathered CLEANUP(gathered_done) = { 0 };

	(void)state;
	gathered_make(&gathered);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		check_view(&gathered, &table[i]);
}

static void programs_get_the_order_of_names_unless_they_ask(void **state)
{
	struct report_selection plain CLEANUP(report_selection_done);
	struct report_selection asked CLEANUP(report_selection_done);
	char *plain_names CLEANUP(mem_done) = NULL, *asked_names CLEANUP(mem_done) = NULL;
	struct report_view view = { .reasons = 1U << REASON_PINNED | 1U << REASON_ABANDONED };
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	struct report report = report_of(&gathered, &view);

	(void)state;
	gathered_make(&gathered);
	report_select_all(&report, &plain);
	plain_names = names_of(&plain);
	assert_string_equal(plain_names, "agent r4 r5");
	assert_int_equal(report_view_take_keys(&view, "-size", NULL), 0);
	report_select_all(&report, &asked);
	asked_names = names_of(&asked);
	assert_string_equal(asked_names, "r4 agent r5");
}

static void a_pass_shows_only_what_it_did_or_a_person_must_see(void **state)
{
	struct report_selection selection CLEANUP(report_selection_done);
	char *names CLEANUP(mem_done) = NULL;
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	struct report report = report_of(&gathered, NULL);

	(void)state;
	gathered_make(&gathered);
	report.kind = REPORT_PASS;
	report_select_table(&report, &selection);
	names = names_of(&selection);
	assert_string_equal(names, "agent r2 r8 r3 r7 r9 ?");
	assert_int_equal(report_count(&report).hidden, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_view_takes_in_what_all_its_filters_do),
		cmocka_unit_test(keys_order_and_what_is_unknown_comes_last),
		cmocka_unit_test(programs_get_the_order_of_names_unless_they_ask),
		cmocka_unit_test(a_pass_shows_only_what_it_did_or_a_person_must_see),
	};

	return cmocka_run_group_tests_name("report_select", tests, NULL, NULL);
}
