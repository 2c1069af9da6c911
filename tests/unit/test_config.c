#include "unit.h"

#include "config.h"
#include "fuse.h"
#include "text_list.h"
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* A directory of its own for each test, with "ws" in it for a root, entered. */
struct place {
	char *path;
};

static int place_entry_remove(
	const char *path, const struct stat *stat, int type, struct FTW *position)
{
	(void)stat;
	(void)type;
	(void)position;
	return remove(path);
}

static int place_setup(void **state)
{
	struct place *place = mem_new(sizeof(*place));

	place->path = mem_dup("/run/sbx-test-config-XXXXXX");
	if (!mkdtemp(place->path) || chdir(place->path) != 0 || mkdir("ws", 0755) != 0)
		return -1;
	*state = place;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *place = *state;
	int r = chdir("/");

	if (nftw(place->path, place_entry_remove, 16, FTW_DEPTH | FTW_PHYS) != 0)
		r = -1;
	free(place->path);
	free(place);
	return r;
}

static void file_put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Writes text, with each '@' replaced by the test's directory, and loads it. */
static int load(const struct place *place, const char *text, struct settings *ret_settings,
	struct error *error)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/reap.ini", place->path);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (; *text; text++)
		if (*text == '@')
			assert_true(fputs(place->path, file) >= 0);
		else
			assert_true(fputc(*text, file) != EOF);
	assert_int_equal(fclose(file), 0);
	return config_load(path, ret_settings, error);
}

static void good(void **state, const char *text, struct settings *ret_settings)
{
	struct error error = { 0 };

	if (load(*state, text, ret_settings, &error) < 0)
		fail_msg("'%s' was refused: %s", text, error.text);
}

/* Refused with the code and a text that names `says`; nothing is adopted. */
static void bad(void **state, const char *text, int code, const char *says)
{
	struct settings settings = { 0 };
	struct error error = { 0 };
	int r = load(*state, text, &settings, &error);

	if (r != -code)
		fail_msg("'%s' gave %d (%s)", text, r, error.text);
	if (!strstr(error.text, says))
		fail_msg("'%s' was refused with '%s', not with '%s'", text, error.text, says);
	assert_null(settings.database);
}

static char *below(void **state, const char *name)
{
	const struct place *place = *state;

	return mem_printf("%s/%s", place->path, name);
}

static void an_empty_file_gives_the_defaults(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };

	good(state, "; nothing\n", &settings);
	assert_string_equal(settings.database, "/var/lib/sbx/state.db");
	assert_string_equal(settings.label, "sbx.run");
	assert_string_equal(settings.cgroup_root, "sbx.slice");
	assert_int_equal(settings.roots.count + settings.lost_roots.count, 0);
	assert_int_equal(settings.policy.ttl_s, 86400);
	assert_int_equal(settings.policy.lease_s, 900);
	assert_int_equal(settings.policy.deadline_grace_s, 300);
	assert_int_equal(settings.policy.keep_ok_s, 600);
	assert_int_equal(settings.policy.keep_failed_s, 86400);
	assert_int_equal(settings.policy.keep_abandoned_s, 86400);
	assert_int_equal(settings.policy.keep_orphan_s, 86400);
	assert_int_equal(settings.policy.pin_for_s, 14 * 86400);
	assert_int_equal(settings.policy.pinned_bytes_warn, 0);
	assert_int_equal(settings.policy.history_s, 90 * 86400);
	assert_int_equal(settings.policy.unsaved, UNSAVED_SALVAGE);
	assert_int_equal(settings.policy.branch, BRANCH_MERGED);
	assert_int_equal(settings.adopt, ADOPT_NONE);
	assert_int_equal(settings.unseen, UNSEEN_UNKNOWN);
	assert_int_equal(settings.limits.max_runs, 0);
	assert_int_equal(settings.limits.time_budget_ms, 240000);
	assert_int_equal(settings.limits.engine_timeout_ms, 10000);
	assert_int_equal(settings.limits.kill_timeout_ms, 10000);
	assert_int_equal(settings.limits.brake_runs, 50);
	assert_int_equal(settings.limits.threads, 0);
	assert_int_equal(settings.limits.brake_share, 80);
	assert_int_equal(settings.limits.brake_hold_s, 900);
	assert_int_equal(settings.disk.high, 85);
	assert_int_equal(settings.disk.low, 75);
	assert_null(settings.textfile);
	assert_int_equal(settings.limits.hook_timeout_ms, 10000);
	assert_null(settings.hooks.revoke);
	assert_null(settings.hooks.after);
}

static void every_setting_is_read(void **state)
{
	static const char text[] =
		"[state]\ndatabase = /var/lib/x//s.db\n"
		"[workspaces]\nroot = @/ws\nrepo = /srv/git/app/\nrepo = /srv/git/lib\n"
		"repo = /srv/git/app\nadopt = worktrees\nunseen = elsewhere\n"
		"owner = nobody\nowner = 4711\n"
		"[policy]\nttl = 1h\nlease = 0\ndeadline_grace = 1m\nkeep_ok = 0s\nkeep_failed = "
		"2h\n"
		"keep_abandoned = 3h\nkeep_orphan = 4h\npin_for = 1w\nunsaved = discard\n"
		"pinned_bytes_warn = 50G\n"
		"branch = delete\nhistory = 30d\n"
		"[containers]\nengine = unix:///run/docker.sock\n"
		"engine = unix:///run/podman/podman.sock\nlabel = org.example/run\n"
		"[cgroups]\nroot = sbx.slice/runs\n"
		"[limits]\nmax_runs = 7\ntime_budget = 90s\nengine_timeout = 1500ms\n"
		"kill_timeout = 3s\nthreads = 5\nbrake_runs = 8\nbrake_share = 0%\nbrake_hold = "
		"1h\n"
		"[disk]\nhigh = 100%\nlow = 99%\n"
		"[metrics]\ntextfile = /srv//prom/sbx_reap.prom\n";
	struct settings settings CLEANUP(settings_done) = { 0 };
	char *root CLEANUP(mem_done) = below(state, "ws");

	good(state, text, &settings);
	assert_string_equal(settings.database, "/var/lib/x/s.db");
	assert_int_equal(settings.roots.count, 1);
	assert_string_equal(settings.roots.items[0], root);
	assert_int_equal(settings.repos.count, 2);
	assert_string_equal(settings.repos.items[0], "/srv/git/app");
	assert_int_equal(settings.adopt, ADOPT_WORKTREES);
	assert_int_equal(settings.unseen, UNSEEN_ELSEWHERE);
	assert_int_equal(settings.owner_count, 2);
	assert_int_equal(settings.owners[0], 65534);
	assert_int_equal(settings.owners[1], 4711);
	assert_int_equal(settings.policy.ttl_s, 3600);
	assert_int_equal(settings.policy.lease_s, 0);
	assert_int_equal(settings.policy.deadline_grace_s, 60);
	assert_int_equal(settings.policy.keep_ok_s, 0);
	assert_int_equal(settings.policy.keep_failed_s, 7200);
	assert_int_equal(settings.policy.keep_abandoned_s, 10800);
	assert_int_equal(settings.policy.keep_orphan_s, 14400);
	assert_int_equal(settings.policy.pin_for_s, 7 * 86400);
	assert_int_equal(settings.policy.pinned_bytes_warn, INT64_C(50) << 30);
	assert_int_equal(settings.policy.unsaved, UNSAVED_DISCARD);
	assert_int_equal(settings.policy.branch, BRANCH_DELETE);
	assert_int_equal(settings.policy.history_s, 30 * 86400);
	assert_int_equal(settings.engines.count, 2);
	assert_string_equal(settings.label, "org.example/run");
	assert_string_equal(settings.cgroup_root, "sbx.slice/runs");
	assert_int_equal(settings.limits.max_runs, 7);
	assert_int_equal(settings.limits.time_budget_ms, 90000);
	assert_int_equal(settings.limits.engine_timeout_ms, 1500);
	assert_int_equal(settings.limits.kill_timeout_ms, 3000);
	assert_int_equal(settings.limits.brake_runs, 8);
	assert_int_equal(settings.limits.threads, 5);
	assert_int_equal(settings.limits.brake_share, 0);
	assert_int_equal(settings.limits.brake_hold_s, 3600);
	assert_int_equal(settings.disk.high, 100);
	assert_int_equal(settings.disk.low, 99);
	assert_string_equal(settings.textfile, "/srv/prom/sbx_reap.prom");
}

static void hooks_and_their_time_are_read(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };

	good(state,
		"[limits]\nhook_timeout = 4s\n"
		"[hooks]\nrevoke = /etc//sbx/revoke\nafter = /etc/sbx/after\n",
		&settings);
	assert_int_equal(settings.limits.hook_timeout_ms, 4000);
	assert_string_equal(settings.hooks.revoke, "/etc/sbx/revoke");
	assert_string_equal(settings.hooks.after, "/etc/sbx/after");
}

static void bytes_are_a_whole_number_with_a_unit(void **state)
{
	static const char *const wrong[] = { "50GB", "G", "1.5G", "-1", "8192P" };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char *text CLEANUP(mem_done) =
			mem_printf("[policy]\npinned_bytes_warn = %s\n", wrong[i]);

		bad(state, text, EINVAL, "number of bytes");
	}
}

static void what_is_wrong_is_named_with_file_and_line(void **state)
{
	static const struct {
		const char *text, *says;
	} table[] = {
		{ "[policy]\n\nttl = soon\n", "reap.ini:3: [policy] ttl" },
		{ "[policy]\nttl = 11y\n", "must lie between" },
		{ "[policy]\nttl = 500ms\n", "whole seconds" },
		{ "[policy]\nttl = -5m\n", "ttl" },
		{ "[policy]\nttl =\n", "ttl" },
		{ "[policy]\nunsaved = maybe\n", "salvage keep discard" },
		{ "[policy]\nbranch = Merged\n", "merged keep delete" },
		{ "[policy]\nttl = 1h\nttl = 1h\n", "reap.ini:3: [policy] ttl is set twice" },
		{ "[policy]\nsalvage_keep = 11y\n", "must lie between" },
		{ "[disk]\nhigh = 85%\n", "reap.ini:2: [disk] high and low belong together" },
		{ "[disk]\nlow = 10%\n", "reap.ini:2: [disk] high and low belong together" },
		{ "[disk]\nhigh = 60%\nlow = 60%\n", "reap.ini:3: [disk] low = 60% must be below" },
		{ "[disk]\nhigh = 85\n", "whole percentage" },
		{ "[disk]\nhigh = 0%\n", "from 1% to 100%" },
		{ "[disk]\nhigh = 101%\n", "from 1% to 100%" },
		{ "[disk]\nhigh = %\n", "whole percentage" },
		{ "[disk]\nlow = 5.5%\n", "whole percentage" },
		{ "[limits]\nbrake_share = 80\n", "whole percentage" },
		{ "[limits]\nbrake_hold = 500ms\n", "whole seconds" },
		{ "[limits]\nbrake_hold = 0\n", "must lie between" },
		{ "[metrics]\ntextfile = sbx_reap.prom\n", "absolute" },
		{ "[metrics]\ntextfile = /x/sbx_reap\n", "ends with .prom" },
		{ "[metrics]\ntextfile = /x.prom\ntextfile = /y.prom\n", "set twice" },
		{ "[limits]\nthreads = 17\n", "from 0 to 16" },
		{ "[limits]\nbrake_runs = -4\n", "whole number" },
		{ "[limits]\ntime_budget = 0\n", "must lie between" },
		{ "[limits]\nmax_runs = -1\n", "whole number" },
		{ "[limits]\nmax_runs = 1e3\n", "whole number" },
		{ "ttl = 1h\n", "unknown section []" },
		{ "[state]\ndatabase = state.db\n", "absolute" },
		{ "[state]\ndatabase = /var/lib/\n", "name a file" },
		{ "[workspaces]\nroot = ws\n", "absolute" },
		{ "[workspaces]\nroot =\n", "absolute" },
		{ "[workspaces]\nroot = /\n", "reap.ini:2: [workspaces] root = '/'" },
		{ "[workspaces]\nroot = /usr/..\n", "whole file system" },
		{ "[workspaces]\nowner = no-such-user\n", "no such user" },
		{ "[workspaces]\nowner = -1\n", "no such user" },
		{ "[workspaces]\nadopt = all\n", "none worktrees" },
		{ "[workspaces]\nunseen = gone\n", "unknown elsewhere" },
		{ "[containers]\nengine = /run/docker.sock\n", "unix://" },
		{ "[containers]\nengine = unix://run/docker.sock\n", "unix://" },
		{ "[containers]\nengine = tcp://1.2.3.4:5\n", "unix://" },
		{ "[containers]\nlabel = a=b\n", "label" },
		{ "[containers]\nlabel = .x\n", "label" },
		{ "[cgroups]\nroot = /sbx.slice\n", "without leading slash" },
		{ "[cgroups]\nroot = ../x\n", "without leading slash" },
		{ "[cgroups]\nroot = a//b\n", "without leading slash" },
		{ "[cgroups]\nroot = .\n", "without leading slash" },
		{ "[cgroups]\nroot =\n", "without leading slash" },
		{ "[policy]\nt\x1bl = 1h\n", "\\x1b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		bad(state, table[i].text, EINVAL, table[i].says);
}

static void what_is_wrong_with_hooks_is_named(void **state)
{
	static const struct {
		const char *text, *says;
	} table[] = {
		{ "[hooks]\nrevoke = revoke\n", "absolute" },
		{ "[hooks]\nafter = /etc/sbx/\n", "name a file" },
		{ "[hooks]\nafter = /x\nafter = /y\n", "set twice" },
		{ "[hooks]\nbefore = /x\n", "unknown key 'before' in [hooks]" },
		{ "[limits]\nhook_timeout = 11m\n", "must lie between" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		bad(state, table[i].text, EINVAL, table[i].says);
}

static void the_path_of_a_socket_is_bounded(void **state)
{
	char path[120] = { 0 };
	char *text CLEANUP(mem_done) = NULL, *fits CLEANUP(mem_done) = NULL;
	struct settings settings CLEANUP(settings_done) = { 0 };

	memset(path, 'a', 107);
	text = mem_printf("[containers]\nengine = unix:///%s\n", path);
	bad(state, text, EINVAL, "2 to 107 bytes");
	fits = mem_printf("[containers]\nengine = unix:///%s\n", path + 1);
	good(state, fits, &settings);
}

static void a_home_directory_is_no_root(void **state)
{
	const struct passwd *root = getpwnam("root");
	char *home CLEANUP(mem_done) = NULL;

	assert_non_null(root);
	home = mem_printf("[workspaces]\nroot = %s\n", root->pw_dir);
	bad(state, home, EINVAL, "home directory");
	bad(state, "[workspaces]\nroot = /usr\n", EINVAL, "home directory");
}

/* The home of one leads into the root by a symlink, that of another to where nobody answers. */
static void a_home_that_does_not_answer_hides_no_other(void **state)
{
	const struct place *place = *state;
	char *passwd CLEANUP(mem_done) = mem_printf("root:x:0:0::/root:/bin/sh\n"
						    "a:x:1:1::%s/silent/a:/bin/sh\n"
						    "b:x:2:2::%s/link:/bin/sh\n",
		place->path, place->path);
	struct fuse fuse;

	assert_int_equal(mkdir("silent", 0755), 0);
	assert_int_equal(mkdir("ws/b", 0755), 0);
	assert_int_equal(symlink("ws/b", "link"), 0);
	file_put("passwd", passwd);
	assert_return_code(mount("passwd", "/etc/passwd", NULL, MS_BIND, NULL), errno);
	fuse = fuse_mount("silent");
	bad(state, "[workspaces]\nroot = @/ws\n", EINVAL, "ws/b is a home directory");
	bad(state, "[workspaces]\nroot = @/silent\nroot = @/ws\n", EINVAL,
		"ws/b is a home directory");
	fuse_kill(&fuse);
	assert_return_code(umount2("silent", MNT_DETACH), errno);
	assert_return_code(umount2("/etc/passwd", MNT_DETACH), errno);
}

static void a_root_that_others_can_replace_is_refused(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };

	assert_int_equal(chmod("ws", 0777), 0);
	bad(state, "[workspaces]\nroot = @/ws\n", EPERM, "reap.ini:2: [workspaces] root");
	assert_int_equal(chmod("ws", 0755), 0);
	assert_int_equal(chown("ws", 4711, 0), 0);
	bad(state, "[workspaces]\nroot = @/ws\n", EPERM, "4711");
	good(state, "[workspaces]\nroot = @/ws\nowner = 4711\n", &settings);
	assert_int_equal(settings.roots.count, 1);
}

static void a_link_to_a_root_counts_for_what_it_names(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };
	char *root CLEANUP(mem_done) = below(state, "ws");

	assert_int_equal(symlink("ws", "link"), 0);
	good(state, "[workspaces]\nroot = @/link\nroot = @/ws\n", &settings);
	assert_int_equal(settings.roots.count, 1);
	assert_string_equal(settings.roots.items[0], root);
}

static void a_link_that_others_can_replace_is_refused(void **state)
{
	assert_int_equal(mkdir("open", 0777), 0);
	assert_int_equal(chmod("open", 0777), 0);
	assert_int_equal(symlink("../ws", "open/link"), 0);
	bad(state, "[workspaces]\nroot = @/open/link\n", EPERM, "root");
}

static void a_root_that_is_not_there_is_lost(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };
	char *gone CLEANUP(mem_done) = below(state, "gone");

	file_put("file", "");
	good(state, "[workspaces]\nroot = @/gone/\nroot = @/ws\nroot = @/file\n", &settings);
	assert_int_equal(settings.roots.count, 1);
	assert_int_equal(settings.lost_roots.count, 2);
	assert_string_equal(settings.lost_roots.items[0], gone);
}

static void roots_lie_side_by_side(void **state)
{
	assert_int_equal(mkdir("ws/inner", 0755), 0);
	bad(state, "[workspaces]\nroot = @/ws\nroot = @/ws/inner\n", EINVAL, "overlaps");
	bad(state, "[workspaces]\nroot = @/ws/inner\nroot = @/ws\n", EINVAL, "overlaps");
	bad(state, "[workspaces]\nroot = @/ws\n[state]\ndatabase = @/ws/state.db\n", EINVAL,
		"database lies below it");
}

static void a_glob_chooses_directories_and_never_trash(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };
	struct settings none CLEANUP(settings_done) = { 0 };
	char *a CLEANUP(mem_done) = below(state, "ws/a");

	assert_int_equal(mkdir("ws/a", 0755), 0);
	assert_int_equal(mkdir("ws/b", 0755), 0);
	assert_int_equal(mkdir("ws/.sbx-trash", 0755), 0);
	file_put("ws/file", "");
	good(state, "[workspaces]\nroot = @/ws/*\nroot = @/ws/.s*\n", &settings);
	assert_int_equal(settings.roots.count, 2);
	assert_string_equal(settings.roots.items[0], a);
	assert_int_equal(settings.lost_roots.count, 0);
	good(state, "[workspaces]\nroot = @/ws/x*\n", &none);
	assert_int_equal(none.roots.count + none.lost_roots.count, 0);
}

static void a_glob_below_an_unreadable_place_is_lost(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };

	good(state, "[workspaces]\nroot = @/gone/*\n", &settings);
	assert_int_equal(settings.lost_roots.count, 1);
}

static void path_roots_are_proved_like_roots(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };

	good(state, "[workspaces]\npath_root = @/ws\n", &settings);
	assert_int_equal(settings.path_roots.count, 1);
	assert_int_equal(settings.roots.count, 0);
	bad(state, "[workspaces]\npath_root = /\n", EINVAL, "path_root = '/'");
}

static void settings_that_others_can_write_are_refused(void **state)
{
	struct settings settings = { 0 };
	struct error error = { 0 };
	char *path CLEANUP(mem_done) = below(state, "open.ini");

	file_put("open.ini", "[policy]\nttl = 1h\n");
	assert_int_equal(chmod("open.ini", 0666), 0);
	assert_int_equal(config_load(path, &settings, &error), -EPERM);
	assert_non_null(strstr(error.text, "chmod go-w"));
	error = (struct error){ 0 };
	assert_int_equal(chmod("open.ini", 0644), 0);
	assert_int_equal(chown("open.ini", 4711, 4711), 0);
	assert_int_equal(config_load(path, &settings, &error), -EPERM);
	assert_non_null(strstr(error.text, "uid 4711"));
}

static void a_file_that_is_named_must_exist_and_be_text(void **state)
{
	struct settings settings = { 0 };
	struct error error = { 0 }, binary = { 0 };
	char *gone CLEANUP(mem_done) = below(state, "gone.ini");
	char *rubbish CLEANUP(mem_done) = below(state, "rubbish.ini");
	int fd = open("rubbish.ini", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_int_equal(config_load(gone, &settings, &error), -ENOENT);
	assert_non_null(strstr(error.text, "gone.ini"));
	assert_int_equal(write(fd,
				 "\x7f"
				 "ELF\0\0\1[\xff]=",
				 12),
		12);
	assert_int_equal(close(fd), 0);
	assert_int_equal(config_load(rubbish, &settings, &binary), -EINVAL);
	assert_int_equal(config_load("/dev/null", &settings, &binary), -EINVAL);
	assert_null(settings.database);
}

/* As a user without privileges: the default places of root are the machine's own. */
static int load_as_user(void **state, struct settings *ret_settings, struct error *error)
{
	const struct place *place = *state;
	int r;

	assert_int_equal(chmod(place->path, 0755), 0);
	assert_int_equal(setenv("XDG_CONFIG_HOME", place->path, 1), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", "/somewhere/state", 1), 0);
	assert_int_equal(seteuid(65534), 0);
	r = config_load(NULL, ret_settings, error);
	assert_int_equal(seteuid(0), 0);
	return r;
}

static void later_files_override_values_and_add_to_lists(void **state)
{
	struct settings settings CLEANUP(settings_done) = { 0 };
	struct error error = { 0 };

	assert_int_equal(mkdir("sbx", 0755), 0);
	assert_int_equal(mkdir("sbx/reap.d", 0755), 0);
	file_put("sbx/reap.ini", "[policy]\nttl = 1h\nlease = 1m\n[workspaces]\nrepo = /a\n");
	file_put("sbx/reap.d/20-b.ini", "[policy]\nttl = 3h\n[workspaces]\nrepo = /c\n");
	file_put("sbx/reap.d/10-a.ini", "[policy]\nttl = 2h\n[workspaces]\nrepo = /b\n");
	file_put("sbx/reap.d/30.ini.bak", "rubbish");
	file_put("sbx/reap.d/.40.ini", "rubbish");
	assert_int_equal(load_as_user(state, &settings, &error), 0);
	assert_int_equal(settings.policy.ttl_s, 3 * 3600);
	assert_int_equal(settings.policy.lease_s, 60);
	assert_int_equal(settings.repos.count, 3);
	assert_string_equal(settings.repos.items[1], "/b");
	assert_string_equal(settings.database, "/somewhere/state/sbx/state.db");
	assert_string_equal(
		settings.cgroup_root, "user.slice/user-65534.slice/user@65534.service/sbx.slice");
}

static void no_settings_at_all_is_an_error_that_says_where_it_looked(void **state)
{
	struct settings settings = { 0 };
	struct error error = { 0 };

	assert_int_equal(load_as_user(state, &settings, &error), -ENOENT);
	assert_non_null(strstr(error.text, "/sbx/reap.ini"));
	assert_non_null(strstr(error.text, "--config"));
}

int main(void)
{
#define IN_PLACE(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		IN_PLACE(an_empty_file_gives_the_defaults),
		IN_PLACE(every_setting_is_read),
		IN_PLACE(hooks_and_their_time_are_read),
		IN_PLACE(bytes_are_a_whole_number_with_a_unit),
		IN_PLACE(what_is_wrong_is_named_with_file_and_line),
		IN_PLACE(what_is_wrong_with_hooks_is_named),
		IN_PLACE(the_path_of_a_socket_is_bounded),
		IN_PLACE(a_home_directory_is_no_root),
		IN_PLACE(a_home_that_does_not_answer_hides_no_other),
		IN_PLACE(a_root_that_others_can_replace_is_refused),
		IN_PLACE(a_link_to_a_root_counts_for_what_it_names),
		IN_PLACE(a_link_that_others_can_replace_is_refused),
		IN_PLACE(a_root_that_is_not_there_is_lost),
		IN_PLACE(roots_lie_side_by_side),
		IN_PLACE(a_glob_chooses_directories_and_never_trash),
		IN_PLACE(a_glob_below_an_unreadable_place_is_lost),
		IN_PLACE(path_roots_are_proved_like_roots),
		IN_PLACE(settings_that_others_can_write_are_refused),
		IN_PLACE(later_files_override_values_and_add_to_lists),
		IN_PLACE(no_settings_at_all_is_an_error_that_says_where_it_looked),
		IN_PLACE(a_file_that_is_named_must_exist_and_be_text),
	};

	return cmocka_run_group_tests_name("config", tests, workdir_own_mounts, NULL);
}
