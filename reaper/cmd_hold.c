/* sbx-reap hold: no pass acts until somebody resumes, or the time is up. */
#include "author.h"
#include "base/timespan.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "state/hold.h"
#include "verbs.h"

static void print_text(const char *before, const char *text)
{
	if (!text)
		return;
	(void)fputs(before, stdout);
	print_escaped(text, 0);
}

static void print_hold(const struct hold *hold, const struct hold *before, int64_t now_s)
{
	char until[TIMESPAN_TEXT], span[TIMESPAN_TEXT];

	(void)fputs("every pass is held ", stdout);
	if (hold->until_s)
		(void)printf("until %s (%s)", moment_format(until, hold->until_s),
			timespan_format(span, hold->until_s - now_s));
	else
		(void)fputs("until 'sbx-reap resume'", stdout);
	print_text(" by ", hold->by);
	print_text(": ", hold->reason);
	(void)putchar('\n');
	if (!before)
		return;
	(void)fputs("that replaces the hold", stdout);
	print_text(" by ", before->by);
	(void)printf(" since %s", moment_format(until, before->since_s));
	print_text(": ", before->reason);
	(void)putchar('\n');
}

enum exit_code cmd_hold(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	struct arena arena CLEANUP(arena_done) = { 0 };
	enum exit_code code = books_open(options, STORE_WRITE, &books);
	struct hold hold, *before = NULL;
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE) {
		notice("nothing is held; 'systemctl stop sbx-reap.timer' stops passes as well");
		return code;
	}
	hold = (struct hold){
		.by = author_of(options),
		.reason = options->reason,
		.since_s = books.now_s,
		.until_s = options->for_s >= 0 ? books.now_s + options->for_s : 0,
	};
	r = hold_set(books.store, &hold, &arena, &before, &error);
	if (r < 0)
		return complain(&error, error.code);
	print_hold(&hold, r > 0 ? before : NULL, books.now_s);
	return EXIT_DONE;
}
