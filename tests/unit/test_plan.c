#include "unit.h"

#include "plan.h"

static const struct settings settings = {
	.limits = { .brake_runs = 50, .brake_share = 80, .brake_hold_s = 900 },
	.disk = { .high = 85, .low = 75 },
};
static const struct world world = { .settings = &settings };

static void add(struct inventory *inventory, const char *id, enum verdict verdict,
	enum reason reason, int64_t due_s)
{
	inventory_run(inventory, id)->decision =
		(struct decision){ .verdict = verdict, .reason = reason, .due_s = due_s };
}

static void fill(struct inventory *inventory)
{
	add(inventory, "b-late", VERDICT_REAP, REASON_FINISHED_OK, 300);
	add(inventory, "a-late", VERDICT_REAP, REASON_FINISHED_OK, 300);
	add(inventory, "kept", VERDICT_KEEP, REASON_PINNED, 0);
	add(inventory, "early", VERDICT_REAP, REASON_ABANDONED, 100);
	add(inventory, "begun", VERDICT_REAP, REASON_RESUMED, 0);
	add(inventory, "over", VERDICT_STOP, REASON_OVER_DEADLINE, 200);
}

static void what_was_begun_comes_first_then_what_is_due_longest(void **state)
{
	static const char *const order[] = { "begun", "early", "over", "a-late", "b-late" };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct plan plan CLEANUP(plan_done) = { 0 };
	const struct text_list none = { 0 };

	(void)state;
	fill(&inventory);
	plan_make(&plan, &inventory, &(struct plan_wish){ .world = &world, .only = &none });
	assert_int_equal(plan.count, ARRAY_SIZE(order));
	for (size_t i = 0; i < plan.count; i++)
		assert_string_equal(plan.due[i]->id, order[i]);
}

static void what_takes_room_to_be_salvaged_goes_behind_what_makes_room(void **state)
{
	static const char *const order[] = { "over", "a-late", "begun", "early" };
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct plan plan CLEANUP(plan_done) = { 0 };
	const struct text_list none = { 0 };

	(void)state;
	fill(&inventory);
	inventory_run(&inventory, "early")->decision.fate = FATE_SALVAGED;
	inventory_run(&inventory, "begun")->decision.fate = FATE_SALVAGED;
	plan_make(&plan, &inventory,
		&(struct plan_wish){ .world = &world, .only = &none, .max_runs = 4 });
	assert_int_equal(plan.count, ARRAY_SIZE(order));
	for (size_t i = 0; i < plan.count; i++)
		assert_string_equal(plan.due[i]->id, order[i]);
	assert_int_equal(inventory_find(&inventory, "b-late")->decision.reason, REASON_DEFERRED);
}

static void a_wish_for_one_run_leaves_every_other_one(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct plan plan CLEANUP(plan_done) = { 0 };
	char name[] = "a-late", *names[] = { name };
	const struct text_list only = { .items = names, .count = 1 };

	(void)state;
	fill(&inventory);
	plan_make(&plan, &inventory, &(struct plan_wish){ .world = &world, .only = &only });
	assert_int_equal(plan.count, 1);
	assert_string_equal(plan.due[0]->id, "a-late");
	assert_int_equal(inventory_find(&inventory, "begun")->decision.reason, REASON_FILTERED);
	assert_int_equal(inventory_find(&inventory, "kept")->decision.reason, REASON_FILTERED);
}

static void what_exceeds_max_is_deferred_in_the_order_of_work(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct plan plan CLEANUP(plan_done) = { 0 };
	const struct text_list none = { 0 };

	(void)state;
	fill(&inventory);
	plan_make(&plan, &inventory,
		&(struct plan_wish){ .world = &world, .only = &none, .max_runs = 2 });
	assert_int_equal(plan.count, 2);
	assert_string_equal(plan.due[1]->id, "early");
	assert_int_equal(inventory_find(&inventory, "over")->decision.reason, REASON_DEFERRED);
}

static void an_empty_inventory_is_an_empty_plan(void **state)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	struct plan plan CLEANUP(plan_done) = { 0 };
	const struct text_list none = { 0 };

	(void)state;
	plan_make(&plan, &inventory, &(struct plan_wish){ .world = &world, .only = &none });
	assert_int_equal(plan.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_begun_comes_first_then_what_is_due_longest),
		cmocka_unit_test(what_takes_room_to_be_salvaged_goes_behind_what_makes_room),
		cmocka_unit_test(a_wish_for_one_run_leaves_every_other_one),
		cmocka_unit_test(what_exceeds_max_is_deferred_in_the_order_of_work),
		cmocka_unit_test(an_empty_inventory_is_an_empty_plan),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
