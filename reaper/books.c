#include "books.h"
#include "base/clock.h"
#include "base/text.h"
#include "complain.h"
#include "config.h"
#include "notice.h"
#include "run_guess.h"
#include "state/runs.h"
#include "visit.h"

#include <errno.h>

enum exit_code books_open_settings(const struct options *options, struct books *ret_books)
{
	struct error error = { 0 };
	enum exit_code code;

	*ret_books = (struct books){ .now_s = clock_wall_s() };
	code = visit_settings(options, &ret_books->settings, &error);
	if (code != EXIT_DONE)
		notice("%s", error.text);
	return code;
}

enum exit_code books_open(
	const struct options *options, enum store_access access, struct books *ret_books)
{
	enum exit_code code = books_open_settings(options, ret_books);
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE)
		return code;
	r = store_open(ret_books->settings.database, access, &ret_books->store, &error);
	if (r == 0 || (r == -ENOENT && access == STORE_READ))
		return EXIT_DONE;
	notice("%s", error.text);
	return r == -EBUSY ? EXIT_ATTENTION : EXIT_STATE;
}

void books_done(struct books *books)
{
	if (books->store)
		store_close(books->store);
	settings_done(&books->settings);
	*books = (struct books){ 0 };
}

enum exit_code books_load(struct books *books, const char *run, struct inventory *ret_inventory)
{
	struct error error = { 0 };

	*ret_inventory = (struct inventory){ .now_s = books->now_s };
	if (!books->store || runs_load(books->store, ret_inventory, run, &error) == 0)
		return EXIT_DONE;
	return complain(&error, error.code);
}

void books_notice_unknown(const struct books *books, const char *run)
{
	char *guess CLEANUP(mem_done) =
		run_guess(&books->settings, books->store, run, NAMES_ON_RECORD);

	notice("%s is not on record: neither a row nor a marker%s%s", run, guess,
		*guess ? "" : "; 'register' it first");
}

enum exit_code books_notice_lost_roots(const struct books *books)
{
	const struct text_list *lost = &books->settings.lost_roots;

	for (size_t i = 0; i < lost->count; i++) {
		char *shown CLEANUP(mem_done) = text_escape(lost->items[i]);

		notice("root %s cannot be opened: what is there is unseen", shown);
	}
	return lost->count ? EXIT_BLIND : EXIT_DONE;
}
