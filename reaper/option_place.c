#include "option_take.h"

#include "base/pathname.h"
#include "base/text.h"
#include "os/answering.h"
#include "text_list.h"

#include <errno.h>
#include <limits.h>

/* A dead mount would hold realpath(), and with it us. */
static int place_answers(const char *path, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	bool silent = true;
	int r = answering_ask(&path, 1, &silent, error);

	if (r < 0 || !silent)
		return r;
	return error_say(error, ETIME, "%s", answering_words(path, &arena));
}

/*
 * The directory it lies in resolved, so that what is recorded is what the kernel would reach; the last
 * component is left alone: it may be a link, or not be there yet. `path` is absolute, and changed.
 */
static char *place_resolve(char *path)
{
	char *real CLEANUP(mem_done) = NULL;
	char *slash;

	for (slash = path + strlen(path) - 1; slash > path && *slash == '/';)
		*slash-- = 0;
	slash = strrchr(path, '/');
	assert(slash);
	if (text_equal(slash, "/.") || text_equal(slash, "/..")) {
		real = realpath(path, NULL);
		return real ? TAKE_PTR(real) : pathname_clean(path, NULL);
	}
	*slash = 0;
	real = realpath(slash == path ? "/" : path, NULL);
	return pathname_clean(slash + 1, real ? real : *path ? path : "/");
}

static int place_read(const char *value, char **ret_path, struct error *error)
{
	char *cwd CLEANUP(mem_done) = *value == '/' ? mem_dup("/") : getcwd(NULL, 0);
	char *path CLEANUP(mem_done) = NULL, *place CLEANUP(mem_done) = NULL;
	int r;

	/* A marker is lines of text, so a path with a line break could not be written into one. */
	if (!*value || strlen(value) > OPTION_PATH_MAX || option_has_control(value))
		return error_say(error, EINVAL, "name a directory, without control characters");
	if (!cwd)
		return error_say(
			error, EINVAL, "the current directory is gone; give an absolute path");
	path = mem_printf("%s/%s", cwd, value);
	r = place_answers(path, error);
	if (r < 0)
		return r;
	place = place_resolve(path);
	if (text_equal(place, "/"))
		return error_say(error, EINVAL, "that is the whole file system");
	*ret_path = TAKE_PTR(place);
	return 0;
}

static int place_check(
	const struct option_spec *spec, const char *value, char **ret_path, struct error *error)
{
	int r = place_read(value, ret_path, error);
	char *shown CLEANUP(mem_done) = r < 0 ? text_escape(value) : NULL;

	if (r < 0)
		error_prefix(error, "--%s '%.160s'", spec->name, shown);
	return r;
}

int option_take_place(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	return place_check(spec, value, option_field(spec, options), error);
}

int option_take_places(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	char *path CLEANUP(mem_done) = NULL;
	int r = place_check(spec, value, &path, error);

	if (r == 0)
		text_list_add_new(option_field(spec, options), path);
	return r;
}

int option_take_repo(const struct option_spec *spec, struct options *options, const char *value,
	struct error *error)
{
	char *repo CLEANUP(mem_done) = NULL, *real CLEANUP(mem_done) = NULL;
	int r = place_check(spec, value, &repo, error);

	if (r < 0)
		return r;
	real = realpath(repo, NULL);
	text_list_add(option_field(spec, options), real ? real : repo);
	return 0;
}

int option_take_directory(struct options *options, const char *word, struct error *error)
{
	int r = place_read(word, &options->directory, error);
	char *shown CLEANUP(mem_done) = r < 0 ? text_escape(word) : NULL;

	if (r < 0)
		error_prefix(error, "to restore into '%.160s'", shown);
	return r;
}
