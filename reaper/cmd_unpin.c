/* sbx-reap unpin: end a pin, its row and every file beside the workspace. */
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "pin_choice.h"
#include "run_guess.h"
#include "state/pins.h"
#include "text_list.h"
#include "verbs.h"

static enum exit_code unpin_one(struct books *books, const char *run)
{
	char *guess CLEANUP(mem_done) = NULL;
	struct error error = { 0 };
	int files, dropped = pins_drop(books->store, run, &error);

	if (dropped < 0) {
		error_prefix(&error, "%s is still pinned", run);
		return complain(&error, error.code);
	}
	files = beside_remove_keeps(&books->settings, run, &error);
	if (files < 0) {
		notice("%s is still pinned by a file: %s", run, error.text);
		return EXIT_ATTENTION;
	}
	if (!dropped && !files)
		guess = run_guess(&books->settings, books->store, run, NAMES_PINNED);
	(void)printf("%s %s%s\n", run, dropped || files ? "is unpinned" : "was not pinned",
		guess ? guess : "");
	return EXIT_DONE;
}

static enum exit_code unpin_runs(const struct options *options, const struct text_list *runs)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_WRITE, &books);

	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < runs->count; i++)
		code = exit_code_worse(code, unpin_one(&books, runs->items[i]));
	return exit_code_worse(code, books_notice_lost_roots(&books));
}

static bool is_pinned(const struct run *run)
{
	return run->facts.pin != PIN_NONE;
}

enum exit_code cmd_unpin(const struct options *options)
{
	if (options->run)
		return unpin_runs(options, &options->operands);
	return pin_choice(options, is_pinned, unpin_runs);
}
