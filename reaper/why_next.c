#include "why_next.h"

#include "base/runid.h"
#include "base/shell.h"
#include "facts.h"

struct offering {
	const struct why_subject *subject;
	struct arena *arena;
	struct why_commands *commands;
	const char *id; /* quoted */
};

static const char *quoted(struct arena *arena, const char *word)
{
	struct text text CLEANUP(text_done) = { 0 };

	text_add_quoted(&text, word);
	return arena_dup(arena, text.data);
}

static void offer(struct offering *offering, const char *what, const char *command)
{
	struct why_commands *commands = offering->commands;

	if (commands->count < WHY_COMMANDS_MAX)
		commands->items[commands->count++] = (struct why_command){ what, command };
}

/* One of ours. In a visit only the verbs go that take --repo. */
static void offer_own(struct offering *offering, const char *what, const char *arguments)
{
	offer(offering, what,
		arena_printf(
			offering->arena, "sbx-reap %s%s", arguments, offering->subject->manner));
}

/* VERB RUN MORE */
static void offer_verb(
	struct offering *offering, const char *what, const char *verb, const char *more)
{
	if (runid_valid(offering->subject->run->id))
		offer_own(offering, what,
			arena_printf(offering->arena, "%s %s%s", verb, offering->id, more));
}

/* The same for a verb that keeps the books of a host that was set up. */
static void offer_book(
	struct offering *offering, const char *what, const char *verb, const char *more)
{
	if (!offering->subject->settings->visited)
		offer_verb(offering, what, verb, more);
}

/* A command of the system on a file; its name may begin with anything. */
static void offer_file(
	struct offering *offering, const char *what, const char *command, const char *path)
{
	if (path)
		offer(offering, what,
			arena_printf(offering->arena, "%s -- %s", command,
				quoted(offering->arena, path)));
}

static void offer_pin(struct offering *offering)
{
	offer_verb(offering, "keep it for now", "pin", " --for 2d");
}

static void offer_reap(struct offering *offering, const char *early)
{
	offer_verb(offering, "see what would go now", "--run",
		arena_printf(offering->arena, "%s --dry-run", early));
	offer_verb(offering, "let it go now", "--run", early);
}

static const char *tree_of(const struct run *run)
{
	for (size_t i = 0; i < run->resource_count; i++)
		if (run->resources[i].kind == KIND_WORKTREE && run->resources[i].present != TRI_NO)
			return run->resources[i].locator;
	return NULL;
}

static void next_pinned(struct offering *offering)
{
	const struct pin *pin = offering->subject->run->pin;

	offer_verb(offering, "end the pin", "unpin", "");
	if (pin && pin->until_s)
		offer_verb(offering, "keep it longer", "pin", " --for 7d");
}

static void next_pin_unknown(struct offering *offering)
{
	offer_file(offering, "look at the file", "ls -l", offering->subject->run->keep_path);
	offer_verb(offering, "end the pin, with its file", "unpin", "");
}

static void next_locked(struct offering *offering)
{
	const struct run *run = offering->subject->run;

	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (resource->lock == LOCK_HELD && resource->repo)
			offer(offering, "unlock it",
				arena_printf(offering->arena, "git -C %s worktree unlock -- %s",
					quoted(offering->arena, resource->repo),
					quoted(offering->arena, resource->locator)));
	}
	offer_pin(offering);
}

/* Who it is that lives: "4711", or "4711:START" of one that is not the run's. */
static void offer_process(struct offering *offering, const struct resource *process)
{
	char *pid CLEANUP(mem_done) = mem_dup(process->locator);

	pid[strspn(pid, "0123456789")] = 0;
	if (*pid && process->alive != TRI_NO)
		offer(offering, "see who that is",
			arena_printf(offering->arena, "ps -o pid,user,lstart,args -p %s", pid));
}

static void offer_living(struct offering *offering)
{
	const struct run *run = offering->subject->run;

	for (size_t i = 0; i < run->resource_count; i++) {
		const struct resource *resource = &run->resources[i];

		if (resource->kind == KIND_PROCESS)
			offer_process(offering, resource);
		else if (resource->kind == KIND_SCOPE && resource->alive == TRI_YES)
			offer_file(offering, "see what runs in it", "systemctl status",
				resource->locator);
	}
}

static void offer_books(struct offering *offering)
{
	const struct facts *facts = &offering->subject->run->facts;

	if (!facts->recorded || facts->finished_s)
		return;
	offer_book(offering, "give it more time", "renew", " --ttl 2h");
	offer_book(offering, "say that it is over", "finish", " --failed");
}

static void next_live(struct offering *offering)
{
	offer_living(offering);
	offer_books(offering);
	offer_pin(offering);
}

static void next_retained(struct offering *offering)
{
	offer_pin(offering);
	offer_reap(offering, " --early");
	offer_books(offering);
}

static void next_unknown(struct offering *offering)
{
	if (offering->subject->settings->visited)
		offer_own(offering, "see what cannot be read", "list");
	else
		offer_own(offering, "see what cannot be read", "check");
	offer_pin(offering);
}

/* git runs what a tree's configuration names: whoever asks it should be whose tree it is. */
static void next_unsaved(struct offering *offering)
{
	const struct why_subject *subject = offering->subject;

	/* No git: what it would run is for the tree to say (core.fsmonitor, filters). */
	offer_file(offering, "look at it", "ls -la", tree_of(subject->run));
	if (subject->run->facts.salvage_failed_s)
		offer_verb(offering, "try to salvage it now", "--run", " --early");
	offer_pin(offering);
}

static void next_foreign(struct offering *offering)
{
	const struct run *run = offering->subject->run;

	offer_file(offering, "look at it", "ls -la", tree_of(run));
	if (run->root)
		offer_book(offering, "make a run of it", "register", "");
}

static void next_refused(struct offering *offering)
{
	const struct run *run = offering->subject->run;

	if (run->marker_path && !run->marker)
		offer_file(offering, "look at its marker", "ls -l", run->marker_path);
	if (run->marker_distrusted) {
		offer_file(offering, "trust it, if its words are right", "chown root",
			run->marker_path);
		offer_file(
			offering, "and let nobody else write it", "chmod 0644", run->marker_path);
	}
	if (run->row || run->marker_path)
		offer_book(offering, "drop its record", "forget", "");
	offer_pin(offering);
}

static void next_clock(struct offering *offering)
{
	offer(offering, "see whether the clock is right", "timedatectl");
	if (!offering->subject->settings->visited)
		offer_own(offering, "see how the set-up is", "check");
	offer_pin(offering);
}

static void next_held(struct offering *offering)
{
	if (!offering->subject->settings->visited)
		offer_own(offering, "end the hold", "resume");
	offer_pin(offering);
}

static void next_brake(struct offering *offering)
{
	offer_own(offering, "see all that is due", "--dry-run");
	offer_pin(offering);
	offer_reap(offering, "");
	if (!offering->subject->settings->visited)
		offer_own(offering, "keep all of it", "hold --for 2h");
}

static void next_backoff(struct offering *offering)
{
	offer_living(offering);
	offer_verb(offering, "see what it failed for", "log", "");
	offer_verb(offering, "try again now", "--run", " --early");
}

static void next_due(struct offering *offering)
{
	offer_pin(offering);
	offer_reap(offering, "");
	if (offering->subject->run->decision.fate == FATE_STAYS)
		next_unsaved(offering);
}

static void next_over_deadline(struct offering *offering)
{
	offer_living(offering);
	offer_books(offering);
	next_due(offering);
}

static void next_resumed(struct offering *offering)
{
	const struct run *run = offering->subject->run;

	offer_verb(offering, "see how far it is", "log", "");
	offer_reap(offering, "");
	if (run->root && runid_valid(run->id))
		offer_file(offering, "stop it where it is", "touch",
			arena_printf(offering->arena, "%s/%s.keep", run->root, run->id));
}

typedef void next_by(struct offering *offering);

static next_by *next_of(enum reason reason)
{
	switch (reason) {
	case REASON_PINNED:
		return next_pinned;
	case REASON_PIN_UNKNOWN:
		return next_pin_unknown;
	case REASON_LOCKED:
		return next_locked;
	case REASON_LIVE:
		return next_live;
	case REASON_RETAINED:
		return next_retained;
	case REASON_UNKNOWN:
		return next_unknown;
	case REASON_UNSAVED_WORK:
		return next_unsaved;
	case REASON_FOREIGN:
		return next_foreign;
	case REASON_REFUSED:
		return next_refused;
	case REASON_CLOCK:
		return next_clock;
	case REASON_HELD:
		return next_held;
	case REASON_BRAKE:
		return next_brake;
	case REASON_BACKOFF:
		return next_backoff;
	case REASON_OVER_DEADLINE:
		return next_over_deadline;
	case REASON_RESUMED:
		return next_resumed;
	case REASON_CHANGED:
	case REASON_FILTERED:
	case REASON_DEFERRED:
	case REASON_FINISHED_OK:
	case REASON_FINISHED_FAILED:
	case REASON_ABANDONED:
	case REASON_ORPHAN:
	case REASON_PRESSURE:
	case REASON_REQUESTED:
		return next_due;
	case REASON_COUNT:
		break;
	}
	abort();
}

void why_commands(
	const struct why_subject *subject, struct arena *arena, struct why_commands *ret_commands)
{
	struct offering offering = { subject, arena, ret_commands,
		quoted(arena, subject->run->id) };

	*ret_commands = (struct why_commands){ 0 };
	next_of(subject->run->decision.reason)(&offering);
}

void why_commands_gone(const struct why_subject *subject, bool salvaged, struct arena *arena,
	struct why_commands *ret_commands)
{
	struct offering offering = { subject, arena, ret_commands,
		quoted(arena, subject->run->id) };

	*ret_commands = (struct why_commands){ 0 };
	if (salvaged)
		offer_book(&offering, "bring its work back", "restore", "");
	offer_verb(&offering, "see when that was, and what else", "log", "");
}
