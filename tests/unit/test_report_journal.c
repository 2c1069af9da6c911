#include "unit.h"

#include "os/journal.h"
#include "report_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { NOW_S = 1795966380, ENTRY_MAX = 65536 };

static const char place[] = "/run/systemd/journal/socket"; /* where libsystemd sends to */

/* A journal of our own, in a mount namespace of our own. */
static int begin_journal(void **state)
{
	static int listening;
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0 || mkdir("/run/systemd", 0755) < 0 ||
		mkdir("/run/systemd/journal", 0755) < 0)
		return -errno;
	listening = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(address.sun_path, place, sizeof(place));
	if (listening < 0 ||
		bind(listening, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	*state = &listening;
	return 0;
}

static int end_journal(void **state)
{
	const int *listening = *state;

	return close(*listening) < 0 ? -errno : 0;
}

/* The next entry as the journal's native protocol has it: a line a field. "": there is none. */
static char *received(void **state)
{
	const int *listening = *state;
	char *entry = mem_new(ENTRY_MAX);

	(void)recv(*listening, entry, ENTRY_MAX - 1, 0);
	return entry;
}

static bool has_field(const char *entry, const char *field)
{
	char *line CLEANUP(mem_done) = mem_printf("\n%s\n", field);

	return strncmp(entry, line + 1, strlen(line + 1)) == 0 || strstr(entry, line);
}

static void assert_field(const char *entry, const char *field)
{
	if (!has_field(entry, field))
		fail_msg("no %s in:\n%s", field, entry);
}

struct told {
	struct settings settings;
	struct inventory inventory;
	struct report report;
};

static void told_done(struct told *told)
{
	inventory_done(&told->inventory);
}

static struct run *tell_run(struct told *told, const char *id, enum verdict verdict,
	enum reason reason, enum result result)
{
	struct run *run;

	told->inventory.now_s = NOW_S;
	told->report = (struct report){
		.kind = REPORT_PASS,
		.settings = &told->settings,
		.inventory = &told->inventory,
		.pass = "p1",
		.took_ms = 1500,
	};
	run = inventory_run(&told->inventory, id);
	run->decision = (struct decision){ .verdict = verdict, .reason = reason };
	run->result = result;
	return run;
}

static void each_thing_that_a_pass_did_is_an_entry_of_its_kind(void **state)
{
	static const struct {
		enum verdict verdict;
		enum reason reason;
		enum result result;
		const char *id, *priority, *message;
	} cases[] = {
		{ VERDICT_REAP, REASON_ABANDONED, RESULT_REAPED,
			"MESSAGE_ID=d02c6119e27e41eba03109fad5007d9d", "PRIORITY=6",
			"MESSAGE=r1: reaped, abandoned" },
		{ VERDICT_STOP, REASON_OVER_DEADLINE, RESULT_KEPT,
			"MESSAGE_ID=03658a8785804092b40790335a485cc4", "PRIORITY=6",
			"MESSAGE=r1: stopped, over_deadline" },
		{ VERDICT_REAP, REASON_ORPHAN, RESULT_PARTIAL,
			"MESSAGE_ID=05a7a3ee2a7c4c63a1a1e457481030a5", "PRIORITY=4",
			"MESSAGE=r1: partial, orphan" },
		{ VERDICT_STOP, REASON_OVER_DEADLINE, RESULT_FAILED,
			"MESSAGE_ID=2558f66ffd8d4c73810f564b28a1dbdc", "PRIORITY=3",
			"MESSAGE=r1: failed, over_deadline" },
		{ VERDICT_KEEP, REASON_REFUSED, RESULT_NONE,
			"MESSAGE_ID=7c45b8e85fa84ab3bdac30fc245c9655", "PRIORITY=4",
			"MESSAGE=r1: keep, refused" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct told told CLEANUP(told_done) = { 0 };
		char *run CLEANUP(mem_done) = NULL, *pass CLEANUP(mem_done) = NULL;

		(void)tell_run(&told, "r1", cases[i].verdict, cases[i].reason, cases[i].result);
		assert_int_equal(report_journal(&told.report, EXIT_DONE), 0);
		run = received(state);
		assert_field(run, cases[i].id);
		assert_field(run, cases[i].priority);
		assert_field(run, cases[i].message);
		pass = received(state);
		assert_field(pass, "MESSAGE_ID=2dda208da56e4ccbba16b102008a6e06");
	}
}

static void an_entry_has_what_a_program_looks_for(void **state)
{
	struct told told CLEANUP(told_done) = { 0 };
	struct run *run = tell_run(&told, "r1", VERDICT_REAP, REASON_FINISHED_OK, RESULT_REAPED);
	const struct resource tree = { .kind = KIND_WORKTREE, .locator = "/srv/r1" };
	const struct resource one = { .kind = KIND_CGROUP, .locator = "/a" };
	const struct resource two = { .kind = KIND_CGROUP, .locator = "/b" };
	char *entry CLEANUP(mem_done) = NULL, *pass CLEANUP(mem_done) = NULL;

	(void)run_add_resource(&told.inventory, run, &one);
	(void)run_add_resource(&told.inventory, run, &two);
	(void)run_add_resource(&told.inventory, run, &tree);
	run->bytes_freed = 4096;
	run->took_ms = 12;
	assert_int_equal(report_journal(&told.report, EXIT_ATTENTION), 0);
	entry = received(state);
	assert_field(entry, "SBX_RUN=r1");
	assert_field(entry, "SBX_PASS=p1");
	assert_field(entry, "SBX_KIND=worktree\nSBX_KIND=cgroup\nSBX_STATE=unregistered");
	assert_field(entry, "SBX_VERDICT=reap");
	assert_field(entry, "SBX_REASON=finished_ok");
	assert_field(entry, "SBX_RESULT=reaped");
	assert_field(entry, "SBX_BYTES=4096");
	assert_field(entry, "SBX_DURATION_US=12000");
	pass = received(state);
	assert_field(pass, "SBX_EXIT_CODE=1");
	assert_field(pass, "PRIORITY=4");
	assert_field(pass, "SBX_RUNS=1");
	assert_field(pass, "SBX_REAPED=1");
	assert_field(pass, "SBX_BYTES=4096");
	assert_field(pass, "SBX_DURATION_US=1500000");
	assert_field(pass, "MESSAGE=1 run: 1 reaped, 0 partial, 0 failed, 0 stopped, 0 kept; 4.0K "
			   "freed in 1.5s");
}

static void what_is_kept_as_always_is_no_entry(void **state)
{
	struct told told CLEANUP(told_done) = { 0 };
	char *pass CLEANUP(mem_done) = NULL, *none CLEANUP(mem_done) = NULL;

	(void)tell_run(&told, "r1", VERDICT_KEEP, REASON_RETAINED, RESULT_NONE);
	assert_int_equal(report_journal(&told.report, EXIT_DONE), 0);
	pass = received(state);
	assert_field(pass, "SBX_KEPT=1");
	none = received(state);
	assert_string_equal(none, "");
}

/* The database failed before its turn: neither was it kept, nor is it stopped. */
static void what_had_no_turn_is_no_entry_and_not_counted(void **state)
{
	struct told told CLEANUP(told_done) = { 0 };
	char *pass CLEANUP(mem_done) = NULL, *none CLEANUP(mem_done) = NULL;

	(void)tell_run(&told, "r1", VERDICT_REAP, REASON_ABANDONED, RESULT_NONE);
	(void)tell_run(&told, "r2", VERDICT_STOP, REASON_OVER_DEADLINE, RESULT_NONE);
	assert_int_equal(report_journal(&told.report, EXIT_STATE), 0);
	pass = received(state);
	assert_field(pass, "SBX_STOPPED=0");
	assert_field(pass, "SBX_KEPT=0");
	none = received(state);
	assert_string_equal(none, "");
}

/* A field with a line break in it would be sent in another form, and what is behind it be a field. */
static void bytes_from_outside_make_no_field_of_their_own(void **state)
{
	struct told told CLEANUP(told_done) = { 0 };
	struct run *run =
		tell_run(&told, "a\nSBX_REASON=pinned", VERDICT_KEEP, REASON_UNKNOWN, RESULT_NONE);
	char *entry CLEANUP(mem_done) = NULL, *blind CLEANUP(mem_done) = NULL;
	char *pass CLEANUP(mem_done) = NULL;

	run->fault = "b\nSBX_RESULT=reaped";
	inventory_add_source(
		&told.inventory, "markers", "/c\nPRIORITY=7", TRI_NO, "d\nMESSAGE_ID=0");
	assert_int_equal(report_journal(&told.report, EXIT_BLIND), 0);
	entry = received(state);
	assert_field(entry, "SBX_RUN=a\\x0aSBX_REASON=pinned");
	assert_field(entry, "SBX_REASON=unknown");
	assert_field(
		entry, "MESSAGE=a\\x0aSBX_REASON=pinned: keep, unknown: b\\x0aSBX_RESULT=reaped");
	blind = received(state);
	assert_field(blind, "MESSAGE_ID=38704463c8ba4925943e2eeec165ff26");
	assert_field(blind, "SBX_SOURCE=markers");
	assert_field(blind, "SBX_AT=/c\\x0aPRIORITY=7");
	assert_false(has_field(blind, "MESSAGE_ID=0"));
	pass = received(state);
	assert_field(pass, "SBX_EXIT_CODE=69");
}

static void a_stream_is_the_journal_when_the_environment_names_it(void **state)
{
	int fds[2];
	struct stat st;
	char *name CLEANUP(mem_done) = NULL;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(fstat(fds[1], &st), 0);
	name = mem_printf(
		"%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	assert_false(journal_has(fds[1]));
	assert_int_equal(setenv("JOURNAL_STREAM", name, 1), 0);
	assert_true(journal_has(fds[1]));
	assert_false(journal_has(-1));
	assert_int_equal(setenv("JOURNAL_STREAM", "1:2", 1), 0);
	assert_false(journal_has(fds[1]));
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thing_that_a_pass_did_is_an_entry_of_its_kind),
		cmocka_unit_test(an_entry_has_what_a_program_looks_for),
		cmocka_unit_test(what_is_kept_as_always_is_no_entry),
		cmocka_unit_test(what_had_no_turn_is_no_entry_and_not_counted),
		cmocka_unit_test(bytes_from_outside_make_no_field_of_their_own),
		cmocka_unit_test(a_stream_is_the_journal_when_the_environment_names_it),
	};

	return cmocka_run_group_tests_name("report_journal", tests, begin_journal, end_journal);
}
