#include "unit.h"

#include "base/text.h"
#include "options.h"
#include "why_next.h"
#include "whys.h"

enum { WORDS_MAX = 16 };

static void whys_done(struct whys *whys)
{
	inventory_done(&whys->inventory);
}

static void ask(const struct whys *whys, struct arena *arena, struct why_commands *ret_commands)
{
	const struct why_subject subject = whys_subject(whys);

	why_commands(&subject, arena, ret_commands);
}

static bool has(const struct why_commands *commands, const char *command)
{
	for (size_t i = 0; i < commands->count; i++)
		if (text_equal(commands->items[i].command, command))
			return true;
	return false;
}

/* One of ours is taken by our own parser as it stands. */
static void expect_taken(const char *command)
{
	char *line CLEANUP(mem_done) = mem_dup(command), *rest = line, *word;
	struct options options CLEANUP(options_done);
	struct error error = { 0 };
	char *argv[WORDS_MAX + 1] = { NULL };
	int argc = 0;

	while ((word = strsep(&rest, " "))) {
		assert_true(argc < WORDS_MAX);
		argv[argc++] = word;
	}
	if (options_parse(argc, argv, WHYS_NOW_S, &options, &error) < 0)
		fail_msg("'%s': %s", command, error.text);
}

static void expect_all_right(const struct why_commands *commands)
{
	for (size_t i = 0; i < commands->count; i++) {
		const struct why_command *item = &commands->items[i];

		assert_in_range(strlen(item->what), 1, 32);
		assert_null(strchr(item->command, '\n'));
		if (text_starts(item->command, "sbx-reap "))
			expect_taken(item->command);
	}
}

static void every_reason_has_commands_and_all_of_them_are_taken(void **state)
{
	(void)state;
	for (enum reason reason = 0; reason < REASON_COUNT; reason++) {
		struct whys whys CLEANUP(whys_done);
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct why_commands commands;

		whys_make(&whys, reason);
		ask(&whys, &arena, &commands);
		if (commands.count == 0)
			fail_msg("there is nothing to do about '%s'", reason_name(reason));
		expect_all_right(&commands);
	}
}

/* No settings are there that hold, resume, register, finish and forget could go by. */
static void of_a_visit_only_what_takes_its_repository_is_offered(void **state)
{
	(void)state;
	for (enum reason reason = 0; reason < REASON_COUNT; reason++) {
		struct whys whys CLEANUP(whys_done);
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct why_commands commands;
		struct why_subject subject;

		whys_make(&whys, reason);
		whys.settings.visited = (char[]){ "/srv/git/app" };
		subject = whys_subject(&whys);
		subject.manner = " --repo /srv/git/app";
		why_commands(&subject, &arena, &commands);
		expect_all_right(&commands);
	}
}

static void the_right_ones_for_the_state(void **state)
{
	static const struct {
		enum reason reason;
		const char *command;
	} table[] = {
		{ REASON_PINNED, "sbx-reap unpin r1" },
		{ REASON_PINNED, "sbx-reap pin r1 --for 7d" },
		{ REASON_PIN_UNKNOWN, "ls -l -- /srv/sbx/workspaces/r1.keep" },
		{ REASON_LOCKED,
			"git -C /srv/git/app.git worktree unlock -- /srv/sbx/workspaces/r1" },
		{ REASON_LIVE, "ps -o pid,user,lstart,args -p 4711" },
		{ REASON_LIVE, "sbx-reap finish r1 --failed" },
		{ REASON_RETAINED, "sbx-reap --run r1 --early --dry-run" },
		{ REASON_UNKNOWN, "sbx-reap check" },
		{ REASON_UNSAVED_WORK, "ls -la -- /srv/sbx/workspaces/r1" },
		{ REASON_FOREIGN, "sbx-reap register r1" },
		{ REASON_REFUSED, "sbx-reap forget r1" },
		{ REASON_HELD, "sbx-reap resume" },
		{ REASON_BRAKE, "sbx-reap --dry-run" },
		{ REASON_BACKOFF, "sbx-reap --run r1 --early" },
		{ REASON_ABANDONED, "sbx-reap --run r1 --dry-run" },
		{ REASON_RESUMED, "touch -- /srv/sbx/workspaces/r1.keep" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct whys whys CLEANUP(whys_done);
		struct arena arena CLEANUP(arena_done) = { 0 };
		struct why_commands commands;

		whys_make(&whys, table[i].reason);
		ask(&whys, &arena, &commands);
		if (!has(&commands, table[i].command))
			fail_msg("%s: no '%s'", reason_name(table[i].reason), table[i].command);
	}
}

static void what_does_not_go_is_not_offered(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_commands commands;

	(void)state;
	whys_make(&whys, REASON_RETAINED); /* it has finished */
	ask(&whys, &arena, &commands);
	assert_false(has(&commands, "sbx-reap finish r1 --failed"));
	assert_false(has(&commands, "sbx-reap unpin r1"));
	whys.run->id = "no id";
	ask(&whys, &arena, &commands);
	assert_int_equal(commands.count, 0);
}

static void a_marker_that_is_not_trusted_can_be_made_so(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_commands commands;

	(void)state;
	whys_make(&whys, REASON_REFUSED);
	whys.run->marker_path = "/srv/my runs/r1.sbx";
	ask(&whys, &arena, &commands);
	assert_true(has(&commands, "ls -l -- '/srv/my runs/r1.sbx'"));
	assert_false(has(&commands, "chown root -- '/srv/my runs/r1.sbx'"));
	whys.run->marker_distrusted = true;
	ask(&whys, &arena, &commands);
	assert_true(has(&commands, "chown root -- '/srv/my runs/r1.sbx'"));
	assert_true(has(&commands, "chmod 0644 -- '/srv/my runs/r1.sbx'"));
}

static void of_what_is_gone_its_work_can_be_brought_back(void **state)
{
	struct whys whys CLEANUP(whys_done);
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct why_commands commands;
	struct why_subject subject;

	(void)state;
	whys_make(&whys, REASON_ABANDONED);
	subject = whys_subject(&whys);
	why_commands_gone(&subject, true, &arena, &commands);
	expect_all_right(&commands);
	assert_true(has(&commands, "sbx-reap restore r1"));
	why_commands_gone(&subject, false, &arena, &commands);
	assert_false(has(&commands, "sbx-reap restore r1"));
	assert_true(has(&commands, "sbx-reap log r1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_commands_and_all_of_them_are_taken),
		cmocka_unit_test(of_a_visit_only_what_takes_its_repository_is_offered),
		cmocka_unit_test(the_right_ones_for_the_state),
		cmocka_unit_test(what_does_not_go_is_not_offered),
		cmocka_unit_test(a_marker_that_is_not_trusted_can_be_made_so),
		cmocka_unit_test(of_what_is_gone_its_work_can_be_brought_back),
	};

	return cmocka_run_group_tests_name("why_next", tests, NULL, NULL);
}
