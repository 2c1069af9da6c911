/* sbx-reap salvages: what was salvaged, where it is, and until when. */
#include "base/timespan.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "salvage_text.h"
#include "state/salvages.h"
#include "verbs.h"

struct salvages_print {
	const struct policy_settings *policy;
	struct json_out json;
	size_t count;
};

/* A salvages_each callback. */
static int salvage_print_json(void *context, const struct salvage *salvage)
{
	struct salvages_print *print = context;

	salvage_json(&print->json, NULL, salvage, print->policy);
	return 0;
}

/* A salvages_each callback. */
static int salvage_print_line(void *context, const struct salvage *salvage)
{
	struct salvages_print *print = context;
	struct arena arena CLEANUP(arena_done) = { 0 };
	int64_t ends_s = salvage_ends_s(salvage, print->policy);
	char made[TIMESPAN_TEXT], ends[TIMESPAN_TEXT];

	if (print->count++ == 0)
		(void)printf("%-24s  %-20s  %-20s  %12s  %-7s  %s\n", "RUN", "MADE", "ENDS",
			"BYTES", "FORM", "WHERE");
	print_escaped(salvage->run, 24);
	(void)printf("  %-20s  %-20s  %12lld  %-7s  %s\n", moment_format(made, salvage->made_s),
		ends_s ? moment_format(ends, ends_s) : "never", (long long)salvage->bytes,
		salvage_form_name(salvage->form), salvage_where(salvage, &arena));
	return 0;
}

static int salvages_print_all_json(struct books *books, const struct options *options,
	struct salvages_print *print, struct error *error)
{
	int r = 0;

	json_object(&print->json, NULL);
	json_int(&print->json, "schema", 1);
	json_array(&print->json, "entries");
	if (books->store)
		r = salvages_each(books->store, options->run, 0, salvage_print_json, print, error);
	json_array_end(&print->json);
	json_object_end(&print->json);
	return r;
}

enum exit_code cmd_salvages(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_READ, &books);
	struct salvages_print print = { .policy = &books.settings.policy,
		.json = { .file = stdout } };
	struct error error = { 0 };
	int r = 0;

	if (code != EXIT_DONE)
		return code;
	if (options->json)
		r = salvages_print_all_json(&books, options, &print, &error);
	else if (books.store)
		r = salvages_each(books.store, options->run, 0, salvage_print_line, &print, &error);
	return r < 0 ? complain(&error, error.code) : EXIT_DONE;
}
