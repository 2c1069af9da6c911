/* sbx-reap unpin: end a pin, its row and every file beside the workspace. */
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "run_guess.h"
#include "state/pins.h"
#include "verbs.h"

enum exit_code cmd_unpin(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_WRITE, &books);
	struct error error = { 0 };
	char *guess CLEANUP(mem_done) = NULL;
	int dropped, files;

	if (code != EXIT_DONE)
		return code;
	dropped = pins_drop(books.store, options->run, &error);
	if (dropped < 0)
		return complain(&error, error.code);
	files = beside_remove_keeps(&books.settings, options->run, &error);
	if (files < 0) {
		notice("%s is still pinned by a file: %s", options->run, error.text);
		return EXIT_ATTENTION;
	}
	if (!dropped && !files)
		guess = run_guess(&books.settings, books.store, options->run, NAMES_PINNED);
	(void)printf("%s %s%s\n", options->run, dropped || files ? "is unpinned" : "was not pinned",
		guess ? guess : "");
	return books_notice_lost_roots(&books);
}
