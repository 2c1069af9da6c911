/*
 * sbx-reap complete [WORD]...: what may stand where the last word does, for the completion of shells
 * (units/completion). A line for each, "WORD<TAB>WHAT IT IS"; ":files" or ":directories" where the shell
 * shall offer those. It reads only what was told and the names in the roots, changes nothing, says
 * nothing else whatever is wrong, and ends in time.
 */
#include "base/clock.h"
#include "base/runid.h"
#include "base/text.h"
#include "beside.h"
#include "books.h"
#include "state/pins.h"
#include "state/salvages.h"
#include "text_list.h"
#include "verbs.h"

#include <unistd.h>

/* How long somebody waits who pressed a key, and how many lines help. */
enum { COMPLETE_LIMIT_S = 2, COMPLETE_MAX = 1000 };

/* The runs that are offered, each once, with what it is as far as that is known. */
struct offers {
	struct inventory rows;
	struct text_list runs;
	const char *beginning;
	char *before; /* "--run=" where that is a part of the word */
};

static void offers_done(struct offers *offers)
{
	inventory_done(&offers->rows);
	text_list_done(&offers->runs);
	free(offers->before);
}

static void offer_run(struct offers *offers, const char *run)
{
	if (runid_valid(run) && text_starts(run, offers->beginning) &&
		offers->runs.count < COMPLETE_MAX)
		text_list_add_new(&offers->runs, run);
}

/* A beside_entry. */
static int offer_entry(void *context, int root, const char *root_path, const char *run)
{
	(void)root;
	(void)root_path;
	offer_run(context, run);
	return 0;
}

/* What cannot be read has nothing to offer. */
static void offer_beside(struct offers *offers, const struct settings *settings, const char *ending)
{
	for (size_t i = 0; i < settings->roots.count; i++)
		(void)beside_each(settings->roots.items[i], ending, offer_entry, offers, NULL);
}

/* A pins_each callback. */
static void offer_pin(void *context, const struct pin *pin)
{
	offer_run(context, pin->run);
}

/* A salvages_each callback. */
static int offer_salvage(void *context, const struct salvage *salvage)
{
	offer_run(context, salvage->run);
	return 0;
}

static void offer_pinned(struct offers *offers, struct books *books)
{
	if (books->store)
		(void)pins_each(books->store, offer_pin, offers, NULL);
	offer_beside(offers, &books->settings, ".keep");
}

static void offer_salvaged(struct offers *offers, struct books *books)
{
	if (books->store)
		(void)salvages_each(books->store, NULL, 0, offer_salvage, offers, NULL);
}

static void offer_rows(struct offers *offers, bool unfinished)
{
	for (size_t i = 0; i < offers->rows.run_count; i++)
		if (!unfinished || !offers->rows.runs[i]->row->finished_s)
			offer_run(offers, offers->rows.runs[i]->id);
}

static void offer_known(struct offers *offers, struct books *books)
{
	offer_rows(offers, false);
	offer_beside(offers, &books->settings, ".sbx");
	offer_beside(offers, &books->settings, ""); /* workspaces */
}

/* The runs that a verb is about; all of them where that says nothing. */
static void offer_runs_of(struct offers *offers, const struct verb *verb, struct books *books)
{
	if (verb->act == cmd_unpin)
		offer_pinned(offers, books);
	else if (verb->act == cmd_restore || verb->act == cmd_salvages)
		offer_salvaged(offers, books);
	else if (verb->act == cmd_finish || verb->act == cmd_renew)
		offer_rows(offers, true);
	else if (verb->act == cmd_forget)
		offer_rows(offers, false);
	else
		offer_known(offers, books);
}

static const char *run_words(const struct offers *offers, const char *id)
{
	const struct run *run = inventory_find(&offers->rows, id);

	if (!run || !run->row)
		return "not on record";
	if (!run->row->finished_s)
		return "active";
	return outcome_name(run->row->outcome);
}

static void offers_print(const struct offers *offers)
{
	for (size_t i = 0; i < offers->runs.count; i++)
		(void)printf("%s%s\t%s\n", offers->before, offers->runs.items[i],
			run_words(offers, offers->runs.items[i]));
}

/* The settings that the words before ask for: a wrong line is no reason to know nothing. */
static void complete_runs(char **words, int count, const struct option_place *place)
{
	struct offers offers CLEANUP(offers_done) = { .beginning = place->beginning };
	struct options options CLEANUP(options_done) = { 0 };
	struct books books CLEANUP(books_done) = { 0 };
	const char *last = words[count - 1];
	struct error error = { 0 };

	offers.before = mem_printf("%.*s", (int)(place->beginning - last), last);
	(void)options_parse(count, words - 1, clock_wall_s(), &options, &error);
	if (books_open(&options, STORE_READ, &books) != EXIT_DONE ||
		books_load(&books, NULL, &offers.rows) != EXIT_DONE)
		return;
	offer_runs_of(&offers, place->verb, &books);
	offers_print(&offers);
}

enum exit_code cmd_complete(int count, char **words)
{
	struct option_place place;

	(void)alarm(COMPLETE_LIMIT_S);
	if (!freopen("/dev/null", "w", stderr))
		return EXIT_ATTENTION;
	options_complete(words, count, &place, stdout);
	(void)fflush(stdout);
	switch (place.wanted) {
	case WANTED_RUN:
		complete_runs(words, count, &place);
		break;
	case WANTED_FILE:
		(void)puts(":files");
		break;
	case WANTED_DIRECTORY:
		(void)puts(":directories");
		break;
	case WANTED_NOTHING:
		break;
	}
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_ATTENTION;
}
