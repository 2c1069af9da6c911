#include "model_world.h"
#include "unit.h"

#include "base/timespan.h"
#include "child.h"
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FOREIGN_UID = 12345 };

/* ---- small files */

static PRINTF_LIKE(2, 3) void shell(const struct model_world *world, const char *format, ...)
{
	char *script CLEANUP(mem_done) = NULL, *command CLEANUP(mem_done) = NULL;
	va_list args;

	va_start(args, format);
	assert_true(vasprintf(&script, format, args) >= 0);
	va_end(args);
	command = mem_printf("cd '%s' && %s", world->path, script);
	if (system(command) != 0) /* NOLINT(cert-env33-c): the commands are our own */
		fail_msg("failed: %s", command);
}

/* The path, below the world's, of something of a run; in one of a few buffers used in turn. */
static PRINTF_LIKE(1, 2) const char *at(const char *format, ...)
{
	static char names[32][256];
	static unsigned turn;
	char *name = names[turn++ % ARRAY_SIZE(names)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(name, sizeof(names[0]), format, args);
	va_end(args);
	return name;
}

static uint64_t inode(const struct model_world *world, const char *name)
{
	struct stat stat;

	return fstatat(world->dir, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 ? stat.st_ino : 0;
}

static bool has(const struct model_world *world, const char *name)
{
	return inode(world, name) != 0;
}

/* Written anew, as by an editor. */
static void put(const struct model_world *world, const char *name, const char *text)
{
	int fd CLEANUP(fd_done) = -EBADF;

	(void)unlinkat(world->dir, name, 0);
	fd = openat(world->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_return_code(fd, errno);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void make(const struct model_world *world, const char *name)
{
	assert_return_code(mkdirat(world->dir, name, 0755), errno);
}

static void make_missing(const struct model_world *world, const char *name)
{
	if (!has(world, name))
		make(world, name);
}

static bool holds(const struct model_world *world, const char *name, const char *text)
{
	char bytes[256];
	int fd CLEANUP(fd_done) = openat(world->dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);

	if (length < 0)
		return false;
	bytes[length] = 0;
	return text_equal(bytes, text);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* With all that is below it, if it is there. By other hands than those under test. */
static void drop(const struct model_world *world, const char *name)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", world->path, name);

	if (has(world, name))
		assert_return_code(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), errno);
}

static void copy_file(const struct model_world *world, const char *from, const char *to)
{
	char bytes[65536];
	int in CLEANUP(fd_done) = openat(world->dir, from, O_RDONLY | O_CLOEXEC);
	int out CLEANUP(fd_done) = -EBADF;
	ssize_t length;

	(void)unlinkat(world->dir, to, 0);
	out = openat(world->dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_return_code(out, errno);
	while ((length = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, length), length);
	assert_int_equal(length, 0);
}

static void copy_tree(const struct model_world *world, const char *from, const char *to)
{
	DIR *listing = fdopendir(openat(world->dir, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	assert_non_null(listing);
	assert_return_code(mkdirat(world->dir, to, 0755), errno);
	for (const struct dirent *entry; (entry = readdir(listing));) {
		char *below_from CLEANUP(mem_done) = mem_printf("%s/%s", from, entry->d_name);
		char *below_to CLEANUP(mem_done) = mem_printf("%s/%s", to, entry->d_name);

		if (entry->d_type == DT_REG)
			copy_file(world, below_from, below_to);
		else if (!text_equal(entry->d_name, ".") && !text_equal(entry->d_name, ".."))
			copy_tree(world, below_from, below_to);
	}
	(void)closedir(listing);
}

/* ---- the repository that all begin with */

static const char git_settings[] =
	"export HOME=\"$PWD\" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null "
	"GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";

#define DIRTY_TEXT "changed by the run\n"
#define FRESH_TEXT "made by the run\n"

static void ask(const struct model_world *world, const char *what, char ret_id[41])
{
	char *command CLEANUP(mem_done) = mem_printf("cd '%s/made' && %s", world->path, what);
	FILE *pipe = popen(command, "re"); /* NOLINT(cert-env33-c) */

	assert_non_null(pipe);
	assert_int_equal(fread(ret_id, 1, 40, pipe), 40);
	ret_id[40] = 0;
	(void)pclose(pipe);
}

/* `first` and `second` are what a worktree of each commit holds, with its index. */
void model_world_prepare(struct model_world *world, const char *path)
{
	*world = (struct model_world){ .path = mem_dup(path), .dir = -EBADF };
	world->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(world->dir, errno);
	shell(world,
		"%s && mkdir made && cd made && git init -q -b main seed && cd seed && "
		"echo a >a.txt && mkdir dir && echo b >dir/b.txt && echo '*.o' >.gitignore && "
		"git add -A && git commit -qm one && cd .. && git clone -q --bare seed repo.git && "
		"git -C repo.git worktree add -q -b one ../first && "
		"git -C repo.git worktree add -q -b two ../second && "
		"echo more >>second/a.txt && git -C second commit -qam two && "
		"git -C repo.git rev-parse two >two && "
		"mv repo.git/worktrees/first/index index.first && "
		"mv repo.git/worktrees/second/index index.second && "
		"rm -rf repo.git/worktrees repo.git/logs repo.git/hooks first/.git second/.git "
		"seed "
		"&& rm repo.git/refs/heads/one "
		"repo.git/refs/heads/two",
		git_settings);
	ask(world, "git -C repo.git rev-parse main", world->first);
	ask(world, "cat two", world->second);
	ask(world, "printf '" DIRTY_TEXT "' | git hash-object --stdin", world->dirty);
	ask(world, "printf '" FRESH_TEXT "' | git hash-object --stdin", world->fresh);
}

void model_world_open(
	struct model_world *world, const struct model_world *prepared, const char *name)
{
	*world = *prepared;
	make(prepared, name);
	world->path = mem_printf("%s/%s", prepared->path, name);
	world->dir = open(world->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(world->dir, errno);
	fake_engine_start(&world->engine);
}

void model_world_done(struct model_world *world)
{
	if (world->engine.pid)
		fake_engine_stop(&world->engine);
	for (unsigned run = 0; run < OP_RUNS; run++)
		model_world_end_processes(world, run);
	free(world->path);
	(void)close(world->dir);
}

/* ---- a world */

static void write_settings(struct model_world *world, const struct ops *ops)
{
	static const char *const unsaved[] = { "salvage", "keep", "discard" };
	static const char *const branch[] = { "merged", "keep", "delete" };
	const char *path = world->path;
	char *engine CLEANUP(mem_done) =
		mem_printf("[containers]\nengine = %s\n", world->engine.url);
	char *text CLEANUP(mem_done) = mem_printf(
		"[state]\ndatabase = %s/reap.db\n"
		"[workspaces]\nroot = %s/ws\nrepo = %s/repo.git\npath_root = %s/scratch\n"
		"adopt = %s\n"
		"[policy]\nlease = 15m\ndeadline_grace = 5m\nkeep_ok = 10m\nkeep_failed = 1h\n"
		"keep_abandoned = 1h\nkeep_orphan = 1h\nunsaved = %s\nbranch = %s\n"
		"salvage_keep = 3650d\nhistory = 3650d\n"
		"[cgroups]\nroot = %s\n[disk]\nhigh = 100%%\nlow = 99%%\n"
		"[limits]\nbrake_runs = %d\nbrake_share = 50%%\n%s",
		path, path, path, path, ops_setting(ops, OP_ADOPT) ? "worktrees" : "none",
		unsaved[ops_setting(ops, OP_UNSAVED) % 3], branch[ops_setting(ops, OP_BRANCH) % 3],
		groups_root() + 1, ops_setting(ops, OP_BRAKE) ? 2 : 0,
		world->engaged ? engine : "");

	put(world, "reap.ini", text);
}

static void begin_canaries(struct model_world *world)
{
	put(world, "outside/file", "outside\n");
	put(world, "scratch/stray", "stray\n");
	make(world, "scratch/nobody");
	put(world, "scratch/nobody/file", "nobody\n");
	make(world, "ws/foreign");
	put(world, "ws/foreign/file", "foreign\n");
	put(world, "ws/loose", "loose\n");
	assert_return_code(symlinkat("../outside", world->dir, "ws/link"), errno);
}

/* A thing with a label that its image brought is nobody's, like one without. */
static void begin_engine(struct model_world *world, const struct ops *ops)
{
	const struct fake_thing unlabelled = { .kind = KIND_CONTAINER, .running = true };
	const struct fake_thing by_image = {
		.kind = KIND_CONTAINER, .run = "r9", .image_run = "r9", .running = true
	};

	world->engaged = ops_setting(ops, OP_ENGINE) != 0;
	for (unsigned run = 0; run < OP_RUNS; run++) {
		fake_engine_drop(&world->engine, world->containers[run]);
		*world->containers[run] = 0;
	}
	fake_engine_drop(&world->engine, world->unlabelled);
	fake_engine_drop(&world->engine, world->by_image);
	model_world_engine(world, ENGINE_WELL);
	(void)snprintf(world->unlabelled, sizeof(world->unlabelled), "%s",
		fake_engine_add(&world->engine, &unlabelled));
	(void)snprintf(world->by_image, sizeof(world->by_image), "%s",
		fake_engine_add(&world->engine, &by_image));
}

const char *model_world_harmed(const struct model_world *world)
{
	static const struct {
		const char *name, *text;
	} canaries[] = { { "outside/file", "outside\n" }, { "scratch/stray", "stray\n" },
		{ "scratch/nobody/file", "nobody\n" }, { "ws/foreign/file", "foreign\n" },
		{ "ws/loose", "loose\n" }, { "ws/link/file", "outside\n" } };

	for (size_t i = 0; i < ARRAY_SIZE(canaries); i++)
		if (!holds(world, canaries[i].name, canaries[i].text))
			return canaries[i].name;
	if (!fake_engine_runs(&world->engine, world->unlabelled))
		return "a container without a label";
	if (!fake_engine_runs(&world->engine, world->by_image))
		return "a container with its image's label";
	return NULL;
}

/* All that an earlier world left. */
static void clear(const struct model_world *world)
{
	DIR *listing = fdopendir(openat(world->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	assert_non_null(listing);
	for (const struct dirent *entry; (entry = readdir(listing));)
		if (*entry->d_name != '.')
			drop(world, entry->d_name);
	(void)closedir(listing);
}

void model_world_begin(struct model_world *world, const struct ops *ops)
{
	static const char *const directories[] = { "ws", "scratch", "outside" };

	for (unsigned run = 0; run < OP_RUNS; run++) {
		model_world_end_processes(world, run);
		if (group_exists(at("r%u", run)))
			group_unmake(at("r%u", run));
	}
	clear(world);
	copy_tree(world, "../made/repo.git", "repo.git");
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		make(world, directories[i]);
	begin_canaries(world);
	begin_engine(world, ops);
	write_settings(world, ops);
}

void model_world_end_processes(struct model_world *world, unsigned run)
{
	child_end(world->owner[run]);
	child_end(world->guest[run]);
	world->owner[run] = world->guest[run] = 0;
}

void model_world_end_containers(struct model_world *world)
{
	for (unsigned run = 0; run < OP_RUNS; run++)
		fake_engine_end(&world->engine, world->containers[run]);
}

void model_world_engine(struct model_world *world, enum model_engine way)
{
	static const struct {
		enum fake_engine_way way;
		const char *request;
	} ways[] = {
		[ENGINE_WELL] = { FAKE_ENGINE_WELL, "" },
		[ENGINE_ABSENT] = { FAKE_ENGINE_ABSENT, "" },
		[ENGINE_FAILS] = { FAKE_ENGINE_FAIL, "" },
		[ENGINE_HALF] = { FAKE_ENGINE_HALF, "GET /containers/json" },
		[ENGINE_REMOVAL_FAILS] = { FAKE_ENGINE_FAIL, "DELETE" },
		[ENGINE_REMOVAL_LIES] = { FAKE_ENGINE_LIES, "DELETE" },
	};

	fake_engine_behave(&world->engine, ways[way].way, ways[way].request);
}

/* ---- what is done in it by hand */

static void make_container(struct model_world *world, const struct op *op, int64_t now_s)
{
	char *id = world->containers[op->run];
	const struct fake_thing thing = { .kind = KIND_CONTAINER,
		.run = at("r%u", op->run),
		.running = true,
		.created_s = now_s };

	if (world->engaged && !fake_engine_has(&world->engine, id))
		(void)snprintf(id, sizeof(world->containers[0]), "%s",
			fake_engine_add(&world->engine, &thing));
}

/* As `git worktree add -f` does it: an old record of that place goes, an old branch is used again. */
static void make_linked(struct model_world *world, unsigned run)
{
	const char *record = at("repo.git/worktrees/r%u", run);
	const char *branch = at("repo.git/refs/heads/sbx/r%u", run);
	const char *commit = world->first;
	bool second;

	drop(world, record);
	if (has(world, branch))
		commit = holds(world, branch, at("%s\n", world->second)) ? world->second
									 : world->first;
	second = commit == world->second;
	copy_tree(world, second ? "../made/second" : "../made/first", at("ws/r%u", run));
	make_missing(world, "repo.git/worktrees");
	make_missing(world, "repo.git/refs/heads/sbx");
	make(world, record);
	copy_file(world, second ? "../made/index.second" : "../made/index.first",
		at("%s/index", record));
	put(world, branch, at("%s\n", commit));
	put(world, at("%s/HEAD", record), at("ref: refs/heads/sbx/r%u\n", run));
	put(world, at("%s/commondir", record), "../..\n");
	put(world, at("%s/gitdir", record), at("%s/ws/r%u/.git\n", world->path, run));
	put(world, at("ws/r%u/.git", run),
		at("gitdir: %s/repo.git/worktrees/r%u\n", world->path, run));
}

static void make_directory(struct model_world *world, const char *name)
{
	make(world, name);
	put(world, at("%s/file", name), at("%u\n", world->ids++));
}

/* What `git commit -a` leaves, where the index and the branch are still there. */
static void commit(struct model_world *world, unsigned run)
{
	const char *branch = at("repo.git/refs/heads/sbx/r%u", run);

	if (!has(world, branch) || !has(world, at("repo.git/worktrees/r%u/index", run)) ||
		!has(world, at("ws/r%u/.git", run)) || !has(world, at("ws/r%u/dir/b.txt", run)))
		return;
	copy_file(world, "../made/second/a.txt", at("ws/r%u/a.txt", run));
	copy_file(world, "../made/index.second", at("repo.git/worktrees/r%u/index", run));
	put(world, branch, at("%s\n", world->second));
}

static void mark(struct model_world *world, unsigned run, int64_t ago_s, int64_t now_s, bool done)
{
	char created[TIMESPAN_TEXT], ended[TIMESPAN_TEXT];
	bool linked = has(world, at("ws/r%u/.git", run));

	put(world, at("ws/r%u.sbx", run),
		at("[run]\nid = r%u\ncreated = %s\nttl = 1h\n%s%s%s", run,
			moment_format(created, now_s - ago_s), done ? "finished = " : "",
			done ? moment_format(ended, now_s) : "", done ? "\noutcome = ok\n" : ""));
	if (linked)
		shell(world, "printf 'repo = %s/repo.git\\nbranch = sbx/r%u\\n' >>ws/r%u.sbx",
			world->path, run, run);
}

static void change_marker(struct model_world *world, const struct op *op)
{
	const char *name = at("ws/r%u.sbx", op->run);
	struct stat stat;

	if (fstatat(world->dir, name, &stat, 0) != 0)
		return;
	if (op->kind == OP_MARK_FOREIGN)
		assert_return_code(fchownat(world->dir, name, FOREIGN_UID, FOREIGN_UID, 0), errno);
	else if (op->kind == OP_MARK_CUT)
		shell(world, "truncate -s %lld %s", (long long)stat.st_size - 3, name);
	else if (op->kind == OP_MARK_OTHER)
		shell(world, "sed -i 's/^id = .*/id = r9/' %s", name);
	else
		put(world, name, "\001[\n");
}

static void keep(struct model_world *world, const struct op *op, int64_t now_s)
{
	char until[TIMESPAN_TEXT];

	put(world, at("ws/r%u.keep", op->run),
		op->value ? at("[pin]\nuntil = %s\n", moment_format(until, now_s + op->value))
			  : "");
}

static void start_process(struct model_world *world, const struct op *op)
{
	pid_t *pid = op->kind == OP_OWNER ? &world->owner[op->run] : &world->guest[op->run];
	const char *tree = at("ws/r%u", op->run);

	if (*pid || (op->kind == OP_GUEST && !has(world, tree)))
		return;
	*pid = child_start(op->kind == OP_GUEST ? at("%s/%s", world->path, tree) : NULL);
}

static void lock(struct model_world *world, const struct op *op)
{
	const char *record = at("repo.git/worktrees/r%u", op->run);

	if (op->kind == OP_UNLOCK)
		drop(world, at("%s/locked", record));
	else if (has(world, record))
		put(world, at("%s/locked", record), "mine\n");
}

static void make_one(struct model_world *world, const struct op *op)
{
	const char *tree = at("ws/r%u", op->run), *scratch = at("scratch/r%u", op->run);

	if (op->kind == OP_SCRATCH || op->kind == OP_RECREATE_SCRATCH) {
		if (op->kind == OP_RECREATE_SCRATCH)
			drop(world, scratch);
		if (!has(world, scratch))
			make_directory(world, scratch);
	} else if (op->kind == OP_GROUP) {
		if (!group_exists(at("r%u", op->run)))
			group_make(at("r%u", op->run));
	} else if (op->kind == OP_PASS_RECREATE) {
		drop(world, tree);
		make_directory(world, tree);
	} else if (!has(world, tree)) {
		if (op->kind == OP_TREE)
			make_linked(world, op->run);
		else
			make_directory(world, tree);
	}
}

static void lose(struct model_world *world, const struct op *op)
{
	static const char *const names[OP_COUNT] = {
		[OP_LOSE_TREE] = "ws/r%u",
		[OP_LOSE_FILE] = "ws/r%u/a.txt",
		[OP_LOSE_GITFILE] = "ws/r%u/.git",
		[OP_LOSE_RECORD] = "repo.git/worktrees/r%u",
		[OP_LOSE_BRANCH] = "repo.git/refs/heads/sbx/r%u",
		[OP_LOSE_MARKER] = "ws/r%u.sbx",
		[OP_LOSE_SCRATCH] = "scratch/r%u",
	};
	char name[64], *placeholder;

	if (op->kind == OP_LOSE_GROUP) {
		if (group_exists(at("r%u", op->run)))
			group_unmake(at("r%u", op->run));
		return;
	}
	(void)snprintf(name, sizeof(name), "%s", names[op->kind]);
	placeholder = strstr(name, "%u");
	assert_non_null(placeholder);
	drop(world, at("%.*s%u%s", (int)(placeholder - name), name, op->run, placeholder + 2));
}

void model_world_apply(struct model_world *world, const struct op *op, int64_t now_s)
{
	const char *tree = at("ws/r%u", op->run);

	if (op->kind >= OP_LOSE_TREE && op->kind <= OP_LOSE_GROUP)
		lose(world, op);
	else if (op->kind >= OP_MARK_FOREIGN && op->kind <= OP_MARK_RUBBISH)
		change_marker(world, op);
	else if (op->kind == OP_TREE || op->kind == OP_PLAIN || op->kind == OP_SCRATCH ||
		 op->kind == OP_GROUP || op->kind == OP_RECREATE ||
		 op->kind == OP_RECREATE_SCRATCH || op->kind == OP_PASS_RECREATE)
		make_one(world, op);
	else if (op->kind == OP_OWNER || op->kind == OP_GUEST)
		start_process(world, op);
	else if (op->kind == OP_COMMIT)
		commit(world, op->run);
	else if (op->kind == OP_DIRTY && has(world, at("%s/a.txt", tree)))
		put(world, at("%s/a.txt", tree), DIRTY_TEXT);
	else if (op->kind == OP_UNTRACKED && has(world, tree))
		put(world, at("%s/fresh.txt", tree), FRESH_TEXT);
	else if (op->kind == OP_CONTAINER)
		make_container(world, op, now_s);
	else if (op->kind == OP_CONTAINER_ENDS)
		fake_engine_end(&world->engine, world->containers[op->run]);
	else if (op->kind == OP_LOSE_CONTAINER)
		fake_engine_drop(&world->engine, world->containers[op->run]);
	else if (op->kind == OP_CRASH)
		model_world_end_processes(world, op->run);
	else if (op->kind == OP_MARK || op->kind == OP_MARK_DONE)
		mark(world, op->run, op->value, now_s, op->kind == OP_MARK_DONE);
	else if (op->kind == OP_LOCK || op->kind == OP_UNLOCK)
		lock(world, op);
	else if (op->kind == OP_KEEP || op->kind == OP_PASS_KEEP)
		keep(world, op, now_s);
	else if (op->kind == OP_KEEP_RUBBISH)
		put(world, at("ws/r%u.keep", op->run), "[nothing\n");
}

bool model_world_lose_books(struct model_world *world)
{
	if (!has(world, "reap.db"))
		return false;
	drop(world, "reap.db");
	drop(world, "reap.db-journal");
	return true;
}

bool model_world_save_books(struct model_world *world)
{
	struct stat journal;

	if (!has(world, "reap.db") ||
		(fstatat(world->dir, "reap.db-journal", &journal, 0) == 0 && journal.st_size > 0))
		return false;
	copy_file(world, "reap.db", "books.copy");
	return true;
}

void model_world_swap_books(struct model_world *world)
{
	drop(world, "reap.db-journal");
	assert_return_code(
		renameat2(world->dir, "books.copy", world->dir, "reap.db", RENAME_EXCHANGE), errno);
}

/* ---- looking at it */

static uint64_t sum_so_far;

static int add_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	uint64_t hash = 1469598103934665603U;

	(void)type;
	for (const char *c = path + ftw->base; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211U;
	/* What a directory says of itself changes with what is looked at in it, too. */
	if (!S_ISDIR(stat->st_mode))
		hash += (uint64_t)stat->st_size * 31 + (uint64_t)stat->st_mtim.tv_nsec * 1000003U +
			(uint64_t)stat->st_mtim.tv_sec;
	sum_so_far += hash * (stat->st_ino | 1);
	return 0;
}

static uint64_t sum_of(const struct model_world *world, const char *name)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", world->path, name);

	sum_so_far = 0;
	(void)nftw(path, add_entry, 16, FTW_PHYS);
	return sum_so_far;
}

/* The first digits of its id; 0: there is none. */
static uint64_t container(const struct model_world *world, unsigned run)
{
	const char *id = world->containers[run];

	return fake_engine_has(&world->engine, id) ? strtoull(at("%.15s", id), NULL, 16) | 1 : 0;
}

uint64_t model_world_sum(const struct model_world *world)
{
	uint64_t sum = sum_of(world, "ws") + sum_of(world, "scratch") + sum_of(world, "repo.git") +
		       sum_of(world, "reap.db") + sum_of(world, "outside");

	for (unsigned run = 0; run < OP_RUNS; run++)
		sum += (group_exists(at("r%u", run)) ? 1U << run : 0) + container(world, run);
	return sum;
}

static bool runs_on(pid_t pid)
{
	siginfo_t info = { 0 };

	return pid && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

static uint64_t group_inode(const char *name)
{
	struct stat stat;
	char *path CLEANUP(mem_done) = mem_printf("%s%s", groups_mount(), group_path(name));

	return lstat(path, &stat) == 0 ? stat.st_ino : 0;
}

/* A directory's sum without what lies in it is 0 only when it is not there. */
struct sight model_world_look(const struct model_world *world, unsigned run)
{
	const char *tree = at("ws/r%u", run), *scratch = at("scratch/r%u", run);
	struct sight sight = {
		.tree = inode(world, tree),
		.scratch = inode(world, scratch),
		.marker = inode(world, at("ws/r%u.sbx", run)),
		.keep = inode(world, at("ws/r%u.keep", run)),
		.record = inode(world, at("repo.git/worktrees/r%u", run)),
		.branch = inode(world, at("repo.git/refs/heads/sbx/r%u", run)),
		.group = group_inode(at("r%u", run)),
		.container = container(world, run),
		.runs = fake_engine_runs(&world->engine, world->containers[run]),
		.gitfile = has(world, at("%s/.git", tree)),
		.locked = has(world, at("repo.git/worktrees/r%u/locked", run)),
		.owner = runs_on(world->owner[run]),
		.guest = runs_on(world->guest[run]),
		.ahead = holds(
			world, at("repo.git/refs/heads/sbx/r%u", run), at("%s\n", world->second)),
		.dirty = holds(world, at("%s/a.txt", tree), DIRTY_TEXT),
		.fresh = has(world, at("%s/fresh.txt", tree)),
	};

	sight.tree_sum = sight.tree ? sum_of(world, tree) : 0;
	sight.scratch_sum = sight.scratch ? sum_of(world, scratch) : 0;
	return sight;
}

bool sight_equal(const struct sight *a, const struct sight *b)
{
	return a->tree == b->tree && a->tree_sum == b->tree_sum && a->scratch == b->scratch &&
	       a->scratch_sum == b->scratch_sum && a->marker == b->marker &&
	       a->record == b->record && a->branch == b->branch && a->group == b->group &&
	       a->container == b->container && a->runs == b->runs && a->locked == b->locked &&
	       a->owner == b->owner && a->guest == b->guest;
}

bool model_world_salvaged(const struct model_world *world, unsigned run, const char *blob)
{
	char *command CLEANUP(mem_done) = mem_printf(
		"cd '%s' && { git -C repo.git rev-list --objects --glob='refs/sbx/salvage/*' "
		"--glob='refs/sbx/*' 2>/dev/null | grep -q '^%s' || "
		"find . -name '*r%u*.tar*' -print | grep -q .; }",
		world->path, blob, run);

	return system(command) == 0; /* NOLINT(cert-env33-c) */
}
