/*
 * Does what the plan says, one run at a time: claims it, proves the facts again, begins, and takes
 * it apart step by step. The only part of the program that changes the world of a run.
 *
 * MUST 1  A run is claimed before its facts are proved again, and what is acted on is only what
 * that second look showed; when it decides otherwise than the plan, the run is kept as `changed`.
 * MUST 2  The claim is begun, in one transaction that sees every pin, before the first step that
 * cannot be taken back. MUST 3  No transaction is open while anything is stopped or removed. MUST 4
 * What runs is dead before the tree is asked for unsaved work, and that is asked before anything
 * that cannot be made again goes. MUST 5  A container is verified absent before the tree it may
 * have bound goes; a failed step that the tree's safety rests on ends the run's steps. MUST 6  A
 * .keep that appears between two steps ends the run's steps. MUST 7  Only resources with proof are
 * touched. MUST 8  The row goes last, when a look at the world shows that nothing is left. MUST 9
 * Nor is what only the second look took for the run's: it reads the records of this run alone, and
 * does not see that another's names it. MUST 10 A run whose marker is rewritten between the plan
 * and the beginning of its claim is kept; one that nobody registered also after it, since then
 * the marker alone says which run it is. MUST 11 When all is stopped everything is looked at a last
 * time, and who works in the tree is asked again right before it goes: where something is another
 * one by then, or runs again, or somebody came, the rest stays and the claim stays begun.
 */
#pragma once

#include "plan.h"
#include "progress.h"
#include "world.h"

struct application {
	const struct world *world;
	const char *pass;
	int64_t deadline_ms;       /* of this run, boot clock */
	struct progress *progress; /* NULL: nobody wants to know */
};

enum applied { APPLY_DONE, APPLY_INTERRUPTED };

/*
 * Applies the decision of one due run: sets its result and error, adds to what this pass has done to
 * it, and sets its decision when that changed. Errors of one run never end a pass: an applied, or
 * -errno when the database failed, after which nothing more may be begun.
 *
 * APPLY_INTERRUPTED: its time ran out. The claim stays begun. The result is RESULT_PARTIAL, or
 * RESULT_FAILED when nothing at all was done; the history does not know of it yet, since it may be
 * applied again, with its row loaded anew.
 */
int apply_run(const struct application *application, struct run *run, struct arena *arena,
	struct error *error);
