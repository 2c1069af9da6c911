#include "marker.h"
#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "os/file.h"
#include "os/ini_file.h"
#include "record.h"

#include <errno.h>

enum { NAME_VALUE_MAX = 255 }; /* of containers, scopes and branches */

/* A marker while it is read: a record, and what its keys said in any order. */
struct marker {
	struct arena *arena;
	struct record *record;
	const char *run;
	const char *repo, *worktree, *branch, *base;
	unsigned seen; /* a set of indices into keys[] */
};

typedef int marker_value(
	struct marker *marker, enum kind kind, const char *value, struct error *error);

static int value_refuse(struct error *error, const char *value, const char *right)
{
	char *shown CLEANUP(mem_done) = text_escape(value);

	return error_say(error, EINVAL, "'%.200s': %s", shown, right);
}

static int value_moment(const char *value, int64_t *ret_s, struct error *error)
{
	if (*value == '+' || *value == '-')
		return value_refuse(error, value,
			"a time in a file must be absolute, like "
			"2026-11-29T15:33:00Z");
	return moment_parse_s(value, 0, ret_s, error);
}

/* An absolute path; "..", which a symlink could turn elsewhere, has no place in a record. */
static int value_path(
	struct arena *arena, const char *value, const char **ret_path, struct error *error)
{
	char *clean CLEANUP(mem_done) = NULL;

	if (*value != '/' || strstr(value, "/../") || text_ends(value, "/.."))
		return value_refuse(error, value, "an absolute path without '..' must stand here");
	clean = pathname_clean(value, NULL);
	*ret_path = arena_dup(arena, clean);
	return 0;
}

/* A name of something: printable, without blanks, not an option, not a path. */
static int value_name(const char *value, bool slashes, struct error *error)
{
	for (const char *c = value; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || (*c == '/' && !slashes))
			return value_refuse(error, value, "this is no name");
	if (!*value || *value == '-' || *value == '/' || strlen(value) > NAME_VALUE_MAX)
		return value_refuse(error, value, "this is no name");
	return 0;
}

static int marker_id(struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	(void)kind;
	if (text_equal(value, marker->run))
		return 0;
	return value_refuse(error, value, "the id must be the file's name without .sbx");
}

static int marker_created(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	(void)kind;
	return value_moment(value, &marker->record->created_s, error);
}

static int marker_finished(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	int r = value_moment(value, &marker->record->finished_s, error);

	(void)kind;
	if (r == 0 && marker->record->finished_s == 0) /* the epoch is "never" in a record */
		return value_refuse(error, value, "nothing ended then");
	return r;
}

static int marker_ttl(struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	int r = timespan_parse_s(value, &marker->record->ttl_s, error);

	(void)kind;
	if (r == 0 && marker->record->ttl_s == 0)
		return value_refuse(error, value, "a run needs some time");
	return r;
}

static int marker_outcome(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	(void)kind;
	for (enum outcome outcome = OUTCOME_OK; outcome <= OUTCOME_FAILED; outcome++)
		if (text_equal(outcome_name(outcome), value)) {
			marker->record->outcome = outcome;
			return 0;
		}
	return value_refuse(error, value, "the outcome is ok or failed");
}

static int marker_no_container(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	(void)kind;
	if (!text_equal(value, "yes") && !text_equal(value, "no"))
		return value_refuse(error, value, "yes or no must stand here");
	marker->record->no_container = text_equal(value, "yes");
	return 0;
}

static int marker_repo(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	(void)kind;
	return value_path(marker->arena, value, &marker->repo, error);
}

static int marker_worktree(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	(void)kind;
	return value_path(marker->arena, value, &marker->worktree, error);
}

static int marker_branch(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	(void)kind;
	if (text_starts(value, "refs/"))
		return value_refuse(error, value, "a branch is named without refs/heads/");
	marker->branch = arena_dup(marker->arena, value);
	return value_name(value, true, error);
}

static int marker_base(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	size_t length = strspn(value, "0123456789abcdef");

	(void)kind;
	if (value[length] || (length != 40 && length != 64))
		return value_refuse(error, value, "a whole commit id must stand here");
	marker->base = arena_dup(marker->arena, value);
	return 0;
}

static void marker_add(struct marker *marker, enum kind kind, const char *locator)
{
	*record_add(marker->arena, marker->record) = (struct resource){
		.kind = kind,
		.proof = PROOF_MARKER,
		.locator = locator,
		.bytes = -1,
	};
}

static int marker_resource_path(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	const char *path;
	int r = value_path(marker->arena, value, &path, error);

	if (r == 0)
		marker_add(marker, kind, path);
	return r;
}

static int marker_resource_name(
	struct marker *marker, enum kind kind, const char *value, struct error *error)
{
	int r = value_name(value, false, error);

	if (r == 0)
		marker_add(marker, kind, arena_dup(marker->arena, value));
	return r;
}

static const struct key {
	const char *name;
	marker_value *read;
	bool repeats;
	enum kind kind;
} keys[] = {
	{ "id", marker_id, false, KIND_COUNT },
	{ "created", marker_created, false, KIND_COUNT },
	{ "ttl", marker_ttl, false, KIND_COUNT },
	{ "repo", marker_repo, false, KIND_COUNT },
	{ "worktree", marker_worktree, false, KIND_COUNT },
	{ "branch", marker_branch, false, KIND_COUNT },
	{ "base", marker_base, false, KIND_COUNT },
	{ "finished", marker_finished, false, KIND_COUNT },
	{ "outcome", marker_outcome, false, KIND_COUNT },
	{ "no_container", marker_no_container, false, KIND_COUNT },
	{ "container", marker_resource_name, true, KIND_CONTAINER },
	{ "scope", marker_resource_name, true, KIND_SCOPE },
	{ "cgroup", marker_resource_path, true, KIND_CGROUP },
	{ "path", marker_resource_path, true, KIND_PATH },
};

/* Names what there is. */
static int key_unknown(const char *name, struct error *error)
{
	struct text right CLEANUP(text_done) = { 0 };

	text_add(&right, "a marker has no such key; it has:");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		text_addf(&right, " %s", keys[i].name);
	return value_refuse(error, name, right.data);
}

static int marker_entry(void *context, const char *section, const char *name, const char *value,
	unsigned line, struct error *error)
{
	struct marker *marker = context;
	int r;

	(void)line;
	if (!text_equal(section, "run"))
		return value_refuse(error, section, "the only section of a marker is [run]");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!text_equal(keys[i].name, name))
			continue;
		if (!keys[i].repeats && (marker->seen & 1U << i))
			return value_refuse(error, name, "this key may stand only once");
		marker->seen |= 1U << i;
		r = keys[i].read(marker, keys[i].kind, value, error);
		error_prefix(error, "%s", name);
		return r;
	}
	return key_unknown(name, error);
}

static bool marker_has(const struct marker *marker, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (text_equal(keys[i].name, name))
			return marker->seen & 1U << i;
	abort();
}

/* The keys together: what must be there, and what one says of another. */
static int marker_check(const struct marker *marker, const char *path, struct error *error)
{
	const struct record *record = marker->record;

	for (size_t i = 0; i < 2; i++)
		if (!marker_has(marker, keys[i].name))
			return error_say(
				error, EINVAL, "%s: '%s' is missing in [run]", path, keys[i].name);
	if (marker_has(marker, "finished") != marker_has(marker, "outcome"))
		return error_say(error, EINVAL,
			"%s: finished and outcome belong together: one of them is missing", path);
	if (record->no_container && marker_has(marker, "container"))
		return error_say(error, EINVAL,
			"%s: a container, and no_container = yes: one of them is wrong", path);
	return 0;
}

/* What all resources share, and those that are made from several keys. */
static void marker_complete(struct marker *marker, const char *root_path)
{
	struct record *record = marker->record;
	struct resource *resource;

	marker_add(marker, KIND_WORKTREE,
		marker->worktree ? marker->worktree
				 : arena_printf(marker->arena, "%s/%s", root_path, marker->run));
	resource = &record->resources[record->resource_count - 1];
	resource->repo = marker->repo;
	resource->branch = marker->branch;
	resource->base = marker->base;
	if (marker->branch) {
		marker_add(marker, KIND_BRANCH, marker->branch);
		record->resources[record->resource_count - 1].repo = marker->repo;
	}
	record->last_sign_s = record->created_s;
	record->deadline_s = record->ttl_s ? record->created_s + record->ttl_s : 0;
	for (size_t i = 0; i < record->resource_count; i++) {
		record->resources[i].run = record->run;
		record->resources[i].span_from_s = record->created_s;
		record->resources[i].span_to_s = record->finished_s;
	}
}

static bool owner_trusted(uid_t uid, const struct settings *settings)
{
	if (uid == 0 || uid == geteuid())
		return true;
	for (size_t i = 0; i < settings->owner_count; i++)
		if (uid == settings->owners[i])
			return true;
	return false;
}

static int marker_check_trust(const char *path, const struct stat *stat,
	const struct settings *settings, struct error *error)
{
	if (!owner_trusted(stat->st_uid, settings))
		return error_say(error, EPERM,
			"%s: not trusted: it is owned by uid %u, not by root, us or an owner of "
			"[workspaces]",
			path, (unsigned)stat->st_uid);
	if (stat->st_mode & 022)
		return error_say(error, EPERM,
			"%s: not trusted: its mode %04o lets others write it (at most 0644)", path,
			(unsigned)stat->st_mode & 07777);
	if (stat->st_nlink != 1)
		return error_say(error, EPERM,
			"%s: not trusted: it has %lu links, and another name may be written to",
			path, (unsigned long)stat->st_nlink);
	return 0;
}

static int marker_parse(struct marker *marker, const char *path, const char *bytes, size_t length,
	struct error *error)
{
	int r;

	if (length == 0 || bytes[length - 1] != '\n')
		return error_say(error, EINVAL,
			"%s: it is %s: the last line of a marker ends with a newline", path,
			length ? "not whole" : "empty");
	r = ini_file_parse(path, bytes, length, marker_entry, marker, error);
	return r < 0 ? r : marker_check(marker, path, error);
}

int marker_read(int root, const char *root_path, const char *run, const struct settings *settings,
	struct arena *arena, struct record **ret_record, struct error *error)
{
	char *name CLEANUP(mem_done) = mem_printf("%s.sbx", run);
	char *path CLEANUP(mem_done) = mem_printf("%s/%s", root_path, name);
	char *bytes CLEANUP(mem_done) = NULL;
	struct marker marker = { .arena = arena };
	struct stat stat;
	size_t length = 0;
	int r = runid_check(run, error);

	if (r == 0)
		r = file_read(root, name, MARKER_MAX, &bytes, &length, &stat, error);
	if (r == 0)
		r = marker_check_trust(path, &stat, settings, error);
	if (r < 0)
		return r;
	marker.record = arena_new(arena, sizeof(*marker.record));
	marker.record->run = marker.run = arena_dup(arena, run);
	r = marker_parse(&marker, path, bytes, length, error);
	if (r < 0)
		return r;
	marker_complete(&marker, root_path);
	*ret_record = marker.record;
	return 0;
}
