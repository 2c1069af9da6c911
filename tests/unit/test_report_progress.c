#include "unit.h"

#include "base/display.h"
#include "base/text.h"
#include "report_progress.h"

/* What a terminal got. */
struct screen {
	FILE *file;
	char *text;
	size_t length;
};

static void screen_done(struct screen *screen)
{
	file_done(&screen->file);
	free(screen->text);
}

static void screen_open(struct screen *screen)
{
	screen->file = open_memstream(&screen->text, &screen->length);
	assert_non_null(screen->file);
}

static const char *said(struct screen *screen)
{
	assert_int_equal(fflush(screen->file), 0);
	return screen->text;
}

static const struct terminal wide = { 80, false, true, true };

/* As if all of it had begun a while ago. */
static struct progress *start(struct report_progress *shown, struct screen *screen,
	struct terminal terminal, int64_t ago_ms)
{
	struct progress *progress;

	screen_open(screen);
	progress = report_progress_start(shown, screen->file, terminal);
	shown->begun_ms -= ago_ms;
	return progress;
}

static void what_is_quick_shows_nothing(void **state)
{
	struct screen screen CLEANUP(screen_done) = { 0 };
	struct report_progress shown;
	struct progress *progress = start(&shown, &screen, wide, 0);

	(void)state;
	shown.begun_ms += 3600 * INT64_C(1000); /* whatever this machine takes */
	progress_begin(progress, PROGRESS_LOOKING, 3);
	progress_run(progress, 1, "r1");
	report_progress_clear(&shown);
	assert_string_equal(said(&screen), "");
}

static void what_takes_long_says_where_it_is(void **state)
{
	struct screen screen CLEANUP(screen_done) = { 0 };
	struct report_progress shown;
	struct progress *progress = start(&shown, &screen, wide, 60000);

	(void)state;
	progress_begin(progress, PROGRESS_LOOKING, 12);
	assert_string_equal(said(&screen), "\rlooked into 0 of 12 runs\x1b[K");
	shown.shown_ms = 1;
	progress->bytes_freed = 3 << 20;
	progress_begin(progress, PROGRESS_ACTING, 12);
	shown.shown_ms = 1;
	progress_run(progress, 4, "r\x1b[1m");
	shown.shown_ms = 1;
	progress_doing(progress, "deleting");
	assert_true(text_ends(
		said(&screen), "\r3.0M freed, done 4 of 12 runs, at r\\x1b[1m: deleting\x1b[K"));
	report_progress_clear(&shown);
	assert_true(text_ends(said(&screen), "deleting\x1b[K\r\x1b[K"));
}

static void it_is_not_written_more_often_than_anybody_reads(void **state)
{
	struct screen screen CLEANUP(screen_done) = { 0 };
	struct report_progress shown;
	struct progress *progress = start(&shown, &screen, wide, 60000);

	(void)state;
	progress_begin(progress, PROGRESS_LOOKING, 100);
	shown.shown_ms += 3600 * INT64_C(1000);
	for (size_t i = 0; i < 100; i++)
		progress_run(progress, i, "r1");
	assert_string_equal(said(&screen), "\rlooked into 0 of 100 runs\x1b[K");
}

static void it_stays_on_one_line(void **state)
{
	struct screen screen CLEANUP(screen_done) = { 0 };
	struct report_progress shown;
	struct progress *progress =
		start(&shown, &screen, (struct terminal){ 20, false, true, false }, 60000);
	char *line;

	(void)state;
	progress_begin(progress, PROGRESS_ACTING, 100);
	line = mem_dup(said(&screen) + 1);
	*strchr(line, '\x1b') = 0;
	assert_int_equal(display_width(line), 19);
	free(line);
}

static void nothing_is_shown_where_it_could_not_be_taken_away(void **state)
{
	static const struct terminal none = { 0 }, dumb = { 80, false, false, true };
	struct screen a CLEANUP(screen_done) = { 0 }, b CLEANUP(screen_done) = { 0 };
	struct report_progress shown;
	struct progress *progress = start(&shown, &a, none, 60000);

	(void)state;
	progress_begin(progress, PROGRESS_LOOKING, 3);
	report_progress_clear(&shown);
	assert_string_equal(said(&a), "");
	progress = start(&shown, &b, dumb, 60000);
	progress_begin(progress, PROGRESS_LOOKING, 3);
	report_progress_clear(&shown);
	assert_string_equal(said(&b), "");
	progress_begin(NULL, PROGRESS_LOOKING, 3); /* nobody wants to know */
	progress_run(NULL, 1, "r1");
	progress_doing(NULL, "deleting");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_quick_shows_nothing),
		cmocka_unit_test(what_takes_long_says_where_it_is),
		cmocka_unit_test(it_is_not_written_more_often_than_anybody_reads),
		cmocka_unit_test(it_stays_on_one_line),
		cmocka_unit_test(nothing_is_shown_where_it_could_not_be_taken_away),
	};

	return cmocka_run_group_tests_name("report_progress", tests, NULL, NULL);
}
