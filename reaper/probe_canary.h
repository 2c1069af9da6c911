/*
 * The canaries of a probe: a run that is due, one that is pinned, and a file beside the root that the
 * due one reaches by a symlink, a hard link and a bind mount. Made the way a harness makes runs, for
 * the real pass to find.
 */
#pragma once

#include "backend/worktree_canary.h"
#include "base/text.h"
#include "os/bus.h"
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
	const char *root;                /* the first one */
	const char *around, *outside;    /* beside it: shared by probes, and this one's own */
	const char *kept, *file, *shown; /* in it: what is bound, the file in that, a second bind */
	const char *no_hard_link;        /* why there is none; NULL: there is one */
	const char *put_off; /* why no pass had its turn at the due one; NULL: one had */
	struct probe_canary due, pinned;
	struct text outside_before, pinned_before;
	struct text outside_linked; /* while the due one has its hard link to it */
};

/*
 * Makes them; `id` makes their names new ones. The due one becomes due last. 0 or -errno, and then
 * what was made already stays for a person; probe_canaries_done in any case.
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
