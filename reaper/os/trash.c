#include "trash_parts.h"

#include "base/runid.h"
#include "base/text.h"
#include "dir.h"
#include "dir_stream.h"
#include "protection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Ours, and nobody else can put an entry in or take one out. */
static int trash_check(int trash, struct error *error)
{
	struct stat st;

	if (fstat(trash, &st) != 0)
		return error_set(error, errno, "look at " TRASH_NAME);
	if (st.st_uid != geteuid())
		return error_say(error, EPERM, TRASH_NAME " belongs to uid %u, and we are uid %u",
			st.st_uid, geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_say(error, EPERM,
			TRASH_NAME " can be written by others (mode %04o): chmod 0700",
			st.st_mode & ALLPERMS);
	return 0;
}

int trash_open(int root, struct error *error)
{
	int trash CLEANUP(fd_done) = dir_open_below(root, TRASH_NAME, O_RDONLY | O_DIRECTORY, NULL);
	int r;

	if (trash == -ENOENT)
		return trash;
	if (trash == -ELOOP || trash == -ENOTDIR || trash == -EXDEV)
		return error_say(error, EPERM, TRASH_NAME " is %s instead of a directory of ours",
			trash == -EXDEV ? "a mount" : "a link or file");
	if (trash < 0)
		return error_set(error, -trash, "open " TRASH_NAME);
	r = trash_check(trash, error);
	return r < 0 ? r : TAKE_FD(trash);
}

static int trash_make_fail(int root, int code, struct error *error)
{
	struct text text CLEANUP(text_done) = { 0 };

	protection_explain(&text, code, root, "");
	return error_set(error, code, "make " TRASH_NAME "%s", text.data ? text.data : "");
}

int trash_make(int root, struct error *error)
{
	int trash;

	if (mkdirat(root, TRASH_NAME, S_IRWXU) != 0 && errno != EEXIST)
		return trash_make_fail(root, errno, error);
	trash = trash_open(root, error);
	return trash == -ENOENT ? error_set(error, ENOENT, "open " TRASH_NAME) : trash;
}

char *trash_name(const char *run, int64_t generation, int64_t number)
{
	return mem_printf("%s:%lld:%lld", run, (long long)generation, (long long)number);
}

/* Whether the name is one that trash_name makes, byte for byte. */
static bool trash_name_parse(const char *name, struct trash_entry *ret_entry)
{
	struct trash_entry entry = { .name = name };
	char *copy CLEANUP(mem_done) = mem_dup(name), *again CLEANUP(mem_done) = NULL;
	char *rest = copy, *run = strsep(&rest, ":"), *generation = strsep(&rest, ":");
	int64_t number;

	if (!rest || !runid_valid(run) ||
		text_to_int64(generation, 0, INT64_MAX, &entry.generation) < 0 ||
		text_to_int64(rest, 0, INT64_MAX, &number) < 0)
		return false;
	again = trash_name(run, entry.generation, number);
	if (!text_equal(again, name))
		return false;
	(void)snprintf(entry.run, sizeof(entry.run), "%s", run);
	*ret_entry = entry;
	return true;
}

int trash_prepare(int root, struct error *error)
{
	int trash CLEANUP(fd_done) = trash_make(root, error);

	return trash < 0 ? trash : 0;
}

int trash_each(int root, int (*each)(void *context, const struct trash_entry *entry), void *context,
	struct error *error)
{
	int trash CLEANUP(fd_done) = trash_open(root, error);
	DIR *stream CLEANUP(stream_done) = NULL;
	const struct dirent *record;
	int r = 0;

	if (trash < 0)
		return trash == -ENOENT ? 0 : trash;
	stream = stream_open(trash);
	if (!stream)
		return error_set(error, errno, "read " TRASH_NAME);
	while (r >= 0 && (record = stream_next(stream))) {
		struct trash_entry entry;

		if (trash_name_parse(record->d_name, &entry))
			r = each(context, &entry);
	}
	if (r >= 0 && errno)
		return error_set(error, errno, "read " TRASH_NAME);
	return r < 0 ? r : 0;
}
