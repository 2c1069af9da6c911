/*
 * The table of settings: what each key is called, how its value is checked and where it goes.
 */
#include "base/pathname.h"
#include "base/text.h"
#include "base/timespan.h"
#include "config_draft.h"
#include "text_list.h"

#include <errno.h>
#include <pwd.h>
#include <sys/un.h>

enum { ENGINE_PATH_MAX = sizeof(((struct sockaddr_un *)0)->sun_path) - 1, LABEL_MAX = 128 };

struct key {
	const char *section, *name;
	int (*take)(
		const struct key *key, struct draft *draft, const char *value, struct error *error);
	size_t offset; /* in struct settings */
	bool repeats;
	int64_t min, max;         /* of a number, in the unit of its field */
	const char *const *words; /* of a choice, in the order of its enum; ends with NULL */
};

/* Says what is wrong with a value; `right` is what would be right. */
static int value_refuse(
	const struct key *key, const char *value, const char *right, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(value);

	return error_say(
		error, EINVAL, "[%s] %s = '%.120s': %s", key->section, key->name, shown, right);
}

static void *key_field(const struct key *key, struct draft *draft)
{
	return (char *)&draft->settings + key->offset;
}

static int key_prefix(const struct key *key, int r, struct error *error)
{
	error_prefix(error, "[%s] %s", key->section, key->name);
	return r;
}

static int value_path(
	const struct key *key, const char *value, char **ret_path, struct error *error)
{
	if (*value != '/')
		return value_refuse(key, value, "a path must be absolute, like /srv/sbx", error);
	*ret_path = pathname_clean(value, NULL);
	return 0;
}

static int take_file(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	char **file = key_field(key, draft), *path = NULL;
	int r = value_path(key, value, &path, error);

	if (r < 0)
		return r;
	if (text_equal(path, "/") || text_ends(value, "/")) {
		free(path);
		return value_refuse(key, value, "it must name a file", error);
	}
	free(*file);
	*file = path;
	return 0;
}

/* The exporter reads no other names, and would not say so. */
static int take_textfile(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	if (!text_ends(value, ".prom") || text_ends(value, "/.prom"))
		return value_refuse(key, value,
			"it must name a file that ends with .prom: node_exporter reads no others",
			error);
	return take_file(key, draft, value, error);
}

static int take_path_list(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	char *path CLEANUP(mem_done) = NULL;
	int r = value_path(key, value, &path, error);

	if (r < 0)
		return r;
	text_list_add_new(key_field(key, draft), path);
	return 0;
}

static int span_take(const struct key *key, struct draft *draft, const char *value, bool in_ms,
	struct error *error)
{
	char least[TIMESPAN_TEXT], most[TIMESPAN_TEXT];
	char *right CLEANUP(mem_done) = NULL;
	int64_t span, second = in_ms ? 1000 : 1;
	int r = in_ms ? timespan_parse_ms(value, &span, error)
		      : timespan_parse_s(value, &span, error);

	if (r < 0)
		return key_prefix(key, r, error);
	if (span < key->min || span > key->max) {
		right = mem_printf("it must lie between %s and %s",
			in_ms ? "1ms" : timespan_format(least, key->min),
			timespan_format(most, key->max / second));
		return value_refuse(key, value, right, error);
	}
	*(int64_t *)key_field(key, draft) = span;
	return 0;
}

static int take_span(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	return span_take(key, draft, value, false, error);
}

static int take_span_ms(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	return span_take(key, draft, value, true, error);
}

static int take_percent(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	size_t length = strlen(value);
	char *number CLEANUP(mem_done) = mem_dup(value), *right CLEANUP(mem_done) = NULL;

	if (length > 1 && value[length - 1] == '%') {
		number[length - 1] = 0;
		if (text_to_int64(number, key->min, key->max, key_field(key, draft)) == 0)
			return 0;
	}
	right = mem_printf("a whole percentage from %lld%% to %lld%% is wanted, like 80%%",
		(long long)key->min, (long long)key->max);
	return value_refuse(key, value, right, error);
}

/* Which of the two is wrong, if any, is known when all files were read. */
static int take_disk(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	int64_t *field = key_field(key, draft);
	unsigned bit = field == &draft->settings.disk.high ? 1 : 2;
	int r = take_percent(key, draft, value, error);

	if (r < 0)
		return r;
	draft->disk_given |= bit;
	free(draft->disk_where);
	draft->disk_where = mem_printf("%s:%u", draft->file, draft->line);
	return 0;
}

static int take_count(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	char *right CLEANUP(mem_done) = NULL;

	if (text_to_int64(value, key->min, key->max, key_field(key, draft)) == 0)
		return 0;
	right = mem_printf("a whole number from %lld to %lld is wanted", (long long)key->min,
		(long long)key->max);
	return value_refuse(key, value, right, error);
}

/* "50G": a whole number, and the power of 1024 behind it. */
static int take_bytes(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	static const char units[] = "KMGTP";
	size_t digits = strspn(value, "0123456789");
	const char *unit = value[digits] ? strchr(units, value[digits]) : NULL;
	char *number CLEANUP(mem_done) = mem_dup(value);
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;
	int64_t count;

	number[digits] = 0;
	if ((value[digits] && (!unit || value[digits + 1])) ||
		text_to_int64(number, 0, key->max >> shift, &count) < 0)
		return value_refuse(key, value,
			"a number of bytes is wanted, at most 8191P, like 50G; 0 is off", error);
	*(int64_t *)key_field(key, draft) = count << shift;
	return 0;
}

/* Enums of the settings are all of the size of unsigned int (asserted below). */
static int take_choice(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	struct text right CLEANUP(text_done) = { 0 };

	for (unsigned i = 0; key->words[i]; i++)
		if (text_equal(key->words[i], value)) {
			memcpy(key_field(key, draft), &i, sizeof(i));
			return 0;
		}
	text_add(&right, "it is one of:");
	for (unsigned i = 0; key->words[i]; i++)
		text_addf(&right, " %s", key->words[i]);
	return value_refuse(key, value, right.data, error);
}

_Static_assert(sizeof(enum adopt) == sizeof(unsigned) && sizeof(enum unseen) == sizeof(unsigned) &&
		       sizeof(enum unsaved) == sizeof(unsigned) &&
		       sizeof(enum branch_rule) == sizeof(unsigned),
	"take_choice writes an unsigned int");

static int take_engine(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	static const char scheme[] = "unix://";
	char *path CLEANUP(mem_done) = NULL, *engine CLEANUP(mem_done) = NULL;

	if (!text_starts(value, scheme) || value[strlen(scheme)] != '/')
		return value_refuse(key, value,
			"write it as unix:// and an absolute path, like "
			"unix:///run/podman/podman.sock",
			error);
	path = pathname_clean(value + strlen(scheme), NULL);
	if (strlen(path) > ENGINE_PATH_MAX || text_equal(path, "/"))
		return value_refuse(
			key, value, "the path of a socket has 2 to 107 bytes (unix(7))", error);
	engine = mem_printf("%s%s", scheme, path);
	text_list_add_new(key_field(key, draft), engine);
	return 0;
}

static bool label_valid(const char *label)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789";
	size_t length = strlen(label), first = strspn(label, letters);

	return first > 0 && length <= LABEL_MAX &&
	       first + strspn(label + first, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789._/-") ==
		       length;
}

static int take_label(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	char **label = key_field(key, draft);

	if (!label_valid(value))
		return value_refuse(key, value,
			"a label has 1 to 128 of the letters, digits and . _ / -, a letter or "
			"digit first",
			error);
	free(*label);
	*label = mem_dup(value);
	return 0;
}

static int take_cgroup_root(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	char **root = key_field(key, draft);
	char *clean CLEANUP(mem_done) = pathname_clean(value, "/");

	if (!*value || !text_equal(clean + 1, value))
		return value_refuse(key, value,
			"name a group below the cgroup v2 mount without leading slash, '.' or "
			"'..', like sbx.slice",
			error);
	free(*root);
	*root = mem_dup(value);
	return 0;
}

static int owner_find(const char *value, uid_t *ret_uid)
{
	const struct passwd *entry;
	int64_t number;

	if (text_to_int64(value, 0, UINT32_MAX - 1, &number) == 0) {
		*ret_uid = (uid_t)number;
		return 0;
	}
	entry = getpwnam(value);
	if (!entry)
		return -ENOENT;
	*ret_uid = entry->pw_uid;
	return 0;
}

static int take_owner(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	struct settings *settings = &draft->settings;
	uid_t uid;

	if (owner_find(value, &uid) < 0)
		return value_refuse(
			key, value, "there is no such user: give a name or a number", error);
	settings->owners =
		mem_grow(settings->owners, settings->owner_count + 1, sizeof(*settings->owners));
	settings->owners[settings->owner_count++] = uid;
	return 0;
}

static int draft_root_add(const struct key *key, struct draft *draft, const char *value,
	bool is_path_root, struct error *error)
{
	char *path = NULL;
	int r = value_path(key, value, &path, error);

	if (r < 0)
		return r;
	draft->roots = mem_grow(draft->roots, draft->root_count + 1, sizeof(*draft->roots));
	draft->roots[draft->root_count++] = (struct draft_root){
		.path = path,
		.where = mem_printf("%s:%u", draft->file, draft->line),
		.is_path_root = is_path_root,
	};
	return 0;
}

static int take_root(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	return draft_root_add(key, draft, value, false, error);
}

static int take_path_root(
	const struct key *key, struct draft *draft, const char *value, struct error *error)
{
	return draft_root_add(key, draft, value, true, error);
}

static const char *const adopt_words[] = { "none", "worktrees", NULL };
static const char *const unseen_words[] = { "unknown", "elsewhere", NULL };
static const char *const unsaved_words[] = { "salvage", "keep", "discard", NULL };
static const char *const branch_words[] = { "merged", "keep", "delete", NULL };

#define AT(field) offsetof(struct settings, field)
#define YEARS_S(n) (INT64_C(n) * 366 * 86400)
#define MINUTES_MS(n) (INT64_C(n) * 60 * 1000)
#define SPAN(key, field, most)                                                   \
	{                                                                        \
		"policy", key, take_span, AT(policy.field), false, 0, most, NULL \
	}
#define LIMIT(key, field, most)                                                     \
	{                                                                           \
		"limits", key, take_span_ms, AT(limits.field), false, 1, most, NULL \
	}

static const struct key keys[] = {
	{ "state", "database", take_file, AT(database), false, 0, 0, NULL },
	{ "workspaces", "root", take_root, 0, true, 0, 0, NULL },
	{ "workspaces", "path_root", take_path_root, 0, true, 0, 0, NULL },
	{ "workspaces", "repo", take_path_list, AT(repos), true, 0, 0, NULL },
	{ "workspaces", "adopt", take_choice, AT(adopt), false, 0, 0, adopt_words },
	{ "workspaces", "unseen", take_choice, AT(unseen), false, 0, 0, unseen_words },
	{ "workspaces", "owner", take_owner, 0, true, 0, 0, NULL },
	/* Registering needs a time budget. */
	{ "policy", "ttl", take_span, AT(policy.ttl_s), false, 1, YEARS_S(10), NULL },
	SPAN("lease", lease_s, YEARS_S(1)),
	SPAN("deadline_grace", deadline_grace_s, YEARS_S(1)),
	SPAN("keep_ok", keep_ok_s, YEARS_S(10)),
	SPAN("keep_failed", keep_failed_s, YEARS_S(10)),
	SPAN("keep_abandoned", keep_abandoned_s, YEARS_S(10)),
	SPAN("keep_orphan", keep_orphan_s, YEARS_S(10)),
	SPAN("pin_for", pin_for_s, YEARS_S(10)),
	{ "policy", "pinned_bytes_warn", take_bytes, AT(policy.pinned_bytes_warn), false, 0,
		INT64_MAX, NULL },
	SPAN("history", history_s, YEARS_S(10)),
	SPAN("salvage_keep", salvage_keep_s, YEARS_S(10)),
	{ "policy", "unsaved", take_choice, AT(policy.unsaved), false, 0, 0, unsaved_words },
	{ "policy", "branch", take_choice, AT(policy.branch), false, 0, 0, branch_words },
	{ "containers", "engine", take_engine, AT(engines), true, 0, 0, NULL },
	{ "containers", "label", take_label, AT(label), false, 0, 0, NULL },
	{ "cgroups", "root", take_cgroup_root, AT(cgroup_root), false, 0, 0, NULL },
	{ "limits", "max_runs", take_count, AT(limits.max_runs), false, 0, 1000000, NULL },
	LIMIT("time_budget", time_budget_ms, MINUTES_MS(24 * 60)),
	LIMIT("engine_timeout", engine_timeout_ms, MINUTES_MS(10)),
	LIMIT("kill_timeout", kill_timeout_ms, MINUTES_MS(10)),
	LIMIT("hook_timeout", hook_timeout_ms, MINUTES_MS(10)),
	{ "limits", "threads", take_count, AT(limits.threads), false, 0, 16, NULL },
	{ "limits", "brake_runs", take_count, AT(limits.brake_runs), false, 0, 1000000, NULL },
	{ "limits", "brake_share", take_percent, AT(limits.brake_share), false, 0, 100, NULL },
	{ "limits", "brake_hold", take_span, AT(limits.brake_hold_s), false, 1, YEARS_S(1), NULL },
	{ "disk", "high", take_disk, AT(disk.high), false, 1, 100, NULL },
	{ "disk", "low", take_disk, AT(disk.low), false, 0, 99, NULL },
	{ "hooks", "revoke", take_file, AT(hooks.revoke), false, 0, 0, NULL },
	{ "hooks", "after", take_file, AT(hooks.after), false, 0, 0, NULL },
	{ "metrics", "textfile", take_textfile, AT(textfile), false, 0, 0, NULL },
};

static const struct key *key_find(const char *section, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (text_equal(keys[i].section, section) && text_equal(keys[i].name, name))
			return &keys[i];
	return NULL;
}

/* Names what there is: the keys of the section, or the sections when it is no section. */
static int key_unknown(const char *section, const char *name, struct error *error)
{
	char *section_shown CLEANUP(mem_done) = text_escape(section);
	char *name_shown CLEANUP(mem_done) = text_escape(name);
	struct text known CLEANUP(text_done) = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (text_equal(keys[i].section, section))
			text_addf(&known, " %s", keys[i].name);
	if (known.data)
		return error_say(error, EINVAL, "unknown key '%.80s' in [%s]; it has:%s",
			name_shown, section_shown, known.data);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (i == 0 || !text_equal(keys[i].section, keys[i - 1].section))
			text_addf(&known, " [%s]", keys[i].section);
	return error_say(error, EINVAL, "key '%.80s' in unknown section [%.80s]; there are:%s",
		name_shown, section_shown, known.data);
}

int config_key_take(void *context, const char *section, const char *name, const char *value,
	unsigned line, struct error *error)
{
	const struct key *key = key_find(section, name);
	struct draft *draft = context;
	uint64_t bit;

	_Static_assert(ARRAY_SIZE(keys) <= 64, "draft.given has a bit for each key");
	if (!key)
		return key_unknown(section, name, error);
	bit = UINT64_C(1) << (key - keys);
	if (!key->repeats && draft->given & bit)
		return error_say(error, EINVAL,
			"[%s] %s is set twice in this file; it may stand there once", section,
			name);
	draft->given |= bit;
	draft->line = line;
	return key->take(key, draft, value, error);
}
