/* The table, byte for byte: golden.h. */
#include "unit.h"

#include "base/display.h"
#include "base/text.h"
#include "gathered.h"
#include "golden.h"
#include "report.h"

static void gathered_done(struct gathered *gathered)
{
	inventory_done(&gathered->inventory);
}

/* The caller frees it. */
static char *table_of(const struct report *report)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	report_table(report, file);
	assert_int_equal(fclose(file), 0);
	return text;
}

/* What a pass may have come to with what was due. */
static void act(struct inventory *inventory)
{
	static const struct {
		const char *run, *error;
		enum result result;
		int64_t bytes;
	} results[] = {
		{ "r2", NULL, RESULT_REAPED, 1610612736 },
		{ "r3", NULL, RESULT_KEPT, 0 },
		{ "r8", "delete r8: Device or resource busy", RESULT_FAILED, 4096 },
		{ "agent-20261129T153300Z-fix-the-race-in-the-parser",
			"its time was over in the middle", RESULT_PARTIAL, 1 << 30 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		struct run *run = inventory_find(inventory, results[i].run);

		run->result = results[i].result;
		run->error = results[i].error;
		run->bytes_freed = results[i].bytes;
	}
}

/* ------------------------------------------------------------------------------------- golden files */

static const struct form {
	const char *name;
	enum report_kind kind;
	struct terminal terminal;
	const char *keys, *columns, *reasons;
} forms[] = {
	{ .name = "plan-pipe" },
	{ .name = "plan-40", .terminal = { 40, false, true, true } },
	{ .name = "plan-80", .terminal = { 80, false, true, true } },
	{ .name = "plan-80-colour", .terminal = { 80, true, true, true } },
	{ .name = "plan-80-ascii", .terminal = { 80, false, true, false } },
	{ .name = "plan-120", .terminal = { 120, false, true, true } },
	{ .name = "plan-200", .terminal = { 200, false, true, true } },
	{ .name = "plan-200-colour", .terminal = { 200, true, true, true } },
	{ .name = "plan-400", .terminal = { 400, false, true, true } },
	{ .name = "plan-chosen",
		.keys = "-size",
		.columns = "size,run,holder",
		.reasons = "live,pinned,abandoned",
		.terminal = { 60, false, true, true } },
	{ .name = "plan-none", .reasons = "locked", .terminal = { 80, true, true, true } },
	{ .name = "pass-pipe", .kind = REPORT_PASS },
	{ .name = "pass-80-colour", .kind = REPORT_PASS, .terminal = { 80, true, true, true } },
};

static void check_form(const struct form *form)
{
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	struct report_view view = { 0 };
	char *name CLEANUP(mem_done) = mem_printf("%s.txt", form->name);
	char *text CLEANUP(mem_done) = NULL;
	const struct report report = {
		.kind = form->kind,
		.settings = &gathered.settings,
		.inventory = &gathered.inventory,
		.took_ms = 1234,
		.view = &view,
		.terminal = form->terminal,
	};

	gathered_make(&gathered);
	if (form->kind == REPORT_PASS)
		act(&gathered.inventory);
	if (form->keys)
		assert_int_equal(report_view_take_keys(&view, form->keys, NULL), 0);
	if (form->columns)
		assert_int_equal(report_view_take_columns(&view, form->columns, NULL), 0);
	if (form->reasons)
		assert_int_equal(report_view_take_reasons(&view, form->reasons, NULL), 0);
	text = table_of(&report);
	golden_check(name, text);
}

static void each_form_is_as_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		check_form(&forms[i]);
}

/* ---------------------------------------------------------------------------------------- properties */

/* The lines of the table itself: as many as there are runs, and the headings. */
static void check_widths(char *table, size_t rows, size_t width)
{
	char *line;

	for (size_t i = 0; i < rows && (line = strsep(&table, "\n")); i++)
		assert_true(display_width(line) <= width);
}

static void a_table_is_never_wider_than_its_terminal(void **state)
{
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	struct report report = { .settings = &gathered.settings, .inventory = &gathered.inventory };

	(void)state;
	gathered_make(&gathered);
	for (size_t width = 40; width <= 240; width += 7) {
		char *text CLEANUP(mem_done) = NULL;

		report.terminal = (struct terminal){ width, false, true, width % 2 };
		text = table_of(&report);
		check_widths(text, gathered.inventory.run_count + 1, width);
	}
}

static void where_a_program_reads_nothing_is_cut_and_no_basic_cell_has_a_blank(void **state)
{
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	struct report_view view = { 0 };
	const struct report report = {
		.settings = &gathered.settings, .inventory = &gathered.inventory, .view = &view
	};
	char *text CLEANUP(mem_done) = NULL, *rest, *line;

	(void)state;
	gathered_make(&gathered);
	assert_int_equal(
		report_view_take_columns(&view, "run,state,age,size,decision,reason,due,pin", NULL),
		0);
	text = table_of(&report);
	assert_non_null(strstr(text, "agent-20261129T153300Z-fix-the-race-in-the-parser "));
	rest = text;
	for (size_t i = 0; i < gathered.inventory.run_count && (line = strsep(&rest, "\n")); i++) {
		size_t cells = 0;

		while (text_word(&line))
			cells++;
		assert_int_equal(cells, COLUMNS_BASIC); /* the foreign one, with a blank, is last */
	}
}

static void a_run_that_a_pass_did_not_come_to_is_still_due(void **state)
{
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	const struct report report = { .kind = REPORT_PASS,
		.settings = &gathered.settings,
		.inventory = &gathered.inventory };
	char *text CLEANUP(mem_done) = NULL;

	(void)state;
	gathered_make(&gathered); /* the database failed before */
	text = table_of(&report);
	assert_non_null(strstr(text, "reap      finished_ok"));
}

static void what_was_not_measured_to_the_end_says_so(void **state)
{
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	const struct report report = {
		.settings = &gathered.settings,
		.inventory = &gathered.inventory,
		.terminal = { 80, false, true, true },
	};
	char *table CLEANUP(mem_done) = NULL;
	struct run *large, *unknown;

	(void)state;
	gathered_make(&gathered);
	large = inventory_find(&gathered.inventory, "r3");
	unknown = inventory_find(&gathered.inventory, "r8");
	large->measured = unknown->measured = true;
	large->bytes_least = INT64_C(5) << 30;
	table = table_of(&report);
	assert_non_null(strstr(table, " >5.0G "));
	assert_non_null(strstr(table, " ? "));
	assert_non_null(strstr(table, "2 of them for want of time or rights ('>': at least)\n"));
}

static void what_an_earlier_pass_measured_says_so_where_it_is_shown(void **state)
{
	static const struct size_note note = { .bytes = INT64_C(5) << 30 };
	struct gathered gathered CLEANUP(gathered_done) = { 0 };
	struct report_view view = { 0 };
	const struct report report = {
		.settings = &gathered.settings, .inventory = &gathered.inventory, .view = &view
	};
	char *table CLEANUP(mem_done) = NULL, *chosen CLEANUP(mem_done) = NULL;

	(void)state;
	gathered_make(&gathered);
	inventory_find(&gathered.inventory, "r3")->noted = &note;
	table = table_of(&report);
	assert_non_null(strstr(table, " ~5.0G "));
	assert_non_null(strstr(table, "\n'~': as a pass measured it"));
	assert_int_equal(report_view_take_columns(&view, "run,state", NULL), 0);
	chosen = table_of(&report);
	assert_null(strchr(chosen, '~'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_as_it_was),
		cmocka_unit_test(a_table_is_never_wider_than_its_terminal),
		cmocka_unit_test(
			where_a_program_reads_nothing_is_cut_and_no_basic_cell_has_a_blank),
		cmocka_unit_test(a_run_that_a_pass_did_not_come_to_is_still_due),
		cmocka_unit_test(what_was_not_measured_to_the_end_says_so),
		cmocka_unit_test(what_an_earlier_pass_measured_says_so_where_it_is_shown),
	};

	return cmocka_run_group_tests_name("report_table", tests, NULL, NULL);
}
