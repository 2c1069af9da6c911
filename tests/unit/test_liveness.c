#include "unit.h"

#include "liveness.h"

#define NOW INT64_C(1800000000)

static const struct policy_settings settings = { .lease_s = 900, .deadline_grace_s = 300 };

/* A run with one resource, judged. */
struct case_of_life {
	const char *sentence;
	struct resource resource;
	int64_t last_sign_s, finished_s;
	enum tri live;
	bool own, occupied;
};

#define OWN(kind_, alive_)                                                             \
	{                                                                              \
		.kind = kind_, .locator = "x", .proof = PROOF_ROW, .present = TRI_YES, \
		.alive = alive_                                                        \
	}
#define LONG_AGO (NOW - 7200)

static const struct case_of_life cases[] = {
	{ "a sign of life within the lease", OWN(KIND_WORKTREE, TRI_UNKNOWN), NOW - 899, 0, TRI_YES,
		true, false },
	{ "a sign of life as old as the lease is none", OWN(KIND_WORKTREE, TRI_UNKNOWN), NOW - 900,
		0, TRI_NO, false, false },
	{ "a finished run has no lease", OWN(KIND_WORKTREE, TRI_UNKNOWN), NOW - 1, NOW - 1, TRI_NO,
		false, false },
	{ "a running container", OWN(KIND_CONTAINER, TRI_YES), LONG_AGO, 0, TRI_YES, true, false },
	{ "a stopped container", OWN(KIND_CONTAINER, TRI_NO), LONG_AGO, 0, TRI_NO, false, false },
	{ "a container of which nothing is known", OWN(KIND_CONTAINER, TRI_UNKNOWN), LONG_AGO, 0,
		TRI_UNKNOWN, false, false },
	{ "a populated cgroup", OWN(KIND_CGROUP, TRI_YES), LONG_AGO, 0, TRI_YES, true, false },
	{ "a populated scope", OWN(KIND_SCOPE, TRI_YES), LONG_AGO, 0, TRI_YES, true, false },
	{ "the registered process", OWN(KIND_PROCESS, TRI_YES), LONG_AGO, 0, TRI_YES, true, false },
	{ "the registered process of an earlier boot", OWN(KIND_PROCESS, TRI_NO), LONG_AGO, 0,
		TRI_NO, false, false },
	{ "a volume says nothing", OWN(KIND_VOLUME, TRI_UNKNOWN), LONG_AGO, 0, TRI_NO, false,
		false },
	{ "a stranger in the tree is life, but not the run's own",
		{ .kind = KIND_PROCESS, .locator = "7", .present = TRI_YES, .alive = TRI_YES },
		LONG_AGO, 0, TRI_YES, false, true },
	{ "a stranger's container is no evidence",
		{ .kind = KIND_CONTAINER, .locator = "c", .present = TRI_YES, .alive = TRI_YES },
		LONG_AGO, 0, TRI_NO, false, false },
};

static void each_evidence_counts_as_it_should(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
		struct run *run = inventory_run(&inventory, "r1");

		(void)run_add_resource(&inventory, run, &cases[i].resource);
		run->facts.recorded = true;
		run->facts.last_sign_s = cases[i].last_sign_s;
		run->facts.finished_s = cases[i].finished_s;
		liveness_judge(&inventory, run, &settings);
		if (run->facts.live != cases[i].live || run->facts.live_is_own != cases[i].own ||
			run->facts.occupied != cases[i].occupied)
			fail_msg("%s: live %s, own %d, occupied %d", cases[i].sentence,
				tri_name(run->facts.live), run->facts.live_is_own,
				run->facts.occupied);
		if (run->facts.live == TRI_YES)
			assert_non_null(run->live_note);
	}
}

static void any_evidence_outweighs_what_is_unknown(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = NOW };
	struct run *run = inventory_run(&inventory, "r1");
	const struct resource unknown = {
		.kind = KIND_CONTAINER, .locator = "c", .proof = PROOF_ROW
	};
	const struct resource alive = OWN(KIND_CGROUP, TRI_YES);

	(void)state;
	(void)run_add_resource(&inventory, run, &unknown);
	(void)run_add_resource(&inventory, run, &alive);
	liveness_judge(&inventory, run, &settings);
	assert_int_equal(run->facts.live, TRI_YES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_evidence_counts_as_it_should),
		cmocka_unit_test(any_evidence_outweighs_what_is_unknown),
	};

	return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}
