/* What people read of the statistics, byte for byte: golden.h. */
#include "unit.h"

#include "base/display.h"
#include "base/text.h"
#include "gathered.h"
#include "golden.h"
#include "html_text.h"
#include "report_stats.h"
#include "state/tally.h"

enum { NOW_S = 1795966380, TODAY = NOW_S / STATS_DAY_S };

struct world {
	struct gathered gathered;
	struct stats stats;
	struct stats_report report;
};

static void world_done(struct world *world)
{
	stats_done(&world->stats);
	inventory_done(&world->gathered.inventory);
}

static void add(struct world *world, int64_t day, const char *action, const char *reason,
	int64_t runs, int64_t bytes)
{
	stats_add(&world->stats, day,
		&(const struct tally){ .action = action,
			.reason = reason,
			.cause = reason,
			.runs = runs,
			.bytes = bytes });
}

/* Two weeks and the two before, with a quiet day, a bad one, and one of everything. */
static void world_make(struct world *world)
{
	gathered_make(&world->gathered);
	inventory_add_source(&world->gathered.inventory, "containers", "unix:///run/<x>.sock",
		TRI_NO, "connect: \"no\" such file & directory");
	stats_begin(&world->stats, NOW_S - 14 * STATS_DAY_S, NOW_S);
	for (int i = 27; i >= 0; i--) {
		if (i == 4)
			continue;
		add(world, TODAY - i, "registered", "", 60 + i % 7, 0);
		add(world, TODAY - i, "reaped", "finished_ok", 3 + i % 5,
			(INT64_C(700) << 20) * (1 + i % 6));
		add(world, TODAY - i, "reaped", "abandoned", i % 3, (INT64_C(911) << 20) * (i % 3));
	}
	add(world, TODAY - 9, "stopped", "over_deadline", 7, 0);
	add(world, TODAY - 9, "reaped", "over_deadline", 7, INT64_C(19) << 30);
	add(world, TODAY - 2, "reaped", "orphan", 1, 4096);
	add(world, TODAY - 1, "reaped", "requested", 2, INT64_C(3) << 30);
	add(world, TODAY - 1, "partial", "finished_failed", 1, 12345);
	add(world, TODAY, "failed", "finished_failed", 4, 0);
	stats_see(&world->stats, &world->gathered.inventory);
	world->report = (struct stats_report){ .stats = &world->stats,
		.inventory = &world->gathered.inventory,
		.host = "farm-1<script>" };
}

typedef void report_form(const struct stats_report *report, FILE *file);

/* The caller frees it. */
static char *form_of(const struct stats_report *report, report_form *form)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	form(report, file);
	assert_int_equal(fclose(file), 0);
	return text;
}

static void each_form_is_as_it_was(void **state)
{
	static const struct {
		const char *name;
		struct terminal terminal;
		report_form *form;
	} forms[] = {
		{ "stats-pipe.txt", { 0 }, report_stats_text },
		{ "stats-80.txt", { 80, true, true, true }, report_stats_text },
		{ "stats-120.txt", { 200, true, true, true }, report_stats_text },
		{ "stats.json", { 0 }, report_stats_json },
	};
	struct world world CLEANUP(world_done) = { 0 };

	(void)state;
	world_make(&world);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		char *text CLEANUP(mem_done) = NULL;

		world.report.terminal = forms[i].terminal;
		text = form_of(&world.report, forms[i].form);
		golden_check(forms[i].name, text);
	}
}

/* Up to what was not seen, which is a sentence of whatever length. */
static void a_line_is_never_wider_than_the_terminal(void **state)
{
	struct world world CLEANUP(world_done) = { 0 };

	(void)state;
	world_make(&world);
	for (size_t columns = 80; columns <= 120; columns += 10) {
		char *text CLEANUP(mem_done) = NULL, *line;

		world.report.terminal = (struct terminal){ columns, false, true, columns % 20 };
		text = form_of(&world.report, report_stats_text);
		line = text;
		for (char *end; !text_starts(line, "not seen: "); line = end + 1) {
			end = strchr(line, '\n');
			assert_non_null(end);
			*end = 0;
			assert_in_range(display_width(line), 0, columns);
		}
	}
}

static void without_utf8_a_bar_is_ascii(void **state)
{
	struct world world CLEANUP(world_done) = { 0 };
	char *text CLEANUP(mem_done) = NULL;

	(void)state;
	world_make(&world);
	for (size_t i = 0; i < world.gathered.inventory.run_count; i++)
		if (!text_starts(world.gathered.inventory.runs[i]->id, "r"))
			world.gathered.inventory.runs[i]->id = "r0";
	text = form_of(&world.report, report_stats_text);
	assert_non_null(strstr(text, "##"));
	for (const char *c = text; *c; c++)
		assert_in_range(*c, '\n', '~');
}

static void nothing_at_all_is_no_error(void **state)
{
	static report_form *const forms[] = { report_stats_text, report_stats_json,
		report_stats_html };
	struct inventory inventory = { 0 };
	struct stats stats CLEANUP(stats_done) = { 0 };
	const struct stats_report report = { .stats = &stats, .inventory = &inventory, .host = "" };

	(void)state;
	stats_begin(&stats, 0, NOW_S);
	stats_see(&stats, &inventory);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		char *text CLEANUP(mem_done) = form_of(&report, forms[i]);

		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "inf"));
		assert_true(strlen(text) > 500);
	}
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		count++;
	return count;
}

static void the_page_has_the_figures_and_asks_nobody(void **state)
{
	struct world world CLEANUP(world_done) = { 0 };
	char *page CLEANUP(mem_done) = NULL;

	(void)state;
	world_make(&world);
	page = form_of(&world.report, report_stats_html);
	assert_int_equal(count_of(page, "<svg "), 2);
	assert_int_equal(count_of(page, "class=\"bar\""), 28);
	assert_non_null(strstr(page, "<b id=\"gone\">"));
	assert_non_null(strstr(page, "prefers-color-scheme:dark"));
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "http://"));
	assert_null(strstr(page, "https://"));
	assert_null(strstr(page, "url("));
	assert_null(strstr(page, "\x1b"));
	assert_non_null(strstr(page, "farm-1&lt;script&gt;"));
	assert_non_null(
		strstr(page, "/run/&lt;x&gt;.sock: connect: &quot;no&quot; such file &amp; "));
}

static void text_in_a_page_is_never_obeyed(void **state)
{
	static const char *const table[][2] = {
		{ "plain 日本", "plain 日本" },
		{ "<b a=\"1\" c='2'>&amp;", "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;" },
		{ "a\x1b[31m\n\xff", "a\\x1b[31m\\x0a\\xff" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char *text CLEANUP(mem_done) = NULL;
		size_t length;
		FILE *file = open_memstream(&text, &length);

		assert_non_null(file);
		html_text(file, table[i][0]);
		assert_int_equal(fclose(file), 0);
		assert_string_equal(text, table[i][1]);
	}
}

static void counts_have_commas_between_thousands(void **state)
{
	static const struct {
		int64_t count;
		const char *text;
	} table[] = { { 0, "0" }, { 999, "999" }, { 1000, "1,000" }, { 1234567, "1,234,567" },
		{ 100000, "100,000" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char *text CLEANUP(mem_done) = NULL;
		size_t length;
		FILE *file = open_memstream(&text, &length);

		assert_non_null(file);
		html_count(file, table[i].count);
		assert_int_equal(fclose(file), 0);
		assert_string_equal(text, table[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_as_it_was),
		cmocka_unit_test(a_line_is_never_wider_than_the_terminal),
		cmocka_unit_test(without_utf8_a_bar_is_ascii),
		cmocka_unit_test(nothing_at_all_is_no_error),
		cmocka_unit_test(the_page_has_the_figures_and_asks_nobody),
		cmocka_unit_test(text_in_a_page_is_never_obeyed),
		cmocka_unit_test(counts_have_commas_between_thousands),
	};

	return cmocka_run_group_tests_name("report_stats", tests, NULL, NULL);
}
