/*
 * What happens in a simulated world, one operation after the other: made at random from a number, and
 * written as text, a line each ("register r1 7200"), so that a history can be kept and played again.
 */
#pragma once

#include "base/error.h"

enum op_kind {
	/* settings; they hold for the whole world wherever they stand */
	OP_UNSAVED, /* 0 salvage, 1 keep, 2 discard */
	OP_BRANCH,  /* 0 merged, 1 keep, 2 delete */
	OP_ADOPT,
	OP_BRAKE,  /* 1: more than two runs that fall due at once are held back */
	OP_ENGINE, /* 1: there is one */

	/* what a run makes */
	OP_TREE,  /* a linked worktree */
	OP_PLAIN, /* a tree that is none */
	OP_SCRATCH,
	OP_GROUP,
	OP_OWNER,     /* a process that `register` names with --pid */
	OP_GUEST,     /* a process in the tree that is not the run's */
	OP_CONTAINER, /* with its label */
	OP_REGISTER,  /* with all that stands; time budget */
	OP_COMMIT,    /* on its branch */
	OP_DIRTY,     /* a tracked file is changed */
	OP_UNTRACKED, /* a new file */
	OP_RENEW,     /* new time budget, or 0 */
	OP_FINISH_OK,
	OP_FINISH_FAILED,
	OP_FORGET,
	OP_CRASH, /* its processes end */
	OP_CONTAINER_ENDS,

	/* by hand */
	OP_MARK,         /* a marker; made so long ago */
	OP_MARK_DONE,    /* the same, finished well just now */
	OP_MARK_FOREIGN, /* the marker is given to another user */
	OP_MARK_CUT,
	OP_MARK_OTHER, /* it names another run */
	OP_MARK_RUBBISH,
	OP_LOSE_TREE,
	OP_LOSE_FILE,
	OP_LOSE_GITFILE,
	OP_LOSE_RECORD,
	OP_LOSE_BRANCH,
	OP_LOSE_MARKER,
	OP_LOSE_SCRATCH,
	OP_LOSE_GROUP,
	OP_LOSE_CONTAINER,
	OP_RECREATE,         /* another directory where the tree was */
	OP_RECREATE_SCRATCH, /* the same for the path */
	OP_LOCK,             /* git's, without a word about a process */
	OP_UNLOCK,

	/* pins */
	OP_PIN, /* for so long; 0: never ends */
	OP_UNPIN,
	OP_KEEP, /* a .keep by hand, with an end in so long; 0: empty */
	OP_KEEP_RUBBISH,

	/* the host */
	OP_ADVANCE,
	OP_STEP,
	OP_SUSPEND,
	OP_REBOOT, /* off for so long */
	OP_HOLD,   /* for so long; 0: until resumed */
	OP_RESUME,
	OP_ENGINE_WAY, /* enum model_engine: it answers so from now on */
	OP_ENGINE_RESTART,
	OP_LOSE_BOOKS, /* the database is lost, and made anew from what stands beside the trees */
	OP_SAVE_BOOKS, /* somebody makes a copy of the database, */
	OP_OLD_BOOKS,  /* and puts it back */

	/* passes */
	OP_PASS,
	OP_PASS_MAX,
	OP_PASS_RUN,
	OP_PASS_EARLY,
	OP_PASS_KILLED, /* at its nth gate */
	/* While it halts at its nth gate: */
	OP_PASS_PIN,
	OP_PASS_KEEP,
	OP_PASS_RENEW,
	OP_PASS_FINISH,
	OP_PASS_TWICE, /* another pass */
	/* by hand: */
	OP_PASS_GUEST,
	OP_PASS_LOCK,
	OP_PASS_RECREATE, /* whatever stood there or was already gone */
	OP_COUNT
};

enum model_engine {
	ENGINE_WELL,
	ENGINE_ABSENT,
	ENGINE_FAILS,         /* at everything */
	ENGINE_HALF,          /* its lists end in the middle */
	ENGINE_REMOVAL_FAILS, /* the rest is well */
	ENGINE_REMOVAL_LIES /* it says that it did it; ten real seconds, so only where asked for */
};

enum { OP_RUNS = 4, OPS_MAX = 200 };

struct op {
	enum op_kind kind;
	unsigned run;
	int64_t value;
};

struct ops {
	struct op items[OPS_MAX];
	unsigned count;
};

/* The history that belongs to this number. */
void ops_random(struct ops *ret_ops, uint64_t seed);

/* "register" */
const char *op_name(enum op_kind kind);

/* "register r1 7200\n" */
void op_print(const struct op *op, FILE *file);

/* From a file with comments (#) and empty lines. 0, or -EINVAL with the line. */
int ops_read(const char *path, struct ops *ret_ops, struct error *error);

/* The value of the setting of that kind; 0 when it is not there. */
int64_t ops_setting(const struct ops *ops, enum op_kind kind);
