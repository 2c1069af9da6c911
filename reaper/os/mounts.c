#include "mounts.h"

#include "base/text.h"
#include "mounts_order.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>

enum { MOUNTS_STEP = 1 << 16, MOUNTS_MAX = 64 << 20 };

void mounts_done(struct mount_table *table)
{
	free(table->mounts);
	free(table->by_path);
	arena_done(&table->arena);
	*table = (struct mount_table){ 0 };
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Whether "\040" or its like stands at text; a NUL byte cannot be in a path. */
static bool is_escape(const char *text)
{
	return text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && is_octal(text[2]) &&
	       is_octal(text[3]) && memcmp(text, "\\000", 4) != 0;
}

/*
 * Decodes "\040" and its like in place. The kernel writes every blank, newline, backslash and '#'
 * so (mangle() in fs/proc_namespace.c); false when a backslash is left that it did not write.
 */
static bool octal_decode(char *text)
{
	bool whole = true;
	char *out = text;

	for (const char *in = text; *in; out++) {
		if (is_escape(in)) {
			*out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 4;
		} else {
			whole &= *in != '\\';
			*out = *in++;
		}
	}
	*out = 0;
	return whole;
}

/* "98:0" */
static bool device_parse(char *text, uint64_t *ret_dev)
{
	char *minor_text = text, *major_text = strsep(&minor_text, ":");
	int64_t major_number, minor_number;

	if (!minor_text || text_to_int64(major_text, 0, UINT32_MAX, &major_number) < 0 ||
		text_to_int64(minor_text, 0, UINT32_MAX, &minor_number) < 0)
		return false;
	*ret_dev = makedev((unsigned)major_number, (unsigned)minor_number);
	return true;
}

/*
 * "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/sda rw": single blanks, any number of
 * optional fields before the "-", and a source that may be empty.
 */
static bool line_parse(char *line, struct mount *ret_mount)
{
	enum { ID, PARENT, DEVICE, ROOT, POINT, OPTIONS, FIELDS };
	char *fields[FIELDS], *field, *type, *source;
	int64_t id, parent;
	uint64_t dev;

	for (size_t i = 0; i < FIELDS; i++) {
		fields[i] = strsep(&line, " ");
		if (!fields[i] || !*fields[i])
			return false;
	}
	do
		field = strsep(&line, " ");
	while (field && !text_equal(field, "-"));
	type = strsep(&line, " ");
	source = strsep(&line, " ");
	if (!line || !*type || text_to_int64(fields[ID], 0, INT64_MAX, &id) < 0 ||
		text_to_int64(fields[PARENT], 0, INT64_MAX, &parent) < 0 ||
		!device_parse(fields[DEVICE], &dev))
		return false;
	if (fields[POINT][0] != '/' || !octal_decode(fields[POINT]) || !octal_decode(type))
		return false;
	/* Some filesystems write their own, and we only show and compare them. */
	(void)octal_decode(source);
	(void)octal_decode(fields[ROOT]);
	*ret_mount = (struct mount){ (uint64_t)id, (uint64_t)parent, dev, fields[ROOT],
		fields[POINT], type, source, line };
	return true;
}

static int table_parse(char *text, struct mount_table *table, struct error *error)
{
	size_t room = 0;

	for (char *line; *text;) {
		char *end = strchr(text, '\n');

		if (table->count == room) {
			room = room * 2 + 64;
			table->mounts = mem_grow(table->mounts, room, sizeof(*table->mounts));
		}
		line = text;
		text = end ? end + 1 : text;
		if (end)
			*end = 0;
		if (!end || !line_parse(line, &table->mounts[table->count]))
			return error_say(error, EINVAL,
				"mount table: line %zu is not understood, so mounts are unknown",
				table->count + 1);
		table->count++;
	}
	return 0;
}

int mounts_parse(
	const char *bytes, size_t length, struct mount_table *ret_table, struct error *error)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	int r;

	if (!length || memchr(bytes, 0, length))
		return error_say(error, EINVAL, "mount table: %s, so mounts are unknown",
			length ? "a NUL byte in it" : "it is empty");
	r = table_parse(arena_dup_n(&table.arena, bytes, length), &table, error);
	if (r < 0)
		return r;
	mounts_sort(&table);
	*ret_table = table;
	table = (struct mount_table){ 0 };
	return 0;
}

/*
 * One read(2) after the other is good enough: since Linux 5.8 the kernel keeps its place in the
 * list with a cursor, so that mounts that come and go meanwhile hide no other.
 */
static int mounts_slurp(int fd, const char *name, struct text *text, struct error *error)
{
	char *step CLEANUP(mem_done) = mem_new(MOUNTS_STEP);
	ssize_t got;

	while ((got = read(fd, step, MOUNTS_STEP)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(error, errno, "read %s", name);
		if (text->length + (size_t)got > MOUNTS_MAX)
			return error_say(
				error, EFBIG, "%s is longer than %d MiB", name, MOUNTS_MAX >> 20);
		text_add_n(text, step, (size_t)got);
	}
	return 0;
}

int mounts_read_from(int fd, const char *name, struct mount_table *ret_table, struct error *error)
{
	struct text text CLEANUP(text_done) = { 0 };
	int r = mounts_slurp(fd, name, &text, error);

	return r < 0 ? r : mounts_parse(text.data, text.length, ret_table, error);
}

int mounts_read(struct mount_table *ret_table, struct error *error)
{
	static const char name[] = "/proc/self/mountinfo";
	int fd CLEANUP(fd_done) = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set(error, errno, "open %s", name);
	return mounts_read_from(fd, name, ret_table, error);
}

const struct mount *mounts_of_type(const struct mount_table *table, const char *type)
{
	for (size_t i = 0; i < table->count; i++)
		if (text_equal(table->mounts[i].type, type))
			return &table->mounts[i];
	return NULL;
}

const char *mounts_option(const struct mount *mount, const char *name, struct arena *arena)
{
	char *rest = arena_dup(arena, mount->super), *option;

	while ((option = strsep(&rest, ","))) {
		char *value = strchr(option, '=');

		if (!value)
			continue;
		*value++ = 0;
		if (!text_equal(option, name))
			continue;
		(void)octal_decode(value);
		return value;
	}
	return NULL;
}

int mounts_refuse(const char *path, struct error *error)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };
	char *type CLEANUP(mem_done) = NULL, *point CLEANUP(mem_done) = NULL;
	const struct mount *mount;
	int r = mounts_read(&table, error);

	if (r < 0)
		return r;
	mount = mounts_below(&table, path);
	if (!mount)
		return 0;
	type = text_escape(mount->type);
	point = text_escape(mount->point);
	return error_say(error, EBUSY, "%.60s is mounted at %.300s: unmount it first", type, point);
}
