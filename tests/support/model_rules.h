/*
 * What must be so in a simulated world, written down from the description of the program and without
 * any of its code: for each run what it was told, and from that whether it may go and whether it must.
 * Where the model cannot know (a pass was killed in the middle), it says maybe and asks less.
 */
#pragma once

#include "model_op.h"
#include "model_told.h"
#include "model_world.h"

enum maybe { NO, MAYBE, YES };

/* What row or marker says. */
struct model_record {
	bool there;
	int64_t created_s, deadline_s, finished_s; /* 0: not finished */
	int64_t sign_least_s, sign_most_s;         /* the last sign of life is between these */
	bool failed;
};

enum model_marker { MARKER_NONE, MARKER_GOOD, MARKER_BAD };
enum model_keep { KEEP_NONE, KEEP_MIRROR, KEEP_BY_HAND, KEEP_BAD };

struct model_run {
	struct model_record row, mark; /* mark: what a good marker says */
	enum model_marker marker;
	/* Identity of what was registered; 0: nothing was. */
	uint64_t tree, scratch, group, container;
	int64_t container_s; /* when the last one was made */
	bool failed;         /* a pass has tried, and perhaps the next ones wait */
	bool owner;          /* registered */
	bool linked;         /* the tree that was made last is a worktree */
	bool record;         /* git's record is the run's, too */
	bool loose; /* its row was made from a marker: nothing is known of what stood then */
	uint64_t guest_tree; /* where the guest works */

	enum maybe pinned;
	int64_t pin_until_s; /* 0: never */
	enum model_keep keep;
	int64_t keep_until_s; /* 0: never */

	enum maybe begun;     /* a pass that died had begun to take it apart */
	bool begun_stop;      /* or to stop it */
	int64_t seen_least_s; /* when it was seen first without a record, in true time; 0: not yet */
	int64_t seen_most_s;  /* the same, at the latest; 0: not yet */
	int64_t future_s; /* since when, in true time, a time of it was seen to lie in the future */
	unsigned gone;    /* how often it went */
	unsigned tombstones; /* and how often the books say so, */
	unsigned untold;     /* or, since they were lost meanwhile, perhaps do not */
	bool begun_untold;   /* what had begun was on books that were lost */
	bool replaced;       /* another tree was made in place of one that was being taken apart */
};

/* What a pass remembered of the clocks. */
struct model_clock {
	int64_t wall_s, skew_s; /* skew: wall less true */
	unsigned boots;
};

enum { CLOCKS_MAX = 32 };

struct model {
	struct model_run runs[OP_RUNS];
	enum { UNSAVED_SALVAGED, UNSAVED_KEPT, UNSAVED_LOST } unsaved;
	enum { BRANCH_MERGED_GOES, BRANCH_STAYS, BRANCH_GOES } branch;
	bool adopt;
	bool engaged;             /* there is an engine, */
	enum model_engine engine; /* and it answers so */

	int64_t now_s, true_s; /* true: never steps */
	unsigned boots;
	/* The last pass was one of those. `never`: or there was none. */
	struct model_clock clocks[CLOCKS_MAX];
	unsigned clock_count;
	bool never;

	bool disturbed; /* by a boot or a suspend, ever */
	bool disturbance_seen;
	int64_t disturbed_s; /* when a pass saw it */
	int64_t graced_s;    /* by a suspend, surely until then; 0: by none */
	bool suspended;      /* no pass was since */
	bool held;
	int64_t held_until_s; /* 0: until resumed */
	bool hold_ended;      /* and a pass that was killed may have taken it off the books */

	bool braking; /* there is a brake; then: */
	enum model_brake { UNTRIPPED, TRIPPED, PERHAPS_TRIPPED } brake;
	int64_t brake_s; /* when it tripped */
};

/* How a pass is done. */
struct pass_way {
	int only;         /* run; -1: all */
	bool early, some; /* some: --max */
};

struct expectation {
	enum maybe reap, stop;
	bool tree_stays;  /* when it goes, its tree does not */
	bool stays_whole; /* neither goes nor is stopped */
	bool boxed;       /* nothing but the label of a container may prove it */
	bool stuck;       /* only a person may be able to end it */
	const char *why;  /* it does not surely go */
};

void model_begin(struct model *model, const struct ops *ops, int64_t now_s);

/* Time and everything else that is no run's. Called after the clock was moved. */
void model_host(struct model *model, const struct op *op, int64_t now_s);

/* What a verb, or something done by hand, means; `code`: the verb's answer, -1: it is none. */
void model_run_told(struct model *model, const struct op *op, int code, const struct sight *before,
	const struct sight *after);

/* The books were lost, and made anew; `sights` of all runs. */
void model_books_lost(struct model *model, const struct sight *sights);

/* A copy of the books was put back that was made when `then` was so. */
void model_books_old(struct model *model, const struct model *then, const struct sight *sights);

struct expectation model_expect(const struct model *model, unsigned number,
	const struct sight *sight, const struct pass_way *way);

/* Whether nothing is left of the run of what is its own. */
bool model_is_gone(const struct model *model, unsigned number, const struct sight *sight);

/* Whether the model knows of a record, or a pass that began. */
bool model_is_known(const struct model_run *run);

enum pass_end { PASS_WHOLE, PASS_DISTURBED, PASS_KILLED };

/* After a pass; `told`: what the pass, or after a killed one a list, says of the run; NULL: nothing. */
void model_run_passed(struct model *model, unsigned number, const struct expectation *expected,
	const struct told_run *told, const struct sight *after, enum pass_end end);
void model_passed(struct model *model, enum pass_end end);

/* What is due in a pass, and whether the brake holds that back. */
struct model_braking {
	unsigned surely, perhaps;
	enum maybe holds;
};

/* Takes back in what is expected of the runs what the brake may hold back. */
struct model_braking model_brake_expect(
	const struct model *model, const struct pass_way *way, struct expectation *runs);
void model_brake_passed(struct model *model, const struct pass_way *way,
	const struct model_braking *braking, enum pass_end end);

/* Whether passes are held by a person. */
enum maybe model_is_held(const struct model *model);
