#include "units.h"
#include "unit.h"

#include "backend/effects.h"
#include "base/clock.h"
#include "base/text.h"
#include "child.h"
#include "transient.h"

#include <poll.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 60000, STEPS = 200, STEP_MS = 50 };

static const struct backend *const backend = &cgroup_backend;

void units_reopen(struct units *units)
{
	backend->close(units->state);
	assert_int_equal(backend->open(&units->settings, &units->state, NULL), 0);
}

int units_set_up(void **state)
{
	struct units *units = mem_new(sizeof(*units));

	*state = units;
	units->settings.cgroup_root = mem_dup("sbx.slice");
	units->settings.limits.kill_timeout_ms = PATIENCE_MS;
	return backend->open(&units->settings, &units->state, NULL);
}

int units_tear_down(void **state)
{
	struct units *units = *state;

	transient_end(one);
	transient_end(two);
	transient_end(scope);
	transient_end("sbx-test-deep.slice");
	transient_end(SLICE);
	child_end(units->child);
	backend->close(units->state);
	inventory_done(&units->inventory);
	free(units->settings.cgroup_root);
	free(units);
	return 0;
}

struct resource units_by_group(void)
{
	return (struct resource){ .kind = KIND_CGROUP,
		.proof = PROOF_ROW,
		.locator = SLICE_GROUP "/sbx-test-one.service" };
}

struct resource units_by_name(void)
{
	return (struct resource){ .kind = KIND_SCOPE, .proof = PROOF_ROW, .locator = one };
}

struct resource units_by_slice(void)
{
	return (struct resource){ .kind = KIND_CGROUP, .proof = PROOF_ROW, .locator = SLICE_GROUP };
}

void units_identify(struct units *units, struct resource *resource)
{
	struct error error = { 0 };

	if (backend->identify(units->state, resource, &units->inventory.arena, &error) < 0)
		fail_msg("%s", error.text);
}

void units_probe(struct units *units, struct resource *resource)
{
	resource->present = resource->alive = TRI_UNKNOWN;
	resource->contradicts = false;
	resource->note = NULL;
	backend->probe(units->state, resource, &units->inventory.arena);
}

int units_try_stop(struct units *units, const struct resource *resource, struct error *error)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(PATIENCE_MS) };

	return backend->effects->stop(units->state, resource, &effort, error);
}

int units_stop(struct units *units, const struct resource *resource)
{
	struct error error = { 0 };
	int r = units_try_stop(units, resource, &error);

	if (r < 0)
		print_message("%s\n", error.text);
	return r;
}

int units_remove(struct units *units, const struct resource *resource)
{
	struct effort effort = { .deadline_ms = deadline_in_ms(PATIENCE_MS) };

	return backend->effects->remove(units->state, resource, &effort, NULL);
}

int units_command(const char *line)
{
	int status = system(line);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void units_until(const char *line)
{
	for (int step = 0; step < STEPS; step++) {
		if (units_command(line) == 0)
			return;
		(void)poll(NULL, 0, STEP_MS);
	}
	fail_msg("never so: %s", line);
}

void units_stay_away(const char *unit)
{
	for (int step = 0; step < 10; step++) {
		assert_true(transient_is(unit, "inactive"));
		(void)poll(NULL, 0, STEP_MS);
	}
}

void units_are_gone(struct units *units, struct resource *resource)
{
	units_probe(units, resource);
	assert_int_equal(resource->present, TRI_NO);
	assert_int_equal(resource->alive, TRI_NO);
	assert_int_equal(units_stop(units, resource), 0);
	assert_int_equal(units_remove(units, resource), 0);
}

void units_go(struct units *units, struct resource *resource)
{
	assert_int_equal(units_stop(units, resource), 1);
	assert_true(units_remove(units, resource) >= 0);
	units_stay_away(one);
	units_are_gone(units, resource);
}
