/* sbx-reap restore: bring back what was salvaged. */
#include "backend/worktree_restore.h"
#include "base/pathname.h"
#include "base/text.h"
#include "base/timespan.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "os/signals.h"
#include "run_guess.h"
#include "salvage_text.h"
#include "state/history.h"
#include "state/salvages.h"
#include "verbs.h"

#include <errno.h>

/* The one that is meant, among those of the run. */
struct choice {
	const char *from;   /* NULL: the newest */
	int64_t generation; /* that `from` is, or -1 */
	struct arena arena;
	struct salvage chosen;
	size_t count, matches;
};

static void choice_done(struct choice *choice)
{
	arena_done(&choice->arena);
}

static struct salvage salvage_copy(const struct salvage *salvage, struct arena *arena)
{
	struct salvage copy = *salvage;

	copy.run = arena_dup(arena, salvage->run);
	copy.tree = arena_dup(arena, salvage->tree);
	copy.branch = arena_dup(arena, salvage->branch);
	copy.repo = arena_dup(arena, salvage->repo);
	copy.ref = arena_dup(arena, salvage->ref);
	copy.commit = arena_dup(arena, salvage->commit);
	copy.path = arena_dup(arena, salvage->path);
	return copy;
}

static bool is_meant(const struct choice *choice, const struct salvage *salvage)
{
	if (!choice->from)
		return choice->count == 1;
	return text_equal(choice->from, salvage->ref) || text_equal(choice->from, salvage->path) ||
	       text_equal(choice->from, salvage->commit) ||
	       choice->generation == salvage->generation;
}

/* A salvages_each callback; the newest comes first. */
static int consider(void *context, const struct salvage *salvage)
{
	struct choice *choice = context;

	choice->count++;
	if (!is_meant(choice, salvage))
		return 0;
	if (choice->matches++ == 0)
		choice->chosen = salvage_copy(salvage, &choice->arena);
	return 0;
}

static enum exit_code choose(
	struct books *books, const struct options *options, struct choice *choice)
{
	char *guess CLEANUP(mem_done) = NULL;
	struct error error = { 0 };
	int r = 0;

	choice->from = options->from;
	if (!options->from || text_to_int64(options->from, 0, INT64_MAX, &choice->generation) < 0)
		choice->generation = -1;
	if (books->store)
		r = salvages_each(books->store, options->run, 0, consider, choice, &error);
	if (r < 0)
		return complain(&error, error.code);
	if (choice->matches == 1)
		return EXIT_DONE;
	if (choice->matches > 1)
		notice("there are %zu of run %s that --from could mean; name one by its commit or "
		       "path (sbx-reap salvages %s --json)",
			choice->matches, options->run, options->run);
	else if (choice->count)
		notice("nothing like that was salvaged from run %s; sbx-reap salvages %s shows "
		       "what was",
			options->run, options->run);
	else
		guess = run_guess(&books->settings, books->store, options->run, NAMES_SALVAGED);
	if (guess)
		notice("nothing is on the books that was salvaged from run %s%s", options->run,
			guess);
	return EXIT_ATTENTION;
}

/*
 * The books are for reading until here: what was salvaged comes back also where nothing can be
 * written, on a full disk for one.
 */
static void note_restored(
	const struct books *books, const struct salvage *salvage, const char *directory)
{
	struct store *store = NULL;
	struct error error = { 0 };
	int r = store_open(books->settings.database, STORE_WRITE, &store, &error);

	if (r == 0)
		r = salvages_note_failure(store, salvage->run, books->now_s, NULL, &error);
	if (r == 0)
		r = history_add(store,
			&(struct history_entry){
				.at_s = books->now_s,
				.run = salvage->run,
				.generation = salvage->generation,
				.action = "restored",
				.detail = directory,
			},
			&error);
	if (store)
		store_close(store);
	if (r < 0)
		notice("that it was restored could not be noted: %s", error.text);
}

static void print_head(const struct worktree_restored *restored)
{
	if (restored->branch) {
		(void)fputs("on branch ", stdout);
		print_escaped(restored->branch, 0);
		(void)puts(restored->branch_made ? ", which was made anew" : "");
	} else if (restored->head) {
		(void)fputs("HEAD is at ", stdout);
		print_escaped(restored->head, 0);
		(void)puts("");
	}
}

static void tell_restored(const struct salvage *salvage, const char *directory,
	const struct worktree_restored *restored)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	char made[TIMESPAN_TEXT];

	(void)fputs("restored ", stdout);
	print_escaped(directory, 0);
	(void)printf(" from %s, salvaged %s\n", salvage_where(salvage, &arena),
		moment_format(made, salvage->made_s));
	print_head(restored);
	for (size_t i = 0; i < restored->note_count; i++)
		notice("%s", restored->notes[i]);
	if (restored->beside) {
		char *shown CLEANUP(mem_done) = text_escape(restored->beside);

		notice("its repository is gone or unusable; git's record of it is in %s", shown);
	}
	notice("it is nobody's run, and nothing of it is reaped; sbx-reap register would change "
	       "that");
}

enum exit_code cmd_restore(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	struct choice choice CLEANUP(choice_done) = { 0 };
	struct worktree_restored restored;
	char *cwd CLEANUP(mem_done) = NULL, *directory CLEANUP(mem_done) = NULL;
	enum exit_code code = books_open(options, STORE_READ, &books);
	struct error error = { 0 };
	int r;

	if (code == EXIT_DONE)
		code = choose(&books, options, &choice);
	if (code != EXIT_DONE)
		return code;
	cwd = getcwd(NULL, 0);
	if (!options->directory && !cwd) {
		notice("the current directory is gone; name the directory to restore to");
		return EXIT_ATTENTION;
	}
	directory = options->directory ? mem_dup(options->directory)
				       : pathname_clean(options->run, cwd);
	signals_hold();
	r = worktree_restore(&choice.chosen, directory, &choice.arena, &restored, &error);
	if (r < 0) {
		notice("%s", error.text);
		for (size_t i = 0; i < restored.note_count; i++)
			notice("%s", restored.notes[i]);
		return EXIT_ATTENTION;
	}
	tell_restored(&choice.chosen, directory, &restored);
	note_restored(&books, &choice.chosen, directory);
	return EXIT_DONE;
}
