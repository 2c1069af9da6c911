/*
 * The canaries of a probe: a run that is due, one that is pinned, and a file beside the root that the
 * due one reaches by a symlink, a hard link and a bind mount. Made the way a harness makes runs, for
 * the real pass to find.
 */
#pragma once

#include "backend/worktree_canary.h"
#include "base/text.h"
#include "os/bus.h"
#include "probe_attend.h"
#include "probe_findings.h"
#include "settings.h"
#include "state/store.h"

struct probe_canary {
	char *run, *repo, *tree;
	struct worktree_canary git; /* named by those */
	const char *marker, *keep, *record;
};

struct probe_canaries {
	const struct settings *settings;
	struct store *store;
	struct bus *bus;
	int64_t now_s;
	struct arena arena;
	const char *root;             /* the first one */
	const char *around, *outside; /* beside it: shared by probes, and this one's own */
	const char *file, *shown;     /* in it: the file in what is bound, a second bind */
	const char *no_hard_link;     /* why there is none; NULL: there is one */
	const char *put_off;          /* why no pass had its turn at the due one; NULL: one had */
	struct probe_canary due, pinned;
	struct text outside_before, pinned_before;
	struct text outside_linked; /* while the due one has its hard link to it */
};

/*
 * Makes them; `id`, eight hex digits, makes their names new ones. The due one becomes due last. 0 or
 * -errno, and then what was made already stays until the next probe; probe_canaries_done in any case.
 */
int probe_canaries_make(struct probe_canaries *canaries, const char *id, struct error *error);
void probe_canaries_done(struct probe_canaries *canaries);

/* Whether the due one is off the books. */
bool probe_canaries_due_is_off(const struct probe_canaries *canaries);

/*
 * The reason for which the last pass kept the due one, where that was none of its own
 * (probe_note_kept); NULL: it was not kept so. In the arena.
 */
const char *probe_canaries_kept(struct probe_canaries *canaries);

/* Looks at all of them after a pass, and at what earlier probes left: adds the findings. What put_off
 * explains is put off; that something is not as it was has failed all the same. */
void probe_canaries_judge(struct probe_canaries *canaries, struct probe_findings *findings);

/* Nothing is bad: takes away what is outside, and ends the pin, so that the next pass takes the rest.
 * Adds a finding where that fails. */
void probe_canaries_tidy(struct probe_canaries *canaries, struct probe_findings *findings);

/* Something is bad: all stays for a person to look at, and the pin says so. Adds a finding where that
 * fails. */
void probe_canaries_leave(struct probe_canaries *canaries, struct probe_findings *findings);

/* Before the identifier of a probe, the name of the run that it pins. */
#define PROBE_PINNED PROBE_PREFIX "pinned-"

enum probe_remains {
	PROBE_BROKEN_OFF, /* or it is at work now, as its lock says */
	PROBE_LEFT        /* it failed, and left them for a person */
};

/* Calls back for each earlier probe whose canaries are pinned still, with the directory of its own
 * beside what was the first root then. 0 or -errno. */
typedef void probe_remains_entry(
	void *context, const char *id, const char *outside, enum probe_remains remains);
int probe_remains_each(
	struct store *store, probe_remains_entry *each, void *context, struct error *error);

/*
 * Takes away what probes made outside that were broken off, wherever, and ends their pins, so that
 * the next passes take their runs. The caller has the lock of probes, and there is a root. Adds a
 * finding where that fails; then the pin stays, so that it is tried again.
 */
void probe_remains_mend(
	const struct settings *settings, struct store *store, struct probe_findings *findings);
