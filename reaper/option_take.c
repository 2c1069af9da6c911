#include "option_take.h"
#include "base/pathname.h"
#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "text_list.h"

#include <errno.h>
#include <limits.h>

enum {
	REFERENCE_MAX = 255, /* of a container; longer than any id or name an engine gives */
	UNIT_MAX = 255,      /* systemd's UNIT_NAME_MAX is 256 with the NUL */
	CLOCK_SLACK_S = 300, /* DESIGN.md, section 6, rule 4 */
	PID_LIMIT = 1 << 22, /* PID_MAX_LIMIT of 64-bit kernels, proc_sys_kernel(5) */
	RUNS_AT_ONCE = 1 << 20
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static int option_refuse(
	const struct option_spec *spec, const char *value, const char *right, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(value);

	return error_say(error, EINVAL, "--%s '%.160s': %s", spec->name, shown, right);
}

static int option_prefix(const struct option_spec *spec, int r, struct error *error)
{
	if (r < 0)
		error_prefix(error, "--%s", spec->name);
	return r;
}

bool option_has_control(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return true;
	return false;
}

static bool made_of(const char *text, const char *characters, size_t max)
{
	size_t length = strspn(text, characters);

	return length > 0 && length <= max && !text[length];
}

int option_take_flag(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	bool *flag = option_field(spec, options);

	(void)value;
	(void)error;
	*flag = true;
	return 0;
}

int option_take_text(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	char **text = option_field(spec, options);

	if (!*value || strlen(value) > OPTION_TEXT_MAX || option_has_control(value) ||
		!utf8_valid(value))
		return option_refuse(
			spec, value, "one line of 1 to 500 bytes of UTF-8 is wanted", error);
	*text = mem_dup(value);
	return 0;
}

int option_take_run(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	int r = option_prefix(spec, runid_check(value, error), error);

	if (r == 0)
		text_list_add_new(option_field(spec, options), value);
	return r;
}

int option_take_file(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	char **file = option_field(spec, options);

	if (!*value || strlen(value) > OPTION_PATH_MAX)
		return option_refuse(spec, value, "name a file", error);
	*file = mem_dup(value);
	return 0;
}

int option_take_count(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	if (text_to_int64(value, 1, RUNS_AT_ONCE, option_field(spec, options)) < 0)
		return option_refuse(
			spec, value, "a whole number from 1 to 1048576 is wanted", error);
	return 0;
}

int option_take_span_s(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	int64_t *span_s = option_field(spec, options);
	int r = option_prefix(spec, timespan_parse_s(value, span_s, error), error);

	if (r == 0 && *span_s == 0)
		return option_refuse(spec, value, "at least a second is wanted", error);
	return r;
}

int option_take_span_ms(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	int64_t *span_ms = option_field(spec, options);
	int r = option_prefix(spec, timespan_parse_ms(value, span_ms, error), error);

	if (r == 0 && (*span_ms == 0 || *span_ms > INT64_C(86400000)))
		return option_refuse(spec, value, "it must lie between 1ms and 1d", error);
	return r;
}

int option_take_moment(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	int64_t *moment_s = option_field(spec, options);
	int r = option_prefix(
		spec, moment_parse_s(value, options->parsed_s, moment_s, error), error);

	/* The epoch itself stands for "not given" everywhere. */
	if (r == 0 && *moment_s == 0)
		return option_refuse(
			spec, value, "a moment after 1970-01-01T00:00:00Z is wanted", error);
	return r;
}

int option_take_past(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	const int64_t *moment_s = option_field(spec, options);
	int r = option_take_moment(spec, options, value, error);

	if (r == 0 && *moment_s > options->parsed_s + CLOCK_SLACK_S)
		return option_refuse(
			spec, value, "it lies in the future; is the clock right?", error);
	return r;
}

/* A moment, or a duration: so long ago. */
int option_take_since(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	int64_t *moment_s = option_field(spec, options), span_s;

	if (timespan_parse_s(value, &span_s, NULL) < 0 || span_s >= options->parsed_s)
		return option_take_past(spec, options, value, error);
	*moment_s = options->parsed_s - span_s;
	return 0;
}

int option_take_future(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	const int64_t *moment_s = option_field(spec, options);
	int r = option_take_moment(spec, options, value, error);

	if (r == 0 && *moment_s <= options->parsed_s)
		return option_refuse(
			spec, value, "it is over already; give a moment to come", error);
	return r;
}

int option_take_pin_length(const struct option_spec *spec, struct options *options,
	const char *value, struct error *error)
{
	if (text_equal(value, "never")) {
		options->never = true;
		return 0;
	}
	return option_take_span_s(spec, options, value, error);
}

int option_take_container(const struct option_spec *spec, struct options *options,
	const char *value, struct error *error)
{
	if (!made_of(value, LETTERS DIGITS "_.-", REFERENCE_MAX) || strchr("_.-", *value))
		return option_refuse(spec, value,
			"name a container by id or name: letters, digits and _ . -", error);
	text_list_add_new(option_field(spec, options), value);
	return 0;
}

int option_take_cgroup(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	char *path CLEANUP(mem_done) = NULL;

	if (*value != '/' || strlen(value) > OPTION_PATH_MAX || option_has_control(value))
		return option_refuse(
			spec, value, "write it as in /proc/PID/cgroup, like /sbx.slice/r1", error);
	path = pathname_clean(value, NULL);
	if (text_equal(path, "/"))
		return option_refuse(spec, value, "that is the root of all groups", error);
	text_list_add_new(option_field(spec, options), path);
	return 0;
}

int option_take_scope(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	if (!made_of(value, LETTERS DIGITS ":-_.\\@", UNIT_MAX) || *value == '.' ||
		!(text_ends(value, ".scope") || text_ends(value, ".service")))
		return option_refuse(
			spec, value, "name a unit that ends in .scope or .service", error);
	text_list_add_new(option_field(spec, options), value);
	return 0;
}

/* The rules of git-check-ref-format(1) for what may follow refs/heads/. */
static bool branch_valid(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > REFERENCE_MAX || strpbrk(name, " ~^:?*[\\") ||
		option_has_control(name))
		return false;
	if (strstr(name, "..") || strstr(name, "//") || strstr(name, "@{") || strstr(name, "/."))
		return false;
	if (*name == '-' || *name == '/' || *name == '.' || text_ends(name, "/") ||
		text_ends(name, "."))
		return false;
	return !text_ends(name, ".lock") && !strstr(name, ".lock/") && !text_equal(name, "@") &&
	       !text_equal(name, "HEAD") && !text_starts(name, "refs/");
}

int option_take_branch(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	char **branch = option_field(spec, options);

	if (!branch_valid(value))
		return option_refuse(
			spec, value, "write a branch by its short name, like sbx/r1", error);
	*branch = mem_dup(value);
	return 0;
}

int option_take_pid(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	if (text_to_int64(value, 2, PID_LIMIT, option_field(spec, options)) < 0)
		return option_refuse(
			spec, value, "name the process of the run by its number, 2 or more", error);
	return 0;
}

int option_take_resource(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	const char *equals = strchr(value, '=');
	char *kind CLEANUP(mem_done) = equals ? strndup(value, (size_t)(equals - value)) : NULL;
	char *cwd CLEANUP(mem_done) = NULL;

	if (!kind || !equals[1] || strlen(value) > OPTION_PATH_MAX ||
		kind_from_name(kind, &options->resource_kind) < 0)
		return option_refuse(spec, value,
			"write it as KIND=LOCATOR, as 'why' shows it, like container=3f2a or "
			"worktree=/srv/sbx/r1",
			error);
	if (options->resource_kind != KIND_WORKTREE && options->resource_kind != KIND_PATH) {
		options->resource_locator = mem_dup(equals + 1);
		return 0;
	}
	/* As it stands in the record: what it resolves to today may be something else. */
	cwd = getcwd(NULL, 0);
	options->resource_locator = pathname_clean(equals + 1, cwd ? cwd : "/");
	return 0;
}

int option_take_states(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	return option_prefix(
		spec, report_view_take_states(option_field(spec, options), value, error), error);
}

int option_take_reasons(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	return option_prefix(
		spec, report_view_take_reasons(option_field(spec, options), value, error), error);
}

int option_take_keys(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	return option_prefix(
		spec, report_view_take_keys(option_field(spec, options), value, error), error);
}

int option_take_columns(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	return option_prefix(
		spec, report_view_take_columns(option_field(spec, options), value, error), error);
}
