/* sbx-reap resume: the end of a hold. */
#include "author.h"
#include "books.h"
#include "complain.h"
#include "state/hold.h"
#include "verbs.h"

enum exit_code cmd_resume(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_WRITE, &books);
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE)
		return code;
	r = hold_drop(books.store, author_of(options), &error);
	if (r < 0)
		return complain(&error, error.code);
	(void)puts(r > 0 ? "passes act again" : "nothing was held");
	return EXIT_DONE;
}
