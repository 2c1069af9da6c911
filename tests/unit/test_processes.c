#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "child.h"
#include "fuse.h"
#include "os/dir.h"
#include "os/processes.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SEEN_MAX = 16 };

struct world {
	char directory[64]; /* a temporary one with "tree/deep" and "tree2" in it */
	pid_t child;
	struct {
		const void *place;
		pid_t pid;
		char how[32], comm[300], token[PROCESS_TOKEN];
		bool cgroups;
	} seen[SEEN_MAX];
	size_t seen_count;
};

static const char *below(const struct world *world, const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", world->directory, name);
	return path;
}

static int world_set_up(void **state)
{
	struct world *world = mem_new(sizeof(*world));
	const char *base = getenv("TMPDIR");

	(void)snprintf(world->directory, sizeof(world->directory), "%s/sbx-test-XXXXXX",
		base && strlen(base) < 40 ? base : "/tmp");
	assert_non_null(mkdtemp(world->directory));
	assert_int_equal(mkdir(below(world, "tree"), 0755), 0);
	assert_int_equal(mkdir(below(world, "tree/deep"), 0755), 0);
	assert_int_equal(mkdir(below(world, "tree2"), 0755), 0);
	*state = world;
	return 0;
}

static int world_tear_down(void **state)
{
	static const char *const names[] = { "tree/deep", "tree", "tree2", "moved/deep", "moved",
		"" };
	struct world *world = *state;

	child_end(world->child);
	(void)umount2(below(world, "tree2"), MNT_DETACH);
	(void)umount2(below(world, "tree/deep"), MNT_DETACH);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)rmdir(below(world, names[i]));
	free(world);
	return 0;
}

static void world_note(
	void *context, const struct process_place *place, const struct process_seen *process)
{
	struct world *world = context;

	assert_true(world->seen_count < SEEN_MAX);
	typeof(&world->seen[0]) seen = &world->seen[world->seen_count++];
	seen->place = place->context;
	seen->pid = process->pid;
	(void)snprintf(seen->how, sizeof(seen->how), "%s", process->how);
	(void)snprintf(seen->comm, sizeof(seen->comm), "%s", process->comm);
	(void)snprintf(seen->token, sizeof(seen->token), "%s", process->token);
	seen->cgroups = strstr(process->cgroups, "0::/") != NULL;
}

static struct process_place place_of(const struct world *world, const char *name)
{
	struct process_place place = { 0 };
	struct stat found;

	assert_int_equal(stat(below(world, name), &found), 0);
	place.dev = found.st_dev;
	place.ino = found.st_ino;
	place.context = NULL;
	return place;
}

/* Looks for processes in <directory>/name; how many reports came. */
static size_t world_look(struct world *world, const char *name)
{
	struct process_place place = place_of(world, name);
	struct error error = { 0 };

	world->seen_count = 0;
	place.context = world;
	if (processes_in(&place, 1, world_note, world, &error) < 0)
		fail_msg("%s", error.text);
	return world->seen_count;
}

static void boot_id_is_the_kernels(void **state)
{
	struct error error = { 0 };
	char boot_id[37];

	(void)state;
	assert_int_equal(process_boot_id(boot_id, &error), 0);
	assert_int_equal(strlen(boot_id), 36);
	assert_int_equal(boot_id[8], '-');
}

static void a_process_is_alive_by_pid_and_start_time(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	char token[PROCESS_TOKEN], boot_id[37], other[PROCESS_TOKEN];

	world->child = child_start(NULL);
	assert_int_equal(process_token(world->child, token, &error), 0);
	assert_int_equal(process_boot_id(boot_id, &error), 0);
	assert_true(text_starts(token, boot_id));
	assert_int_equal(process_alive(world->child, token), TRI_YES);
	assert_int_equal(process_alive(world->child, NULL), TRI_UNKNOWN);

	(void)snprintf(other, sizeof(other), "%s:1", boot_id);
	assert_int_equal(process_alive(world->child, other), TRI_NO);
	(void)snprintf(other, sizeof(other), "%s", token);
	other[0] = other[0] == '0' ? '1' : '0';
	assert_int_equal(process_alive(world->child, other), TRI_NO);
}

static void a_zombie_is_not_alive(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	char token[PROCESS_TOKEN];

	world->child = child_start(NULL);
	assert_int_equal(process_token(world->child, token, &error), 0);
	assert_int_equal(kill(world->child, SIGKILL), 0);
	child_wait_zombie(world->child);
	assert_int_equal(process_alive(world->child, token), TRI_NO);
	assert_int_equal(process_token(world->child, token, &error), -ESRCH);
	assert_int_equal(process_kill(world->child, token, deadline_in_ms(1000), NULL), 0);
}

static void a_process_whose_leader_ended_is_alive_and_can_be_killed(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	char token[PROCESS_TOKEN];

	world->child = child_start_leaderless(below(world, "tree/deep"));
	assert_int_equal(process_token(world->child, token, &error), 0);
	assert_int_equal(process_alive(world->child, token), TRI_YES);
	assert_int_equal(process_kill(world->child, token, deadline_in_ms(5000), &error), 1);
	assert_int_equal(process_alive(world->child, token), TRI_NO);
}

static void a_pid_that_is_not_there_has_no_token(void **state)
{
	struct error error = { 0 };
	char token[PROCESS_TOKEN] = "as before";

	(void)state;
	assert_int_equal(process_token(4194304, token, &error), -ESRCH);
	assert_string_equal(token, "as before");
	assert_non_null(strstr(error.text, "4194304"));
	assert_int_equal(process_alive(4194304, "x"), TRI_NO);
	assert_int_equal(process_alive(-1, "x"), TRI_NO);
}

static void killing_ends_exactly_that_process(void **state)
{
	struct world *world = *state;
	struct error error = { 0 };
	char token[PROCESS_TOKEN];

	world->child = child_start(NULL);
	assert_int_equal(process_token(world->child, token, &error), 0);
	assert_int_equal(process_kill(world->child, token, deadline_in_ms(5000), &error), 1);
	assert_int_equal(process_kill(world->child, token, deadline_in_ms(5000), &error), 0);
}

static void a_recycled_pid_is_never_signalled(void **state)
{
	struct world *world = *state;
	char token[PROCESS_TOKEN], boot_id[37];

	world->child = child_start(NULL);
	assert_int_equal(process_boot_id(boot_id, NULL), 0);
	(void)snprintf(token, sizeof(token), "%s:12", boot_id);
	assert_int_equal(process_kill(world->child, token, deadline_in_ms(1000), NULL), 0);
	assert_int_equal(process_token(world->child, token, NULL), 0);
}

static void a_command_name_is_shown_escaped(void **state)
{
	char comm[300], before[16];

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	assert_int_equal(prctl(PR_SET_NAME, "a)\n\x1b[1m b"), 0);
	process_comm(getpid(), comm, sizeof(comm));
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
	assert_string_equal(comm, "a)\\x0a\\x1b[1m b");
	process_comm(4194304, comm, sizeof(comm));
	assert_string_equal(comm, "?");
}

static void a_command_name_cannot_disturb_the_start_time(void **state)
{
	char before[16], token[PROCESS_TOKEN], named[PROCESS_TOKEN];

	(void)state;
	assert_int_equal(process_token(getpid(), token, NULL), 0);
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	assert_int_equal(prctl(PR_SET_NAME, "x) Z 1 1 1 ("), 0);
	assert_int_equal(process_token(getpid(), named, NULL), 0);
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
	assert_string_equal(token, named);
}

static void we_and_our_parents_are_above_us_and_a_child_is_not(void **state)
{
	struct world *world = *state;

	world->child = child_start(NULL);
	assert_int_equal(process_above_us(getpid()), 1);
	assert_int_equal(process_above_us(getppid()), 1);
	assert_int_equal(process_above_us(1), 1);
	assert_int_equal(process_above_us(world->child), 0);
}

static void a_working_directory_deep_in_the_tree_is_found(void **state)
{
	struct world *world = *state;
	char token[PROCESS_TOKEN];

	world->child = child_start(below(world, "tree/deep"));
	assert_int_equal(process_token(world->child, token, NULL), 0);
	assert_int_equal(world_look(world, "tree"), 1);
	assert_int_equal(world->seen[0].pid, world->child);
	assert_ptr_equal(world->seen[0].place, world);
	assert_string_equal(world->seen[0].how, "working directory");
	assert_string_equal(world->seen[0].token, token);
	assert_string_equal(world->seen[0].comm, "test_processes");
	assert_true(world->seen[0].cgroups);
}

/* Whoever makes a tree very deep and works down there hides no other. */
static void no_tree_is_too_deep(void **state)
{
	struct world *world = *state;
	pid_t higher;

	assert_int_equal(mount("sbx-test", below(world, "tree/deep"), "tmpfs", 0, NULL), 0);
	world->child = child_start_below(below(world, "tree/deep"), 100 * 1000);
	higher = child_start(below(world, "tree/deep/d/d"));
	assert_int_equal(world_look(world, "tree2"), 0);
	assert_int_equal(world_look(world, "tree/deep/d"), 2);
	assert_int_equal(world_look(world, "tree/deep/d/d/d"), 1);
	assert_int_equal(world->seen[0].pid, world->child);
	child_end(higher);
}

static void the_tree_itself_counts_and_a_name_with_the_same_start_does_not(void **state)
{
	struct world *world = *state;

	world->child = child_start(below(world, "tree2"));
	assert_int_equal(world_look(world, "tree"), 0);
	assert_int_equal(world_look(world, "tree2"), 1);
	assert_int_equal(world_look(world, ""), 1);
}

static void every_place_on_the_way_up_is_told(void **state)
{
	struct world *world = *state;
	struct process_place places[4];

	world->child = child_start(below(world, "tree/deep"));
	places[0] = place_of(world, "tree2");
	places[1] = place_of(world, "tree");
	places[2] = place_of(world, "");
	places[3] = place_of(world, "tree"); /* two records of one tree */
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		places[i].context = &places[i];
	assert_int_equal(processes_in(places, ARRAY_SIZE(places), world_note, world, NULL), 0);
	assert_int_equal(world->seen_count, 3);
	assert_ptr_equal(world->seen[0].place, &places[1]);
	assert_ptr_equal(world->seen[1].place, &places[3]);
	assert_ptr_equal(world->seen[2].place, &places[2]);
}

static void a_root_directory_in_the_tree_is_found(void **state)
{
	struct world *world = *state;

	world->child = child_start_in_root(below(world, "tree/deep"));
	assert_int_equal(world_look(world, "tree"), 1);
	assert_string_equal(world->seen[0].how, "root");
}

static void a_process_whose_leader_ended_is_found_through_its_threads(void **state)
{
	struct world *world = *state;

	world->child = child_start_leaderless(below(world, "tree/deep"));
	assert_true(world_look(world, "tree") >= 1);
	assert_int_equal(world->seen[0].pid, world->child);
}

static void a_thread_with_a_directory_of_its_own_is_seen(void **state)
{
	struct world *world = *state;

	world->child = child_start_unshared(below(world, "tree/deep"));
	assert_int_equal(world_look(world, "tree"), 1);
	assert_int_equal(world->seen[0].pid, world->child);
	assert_string_equal(world->seen[0].how, "working directory");
	assert_int_equal(world_look(world, "tree2"), 0);
}

static void a_zombie_is_in_no_directory(void **state)
{
	struct world *world = *state;

	world->child = child_start(below(world, "tree"));
	assert_int_equal(kill(world->child, SIGKILL), 0);
	child_wait_zombie(world->child);
	assert_int_equal(world_look(world, "tree"), 0);
}

static void a_deleted_directory_still_lies_where_it_was(void **state)
{
	struct world *world = *state;

	world->child = child_start(below(world, "tree/deep"));
	assert_int_equal(rmdir(below(world, "tree/deep")), 0);
	assert_int_equal(world_look(world, "tree"), 1);
}

static void a_tree_that_was_renamed_is_the_same_tree(void **state)
{
	struct world *world = *state;
	char from[256];

	world->child = child_start(below(world, "tree/deep"));
	(void)snprintf(from, sizeof(from), "%s/tree", world->directory);
	assert_int_equal(rename(from, below(world, "moved")), 0);
	assert_int_equal(world_look(world, "moved"), 1);
	assert_int_equal(rmdir(below(world, "moved/deep")), 0);
}

/* The same directory outside the tree was looked at before, and must not vouch for this one. */
static void a_bind_mount_in_the_tree_is_in_the_tree(void **state)
{
	struct world *world = *state;
	char source[256];
	pid_t outside;

	(void)snprintf(source, sizeof(source), "%s/tree", world->directory);
	assert_int_equal(mount(source, below(world, "tree2"), NULL, MS_BIND, NULL), 0);
	outside = child_start(below(world, "tree/deep"));
	world->child = child_start(below(world, "tree2/deep"));
	/* Both lie in the directory that is bound, and only one below the mount's parent. */
	assert_int_equal(world_look(world, "tree"), 2);
	assert_int_equal(world_look(world, ""), 2);
	child_end(outside);
}

/* What is bound from outside into the tree: the way up from there leads through the tree. */
static void a_directory_bound_into_the_tree_counts_only_through_that_mount(void **state)
{
	struct world *world = *state;
	char source[256];
	pid_t outside;

	(void)snprintf(source, sizeof(source), "%s/tree2", world->directory);
	outside = child_start(source);
	assert_int_equal(mount(source, below(world, "tree/deep"), NULL, MS_BIND, NULL), 0);
	world->child = child_start(below(world, "tree/deep"));
	assert_int_equal(world_look(world, "tree"), 1);
	assert_int_equal(world->seen[0].pid, world->child);
	child_end(outside);
	child_end(world->child);
	world->child = 0;
	assert_int_equal(umount2(below(world, "tree/deep"), MNT_DETACH), 0);
}

enum { SOMEBODY = 1000, LOOK_S = 20 };

/* A child of that user that sleeps there. */
static pid_t start_as(unsigned user, const char *directory)
{
	int there[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	pid = fork();
	assert_return_code(pid, errno);
	if (pid == 0) {
		if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0 ||
			chdir(directory) != 0 || write(there[1], "", 1) != 1)
			_exit(1);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	(void)close(there[1]);
	assert_int_equal(read(there[0], &byte, 1), 1);
	(void)close(there[0]);
	return pid;
}

enum state_of_mount { MOUNTED, DETACHED };

/* Somebody works on a mount that is told by `more`, at that name, while its server stands still. */
static size_t look_beside_mount(struct world *world, const char *at, unsigned user,
	const char *more, enum state_of_mount how)
{
	struct fuse fuse;
	size_t count;

	assert_int_equal(chmod(world->directory, 0755), 0);
	fuse = fuse_mount_of(below(world, at), user, more);
	fuse_serve(&fuse);
	world->child = start_as(user, below(world, at));
	assert_int_equal(kill(fuse.server, SIGSTOP), 0);
	if (how == DETACHED)
		assert_int_equal(umount2(below(world, at), MNT_DETACH), 0);
	(void)alarm(LOOK_S);
	count = world_look(world, "tree");
	(void)alarm(0);
	fuse_kill(&fuse);
	child_end(world->child);
	world->child = 0;
	if (how == MOUNTED)
		assert_int_equal(umount2(below(world, at), MNT_DETACH), 0);
	return count;
}

/* Even root may not look into what another user mounted: that is no reason to see nothing at all. */
static void a_mount_that_keeps_root_out_hides_nobody(void **state)
{
	assert_int_equal(look_beside_mount(*state, "tree2", SOMEBODY, "", MOUNTED), 0);
	assert_int_equal(look_beside_mount(*state, "tree/deep", SOMEBODY, "", MOUNTED), 1);
}

static void nothing_is_asked_of_a_mount_that_somebody_works_on(void **state)
{
	static const char more[] = ",default_permissions,allow_other";

	assert_int_equal(look_beside_mount(*state, "tree2", 0, more, MOUNTED), 0);
	assert_int_equal(look_beside_mount(*state, "tree/deep", 0, more, MOUNTED), 1);
}

/* By `umount -l`, as people do with one that hangs: it is in no table any more. */
static void nor_of_one_that_was_detached_from_under_somebody(void **state)
{
	static const char more[] = ",default_permissions,allow_other";

	assert_int_equal(look_beside_mount(*state, "tree2", 0, more, DETACHED), 0);
	assert_int_equal(look_beside_mount(*state, "tree/deep", 0, more, DETACHED), 0);
	assert_int_equal(look_beside_mount(*state, "tree2", SOMEBODY, "", DETACHED), 0);
}

/* Who works there works in the directory all the same. */
static void a_place_is_found_through_a_mount_of_it_that_was_detached(void **state)
{
	struct world *world = *state;
	char *tree CLEANUP(mem_done) = mem_dup(below(world, "tree"));

	assert_int_equal(mount(tree, below(world, "tree2"), NULL, MS_BIND, NULL), 0);
	world->child = child_start(below(world, "tree2/deep"));
	assert_int_equal(umount2(below(world, "tree2"), MNT_DETACH), 0);
	assert_int_equal(world_look(world, "tree"), 1);
}

static void every_process_of_a_directory_is_told(void **state)
{
	struct world *world = *state;
	pid_t second;

	world->child = child_start(below(world, "tree/deep"));
	second = child_start(below(world, "tree/deep"));
	assert_int_equal(world_look(world, "tree"), 2);
	child_end(second);
}

/* The root of every tmpfs has the same inode number. */
static void the_same_inode_of_another_filesystem_is_another_directory(void **state)
{
	struct world *world = *state;
	struct process_place first, second;

	assert_int_equal(mount("tmpfs", below(world, "tree2"), "tmpfs", 0, "size=64k"), 0);
	assert_int_equal(mount("tmpfs", below(world, "tree/deep"), "tmpfs", 0, "size=64k"), 0);
	first = place_of(world, "tree2");
	second = place_of(world, "tree/deep");
	assert_int_equal(first.ino, second.ino);
	world->child = child_start(below(world, "tree2"));
	assert_int_equal(world_look(world, "tree/deep"), 0);
	assert_int_equal(world_look(world, "tree2"), 1);
}

/* In a child, because it cannot come back: looks as "nobody", who may not look at root's. */
static void a_directory_that_is_only_open_counts_for_who_asks_for_holders(void **state)
{
	struct world *world = *state;
	struct process_place place = { .context = world };
	int dir CLEANUP(fd_done) =
		open(below(world, "tree/deep"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_return_code(dir, errno);
	world->child = child_start(NULL); /* it has all that we have open */
	assert_int_equal(dir_identity(below(world, "tree"), &place.dev, &place.ino, NULL), 0);
	assert_int_equal(processes_in(&place, 1, world_note, world, NULL), 0);
	assert_int_equal(world->seen_count, 0);
	assert_int_equal(processes_holding(&place, 1, world_note, world, NULL), 0);
	assert_int_equal(world->seen_count, 1);
	assert_int_equal(world->seen[0].pid, world->child);
	assert_string_equal(world->seen[0].how, "open directory");
}

static void what_cannot_be_looked_at_is_said(void **state)
{
	struct world *world = *state;
	struct process_place place = place_of(world, "tree");
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error error = { 0 };

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		if (processes_in(&place, 1, world_note, world, &error) != -EACCES)
			_exit(3);
		_exit(strstr(error.text, "could not look at ") ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A user of this test's own, since who has just become a user is shielded from others of that user. */
static int asked_by_a_user(struct world *world, bool closed, bool shielded)
{
	struct process_place place = place_of(world, "tree");
	uid_t user = 3000000 + (uid_t)getpid();
	pid_t pid = fork(), other = 0;
	int status, r;

	assert_true(pid >= 0);
	if (pid == 0) {
		place.closed = closed;
		if (setgid(user) < 0 || setuid(user) < 0)
			_exit(100);
		if (shielded && (other = fork()) == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)pause();
			_exit(0);
		}
		r = processes_in(&place, 1, world_note, world, NULL);
		if (other > 0 && (kill(other, SIGKILL) < 0 || waitpid(other, NULL, 0) != other))
			_exit(101);
		_exit(-r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void of_a_closed_place_it_is_taken_that_strangers_are_elsewhere(void **state)
{
	assert_int_equal(asked_by_a_user(*state, false, false), -EACCES);
	assert_int_equal(asked_by_a_user(*state, true, false), 0);
}

static void but_not_that_shielded_processes_of_ours_are(void **state)
{
	assert_int_equal(asked_by_a_user(*state, true, true), -EACCES);
}

/* Under hidepid a process that is there looks like one that is not, unless one asks by pidfd. */
static void hidden_processes_are_unknown_and_not_gone(void **state)
{
	struct world *world = *state;
	struct process_place place = place_of(world, "tree");
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error error = { 0 };

		if (unshare(CLONE_NEWNS) < 0 ||
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			mount("proc", "/proc", "proc", 0, "hidepid=invisible") < 0 ||
			setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		if (processes_in(&place, 1, world_note, world, &error) != -EACCES)
			_exit(3);
		if (!strstr(error.text, "hidepid"))
			_exit(4);
		_exit(process_alive(1, NULL) == TRI_UNKNOWN ? 0 : 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
		cmocka_unit_test(boot_id_is_the_kernels),
		IN_WORLD(a_process_is_alive_by_pid_and_start_time),
		IN_WORLD(a_zombie_is_not_alive),
		IN_WORLD(a_process_whose_leader_ended_is_alive_and_can_be_killed),
		cmocka_unit_test(a_pid_that_is_not_there_has_no_token),
		IN_WORLD(killing_ends_exactly_that_process),
		IN_WORLD(a_recycled_pid_is_never_signalled),
		cmocka_unit_test(a_command_name_is_shown_escaped),
		cmocka_unit_test(a_command_name_cannot_disturb_the_start_time),
		IN_WORLD(we_and_our_parents_are_above_us_and_a_child_is_not),
		IN_WORLD(a_working_directory_deep_in_the_tree_is_found),
		IN_WORLD(no_tree_is_too_deep),
		IN_WORLD(the_tree_itself_counts_and_a_name_with_the_same_start_does_not),
		IN_WORLD(every_place_on_the_way_up_is_told),
		IN_WORLD(a_root_directory_in_the_tree_is_found),
		IN_WORLD(a_process_whose_leader_ended_is_found_through_its_threads),
		IN_WORLD(a_thread_with_a_directory_of_its_own_is_seen),
		IN_WORLD(a_zombie_is_in_no_directory),
		IN_WORLD(a_deleted_directory_still_lies_where_it_was),
		IN_WORLD(a_tree_that_was_renamed_is_the_same_tree),
		IN_WORLD(a_bind_mount_in_the_tree_is_in_the_tree),
		IN_WORLD(a_directory_bound_into_the_tree_counts_only_through_that_mount),
		IN_WORLD(a_mount_that_keeps_root_out_hides_nobody),
		IN_WORLD(nothing_is_asked_of_a_mount_that_somebody_works_on),
		IN_WORLD(nor_of_one_that_was_detached_from_under_somebody),
		IN_WORLD(a_place_is_found_through_a_mount_of_it_that_was_detached),
		IN_WORLD(every_process_of_a_directory_is_told),
		IN_WORLD(the_same_inode_of_another_filesystem_is_another_directory),
		IN_WORLD(a_directory_that_is_only_open_counts_for_who_asks_for_holders),
		IN_WORLD(what_cannot_be_looked_at_is_said),
		IN_WORLD(of_a_closed_place_it_is_taken_that_strangers_are_elsewhere),
		IN_WORLD(but_not_that_shielded_processes_of_ours_are),
		IN_WORLD(hidden_processes_are_unknown_and_not_gone),
	};

	return cmocka_run_group_tests_name("processes", tests, workdir_own_mounts, NULL);
}
