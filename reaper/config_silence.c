/*
 * Which of the configured directories nobody answers behind: asked before anything else touches them,
 * and of those that do not answer nothing is touched.
 */
#include "base/pathname.h"
#include "base/text.h"
#include "config_draft.h"
#include "os/answering.h"
#include "os/mounts.h"
#include "text_list.h"

#include <fnmatch.h>

/* The directory in which the first wildcard of a pattern is looked for; the caller owns it. */
static char *pattern_base(const char *pattern)
{
	char *start CLEANUP(mem_done) = mem_printf("%.*s", (int)strcspn(pattern, "*?["), pattern);

	return pathname_parent(start);
}

/* Whether a pattern leads to the directory, or through it. */
static bool pattern_enters(const char *pattern, const char *directory)
{
	char *start CLEANUP(mem_done) = mem_dup(pattern), *end = start;
	size_t slashes = 0;

	for (const char *at = directory; *at; at++)
		slashes += *at == '/';
	for (; *end && (*end != '/' || slashes); end++)
		slashes -= *end == '/';
	*end = 0;
	return fnmatch(start, directory, FNM_PATHNAME | FNM_PERIOD) == 0;
}

static void ask_of_pattern(
	struct text_list *places, const struct mount_table *table, const char *pattern)
{
	char *base CLEANUP(mem_done) = pattern_base(pattern);

	text_list_add_new(places, base);
	for (size_t i = 0; i < table->count; i++)
		if (pattern_enters(pattern, table->mounts[i].point))
			text_list_add_new(places, table->mounts[i].point);
}

static void ask_of_draft(struct text_list *places, const struct draft *draft)
{
	struct mount_table table CLEANUP(mounts_done) = { 0 };

	(void)mounts_read(&table, NULL); /* without it a pattern may hang where it would be lost */
	for (size_t i = 0; i < draft->root_count; i++)
		if (config_root_is_glob(&draft->roots[i]))
			ask_of_pattern(places, &table, draft->roots[i].path);
		else
			text_list_add_new(places, draft->roots[i].path);
	for (size_t i = 0; i < draft->settings.repos.count; i++)
		text_list_add_new(places, draft->settings.repos.items[i]);
}

static void lose_silent_repos(struct settings *settings)
{
	struct text_list repos CLEANUP(text_list_done) = settings->repos;

	settings->repos = (struct text_list){ 0 };
	for (size_t i = 0; i < repos.count; i++)
		text_list_add(text_list_has(&settings->silent, repos.items[i])
				      ? &settings->lost_repos
				      : &settings->repos,
			repos.items[i]);
}

void config_silence_ask(struct draft *draft)
{
	struct text_list places CLEANUP(text_list_done) = { 0 };
	struct text_list homes CLEANUP(text_list_done) = { 0 };
	bool *silent CLEANUP(mem_done) = NULL;
	const char *const *paths;
	size_t asked;

	ask_of_draft(&places, draft);
	asked = places.count;
	config_homes_written(&homes);
	for (size_t i = 0; i < homes.count; i++)
		text_list_add(&places, homes.items[i]);
	paths = (const char *const *)places.items;
	silent = mem_new(places.count + 1);
	/* Where nothing can be asked nothing is touched. */
	(void)answering_ask_names(paths, places.count, asked, silent, NULL);
	for (size_t i = 0; i < asked; i++)
		if (silent[i])
			text_list_add(&draft->settings.silent, paths[i]);
	config_homes_settle(draft, paths + asked, places.count - asked, silent + asked);
	lose_silent_repos(&draft->settings);
}
