#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "marker.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/ini_file.h"

#include <errno.h>

enum { VALUE_MAX = INI_LINE_MAX - 32 }; /* room for the key */

/* Whether a reader of the file would get the same value back. */
static bool value_fits(const char *value)
{
	size_t length = strlen(value);

	if (length == 0 || length > VALUE_MAX || value[0] == ' ' || value[length - 1] == ' ')
		return false;
	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == ';')
			return false;
	return true;
}

static int add_value(struct text *text, const char *key, const char *value, struct error *error)
{
	char *shown CLEANUP(mem_done) = NULL;

	if (!value)
		return 0;
	if (value_fits(value)) {
		text_addf(text, "%s = %s\n", key, value);
		return 0;
	}
	shown = text_escape(value);
	return error_say(error, EINVAL,
		"%s '%.200s' cannot stand in a marker: no ';', no control characters, no blank at "
		"either end, at most %d bytes",
		key, shown, VALUE_MAX);
}

static void add_end(struct text *text, const struct record *record)
{
	char moment[TIMESPAN_TEXT];

	text_addf(text, "finished = %s\noutcome = %s\n", moment_format(moment, record->finished_s),
		outcome_name(record->outcome));
}

static void add_times(struct text *text, const struct record *record)
{
	int64_t ttl_s = record->deadline_s > record->created_s
				? record->deadline_s - record->created_s
				: record->ttl_s;
	char moment[TIMESPAN_TEXT];

	text_addf(text, "created = %s\n", moment_format(moment, record->created_s));
	if (ttl_s)
		text_addf(text, "ttl = %llds\n", (long long)ttl_s);
	if (record->finished_s)
		add_end(text, record);
	if (record->no_container)
		text_add(text, "no_container = yes\n");
}

static const struct resource *first_of_kind(const struct record *record, enum kind kind)
{
	for (size_t i = 0; i < record->resource_count; i++)
		if (record->resources[i].kind == kind)
			return &record->resources[i];
	return NULL;
}

static int add_tree(struct text *text, const struct record *record, struct error *error)
{
	static const struct resource none = { 0 };
	const struct resource *tree = first_of_kind(record, KIND_WORKTREE);
	const struct resource *branch = first_of_kind(record, KIND_BRANCH);
	int r;

	tree = tree ? tree : &none;
	branch = branch ? branch : &none;
	r = add_value(text, "repo", tree->repo ? tree->repo : branch->repo, error);
	if (r == 0)
		r = add_value(text, "worktree", tree->locator, error);
	if (r == 0)
		r = add_value(
			text, "branch", branch->locator ? branch->locator : tree->branch, error);
	return r < 0 ? r : add_value(text, "base", tree->base, error);
}

/* Processes are not in a marker: a pid is nothing without the boot and start time that prove it. */
static int add_others(struct text *text, const struct record *record, struct error *error)
{
	static const enum kind kinds[] = { KIND_CONTAINER, KIND_CGROUP, KIND_SCOPE, KIND_PATH };
	int r = 0;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; r == 0 && i < record->resource_count; i++)
			if (record->resources[i].kind == kinds[k])
				r = add_value(text, kind_name(kinds[k]),
					record->resources[i].locator, error);
	return r;
}

static int write_beside(const char *root_path, const char *run, const char *ending,
	const struct text *text, struct error *error)
{
	char *name CLEANUP(mem_done) = mem_printf("%s%s", run, ending);
	int root CLEANUP(fd_done) = dir_open(root_path, error);
	int r = root;

	if (r >= 0)
		r = file_write(root, name, text->data, text->length, 0644, error);
	error_prefix(error, "write %s/%s", root_path, name);
	return r;
}

static int remove_beside(
	const char *root_path, const char *run, const char *ending, struct error *error)
{
	char *name CLEANUP(mem_done) = mem_printf("%s%s", run, ending);
	int root CLEANUP(fd_done) = -EBADF;
	int r = runid_check(run, error);

	if (r < 0)
		return r;
	r = root = dir_open(root_path, error);
	if (r >= 0)
		r = file_remove(root, name, error);
	error_prefix(error, "remove %s/%s", root_path, name);
	return r;
}

int marker_write(const char *root_path, const struct record *record, struct error *error)
{
	struct text text CLEANUP(text_done) = { 0 };
	int r = runid_check(record->run, error);

	if (r < 0)
		return r;
	text_addf(&text, "[run]\nid = %s\n", record->run);
	add_times(&text, record);
	r = add_tree(&text, record, error);
	if (r == 0)
		r = add_others(&text, record, error);
	error_prefix(error, "run '%s'", record->run);
	return r < 0 ? r : write_beside(root_path, record->run, ".sbx", &text, error);
}

static int append_end(const char *root_path, const struct record *record, struct error *error)
{
	char *name CLEANUP(mem_done) = mem_printf("%s.sbx", record->run);
	struct text text CLEANUP(text_done) = { 0 };
	int root CLEANUP(fd_done) = dir_open(root_path, error);

	if (root < 0)
		return root;
	add_end(&text, record);
	return file_append(root, name, text.data, text.length, MARKER_MAX, error);
}

int marker_write_end(const char *root_path, const struct record *record, struct error *error)
{
	struct error full = { 0 };
	int r = marker_write(root_path, record, &full);

	if (error_is_full(r) && append_end(root_path, record, NULL) == 0)
		return 0;
	return r < 0 ? error_say(error, -r, "%s", full.text) : r;
}

int marker_remove(const char *root_path, const char *run, struct error *error)
{
	return remove_beside(root_path, run, ".sbx", error);
}

/* A reason is for people, so that a near one in the mirror will do: the row has the exact text. */
static void add_words(struct text *text, const char *key, const char *words)
{
	size_t length = words ? strnlen(words, VALUE_MAX) : 0;

	if (length == 0)
		return;
	text_addf(text, "%s = ", key);
	for (size_t i = 0; i < length; i++) {
		char c = words[i];

		if ((unsigned char)c < ' ' || c == 0x7f)
			c = ' ';
		text_add_n(text, c == ';' ? "," : &c, 1);
	}
	text_add(text, "\n");
}

int keep_write(const char *root_path, const struct pin *pin, struct error *error)
{
	struct text text CLEANUP(text_done) = { 0 };
	char moment[TIMESPAN_TEXT];
	int r = runid_check(pin->run, error);

	if (r < 0)
		return r;
	text_add(&text, "[pin]\n");
	add_words(&text, "by", pin->by);
	add_words(&text, "reason", pin->reason);
	if (pin->since_s)
		text_addf(&text, "since = %s\n", moment_format(moment, pin->since_s));
	text_addf(&text, "until = %s\n",
		pin->until_s ? moment_format(moment, pin->until_s) : "never");
	return write_beside(root_path, pin->run, ".keep", &text, error);
}

int keep_remove(const char *root_path, const char *run, struct error *error)
{
	return remove_beside(root_path, run, ".keep", error);
}
