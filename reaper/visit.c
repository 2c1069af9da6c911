#include "visit.h"

#include "backend/worktree_repo.h"
#include "base/count.h"
#include "base/pathname.h"
#include "base/text.h"
#include "config.h"
#include "config_visit.h"
#include "notice.h"
#include "os/answering.h"
#include "os/dir.h"
#include "os/dir_stream.h"
#include "os/signals.h"
#include "text_list.h"
#include "verbs.h"

#include <termios.h>

enum { LEVELS_MAX = 12, DIRECTORIES_MAX = 200000 };

/* The way to the repositories. */
struct finding {
	struct text_list commons; /* common git directories */
	size_t directories;
	size_t unread; /* of them */
};

static void finding_done(struct finding *finding)
{
	text_list_done(&finding->commons);
}

/*
 * A file .git leads away: to whom a linked worktree or a submodule belongs, or wherever whoever wrote it
 * wants. It is followed only where a person named the directory.
 */
static bool is_repository(int dir, bool named)
{
	struct stat stat;

	if (dir_look(dir, ".git", &stat) == 0)
		return named || S_ISDIR(stat.st_mode);
	return dir_look(dir, "HEAD", &stat) == 0 && dir_look(dir, "refs", &stat) == 0 &&
	       dir_look(dir, "objects", &stat) == 0 && S_ISDIR(stat.st_mode);
}

static int find_one(struct finding *finding, const char *path, struct error *error)
{
	char *common CLEANUP(mem_done) = NULL;
	int r = worktree_repo_resolve(path, &common, error);

	if (r == 0)
		text_list_add_new(&finding->commons, common);
	return r;
}

static void find_below(struct finding *finding, int dir, const char *path, unsigned level);

static void find_in(struct finding *finding, int dir, const char *path, unsigned level)
{
	struct error error = { 0 };

	if (!is_repository(dir, false))
		find_below(finding, dir, path, level);
	else if (find_one(finding, path, &error) < 0)
		notice("%s", error.text);
}

static void find_entry(struct finding *finding, int dir, const char *path,
	const struct dirent *entry, unsigned level)
{
	char *below CLEANUP(mem_done) = NULL;
	int fd CLEANUP(fd_done) = -EBADF;

	if (entry->d_name[0] == '.' || stream_type(dir, entry) != DT_DIR)
		return;
	below = mem_printf("%s/%s", path, entry->d_name);
	fd = dir_open_below(dir, entry->d_name, O_RDONLY | O_DIRECTORY, NULL);
	if (fd >= 0)
		find_in(finding, fd, below, level + 1);
	else if (fd != -EXDEV && fd != -ENOENT)
		finding->unread++;
}

static void find_below(struct finding *finding, int dir, const char *path, unsigned level)
{
	DIR *stream CLEANUP(stream_done) = stream_open(dir);
	const struct dirent *entry;

	if (!stream || level == LEVELS_MAX || finding->directories++ >= DIRECTORIES_MAX) {
		finding->unread++;
		return;
	}
	while (!signals_stop_wanted() && (entry = stream_next(stream)))
		find_entry(finding, dir, path, entry, level);
}

/* The repository in whose working tree a directory lies, to name it; the caller owns it. */
static char *enclosing(const char *path)
{
	char *at = pathname_parent(path);

	while (!text_equal(at, "/")) {
		char *common CLEANUP(mem_done) = NULL, *up;

		if (worktree_repo_resolve(at, &common, NULL) == 0)
			return at;
		up = pathname_parent(at);
		free(at);
		at = up;
	}
	free(at);
	return NULL;
}

static int say_none(const char *path, struct error *error)
{
	char *around CLEANUP(mem_done) = enclosing(path);
	char *shown CLEANUP(mem_done) = text_escape(path);
	char *shown_around CLEANUP(mem_done) = around ? text_escape(around) : NULL;

	if (around)
		return error_say(error, ENOENT,
			"--repo %.200s: it lies in the repository %.200s: name that", shown,
			shown_around);
	return error_say(
		error, ENOENT, "--repo %.200s: it is no git repository, and holds none", shown);
}

/* 0 or -errno; what cannot be looked into below a directory is only counted. */
static int find(struct finding *finding, const char *path, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(path);
	int dir CLEANUP(fd_done) = -EBADF;
	size_t before = finding->commons.count;
	struct stat stat;
	int r = answering_look(NULL, path, &stat);

	if (r < 0)
		return error_set(error, -r, "--repo %.200s", shown);
	dir = dir_open(path, NULL);
	if (dir < 0)
		return error_set(error, -dir, "--repo %.200s", shown);
	if (is_repository(dir, true)) {
		r = find_one(finding, path, error);
		if (r < 0)
			error_prefix(error, "--repo");
		return r;
	}
	/* The git directory of a linked worktree is none by these signs. */
	if (find_one(finding, path, NULL) == 0)
		return 0;
	find_below(finding, dir, path, 0);
	return finding->commons.count > before || signals_stop_wanted() ? 0 : say_none(path, error);
}

/* Of a visit; a further root that is not there is a typing error. */
static enum exit_code code_of(int r)
{
	if (r >= 0)
		return EXIT_DONE;
	return r == -ENOENT ? EXIT_USAGE : EXIT_STATE;
}

static enum exit_code visit_one(const struct options *options, const char *common, visit_act *act)
{
	struct settings settings = { 0 };
	struct error error = { 0 };
	int r = config_visit(common, &options->roots, &settings, &error);

	if (r == 0)
		return act(options, &settings);
	notice("%s", error.text);
	return code_of(r);
}

static enum exit_code find_all(struct finding *finding, const struct text_list *repos)
{
	enum exit_code code = EXIT_DONE;

	for (size_t i = 0; i < repos->count; i++) {
		struct error error = { 0 };

		if (find(finding, repos->items[i], &error) >= 0)
			continue;
		notice("%s", error.text);
		code = EXIT_USAGE;
	}
	return code;
}

enum exit_code visit_each(const struct options *options, visit_act *act)
{
	struct finding finding CLEANUP(finding_done) = { 0 };
	enum exit_code code = find_all(&finding, &options->repos);
	char what[COUNT_TEXT];

	if (code != EXIT_DONE)
		return code; /* a typing error: nothing has been done yet */
	if (finding.unread) {
		notice("could not look into %s for repositories",
			count_format(what, finding.unread, "directory"));
		code = EXIT_BLIND;
	}
	for (size_t i = 0; i < finding.commons.count; i++) {
		if (signals_stop_wanted()) {
			notice("asked to stop, and did not visit %s",
				count_format(what, finding.commons.count - i, "repository"));
			return exit_code_worse(code, EXIT_BLIND);
		}
		if (i > 0) /* a key pressed twice answers one question, not the next one too */
			(void)tcflush(STDIN_FILENO, TCIFLUSH);
		code = exit_code_worse(code, visit_one(options, finding.commons.items[i], act));
	}
	return code;
}

enum exit_code visit_settings(
	const struct options *options, struct settings *ret_settings, struct error *error)
{
	struct finding finding CLEANUP(finding_done) = { 0 };

	/* Of a verb that takes no --root, --repo is a fact about a run. */
	if (!options->repos.count || !(options->verb->options & OPTION_BIT(ROOT)))
		return config_load(options->config, ret_settings, error) < 0 ? EXIT_STATE
									     : EXIT_DONE;
	if (find(&finding, options->repo, error) < 0)
		return EXIT_USAGE;
	if (finding.commons.count == 1)
		return code_of(config_visit(
			finding.commons.items[0], &options->roots, ret_settings, error));
	(void)error_say(error, EINVAL, "--repo: %s",
		finding.commons.count ? "there are several repositories: name one"
				      : "asked to stop while it was looked for");
	return finding.commons.count ? EXIT_USAGE : EXIT_BLIND;
}
