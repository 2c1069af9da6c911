/* sbx-reap check: is the set-up sane? Asks what a pass would ask. */
#include "base/text.h"
#include "check.h"
#include "config.h"
#include "metrics.h"
#include "notice.h"
#include "os/answering.h"
#include "os/hook.h"
#include "rebuild.h"
#include "text_list.h"

#include <errno.h>

static void check_done(struct check *check)
{
	books_done(&check->books);
}

void check_say(struct check *check, enum level level, const char *what, const char *detail)
{
	static const char *const names[] = {
		[LEVEL_OK] = "ok",
		[LEVEL_WARN] = "warn",
		[LEVEL_BAD] = "bad",
	};

	(void)printf("%-4s  %-10s  ", names[level], what);
	print_escaped(detail, 0);
	(void)putchar('\n');
	if (level == LEVEL_BAD)
		check->code = exit_code_worse(check->code, EXIT_ATTENTION);
}

void check_say_more(const char *text)
{
	(void)printf("                  %s\n", text);
}

void check_say_error(
	struct check *check, enum level level, const char *what, const struct error *error)
{
	check_say(check, level, what, "");
	check_say_more(error->text);
}

static bool check_settings(struct check *check, const struct options *options)
{
	struct text_list files CLEANUP(text_list_done) = { 0 };
	struct error error = { 0 };
	int r = config_files(options->config, &files, &error);

	if (r == 0)
		r = books_open_settings(options, &check->books) == EXIT_DONE ? 0 : -EINVAL;
	else
		notice("%s", error.text);
	for (size_t i = 0; i < files.count; i++)
		check_say(check, r == 0 ? LEVEL_OK : LEVEL_BAD, "settings", files.items[i]);
	if (r < 0)
		check->code = EXIT_STATE;
	return r == 0;
}

static void check_roots(struct check *check)
{
	const struct settings *settings = &check->books.settings;

	for (size_t i = 0; i < settings->roots.count; i++)
		check_say(check, LEVEL_OK, "root", settings->roots.items[i]);
	for (size_t i = 0; i < settings->path_roots.count; i++)
		check_say(check, LEVEL_OK, "path_root", settings->path_roots.items[i]);
	for (size_t i = 0; i < settings->lost_roots.count; i++) {
		const char *root = settings->lost_roots.items[i];
		char *detail CLEANUP(mem_done) = mem_printf(
			"%s cannot be opened: what is there is unseen, so its runs are kept", root);
		struct arena arena CLEANUP(arena_done) = { 0 };

		check_say(check, LEVEL_BAD, "root", detail);
		if (text_list_has(&settings->silent, root))
			check_say_more(answering_words(root, &arena));
	}
	if (!settings->roots.count && !settings->lost_roots.count)
		check_say(check, LEVEL_WARN, "root",
			"none is configured: only containers and cgroups are looked at");
}

/* Whether the directory is there, as the pass opens it. */
static void check_metrics(struct check *check)
{
	const char *textfile = check->books.settings.textfile;
	struct error error = { 0 };

	if (!textfile)
		return;
	if (metrics_reachable(textfile, &error) < 0)
		check_say_error(check, LEVEL_BAD, "metrics", &error);
	else
		check_say(check, LEVEL_OK, "metrics", textfile);
}

/* Without its arguments and environment: that it may be run, not what it does. */
static void check_hook(struct check *check, const char *name, const char *path)
{
	char *detail CLEANUP(mem_done) = NULL;
	struct error error = { 0 };

	if (!path)
		return;
	detail = mem_printf("%s %s", name, path);
	if (hook_check(path, &error) >= 0) {
		check_say(check, LEVEL_OK, "hook", detail);
		return;
	}
	check_say(check, LEVEL_BAD, "hook", detail);
	check_say_more(error.text);
}

enum exit_code cmd_check(const struct options *options)
{
	struct check check CLEANUP(check_done) = { .code = EXIT_DONE };

	check_kernel(&check);
	if (!check_settings(&check, options))
		return check.code;
	if (options->new_database)
		check.code = rebuild(&check.books);
	check_roots(&check);
	check_metrics(&check);
	check_hook(&check, "revoke", check.books.settings.hooks.revoke);
	check_hook(&check, "after", check.books.settings.hooks.after);
	check_books(&check);
	check_host(&check);
	check_leftovers(&check);
	check_probe(&check);
	check_unit(&check);
	return check.code;
}
