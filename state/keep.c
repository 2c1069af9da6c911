#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "marker.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/ini_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct keep {
	struct arena *arena;
	struct pin *pin;
	bool by, reason, since, until; /* were there */
};

static int keep_say(struct error *error, const char *subject, const char *right)
{
	char *shown CLEANUP(mem_done) = text_escape(subject);

	return error_say(error, EINVAL, "'%.200s': %s", shown, right);
}

static int keep_once(bool *seen, const char *key, struct error *error)
{
	if (*seen)
		return keep_say(error, key, "this key may stand only once");
	*seen = true;
	return 0;
}

static int keep_words(struct keep *keep, const char *value, const char **ret_words)
{
	*ret_words = *value ? arena_dup(keep->arena, value) : NULL;
	return 0;
}

/* "+2h" would move with every reading, and the pin would never end. */
static int keep_moment(const char *value, int64_t *ret_s, struct error *error)
{
	if (*value == '+' || *value == '-')
		return keep_say(error, value,
			"a time in a file must be absolute, like 2026-11-29T15:33:00Z");
	return moment_parse_s(value, 0, ret_s, error);
}

/* The epoch itself is no end: 0 means "never" in a pin, and so keeps. */
static int keep_until(const char *value, int64_t *ret_s, struct error *error)
{
	if (text_equal(value, "never")) {
		*ret_s = 0;
		return 0;
	}
	return keep_moment(value, ret_s, error);
}

static int keep_entry(void *context, const char *section, const char *key, const char *value,
	unsigned line, struct error *error)
{
	struct keep *keep = context;
	struct pin *pin = keep->pin;

	(void)line;
	if (!text_equal(section, "pin"))
		return keep_say(error, section, "the only section of a pin is [pin]");
	if (text_equal(key, "by"))
		return keep_once(&keep->by, key, error) ?: keep_words(keep, value, &pin->by);
	if (text_equal(key, "reason"))
		return keep_once(&keep->reason, key, error)
			       ?: keep_words(keep, value, &pin->reason);
	if (text_equal(key, "since"))
		return keep_once(&keep->since, key, error)
			       ?: keep_moment(value, &pin->since_s, error);
	if (text_equal(key, "until"))
		return keep_once(&keep->until, key, error)
			       ?: keep_until(value, &pin->until_s, error);
	return keep_say(error, key, "a pin has by, reason, since and until");
}

int keep_read(
	int root, const char *run, struct arena *arena, struct pin **ret_pin, struct error *error)
{
	char *name CLEANUP(mem_done) = mem_printf("%s.keep", run);
	char *bytes CLEANUP(mem_done) = NULL;
	struct keep keep = { .arena = arena };
	size_t length = 0;
	int r = runid_check(run, error);

	if (r == 0)
		r = file_read(root, name, MARKER_MAX, &bytes, &length, NULL, error);
	if (r < 0)
		return r;
	keep.pin = arena_new(arena, sizeof(*keep.pin));
	keep.pin->run = arena_dup(arena, run);
	r = ini_file_parse(name, bytes, length, keep_entry, &keep, error);
	if (r < 0)
		return r;
	*ret_pin = keep.pin;
	return 0;
}

/* A root that cannot be opened (not mounted, say) is no root without a pin. */
enum tri keep_holds(const char *root_path, const char *run, int64_t now_s)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	int root CLEANUP(fd_done) = dir_open(root_path, NULL);
	struct pin *pin;
	int r = root < 0 ? root : keep_read(root, run, &arena, &pin, NULL);

	if (root >= 0 && r == -ENOENT)
		return TRI_NO;
	if (r < 0)
		return TRI_UNKNOWN;
	return !pin->until_s || pin->until_s > now_s ? TRI_YES : TRI_NO;
}
