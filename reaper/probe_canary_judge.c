#include "probe_canary_parts.h"

#include "os/picture.h"
#include "probe_attend.h"
#include "state/history.h"
#include "state/pins.h"
#include "state/runs.h"

#include <errno.h>
#include <sys/stat.h>

bool probe_canaries_due_is_off(const struct probe_canaries *canaries)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };

	inventory.now_s = canaries->now_s;
	return runs_load(canaries->store, &inventory, canaries->due.run, NULL) == 0 &&
	       !inventory_find(&inventory, canaries->due.run);
}

static void add_if_there(struct text *left, const char *what, const char *path)
{
	struct stat there;

	if (lstat(path, &there) < 0 && errno == ENOENT)
		return;
	text_addf(left, "%s%s", left->length ? ", " : "", what);
}

/* What became of a run last. */
struct last_entry {
	struct arena *arena;
	const char *action, *reason;
};

/* A history_each callback. */
static void note_last(void *context, const struct history_entry *entry)
{
	struct last_entry *last = context;

	last->action = arena_dup(last->arena, entry->action);
	last->reason = arena_dup(last->arena, entry->reason);
}

const char *probe_canaries_kept(struct probe_canaries *canaries)
{
	struct last_entry last = { .arena = &canaries->arena };

	if (history_each(canaries->store, canaries->due.run, 0, note_last, &last, NULL) < 0)
		return NULL;
	return text_equal(last.action, "kept") && probe_reason_puts_off(last.reason) ? last.reason
										     : NULL;
}

static void add_left(const struct probe_canaries *canaries, struct probe_findings *findings,
	const char *check, const char *left)
{
	if (canaries->put_off)
		probe_findings_add(findings, check, PROBE_PUT_OFF,
			"%s; that says nothing, since %s", left, canaries->put_off);
	else
		probe_findings_add(findings, check, PROBE_FAILED, "%s", left);
}

/* A history_each callback. */
static void count_reaped(void *context, const struct history_entry *entry)
{
	int *count = context;

	*count += text_equal(entry->action, "reaped");
}

static void look_at_books(
	const struct probe_canaries *canaries, struct text *left, struct error *error)
{
	const char *run = canaries->due.run;
	int reaped = 0;

	if (!probe_canaries_due_is_off(canaries))
		text_addf(left, "%sits record", left->length ? ", " : "");
	if (history_each(canaries->store, run, 0, count_reaped, &reaped, error) == 0 && reaped != 1)
		text_addf(left, "%sand its history has %d ends instead of one",
			left->length ? ", " : "", reaped);
}

static void judge_due(const struct probe_canaries *canaries, struct probe_findings *findings)
{
	const struct probe_canary *due = &canaries->due;
	struct text left CLEANUP(text_done) = { 0 };
	struct error error = { 0 };

	add_if_there(&left, "the tree", due->tree);
	add_if_there(&left, "the marker", due->marker);
	add_if_there(&left, "git's record", due->record);
	if (canaries->settings->policy.branch != BRANCH_KEEP &&
		worktree_canary_has_branch(&due->git, &error) > 0)
		text_addf(&left, "%sthe branch", left.length ? ", " : "");
	look_at_books(canaries, &left, &error);
	if (error.code)
		probe_findings_add(findings, "due", PROBE_CANNOT, "%s", error.text);
	else if (left.length) {
		char *what CLEANUP(mem_done) = mem_printf(
			"run %s was due, and this is left of it: %s; see 'sbx-reap why %s'",
			due->run, left.data, due->run);

		add_left(canaries, findings, "due", what);
	} else
		probe_findings_add(findings, "due", PROBE_OK,
			"run %s was due and is gone: tree, git's record%s, marker and row",
			due->run,
			canaries->settings->policy.branch != BRANCH_KEEP ? ", branch" : "");
}

static void judge_picture(struct probe_findings *findings, const char *check, const char *before,
	const struct text *after, const struct error *error, const char *good)
{
	char *differs CLEANUP(mem_done) =
		error->code ? NULL : picture_difference(before, after->data ? after->data : "");

	if (error->code)
		probe_findings_add(findings, check, PROBE_CANNOT, "%s", error->text);
	else if (differs)
		probe_findings_add(findings, check, PROBE_FAILED,
			"%s is not as it was before the pass", differs);
	else
		probe_findings_add(findings, check, PROBE_OK, "%s", good);
}

static void judge_pinned(const struct probe_canaries *canaries, struct probe_findings *findings)
{
	struct inventory inventory CLEANUP(inventory_done) = { 0 };
	const struct probe_canary *pinned = &canaries->pinned;
	struct text after CLEANUP(text_done) = { 0 };
	struct error error = { 0 };
	char *good CLEANUP(mem_done) = mem_printf(
		"run %s is as it was: tree, git's record, marker, pin and row", pinned->run);

	(void)canary_picture(pinned, &after, &error);
	if (!error.code && worktree_canary_has_branch(&pinned->git, &error) == 0)
		probe_findings_add(findings, "pinned", PROBE_FAILED, "the branch of run %s is gone",
			pinned->run);
	else if (!error.code && !canary_row(canaries, pinned->run, &inventory))
		probe_findings_add(findings, "pinned", PROBE_FAILED, "the record of run %s is gone",
			pinned->run);
	else
		judge_picture(
			findings, "pinned", canaries->pinned_before.data, &after, &error, good);
}

/* A due one that is still there, whole or in part, may have its hard link. */
static const char *outside_as_it_was(
	const struct probe_canaries *canaries, const struct text *after)
{
	char *differs CLEANUP(mem_done) = NULL;

	if (!after->data || probe_canaries_due_is_off(canaries))
		return canaries->outside_before.data;
	differs = picture_difference(canaries->outside_linked.data, after->data);
	return differs ? canaries->outside_before.data : canaries->outside_linked.data;
}

static void judge_outside(const struct probe_canaries *canaries, struct probe_findings *findings)
{
	struct text after CLEANUP(text_done) = { 0 };
	struct error error = { 0 };
	char *good CLEANUP(mem_done) =
		mem_printf("%s is as it was, reached by symlink, %s and bind mount from what went",
			canaries->outside,
			canaries->no_hard_link ? "(no hard link: the root is a filesystem of its "
						 "own)"
					       : "hard link");

	(void)picture_add(&after, canaries->outside, &error);
	judge_picture(
		findings, "outside", outside_as_it_was(canaries, &after), &after, &error, good);
}

/* Of an earlier probe, over, not pinned, and still on the books after a pass. */
static void judge_earlier(const struct probe_canaries *canaries, struct probe_findings *findings)
{
	struct inventory inventory CLEANUP(inventory_done) = { .now_s = canaries->now_s };
	struct text left CLEANUP(text_done) = { 0 };
	struct error error = { 0 };
	int r = runs_load(canaries->store, &inventory, NULL, &error);

	if (r >= 0)
		r = pins_load(canaries->store, &inventory, &error);
	for (size_t i = 0; r >= 0 && i < inventory.run_count; i++) {
		const struct run *run = inventory.runs[i];

		if (!text_starts(run->id, PROBE_PREFIX) || !run->row || !run->row->finished_s ||
			run->pin || text_equal(run->id, canaries->due.run))
			continue;
		text_addf(&left, "%s%s", left.length ? ", " : "", run->id);
	}
	if (r < 0)
		probe_findings_add(findings, "earlier", PROBE_CANNOT, "%s", error.text);
	else if (left.length) {
		char *what CLEANUP(mem_done) = mem_printf(
			"canaries of earlier probes are due and still there: %s", left.data);

		add_left(canaries, findings, "earlier", what);
	} else
		probe_findings_add(findings, "earlier", PROBE_OK,
			"nothing is left that earlier probes made due");
}

void probe_canaries_judge(struct probe_canaries *canaries, struct probe_findings *findings)
{
	judge_due(canaries, findings);
	judge_pinned(canaries, findings);
	judge_outside(canaries, findings);
	judge_earlier(canaries, findings);
}
