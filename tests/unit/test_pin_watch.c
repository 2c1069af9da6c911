#include "unit.h"

#include "base/text.h"
#include "pin_watch.h"

enum { NOW_S = 1795966380, HOUR = 3600, DAY = 86400 };

struct watched {
	struct settings settings;
	struct inventory inventory;
	struct report report;
	struct pin pins[16];
	size_t count;
};

static void watched_done(struct watched *watched)
{
	inventory_done(&watched->inventory);
}

static struct run *pin_of(struct watched *watched, const char *id, int64_t since_s, int64_t until_s)
{
	struct run *run = inventory_run(&watched->inventory, id);
	struct pin *pin = &watched->pins[watched->count++];

	*pin = (struct pin){ .run = run->id, .by = "anna", .since_s = since_s, .until_s = until_s };
	run->pin = pin;
	run->facts.pin = PIN_HELD;
	return run;
}

static void begin(struct watched *ret_watched)
{
	*ret_watched = (struct watched){ .inventory.now_s = NOW_S };
	ret_watched->report = (struct report){
		.settings = &ret_watched->settings,
		.inventory = &ret_watched->inventory,
	};
}

static char *told(const struct watched *watched)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	report_pins(&watched->report, file);
	assert_int_equal(fclose(file), 0);
	return text;
}

static void a_pin_ends_soon_when_it_does_within_a_day(void **state)
{
	const struct pin never = { .run = "r" }, over = { .until_s = NOW_S };
	const struct pin day = { .until_s = NOW_S + DAY }, later = { .until_s = NOW_S + DAY + 1 };

	(void)state;
	assert_true(pin_ends_soon(&day, NOW_S));
	assert_false(pin_ends_soon(&later, NOW_S));
	assert_false(pin_ends_soon(&over, NOW_S));
	assert_false(pin_ends_soon(&never, NOW_S));
	assert_false(pin_ends_soon(NULL, NOW_S));
}

static void the_first_end_comes_first_and_many_are_counted(void **state)
{
	struct watched watched CLEANUP(watched_done);
	char *text CLEANUP(mem_done) = NULL;

	(void)state;
	begin(&watched);
	for (int i = 0; i < 12; i++)
		(void)pin_of(&watched, (char[]){ (char)('a' + i), 0 }, NOW_S - DAY,
			NOW_S + (12 - i) * HOUR);
	(void)pin_of(&watched, "late", NOW_S - DAY, NOW_S + 2 * DAY);
	text = told(&watched);
	assert_true(text_starts(text, "the pin of l by anna ends at "));
	assert_non_null(strstr(text, "(in 1h)\nthe pin of k by anna"));
	assert_non_null(strstr(text, "\nending within a day as well: 2 pins, see"));
	assert_null(strstr(text, "late"));
}

/* The passes come every five minutes: one of them says it. */
static void the_journal_is_told_once(void **state)
{
	struct watched watched CLEANUP(watched_done);
	const struct run *old, *short_one;

	(void)state;
	begin(&watched);
	old = pin_of(&watched, "old", NOW_S - 9 * DAY, NOW_S + DAY - 60);
	short_one = pin_of(&watched, "short", NOW_S - 30, NOW_S + HOUR);
	watched.inventory.host.last_pass_s = NOW_S - 300;
	assert_true(pin_end_is_news(&watched.inventory, old));
	assert_true(pin_end_is_news(&watched.inventory, short_one));
	watched.inventory.host.last_pass_s = NOW_S - 20;
	assert_false(pin_end_is_news(&watched.inventory, old));
	assert_false(pin_end_is_news(&watched.inventory, short_one));
	watched.inventory.host.last_pass_s = 0;
	assert_true(pin_end_is_news(&watched.inventory, old));
}

static void more_than_the_limit_is_said(void **state)
{
	struct watched watched CLEANUP(watched_done);
	char *at CLEANUP(mem_done) = NULL, *above CLEANUP(mem_done) = NULL;
	struct run *run;

	(void)state;
	begin(&watched);
	run = pin_of(&watched, "r1", NOW_S, 0);
	run->bytes = 4096;
	assert_null(pins_too_large_text(&watched.report));
	watched.settings.policy.pinned_bytes_warn = 4096;
	at = told(&watched);
	assert_string_equal(at, "");
	run->bytes = 8192;
	above = told(&watched);
	assert_string_equal(
		above, "pins hold 8.0K, more than pinned_bytes_warn = 4.0K: sbx-reap pins\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pin_ends_soon_when_it_does_within_a_day),
		cmocka_unit_test(the_first_end_comes_first_and_many_are_counted),
		cmocka_unit_test(the_journal_is_told_once),
		cmocka_unit_test(more_than_the_limit_is_said),
	};

	return cmocka_run_group_tests_name("pin_watch", tests, NULL, NULL);
}
