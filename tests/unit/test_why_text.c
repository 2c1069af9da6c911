/* What people read of one run, byte for byte: golden.h. */
#include "unit.h"

#include "base/text.h"
#include "database.h"
#include "golden.h"
#include "state/history.h"
#include "state/salvages.h"
#include "why.h"
#include "whys.h"

#include <fcntl.h>
#include <unistd.h>

enum { HOUR = 3600 };

/* What is printed goes to a file meanwhile. The caller frees it. */
static char *text_of(const struct look *look)
{
	FILE *file CLEANUP(file_done) = tmpfile();
	int before CLEANUP(fd_done) = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	char *text = NULL;
	size_t room = 0;
	int r;

	assert_non_null(file);
	assert_int_equal(fflush(stdout), 0);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
	r = why_text(look, NULL);
	(void)fflush(stdout);
	assert_true(dup2(before, STDOUT_FILENO) >= 0);
	assert_int_equal(r, 0);
	rewind(file);
	assert_true(getdelim(&text, &room, 0, file) > 0);
	return text;
}

/* The same run in each state, as tests of the parts of this text have it. */
static void check_reason(struct store *store, enum reason reason)
{
	char *name CLEANUP(mem_done) = mem_printf("why-%s.txt", reason_name(reason));
	char *text CLEANUP(mem_done) = NULL;
	struct look look = { .manner = (char[]){ "" }, .session.store = store };
	struct whys whys;

	whys_make(&whys, reason);
	look.inventory = whys.inventory;
	look.run = whys.run;
	look.session.settings = whys.settings;
	look.session.world.settings = &look.session.settings;
	text = text_of(&look);
	inventory_done(&whys.inventory);
	golden_check(name, text);
}

static void each_state_is_told_as_it_was(void **state)
{
	static const enum reason reasons[] = { REASON_PINNED, REASON_LIVE, REASON_RETAINED,
		REASON_UNKNOWN, REASON_REFUSED, REASON_UNSAVED_WORK, REASON_HELD,
		REASON_OVER_DEADLINE, REASON_FINISHED_OK, REASON_ORPHAN };

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		check_reason(database(state), reasons[i]);
}

static void add_history(struct store *store, int64_t ago_s, const char *action, const char *reason,
	const char *detail)
{
	const struct history_entry entry = {
		.at_s = WHYS_NOW_S - ago_s,
		.run = "r1",
		.generation = 7,
		.action = action,
		.reason = reason,
		.resource = detail ? "worktree /srv/sbx/workspaces/r1" : NULL,
		.detail = detail,
	};

	assert_int_equal(history_add(store, &entry, NULL), 0);
}

/* It fails again and again, and work of an earlier try is salvaged. */
static void one_that_is_stuck_is_told_with_its_past(void **state)
{
	static const struct salvage salvage = {
		.run = "r1",
		.generation = 7,
		.made_s = WHYS_NOW_S - HOUR / 2,
		.form = SALVAGE_COMMIT,
		.tree = "/srv/sbx/workspaces/r1",
		.repo = "/srv/git/app.git",
		.ref = "refs/sbx/salvage/r1",
		.commit = "0123456789012345678901234567890123456789",
		.bytes = 4096,
	};
	struct store *store = database(state);

	add_history(store, 9 * 24 * HOUR, "registered", NULL, NULL);
	add_history(store, HOUR, "claimed", "abandoned", NULL);
	add_history(store, HOUR, "failed", "abandoned", "delete r1: Device or resource busy");
	assert_int_equal(salvages_add(store, "p1", &salvage, NULL), 1);
	check_reason(store, REASON_BACKOFF);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, database_setup, database_teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_state_is_told_as_it_was),
		TEST(one_that_is_stuck_is_told_with_its_past),
	};

	return cmocka_run_group_tests_name("why_text", tests, NULL, NULL);
}
