#include "config.h"
#include "base/pathname.h"
#include "base/text.h"
#include "config_draft.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/ini_file.h"
#include "text_list.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>

enum { DROP_INS_MAX = 1000 };

char *config_xdg_dir(const char *variable, const char *fallback)
{
	const char *dir = getenv(variable), *home = getenv("HOME");
	const struct passwd *entry;

	if (dir && *dir == '/')
		return pathname_clean(dir, NULL);
	if (!home || *home != '/') {
		entry = getpwuid(geteuid());
		home = entry ? entry->pw_dir : NULL;
	}
	return home ? pathname_clean(fallback, home) : NULL;
}

static char *database_default(void)
{
	char *state CLEANUP(mem_done) = NULL;

	if (geteuid() == 0)
		return mem_dup("/var/lib/sbx/state.db");
	state = config_xdg_dir("XDG_STATE_HOME", ".local/state");
	return mem_printf("%s/sbx/state.db", state ? state : "/var/lib");
}

/*
 * Where the slice of that name is: a user's manager has its slices in the group that is delegated to
 * it (user@.service of systemd.special(7)), and a user may change no other.
 */
static char *cgroup_root_default(void)
{
	unsigned uid = geteuid();

	if (uid == 0)
		return mem_dup("sbx.slice");
	return mem_printf("user.slice/user-%u.slice/user@%u.service/sbx.slice", uid, uid);
}

void settings_default(struct settings *ret_settings)
{
	static const int64_t minute = 60, hour = 3600, day = 86400;

	*ret_settings = (struct settings){
		.database = database_default(),
		.adopt = ADOPT_NONE,
		.policy = {
			.ttl_s = day,
			.lease_s = 15 * minute,
			.deadline_grace_s = 5 * minute,
			.keep_ok_s = 10 * minute,
			.keep_failed_s = 24 * hour,
			.keep_abandoned_s = 24 * hour,
			.keep_orphan_s = 24 * hour,
			.pin_for_s = 14 * day,
			.history_s = 90 * day,
			.salvage_keep_s = INT64_C(30) * 86400,
			.unsaved = UNSAVED_SALVAGE,
			.branch = BRANCH_MERGED,
		},
		.label = mem_dup("sbx.run"),
		.cgroup_root = cgroup_root_default(),
		.limits = {
			.time_budget_ms = 4 * minute * 1000,
			.engine_timeout_ms = 10 * 1000,
			.kill_timeout_ms = 10 * 1000,
			.hook_timeout_ms = 10 * 1000,
			.brake_runs = 50,
			.brake_share = 80,
			.brake_hold_s = 15 * minute,
		},
		.disk = { .high = 85, .low = 75 },
	};
}

void settings_done(struct settings *settings)
{
	free(settings->database);
	free(settings->visited);
	free(settings->label);
	free(settings->cgroup_root);
	free(settings->hooks.revoke);
	free(settings->hooks.after);
	free(settings->textfile);
	free(settings->owners);
	text_list_done(&settings->roots);
	text_list_done(&settings->lost_roots);
	text_list_done(&settings->lost_repos);
	text_list_done(&settings->silent);
	text_list_done(&settings->repos);
	text_list_done(&settings->path_roots);
	text_list_done(&settings->engines);
	*settings = (struct settings){ 0 };
}

void config_draft_done(struct draft *draft)
{
	settings_done(&draft->settings);
	for (size_t i = 0; i < draft->root_count; i++) {
		free(draft->roots[i].path);
		free(draft->roots[i].where);
	}
	free(draft->roots);
	text_list_done(&draft->homes);
	free(draft->disk_where);
	free(draft->file);
}

static int is_drop_in(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && text_ends(entry->d_name, ".ini");
}

/* By byte value, whatever the locale. */
static int drop_in_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int files_add_drop_ins(struct text_list *files, const char *dir, struct error *error)
{
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, is_drop_in, drop_in_compare);
	int r = 0;

	if (count < 0)
		return errno == ENOENT ? 0 : error_set(error, errno, "read directory %s", dir);
	if (count > DROP_INS_MAX)
		r = error_say(error, E2BIG, "%s: more than %d files", dir, DROP_INS_MAX);
	for (int i = 0; i < count; i++) {
		char *path CLEANUP(mem_done) = mem_printf("%s/%s", dir, entries[i]->d_name);

		if (r == 0)
			text_list_add(files, path);
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* "/etc/sbx", or the user's own. */
static char *config_dir(void)
{
	char *config CLEANUP(mem_done) = NULL;

	if (geteuid() == 0)
		return mem_dup("/etc/sbx");
	config = config_xdg_dir("XDG_CONFIG_HOME", ".config");
	return config ? mem_printf("%s/sbx", config) : NULL;
}

static int files_find(struct text_list *files, struct error *error)
{
	char *dir CLEANUP(mem_done) = config_dir();
	char *main_file CLEANUP(mem_done) = NULL, *drop_ins CLEANUP(mem_done) = NULL;
	int r;

	if (!dir)
		return error_say(error, ENOENT,
			"no settings: you have no home directory; name a file with --config");
	main_file = mem_printf("%s/reap.ini", dir);
	drop_ins = mem_printf("%s/reap.d", dir);
	/* Only a certain absence counts: a file that cannot be read is an error later on. */
	if (access(main_file, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
		text_list_add(files, main_file);
	r = files_add_drop_ins(files, drop_ins, error);
	if (r < 0)
		return r;
	if (!files->count)
		return error_say(error, ENOENT,
			"no settings: there is neither %s nor a file in %s; write one, or name it "
			"with --config",
			main_file, drop_ins);
	return 0;
}

int config_files(const char *path, struct text_list *ret_files, struct error *error)
{
	struct text_list files CLEANUP(text_list_done) = { 0 };
	int r = 0;

	if (path)
		text_list_add(&files, path);
	else
		r = files_find(&files, error);
	if (r < 0)
		return r;
	*ret_files = files;
	files = (struct text_list){ 0 };
	return 0;
}

/* Whoever can write the settings decides what is removed: only root or we ourselves may. */
static int file_check_writers(const char *shown, const struct stat *stat, struct error *error)
{
	if (stat->st_uid != 0 && stat->st_uid != geteuid())
		return error_say(error, EPERM,
			"%s: it belongs to uid %u; settings must belong to root or to us", shown,
			(unsigned)stat->st_uid);
	if (stat->st_mode & S_IWOTH || (stat->st_mode & S_IWGRP && stat->st_gid != 0))
		return error_say(error, EPERM, "%s: others can write it (mode %04o); chmod go-w it",
			shown, (unsigned)stat->st_mode & 07777);
	return 0;
}

/* Reads the file behind the path; a link to it is fine, a link in the last moment is not. */
static int file_open_and_read(const char *path, const char *shown, char **ret_bytes,
	size_t *ret_length, struct error *error)
{
	char *real CLEANUP(mem_done) = realpath(path, NULL), *parent CLEANUP(mem_done) = NULL;
	int dir CLEANUP(fd_done) = -EBADF;
	struct stat stat;
	int r;

	if (!real)
		return error_set(error, errno, "read settings %s", shown);
	parent = pathname_parent(real);
	dir = dir_open(parent, error);
	if (dir < 0)
		return dir;
	r = file_read(dir, pathname_last(real), INI_FILE_MAX, ret_bytes, ret_length, &stat, error);
	if (r < 0) {
		error_prefix(error, "settings %s", shown);
		return r;
	}
	return file_check_writers(shown, &stat, error);
}

static int draft_read(struct draft *draft, const char *path, struct error *error)
{
	char *bytes CLEANUP(mem_done) = NULL;
	size_t length;
	int r;

	free(draft->file);
	draft->file = text_escape(path);
	draft->given = 0;
	r = file_open_and_read(path, draft->file, &bytes, &length, error);
	if (r < 0)
		return r;
	return ini_file_parse(path, bytes, length, config_key_take, draft, error);
}

/* One of them alone would be compared with a default that its author may not think of. */
static int draft_check_disk(const struct draft *draft, struct error *error)
{
	const struct disk_settings *disk = &draft->settings.disk;

	if (draft->disk_given == 1 || draft->disk_given == 2)
		return error_say(error, EINVAL,
			"%s: [disk] high and low belong together: set both, like high = 85%% and "
			"low = 75%%",
			draft->disk_where);
	if (disk->low >= disk->high)
		return error_say(error, EINVAL,
			"%s: [disk] low = %lld%% must be below high = %lld%%", draft->disk_where,
			(long long)disk->low, (long long)disk->high);
	return 0;
}

int config_draft_adopt(struct draft *draft, struct settings *ret_settings, struct error *error)
{
	int r;

	config_silence_ask(draft);
	r = config_roots_settle(draft, error);
	if (r < 0)
		return r;
	*ret_settings = draft->settings;
	draft->settings = (struct settings){ 0 };
	return 0;
}

int config_load(const char *path, struct settings *ret_settings, struct error *error)
{
	struct draft draft CLEANUP(config_draft_done) = { 0 };
	struct text_list files CLEANUP(text_list_done) = { 0 };
	int r = config_files(path, &files, error);

	settings_default(&draft.settings);
	for (size_t i = 0; r == 0 && i < files.count; i++)
		r = draft_read(&draft, files.items[i], error);
	if (r == 0)
		r = draft_check_disk(&draft, error);
	return r < 0 ? r : config_draft_adopt(&draft, ret_settings, error);
}
