#include "unit.h"

#include "report_metrics.h"

enum { NOW_S = 1795966380 };

/* A host as a pass left it, and what Prometheus is told of that. */
struct told {
	struct settings settings;
	struct inventory inventory;
	struct report report;
	struct metrics metrics;
	char *text;
};

static int setup(void **state)
{
	struct told *told = mem_new(sizeof(*told));

	told->inventory.now_s = NOW_S;
	told->report = (struct report){
		.kind = REPORT_PASS,
		.settings = &told->settings,
		.inventory = &told->inventory,
		.pass = "p1",
	};
	told->metrics = (struct metrics){
		.report = &told->report,
		.now_s = NOW_S + 3,
		.took_ms = 1005,
		.booked = true,
	};
	*state = told;
	return 0;
}

static int teardown(void **state)
{
	struct told *told = *state;

	inventory_done(&told->inventory);
	free(told->text);
	free(told);
	return 0;
}

static struct run *add(struct told *told, const char *id, enum verdict verdict, enum reason reason)
{
	struct run *run = inventory_run(&told->inventory, id);

	run->decision = (struct decision){ .verdict = verdict, .reason = reason };
	run->bytes = -1;
	return run;
}

static void tell(struct told *told)
{
	size_t length;
	FILE *file = open_memstream(&told->text, &length);

	assert_non_null(file);
	report_metrics(&told->metrics, file);
	assert_int_equal(fclose(file), 0);
}

static bool has_line(const struct told *told, const char *line)
{
	size_t length = strlen(line);
	const char *at = told->text;

	while ((at = strstr(at, line))) {
		if ((at == told->text || at[-1] == '\n') && at[length] == '\n')
			return true;
		at += length;
	}
	return false;
}

static void assert_line(const struct told *told, const char *line)
{
	if (!has_line(told, line))
		fail_msg("there is no line '%s' in:\n%s", line, told->text);
}

static void every_reason_is_told_from_zero(void **state)
{
	struct told *told = *state;

	tell(told);
	for (enum reason reason = 0; reason < REASON_COUNT; reason++) {
		char *line CLEANUP(mem_done) =
			mem_printf("sbx_reap_decisions{reason=\"%s\"} 0", reason_name(reason));

		assert_line(told, line);
	}
	assert_line(told, "sbx_reap_runs_reaped_total{reason=\"orphan\"} 0");
	assert_line(told, "sbx_reap_leaks_total{cause=\"abandoned\"} 0");
	assert_line(told, "sbx_reap_oldest_overdue_seconds 0");
	assert_line(told, "sbx_reap_last_pass_duration_seconds 1.005");
}

static void a_limit_of_what_is_pinned_is_told_where_one_is_set(void **state)
{
	struct told *told = *state;

	tell(told);
	assert_false(has_line(told, "sbx_reap_pinned_bytes_limit 0"));
	told->settings.policy.pinned_bytes_warn = 4096;
	free(told->text);
	tell(told);
	assert_line(told, "sbx_reap_pinned_bytes_limit 4096");
}

static void a_run_that_went_is_decided_on_and_not_there(void **state)
{
	struct told *told = *state;

	add(told, "r1", VERDICT_REAP, REASON_FINISHED_OK)->result = RESULT_REAPED;
	add(told, "r2", VERDICT_KEEP, REASON_FOREIGN);
	tell(told);
	assert_line(told, "sbx_reap_decisions{reason=\"finished_ok\"} 1");
	assert_line(told, "sbx_reap_results{result=\"reaped\"} 1");
	assert_line(told, "sbx_reap_runs{state=\"unregistered\"} 1");
}

static void what_should_be_gone_is_overdue_until_it_is(void **state)
{
	struct told *told = *state;
	const struct failures failures = { .since_s = NOW_S - 7000, .count = 3 };
	struct run *run = add(told, "gone", VERDICT_REAP, REASON_FINISHED_OK);

	run->decision.due_s = NOW_S - 9000;
	run->result = RESULT_REAPED;
	run = add(told, "stopped", VERDICT_STOP, REASON_OVER_DEADLINE);
	run->decision.due_s = NOW_S - 8000;
	run->result = RESULT_KEPT;
	add(told, "later", VERDICT_KEEP, REASON_RETAINED)->decision.due_s = NOW_S + 1;
	add(told, "braked", VERDICT_KEEP, REASON_BRAKE)->decision.due_s = NOW_S - 60;
	run = add(told, "stuck", VERDICT_KEEP, REASON_BACKOFF);
	run->decision.due_s = NOW_S + 500; /* of the next try */
	run->failures = &failures;
	tell(told);
	assert_line(told, "sbx_reap_overdue_runs 2");
	assert_line(told, "sbx_reap_oldest_overdue_seconds 7000");
	assert_line(told, "sbx_reap_stuck_runs 1");
	assert_line(told, "sbx_reap_attention_runs 2");
}

static void add_pin(struct told *told, struct pin *pin, int64_t bytes)
{
	struct run *run = add(told, pin->run, VERDICT_KEEP, REASON_PINNED);

	run->facts.pin = PIN_HELD;
	run->pin = pin;
	run->bytes = bytes;
}

static void pinned_bytes_are_told_only_when_all_are_known(void **state)
{
	struct told *told = *state;
	struct pin first = { .run = "r1", .since_s = NOW_S - 50, .until_s = NOW_S + 90 };
	struct pin second = { .run = "r2", .since_s = NOW_S - 70, .until_s = 0 };

	add_pin(told, &first, 1000);
	add_pin(told, &second, 24);
	tell(told);
	assert_line(told, "sbx_reap_pinned_runs 2");
	assert_line(told, "sbx_reap_pinned_bytes 1024");
	assert_line(told, "sbx_reap_oldest_pin_timestamp_seconds 1795966310");
	assert_line(told, "sbx_reap_next_pin_end_timestamp_seconds 1795966470");
	free(told->text);
	told->inventory.runs[1]->bytes = -1;
	told->inventory.runs[1]->measured = true; /* and it has nothing that could be measured */
	tell(told);
	assert_line(told, "sbx_reap_pinned_bytes 1000");
	free(told->text);
	told->inventory.runs[1]->measured = false;
	tell(told);
	assert_null(strstr(told->text, "pinned_bytes"));
}

static void a_label_cannot_break_out_of_its_quotes(void **state)
{
	struct told *told = *state;

	inventory_add_source(
		&told->inventory, "markers", "/a\"} 1\nb\\c\xff\xc3\xa9", TRI_NO, "why");
	tell(told);
	assert_line(told, "sbx_reap_source_up{source=\"markers\",at=\"/a\\\"} "
			  "1\\\\x0ab\\\\x5cc\\\\xff\xc3\xa9\"} 0");
	assert_line(told, "sbx_reap_blind_sources 1");
}

/* Of two samples with the same labels Prometheus refuses the whole file. */
static void a_source_is_told_once_and_by_its_worst_answer(void **state)
{
	struct told *told = *state;

	inventory_add_source(&told->inventory, "markers", "/a", TRI_YES, NULL);
	inventory_add_source(&told->inventory, "markers", "/a", TRI_NO, "why");
	inventory_add_source(&told->inventory, "markers", "/a", TRI_NO, "again");
	inventory_add_source(&told->inventory, "containers", NULL, TRI_UNKNOWN, NULL);
	tell(told);
	assert_line(told, "sbx_reap_source_up{source=\"markers\",at=\"/a\"} 0");
	assert_line(told, "sbx_reap_blind_sources 1");
	assert_null(strstr(told->text, "at=\"/a\"} 1"));
	assert_null(strstr(strstr(told->text, "at=\"/a\"} 0") + 1, "at=\"/a\"} 0"));
	assert_null(strstr(told->text, "containers"));
}

static void a_source_that_failed_after_it_had_answered_is_told_once(void **state)
{
	struct told *told = *state;

	inventory_add_source(&told->inventory, "store", "/x/state.db", TRI_YES, NULL);
	told->metrics.failed =
		(struct source){ .name = "store", .at = "/x/state.db", .ok = TRI_NO };
	tell(told);
	assert_line(told, "sbx_reap_source_up{source=\"store\",at=\"/x/state.db\"} 0");
	assert_line(told, "sbx_reap_blind_sources 1");
	assert_null(strstr(told->text, "at=\"/x/state.db\"} 1"));
}

static void a_pass_that_saw_nothing_tells_what_it_knows(void **state)
{
	struct told *told = *state;

	told->metrics = (struct metrics){
		.now_s = NOW_S,
		.code = EXIT_STATE,
		.failed = { .name = "store", .at = "/x/state.db", .ok = TRI_NO },
	};
	tell(told);
	assert_line(told, "sbx_reap_last_pass_timestamp_seconds 1795966380");
	assert_line(told, "sbx_reap_last_pass_exit_code 65");
	assert_line(told, "sbx_reap_source_up{source=\"store\",at=\"/x/state.db\"} 0");
	assert_line(told, "sbx_reap_blind_sources 1");
	assert_null(strstr(told->text, "last_success"));
	assert_null(strstr(told->text, "_total"));
	assert_null(strstr(told->text, "sbx_reap_runs"));
}

static void hold_brake_probes_and_disks_are_told(void **state)
{
	struct told *told = *state;
	struct hold hold = { .since_s = NOW_S };
	const char *roots[] = { "/srv/a" };
	struct filesystem filesystem = {
		.roots = roots, .root_count = 1, .used_bytes = 90, .total_bytes = 100, .full = true
	};
	static const struct probe_result probes[] = { { "due", "ok", NOW_S - 9 },
		{ "write", "FAILED", NOW_S - 9 }, { "fresh", "put off", NOW_S - 9 } };

	told->inventory.hold = &hold;
	told->inventory.brake.state = BRAKE_HOLDS;
	told->inventory.filesystems = &filesystem;
	told->inventory.filesystem_count = 1;
	told->metrics.probes = probes;
	told->metrics.probe_count = ARRAY_SIZE(probes);
	tell(told);
	assert_line(told, "sbx_reap_hold 1");
	assert_line(told, "sbx_reap_brake 1");
	assert_line(told, "sbx_reap_probe_ok{check=\"due\"} 1");
	assert_line(told, "sbx_reap_probe_ok{check=\"write\"} 0");
	assert_null(strstr(told->text, "fresh")); /* not found out */
	assert_line(told, "sbx_reap_last_probe_timestamp_seconds 1795966371");
	assert_line(told, "sbx_reap_filesystem_used_bytes{root=\"/srv/a\"} 90");
	assert_line(told, "sbx_reap_filesystem_pressure{root=\"/srv/a\"} 1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_reason_is_told_from_zero),
		TEST(a_limit_of_what_is_pinned_is_told_where_one_is_set),
		TEST(a_run_that_went_is_decided_on_and_not_there),
		TEST(what_should_be_gone_is_overdue_until_it_is),
		TEST(pinned_bytes_are_told_only_when_all_are_known),
		TEST(a_label_cannot_break_out_of_its_quotes),
		TEST(a_source_is_told_once_and_by_its_worst_answer),
		TEST(a_source_that_failed_after_it_had_answered_is_told_once),
		TEST(a_pass_that_saw_nothing_tells_what_it_knows),
		TEST(hold_brake_probes_and_disks_are_told),
	};

	return cmocka_run_group_tests_name("report_metrics", tests, NULL, NULL);
}
