/*
 * The words of this program as data (DESIGN.md, section 4): runs, their resources, facts about them
 * and decisions. Facts are three-valued; zeroed memory means "unknown", never "no".
 */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "settings.h"

enum tri { TRI_UNKNOWN, TRI_NO, TRI_YES };

enum kind {
	KIND_WORKTREE,
	KIND_BRANCH,
	KIND_CONTAINER,
	KIND_VOLUME,
	KIND_NETWORK,
	KIND_CGROUP,
	KIND_SCOPE,
	KIND_PATH,
	KIND_MOUNT,
	KIND_PROCESS,
	KIND_COUNT
};

/* Why a resource counts as a run's. Without any of these it is foreign: listed, never removed. */
enum proof {
	PROOF_NONE = 0,
	PROOF_ROW = 1 << 0,
	PROOF_MARKER = 1 << 1,
	PROOF_LABEL = 1 << 2, /* sbx.run=<run> on a container whose image does not carry it */
	/* A linked worktree of a configured repository, adopt = worktrees. */
	PROOF_ADOPTED = 1 << 3,
	PROOF_TRASH = 1 << 4 /* set aside by an earlier pass */
};

enum verdict { VERDICT_KEEP, VERDICT_STOP, VERDICT_REAP };

/* One fixed list (P11): the same word in table, JSON, journal, history and tests. */
enum reason {
	REASON_PINNED,
	REASON_PIN_UNKNOWN,
	REASON_LOCKED,
	REASON_LIVE,
	REASON_RETAINED,
	REASON_UNKNOWN,
	REASON_UNSAVED_WORK,
	REASON_FOREIGN,
	REASON_REFUSED,
	REASON_CLOCK,
	REASON_HELD,
	REASON_BRAKE,
	REASON_BACKOFF,
	REASON_CHANGED,
	REASON_FILTERED,
	REASON_DEFERRED,
	REASON_OVER_DEADLINE,
	REASON_FINISHED_OK,
	REASON_FINISHED_FAILED,
	REASON_ABANDONED,
	REASON_ORPHAN,
	REASON_PRESSURE,
	REASON_REQUESTED,
	REASON_RESUMED,
	REASON_COUNT
};

enum outcome { OUTCOME_NONE, OUTCOME_OK, OUTCOME_FAILED };

/* An open claim is void until its pass began something that cannot be taken back. */
enum claim { CLAIM_NONE, CLAIM_OPEN, CLAIM_BEGUN_STOP, CLAIM_BEGUN_REAP };

enum pin_state { PIN_NONE, PIN_HELD, PIN_UNREADABLE };

/* What a worktree holds that exists nowhere else. */
enum work { WORK_UNKNOWN, WORK_NONE /* no tree */, WORK_CLEAN, WORK_DIRTY, WORK_UNPUSHED };

/* What becomes of a tree that goes, by what it holds and [policy] unsaved. */
enum fate {
	FATE_GOES,     /* nothing in it is unsaved, or that is given up */
	FATE_SALVAGED, /* what is unsaved is salvaged first */
	FATE_UNASKED,  /* nobody has looked into it yet: who acts on it looks first */
	FATE_STAYS     /* tree, branch and git's record stay; whatever else the run has goes */
};

enum lock { LOCK_NONE, LOCK_HELD, LOCK_STALE /* names a process that is provably gone */ };

/* What a run did to a resource; also the form in which it is stored. */
enum result { RESULT_NONE, RESULT_REAPED, RESULT_PARTIAL, RESULT_KEPT, RESULT_FAILED };

/*
 * One thing that belongs, or seems to belong, to a run. `kind` and `locator` name it; the fields
 * below them are what was recorded at registration (told), then what a backend saw (seen).
 * Strings live in the inventory's arena, or in that of the record they came with.
 */
struct resource {
	const char *run; /* identifier of the run it is listed under */
	/* Of that run: a name that is used again gets the next one. 0: no row. */
	int64_t generation;
	/* The run's span: a labelled container made before it is not the run's. */
	int64_t span_from_s;
	int64_t span_to_s; /* 0: no record, or not ended yet */
	/* When its removal began: what is made after that is a later run's. 0: it has not. */
	int64_t begun_s;

	enum kind kind;
	unsigned proof; /* a set of enum proof */
	/*
	 * worktree, path: absolute path · branch: short name, "sbx/r1" · container: full id, or the
	 * reference as registered · volume, network: name or id · cgroup: path as in
	 * /proc/PID/cgroup, "/sbx.slice/r1" · scope: unit name · mount: mount point, with all that
	 * is mounted on it · process: pid
	 */
	const char *locator;

	/* told; NULL or 0: not recorded */
	/*
	 * worktree, branch: absolute path of the owning repository's common git directory
	 * ("/srv/git/app/.git", "/srv/git/app.git")
	 */
	const char *repo;
	const char *base;   /* worktree: commit id of HEAD at registration */
	const char *branch; /* worktree: the run's branch, short */
	/*
	 * Identity beyond the name. worktree, path: time of birth (dir_birth) · container: full id ·
	 * scope, cgroup of a unit: invocation id, or of a transient service what outlives it ·
	 * process: "BOOTID:STARTTICKS"
	 */
	const char *token;
	/*
	 * container, volume, network: the engine's socket, "unix:///…" · mount: the tree or path
	 * of the run that it lies in, which dev, ino and token are of
	 */
	const char *at;
	uint64_t dev, ino; /* worktree, path, cgroup */

	/*
	 * Why nothing of it may be touched in this pass: nobody answers behind its place or its
	 * repository. NULL: somebody does. Then it is unknown, without a look.
	 */
	const char *silent;

	/* seen */
	enum tri present;
	enum tri alive;     /* container running · cgroup, scope populated · process alive */
	bool contradicts;   /* what stands there is not what was registered: `note` says why */
	const char *note;   /* why unknown, who holds it, what contradicts; NULL: nothing to say */
	const char *record; /* worktree: its git record, "<repo>/worktrees/NAME"; NULL: none */
	const char *head;   /* worktree: its commit when its work was asked for; NULL: it was not */
	enum lock lock;     /* worktree: git's lock; `note` carries its text */
	const char *group;  /* scope: the cgroup of its processes; NULL: none is known */
	const char *set_aside; /* worktree, path: its entry in the trash, absolute; NULL: none */
	/* worktree, branch: of a visit, the last sign of life in git's record of it; 0: none */
	int64_t active_s;
	int64_t bytes;  /* allocated on disk, -1: not measured */
	int64_t made_s; /* container, volume, network: when it was made; 0: unknown */
};

/* What was told about one run: a row, or a marker. Times in epoch seconds, 0: never. */
struct record {
	const char *run;
	int64_t generation; /* row only */
	bool registered;    /* false: a row that a claim made for a run which nobody registered */
	int64_t created_s, ttl_s, deadline_s, last_sign_s, finished_s;
	enum outcome outcome;
	bool no_container; /* registered as never having one */
	/* When a good answer of every engine since its end showed none; row only. */
	int64_t engine_clear_s;
	/* When salvage of this run last failed, and why; row only. 0, NULL: it did not. */
	int64_t salvage_failed_s;
	const char *salvage_failed;
	enum claim claim;       /* row only */
	const char *claim_pass; /* row only; the pass that holds the claim */
	int64_t claim_begun_s;  /* row only; 0: it has not begun */
	struct resource *resources;
	size_t resource_count;
};

/* A pin, from its row or its mirror beside the workspace. */
struct pin {
	const char *run;
	const char *by, *reason; /* may be NULL in a .keep made by hand */
	int64_t since_s;         /* 0: unknown */
	int64_t until_s;         /* 0: no end */
	const char *file;        /* that it was read from; NULL: it is a row */
};

/* A pause of all passes: a person wants nothing to be acted on for now. */
struct hold {
	const char *by, *reason; /* NULL: not told */
	int64_t since_s;
	int64_t until_s; /* 0: until somebody resumes */
};

/* What a run could not be taken apart for: failures in a row, of pass after pass. */
struct failures {
	int64_t since_s, count, last_s;
	const char *error; /* of the last one */
};

/* A program of the site that is owed to a run: before it is taken apart, or when it is gone. */
enum duty_kind { DUTY_REVOKE, DUTY_AFTER, DUTY_KINDS };
enum duty_state { DUTY_PENDING, DUTY_DONE, DUTY_FAILED, DUTY_STATES };
struct duty {
	const char *run;
	int64_t generation; /* the credential of an earlier run of that name is another one */
	int64_t deadline_s; /* so is that of a run that was renewed: DUTY_REVOKE; else 0 */
	enum duty_kind kind;
	enum duty_state state;
	bool ripe;             /* its time has come: DUTY_AFTER, when the run has its tombstone */
	int64_t since_s;       /* when it fell due */
	int64_t count, last_s; /* failures in a row, and the last try; 0: none */
	const char *error;     /* of the last one, or what is wrong though it is done; NULL */
	/* What the program is told of a run that may be gone by then. */
	const char *reason;
	enum outcome outcome;
	const char *root; /* NULL: it lay below none */
};

/* All that the policy looks at, for one run. Times in epoch seconds, 0: never or unknown. */
struct facts {
	bool refused;  /* rule 1: invalid, or record and world contradict each other */
	bool recorded; /* a row or a trusted marker */
	bool proven;   /* recorded, labelled, adopted or set aside */
	enum pin_state pin;
	bool locked; /* a lock on its git worktree that counts */
	enum claim claim;
	int64_t created_s, deadline_s, last_sign_s, finished_s, first_seen_s;
	enum outcome outcome;
	bool requested;   /* --early: a person wants it gone now */
	bool pressed;     /* rule 10 wants it gone: its filesystem is too full */
	bool blind;       /* a fact that this run needs is unknown */
	enum tri live;    /* from liveness.c */
	bool live_is_own; /* something alive is the run's own, so that it can be stopped */
	bool occupied;    /* a process that is not the run's works in the tree */
	enum work work;
	bool work_unasked; /* unknown only because nobody asked yet: whoever acts on it asks first */
	int64_t salvage_failed_s; /* when it last failed; 0: it did not */
	bool others_present;      /* something besides tree, branch and git record is left */
	int64_t failed_count;     /* failures in a row */
	int64_t failed_last_s;    /* the last of them */
	bool unfinished;          /* the last pass that tried had too little time for it */
};

struct host_facts {
	int64_t boot_s;      /* the last boot; 0: unknown */
	int64_t last_pass_s; /* when the last pass began; 0: none is known */
	int64_t resumed_s;   /* when a pass first saw that the host had slept; 0: it has not */
	/* Wall and boot clock disagree by more than 5 min since the last pass. */
	bool clock_stepped;
	int64_t clock_step_s; /* by so much; 0 after a boot, when it can only be seen to go back */
};

struct decision {
	enum verdict verdict;
	enum reason reason;
	unsigned rule;  /* of DESIGN.md, section 6: 1 to 11 */
	int64_t due_s;  /* when it falls due by age alone; 0: never, or not by age */
	enum fate fate; /* of its trees, when the verdict is reap */
};

/* A filesystem that roots lie on. Counts as in os/filesystem.h. */
struct filesystem {
	const char **roots; /* those on it */
	size_t root_count;
	uint64_t id[2];
	int64_t used_bytes, total_bytes;
	int64_t used_inodes, total_inodes; /* total 0: no fixed number */
	/* What policy_limit() makes of it. */
	bool full;                       /* more than [disk] high is used */
	bool relieved;                   /* full, and what goes brings it below low */
	int64_t left_bytes, left_inodes; /* used when all that goes has gone */
};

/* What one tree or path takes, and where. */
struct share {
	size_t filesystem;     /* its place in the inventory */
	int64_t bytes, inodes; /* 0: nothing, or not known */
	size_t resource;       /* its place in the run */
};

enum brake_state {
	BRAKE_OFF,
	BRAKE_HOLDS, /* nothing that is due goes */
	BRAKE_PASSED /* it would, but a person confirmed the plan */
};

/* Rule 11: too much fell due at once. */
struct brake {
	enum brake_state state;
	int64_t tripped_s;  /* when it tripped first, to be remembered; 0: it has not */
	int64_t until_s;    /* of BRAKE_HOLDS and BRAKE_PASSED */
	size_t due, proven; /* runs: what the rule compares */
};

enum salvage_form { SALVAGE_COMMIT, SALVAGE_ARCHIVE };

/*
 * Unsaved work of one tree that was kept before the tree was removed. Strings live where the caller
 * of who made it says.
 */
struct salvage {
	const char *run;
	int64_t generation, made_s;
	enum salvage_form form;
	const char *tree;   /* where the tree stood, absolute */
	const char *branch; /* that was checked out there, short; NULL: none */
	/* The owning repository's common git directory; archive: NULL when there is none. */
	const char *repo;
	/*
	 * commit: "refs/sbx/salvage/<run>" and its id, 40 hex digits; archive: a commit beside it that
	 * has HEAD and index, or NULL
	 */
	const char *ref, *commit;
	const char *path; /* archive: absolute */
	int64_t bytes;    /* of the files in it, not compressed */
};

/* What the trees and paths of a run took when an earlier pass measured them. */
struct size_note {
	uint64_t trees; /* as in struct run */
	int64_t bytes, at_s;
};

/* One run with everything that is known about it: the unit of decision. */
struct run {
	const char *id;           /* not always valid: a foreign entry has whatever name it has */
	const char *root;         /* the root it lies below; NULL: none */
	const struct record *row; /* NULL: none */
	bool row_outlived;        /* there is one: of a claim on an earlier run of that name */
	const struct record *marker; /* NULL: none, or not trusted */
	const char *marker_path;     /* of a marker that exists, trusted or not; NULL: none */
	bool marker_distrusted;      /* for whose it is, or who may write it */
	const char *keep_path;       /* of a .keep that exists; NULL: none */
	struct pin *pin;             /* the one that counts; NULL: none */
	struct resource *resources;
	size_t resource_count, resource_room;

	struct facts facts;
	const char *fault;     /* what is refused, unreadable or unknown, in words; NULL: nothing */
	const char *live_note; /* the evidence of life in words; NULL: none */
	const char *age_from;  /* "row" "marker" "first seen" "git's record": whence the age */
	int64_t age_since_s;   /* what the age counts from */
	int64_t active_s;      /* last sign of life, or created */
	const char *work_note; /* what is unsaved, or why it is unknown; NULL */
	const char *salvaged;  /* where what was unsaved is now; NULL: nothing was salvaged */
	const struct failures *failures; /* NULL: none */
	const struct duty *revocation;   /* of its generation; NULL: it was not due yet */
	int64_t bytes;                   /* of all trees and paths; -1: not measured, or not all */
	int64_t bytes_least;             /* what was counted when not all of it could be; else 0 */
	uint64_t trees; /* which they are that `bytes` is of (disk_trees); 0: not known */
	const struct size_note *noted; /* to be shown in place of `bytes`; NULL: nothing fresh */

	/* For rule 10; the decision means nothing until somebody looked closer. */
	struct share *shares;
	size_t share_count;
	bool looked, measured;
	struct decision pressed; /* by rules 1 to 8, with facts.pressed */

	struct decision decision;
	enum result result;
	const char *error; /* NULL: none */
	/* By this pass, in all its rounds. */
	int64_t bytes_freed, entries_deleted, steps_done, turns_ms;
	int64_t took_ms; /* the same, also of turns that came to an end */
};

/* Something that was asked for facts, and whether it answered. */
struct source {
	const char *name; /* store markers worktrees containers cgroups processes mounts */
	const char *at;   /* path or socket; NULL: the host */
	enum tri ok;      /* unknown: not configured */
	const char *error;
};

/* Everything that was told and seen, joined by run. Owns all it points to, through the arena. */
struct inventory {
	struct arena arena;
	struct run **runs; /* in order of appearance until sorted */
	size_t run_count, run_room;
	struct source *sources;
	size_t source_count;
	struct host_facts host;
	struct filesystem *filesystems; /* of roots and path_roots; none when pressure is off */
	size_t filesystem_count;
	struct hold *hold;   /* NULL: none */
	struct duty *duties; /* not done, also of runs that are gone; the longest untried first */
	size_t duty_count;
	struct brake brake;
	int64_t now_s;
	void *index; /* by identifier */
};

const char *kind_name(enum kind kind);
const char *verdict_name(enum verdict verdict);
const char *reason_name(enum reason reason);
const char *outcome_name(enum outcome outcome); /* NULL for none */
const char *work_name(enum work work);
const char *tri_name(enum tri value);                      /* "yes" "no" "unknown" */
const char *duty_name(enum duty_kind kind);                /* "revoke" "after" */
const char *duty_state_name(enum duty_state state);        /* "pending" "done" "failed" */
const char *result_name(enum result result);               /* NULL for none */
int kind_from_name(const char *name, enum kind *ret_kind); /* 0 or -EINVAL */

/* The run of that name, made when it is not there yet. Never NULL. */
struct run *inventory_run(struct inventory *inventory, const char *id);
struct run *inventory_find(const struct inventory *inventory, const char *id); /* or NULL */

/*
 * Whether both are one thing of a run. Ids are unique wherever they were given; a volume has only a
 * name, and that at each engine.
 */
bool resource_is(const struct resource *known, const struct resource *other);

/*
 * Adds a resource to a run, or joins it with the one that the run has already (resource_is): proofs
 * are united, told fields that are still empty are filled. Strings are copied.
 * The pointer is good until the next one is added to the same run.
 */
struct resource *run_add_resource(
	struct inventory *inventory, struct run *run, const struct resource *resource);

/* Marks a run as refused, by the first fault that is found. */
void run_refuse(struct inventory *inventory, struct run *run, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Notes whether a source answered; `at` and `error` are copied. */
void inventory_add_source(struct inventory *inventory, const char *name, const char *at,
	enum tri ok, const char *error);

/* The first source of that name, or of any (NULL), that did not answer; NULL: there is none. */
const struct source *inventory_failed_source(const struct inventory *inventory, const char *name);

void inventory_done(struct inventory *inventory);
