#include "model_op.h"

#include <errno.h>

enum { VALUES = 8, BEGIN_WEIGHT = 14, STEPS_LEAST = 12, STEPS_SPREAD = 28 };

#define MINUTES *60
#define HOURS *3600
#define DAYS *86400

/* `weight`: how often it comes; 0: never by itself. Values: one of those up to the first 0 behind. */
static const struct {
	const char *name;
	bool run;
	unsigned char weight, values;
	int64_t value[VALUES];
} kinds[OP_COUNT] = {
	[OP_UNSAVED] = { "unsaved", false, 0, 3, { 0, 1, 2 } },
	[OP_BRANCH] = { "branch", false, 0, 3, { 0, 1, 2 } },
	[OP_ADOPT] = { "adopt", false, 0, 2, { 0, 1 } },
	[OP_BRAKE] = { "brake", false, 0, 4, { 0, 0, 0, 1 } },
	[OP_ENGINE] = { "engine", false, 0, 3, { 0, 0, 1 } },

	[OP_TREE] = { "tree", true, 2, 0, { 0 } },
	[OP_PLAIN] = { "plain", true, 1, 0, { 0 } },
	[OP_SCRATCH] = { "scratch", true, 1, 0, { 0 } },
	[OP_GROUP] = { "group", true, 1, 0, { 0 } },
	[OP_OWNER] = { "owner", true, 1, 0, { 0 } },
	[OP_GUEST] = { "guest", true, 2, 0, { 0 } },
	[OP_CONTAINER] = { "container", true, 2, 0, { 0 } },
	[OP_REGISTER] = { "register", true, 4, 4, { 30 MINUTES, 2 HOURS, 2 HOURS, 12 HOURS } },
	[OP_COMMIT] = { "commit", true, 2, 0, { 0 } },
	[OP_DIRTY] = { "dirty", true, 3, 0, { 0 } },
	[OP_UNTRACKED] = { "untracked", true, 2, 0, { 0 } },
	[OP_RENEW] = { "renew", true, 4, 3, { 0, 0, 1 HOURS } },
	[OP_FINISH_OK] = { "finish_ok", true, 6, 0, { 0 } },
	[OP_FINISH_FAILED] = { "finish_failed", true, 5, 0, { 0 } },
	[OP_FORGET] = { "forget", true, 1, 0, { 0 } },
	[OP_CRASH] = { "crash", true, 4, 0, { 0 } },
	[OP_CONTAINER_ENDS] = { "container_ends", true, 1, 0, { 0 } },

	[OP_MARK] = { "mark", true, 2, 3, { 0, 1 HOURS, 1 DAYS } },
	[OP_MARK_DONE] = { "mark_done", true, 2, 3, { 1 MINUTES, 1 HOURS, 1 DAYS } },
	[OP_MARK_FOREIGN] = { "mark_foreign", true, 1, 0, { 0 } },
	[OP_MARK_CUT] = { "mark_cut", true, 1, 0, { 0 } },
	[OP_MARK_OTHER] = { "mark_other", true, 1, 0, { 0 } },
	[OP_MARK_RUBBISH] = { "mark_rubbish", true, 1, 0, { 0 } },
	[OP_LOSE_TREE] = { "lose_tree", true, 2, 0, { 0 } },
	[OP_LOSE_FILE] = { "lose_file", true, 2, 0, { 0 } },
	[OP_LOSE_GITFILE] = { "lose_gitfile", true, 2, 0, { 0 } },
	[OP_LOSE_RECORD] = { "lose_record", true, 2, 0, { 0 } },
	[OP_LOSE_BRANCH] = { "lose_branch", true, 2, 0, { 0 } },
	[OP_LOSE_MARKER] = { "lose_marker", true, 2, 0, { 0 } },
	[OP_LOSE_SCRATCH] = { "lose_scratch", true, 1, 0, { 0 } },
	[OP_LOSE_GROUP] = { "lose_group", true, 1, 0, { 0 } },
	[OP_LOSE_CONTAINER] = { "lose_container", true, 1, 0, { 0 } },
	[OP_RECREATE] = { "recreate", true, 3, 0, { 0 } },
	[OP_RECREATE_SCRATCH] = { "recreate_scratch", true, 1, 0, { 0 } },
	[OP_LOCK] = { "lock", true, 1, 0, { 0 } },
	[OP_UNLOCK] = { "unlock", true, 1, 0, { 0 } },

	[OP_PIN] = { "pin", true, 5, 3, { 0, 20 MINUTES, 2 HOURS } },
	[OP_UNPIN] = { "unpin", true, 3, 0, { 0 } },
	[OP_KEEP] = { "keep", true, 2, 2, { 0, 1 HOURS } },
	[OP_KEEP_RUBBISH] = { "keep_rubbish", true, 1, 0, { 0 } },

	[OP_ADVANCE] = { "advance", false, 20, 8,
		{ 1 MINUTES, 4 MINUTES, 7 MINUTES, 12 MINUTES, 40 MINUTES, 90 MINUTES, 1 DAYS,
			3 DAYS } },
	[OP_STEP] = { "step", false, 2, 6,
		{ 4 MINUTES, -4 MINUTES, 1 HOURS, -1 HOURS, 3 DAYS, -3 DAYS } },
	[OP_SUSPEND] = { "suspend", false, 2, 3, { 10 MINUTES, 3 HOURS, 2 DAYS } },
	[OP_REBOOT] = { "reboot", false, 2, 3, { 1 MINUTES, 1 HOURS, 1 DAYS } },
	[OP_HOLD] = { "hold", false, 1, 2, { 0, 1 HOURS } },
	[OP_RESUME] = { "resume", false, 2, 0, { 0 } },
	[OP_ENGINE_WAY] = { "engine_way", false, 3, 6,
		{ ENGINE_WELL, ENGINE_WELL, ENGINE_ABSENT, ENGINE_FAILS, ENGINE_HALF,
			ENGINE_REMOVAL_FAILS } },
	[OP_ENGINE_RESTART] = { "engine_restart", false, 1, 0, { 0 } },
	[OP_LOSE_BOOKS] = { "lose_books", false, 2, 0, { 0 } },
	[OP_SAVE_BOOKS] = { "save_books", false, 3, 0, { 0 } },
	[OP_OLD_BOOKS] = { "old_books", false, 3, 0, { 0 } },

	[OP_PASS] = { "pass", false, 22, 0, { 0 } },
	[OP_PASS_MAX] = { "pass_max", false, 2, 2, { 1, 2 } },
	[OP_PASS_RUN] = { "pass_run", true, 2, 0, { 0 } },
	[OP_PASS_EARLY] = { "pass_early", true, 2, 0, { 0 } },
	[OP_PASS_KILLED] = { "pass_killed", false, 8, 1, { -150 } },
	[OP_PASS_PIN] = { "pass_pin", true, 3, 1, { -30 } },
	[OP_PASS_KEEP] = { "pass_keep", true, 2, 1, { -30 } },
	[OP_PASS_RENEW] = { "pass_renew", true, 2, 1, { -30 } },
	[OP_PASS_FINISH] = { "pass_finish", true, 2, 1, { -30 } },
	[OP_PASS_TWICE] = { "pass_twice", false, 3, 1, { -30 } },
	[OP_PASS_GUEST] = { "pass_guest", true, 3, 1, { -30 } },
	[OP_PASS_LOCK] = { "pass_lock", true, 2, 1, { -30 } },
	[OP_PASS_RECREATE] = { "pass_recreate", true, 3, 1, { -30 } },
};

/* xorshift64*, Vigna 2016: any will do that a seed repeats. */
static unsigned choose(uint64_t *random, unsigned below)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return (unsigned)((*random * UINT64_C(2685821657736338717)) >> 33) % below;
}

static void add(struct ops *ops, uint64_t *random, enum op_kind kind, unsigned run)
{
	struct op op = { .kind = kind, .run = kinds[kind].run ? run : 0 };
	bool spread = kinds[kind].values == 1 && kinds[kind].value[0] < 0;

	if (spread) /* a number from 1 on: small ones as often as large ones */
		op.value = 1 + choose(random, 1 + choose(random, (unsigned)-kinds[kind].value[0]));
	else if (kinds[kind].values)
		op.value = kinds[kind].value[choose(random, kinds[kind].values)];
	if (ops->count < OPS_MAX)
		ops->items[ops->count++] = op;
}

/* A run as a harness makes it; now and then without something, or never registered. */
static void add_run(struct ops *ops, uint64_t *random)
{
	unsigned run = choose(random, OP_RUNS);

	if (choose(random, 8))
		add(ops, random, choose(random, 3) ? OP_TREE : OP_PLAIN, run);
	if (choose(random, 3) == 0)
		add(ops, random, OP_SCRATCH, run);
	if (choose(random, 5) == 0)
		add(ops, random, OP_GROUP, run);
	if (choose(random, 4) == 0)
		add(ops, random, OP_OWNER, run);
	if (ops_setting(ops, OP_ENGINE) && choose(random, 2))
		add(ops, random, OP_CONTAINER, run);
	if (choose(random, 5))
		add(ops, random, OP_REGISTER, run);
	else if (choose(random, 2))
		add(ops, random, choose(random, 2) ? OP_MARK : OP_MARK_DONE, run);
	if (choose(random, 3) == 0)
		add(ops, random, choose(random, 2) ? OP_DIRTY : OP_COMMIT, run);
}

static bool needs_engine(enum op_kind kind)
{
	return kind == OP_CONTAINER || kind == OP_CONTAINER_ENDS || kind == OP_LOSE_CONTAINER ||
	       kind == OP_ENGINE_WAY || kind == OP_ENGINE_RESTART;
}

static enum op_kind choose_kind(uint64_t *random)
{
	unsigned all = BEGIN_WEIGHT, chosen, kind;

	for (kind = 0; kind < OP_COUNT; kind++)
		all += kinds[kind].weight;
	chosen = choose(random, all);
	for (kind = 0; kind < OP_COUNT && chosen >= kinds[kind].weight; kind++)
		chosen -= kinds[kind].weight;
	return kind; /* OP_COUNT: a run begins */
}

void ops_random(struct ops *ret_ops, uint64_t seed)
{
	uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	unsigned steps;

	*ret_ops = (struct ops){ 0 };
	add(ret_ops, &random, OP_UNSAVED, 0);
	add(ret_ops, &random, OP_BRANCH, 0);
	add(ret_ops, &random, OP_ADOPT, 0);
	add(ret_ops, &random, OP_BRAKE, 0);
	add(ret_ops, &random, OP_ENGINE, 0);
	steps = STEPS_LEAST + choose(&random, STEPS_SPREAD);
	for (unsigned i = 0; i < steps; i++) {
		enum op_kind kind = choose_kind(&random);

		if (kind == OP_COUNT || i == 0)
			add_run(ret_ops, &random);
		else if (!needs_engine(kind) || ops_setting(ret_ops, OP_ENGINE))
			add(ret_ops, &random, kind, choose(&random, OP_RUNS));
	}
}

const char *op_name(enum op_kind kind)
{
	return kinds[kind].name;
}

void op_print(const struct op *op, FILE *file)
{
	(void)fputs(kinds[op->kind].name, file);
	if (kinds[op->kind].run)
		(void)fprintf(file, " r%u", op->run);
	if (kinds[op->kind].values)
		(void)fprintf(file, " %lld", (long long)op->value);
	(void)fputc('\n', file);
}

static int op_read(const char *line, struct op *ret_op)
{
	char name[32];
	int at = 0;
	long long value = 0;

	if (sscanf(line, "%31s%n", name, &at) != 1)
		return -EINVAL;
	line += at;
	for (unsigned kind = 0; kind < OP_COUNT; kind++) {
		struct op op = { .kind = kind };

		if (!text_equal(kinds[kind].name, name))
			continue;
		if (kinds[kind].run && sscanf(line, " r%u%n", &op.run, &at) == 1)
			line += at;
		else if (kinds[kind].run)
			return -EINVAL;
		if (kinds[kind].values && sscanf(line, "%lld", &value) != 1)
			return -EINVAL;
		op.value = value;
		*ret_op = op;
		return op.run < OP_RUNS ? 0 : -EINVAL;
	}
	return -EINVAL;
}

int ops_read(const char *path, struct ops *ret_ops, struct error *error)
{
	FILE *file CLEANUP(file_done) = fopen(path, "re");
	char line[256];

	if (!file)
		return error_set(error, errno, "open %s", path);
	*ret_ops = (struct ops){ 0 };
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = 0;
		if (!line[strspn(line, " \t")])
			continue;
		if (ret_ops->count == OPS_MAX ||
			op_read(line, &ret_ops->items[ret_ops->count++]) < 0)
			return error_say(error, EINVAL, "%s: '%s' is no operation", path, line);
	}
	return 0;
}

int64_t ops_setting(const struct ops *ops, enum op_kind kind)
{
	for (unsigned i = 0; i < ops->count; i++)
		if (ops->items[i].kind == kind)
			return ops->items[i].value;
	return 0;
}
