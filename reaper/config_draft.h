/*
 * Settings while they are read: a scratch copy that config.c adopts only when every file was fine.
 * Private to config*.c.
 */
#pragma once

#include "base/error.h"
#include "settings.h"

/* A directory as configured, with the place to blame: it is judged after all files are read,
 * because an `owner` further down counts too. */
struct draft_root {
	char *path;  /* absolute and clean; may be a glob */
	char *where; /* "/etc/sbx/reap.ini:12"; NULL: in no file, so it is no pattern either */
	bool is_path_root;
};

struct draft {
	struct settings settings;
	struct draft_root *roots;
	size_t root_count;
	char *file; /* being read, escaped */
	unsigned line;
	char *disk_where;       /* where a key of [disk] stood last, file:line; NULL: nowhere */
	unsigned disk_given;    /* 1 high, 2 low: in all files together */
	struct text_list homes; /* home directories */
	uint64_t given;         /* keys that this file has set, by their place in the table */
};

void config_draft_done(struct draft *draft);

/* Proves what it names, and makes settings of it: all of it, or none. 0 or as config_roots_settle(). */
int config_draft_adopt(struct draft *draft, struct settings *ret_settings, struct error *error);

/*
 * config.c: a directory of the XDG base directory specification: the variable when it is an absolute
 * path (a relative one is to be ignored), else the fallback below the home directory. NULL: no home.
 */
char *config_xdg_dir(const char *variable, const char *fallback);

/* config_keys.c: takes one "key = value". 0, or -EINVAL with what would be right. An ini_entry. */
int config_key_take(void *context, const char *section, const char *name, const char *value,
	unsigned line, struct error *error);

/*
 * config_silence.c: asks whether anybody answers behind what is configured, and where homes lead: fills
 * in silent and homes, and moves such repositories to lost_repos. Before config_roots_settle().
 */
void config_silence_ask(struct draft *draft);

/* config_roots.c: whether it is a pattern. */
bool config_root_is_glob(const struct draft_root *root);

/*
 * config_roots.c: expands, resolves and proves every configured directory, and fills in roots,
 * path_roots and lost_roots. 0, -EINVAL, -EPERM, with file and line.
 */
int config_roots_settle(struct draft *draft, struct error *error);

/* config_roots.c: the home directories of all users as they are written; what becomes of them then. */
void config_homes_written(struct text_list *homes);
void config_homes_settle(
	struct draft *draft, const char *const *written, size_t count, const bool *silent);
