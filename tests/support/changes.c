#include "changes.h"

#include "backend/backend.h"
#include "base/clock.h"

enum work judge(struct git_fixture *fixture, struct resource *resource, const char **ret_note)
{
	const char *note = NULL;
	enum work work = worktree_backend.work(
		fixture->state, resource, deadline_in_ms(LOOK_MS), &fixture->arena, &note);

	*ret_note = note ? note : "";
	return work;
}

void check_change(
	void **state, const struct change *change, enum branch_rule rule, bool marker_only)
{
	struct git_fixture *fixture = *state;
	struct resource resource;
	enum work work;
	const char *note;

	fixture->settings.policy.branch = rule;
	resource = git_fixture_r1(fixture);
	if (marker_only)
		resource.base = resource.branch = NULL;
	git_fixture_sh(fixture, "%s", change->command);
	work = judge(fixture, &resource, &note);
	if (work != change->work)
		fail_msg("%s: %s (%s), not %s", change->command, work_name(work), note,
			work_name(change->work));
	if (change->note && !strstr(note, change->note))
		fail_msg("%s: \"%s\" does not say \"%s\"", change->command, note, change->note);
}

void check_changes(void **state, const struct change *changes, size_t count, enum branch_rule rule,
	bool marker_only)
{
	for (size_t i = 0; i < count; i++) {
		check_change(state, &changes[i], rule, marker_only);
		git_fixture_reset(*state);
	}
}
