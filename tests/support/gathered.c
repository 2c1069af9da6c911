#include "gathered.h"

enum { NOW_S = 1795966380, MINUTE = 60, HOUR = 3600, DAY = 86400 };

#define MB (INT64_C(1) << 20)
#define GB (INT64_C(1) << 30)

/* A run as its line says it; times are so long ago, or hence for the due ones. */
static const struct line {
	const char *id;
	enum verdict verdict;
	enum reason reason;
	bool unrecorded;
	enum claim claim;
	int64_t age_s, due_s, bytes;
	enum outcome outcome;
	const char *repo, *note, *pin_by;
	int64_t pin_s; /* how long the pin goes on; 0: without end */
	enum fate fate;
	const char *work_note, *fault;
} lines[] = {
	{ .id = "r1",
		.verdict = VERDICT_KEEP,
		.reason = REASON_LIVE,
		.age_s = 4 * MINUTE + 9,
		.bytes = 812 * MB,
		.repo = "/srv/git/app/.git",
		.note = "process 4711 (node server.js --port 8080 --watch src) works in its tree" },
	{ .id = "r2",
		.verdict = VERDICT_REAP,
		.reason = REASON_FINISHED_OK,
		.age_s = 2 * HOUR,
		.due_s = -5,
		.outcome = OUTCOME_OK,
		.bytes = 3 * GB / 2,
		.repo = "/srv/git/app/.git" },
	{ .id = "agent-20261129T153300Z-fix-the-race-in-the-parser",
		.verdict = VERDICT_REAP,
		.reason = REASON_ABANDONED,
		.age_s = 3 * DAY + 4 * HOUR,
		.due_s = -HOUR,
		.bytes = 17 * GB,
		.repo = "/srv/git/tools.git",
		.fate = FATE_SALVAGED,
		.work_note = "2 files are changed: src/parse.c, src/lex.c" },
	{ .id = "r3",
		.verdict = VERDICT_STOP,
		.reason = REASON_OVER_DEADLINE,
		.age_s = 26 * HOUR,
		.bytes = -1,
		.repo = "/srv/git/app/.git" },
	{ .id = "r4",
		.verdict = VERDICT_KEEP,
		.reason = REASON_PINNED,
		.age_s = 9 * DAY + 23 * HOUR,
		.outcome = OUTCOME_FAILED,
		.bytes = 40 * GB,
		.pin_by = "ada",
		.pin_s = 2 * DAY + HOUR,
		.repo = "/srv/git/app/.git" },
	{ .id = "r5",
		.verdict = VERDICT_KEEP,
		.reason = REASON_PINNED,
		.age_s = 400 * DAY,
		.bytes = 0,
		.pin_by = "bob (see the ticket)",
		.repo = "/srv/git/app/.git" },
	{ .id = "r6",
		.verdict = VERDICT_KEEP,
		.reason = REASON_RETAINED,
		.age_s = 11 * HOUR,
		.due_s = 12 * HOUR + 59 * MINUTE,
		.outcome = OUTCOME_FAILED,
		.bytes = 999 * MB,
		.repo = "/srv/git/app/.git" },
	{ .id = "r7",
		.verdict = VERDICT_KEEP,
		.reason = REASON_UNSAVED_WORK,
		.age_s = 5 * DAY,
		.outcome = OUTCOME_OK,
		.bytes = 64 * MB,
		.fate = FATE_STAYS,
		.work_note = "a commit that no other ref contains" },
	{ .id = "r8",
		.verdict = VERDICT_REAP,
		.reason = REASON_RESUMED,
		.claim = CLAIM_BEGUN_REAP,
		.age_s = 7 * HOUR,
		.due_s = -MINUTE,
		.outcome = OUTCOME_OK,
		.bytes = -1 },
	{ .id = "r9",
		.verdict = VERDICT_KEEP,
		.reason = REASON_REFUSED,
		.age_s = HOUR,
		.bytes = -1,
		.fault = "its tree is not the one that was registered" },
	{ .id = "übergröße-日本語",
		.verdict = VERDICT_KEEP,
		.reason = REASON_UNKNOWN,
		.age_s = 59,
		.bytes = 4096,
		.repo = "/srv/git/app/.git",
		.fault = "containers at unix:///run/podman/podman.sock cannot be asked" },
	{ .id = "some\x1b[31mbody's own",
		.verdict = VERDICT_KEEP,
		.reason = REASON_FOREIGN,
		.unrecorded = true,
		.bytes = -1 },
};

static void fill_pin(struct inventory *inventory, struct run *run, const struct line *line)
{
	if (!line->pin_by)
		return;
	run->pin = arena_new(&inventory->arena, sizeof(*run->pin));
	*run->pin = (struct pin){
		.run = run->id,
		.by = line->pin_by,
		.until_s = line->pin_s ? NOW_S + line->pin_s : 0,
	};
	run->facts.pin = PIN_HELD;
}

static void fill(struct inventory *inventory, struct run *run, const struct line *line)
{
	const struct resource tree = {
		.kind = KIND_WORKTREE,
		.proof = PROOF_ROW,
		.locator = arena_printf(&inventory->arena, "/srv/sbx/workspaces/%s", line->id),
		.repo = line->repo,
		.bytes = -1,
	};

	run->facts.recorded = !line->unrecorded;
	run->facts.claim = line->claim;
	run->facts.outcome = line->outcome;
	run->facts.finished_s = line->outcome ? NOW_S - line->age_s : 0;
	run->age_since_s = line->age_s ? NOW_S - line->age_s : 0;
	run->active_s = run->age_since_s;
	run->age_from = "row";
	run->bytes = line->bytes;
	run->live_note = line->note;
	run->work_note = line->work_note;
	run->fault = line->fault;
	run->decision = (struct decision){
		.verdict = line->verdict,
		.reason = line->reason,
		.due_s = line->due_s ? NOW_S + line->due_s : 0,
		.fate = line->fate,
	};
	fill_pin(inventory, run, line);
	run_add_resource(inventory, run, &tree)->present = TRI_YES;
}

void gathered_make(struct gathered *ret_gathered)
{
	struct inventory *inventory = &ret_gathered->inventory;

	*ret_gathered = (struct gathered){ .inventory.now_s = NOW_S };
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		fill(inventory, inventory_run(inventory, lines[i].id), &lines[i]);
	inventory_add_source(inventory, "store", "/var/lib/sbx/state.db", TRI_YES, NULL);
	inventory_add_source(inventory, "containers", "unix:///run/podman/podman.sock", TRI_NO,
		"connect: Connection refused");
}
