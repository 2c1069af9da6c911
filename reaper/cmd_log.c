/* sbx-reap log: what was done, when and why. */
#include "base/count.h"
#include "base/timespan.h"
#include "books.h"
#include "complain.h"
#include "history_text.h"
#include "notice.h"
#include "run_guess.h"
#include "verbs.h"

struct printing {
	struct json_out *json; /* NULL: for people */
	size_t count;
};

/* A history_each callback. */
static void log_print_json(void *context, const struct history_entry *entry)
{
	struct printing *printing = context;

	printing->count++;
	history_json(printing->json, entry);
}

/* A history_each callback. */
static void log_print_line(void *context, const struct history_entry *entry)
{
	struct printing *printing = context;
	char at[TIMESPAN_TEXT], bytes[COUNT_TEXT];

	printing->count++;
	(void)printf("%s  ", moment_format(at, entry->at_s));
	print_escaped(entry->run ? entry->run : "-", 24);
	(void)printf("  %-10s  %-15s", entry->action, entry->reason ? entry->reason : "-");
	if (entry->resource) {
		(void)fputs("  ", stdout);
		print_escaped(entry->resource, 0);
	}
	if (entry->detail) {
		(void)fputs("  ", stdout);
		print_escaped(entry->detail, 0);
	}
	if (entry->bytes)
		(void)printf("  %s", count_format(bytes, entry->bytes, "byte"));
	(void)putchar('\n');
}

static int log_print(struct books *books, const struct options *options, struct printing *printing,
	struct error *error)
{
	if (!books->store)
		return 0;
	return history_each(books->store, options->run, options->since_s,
		printing->json ? log_print_json : log_print_line, printing, error);
}

static int log_print_all_json(struct books *books, const struct options *options,
	struct printing *printing, struct error *error)
{
	struct json_out *json = printing->json;
	int r;

	json_object(json, NULL);
	json_int(json, "schema", 1);
	json_array(json, "entries");
	r = log_print(books, options, printing, error);
	json_array_end(json);
	json_object_end(json);
	return r;
}

/* Nothing of a run may be all that there is, or a name that was mistyped. */
static void log_guess(struct books *books, const struct options *options)
{
	char *guess CLEANUP(mem_done) =
		run_guess(&books->settings, books->store, options->run, NAMES_EVER);

	if (*guess)
		notice("nothing is on the books of %s%s", options->run, guess);
}

enum exit_code cmd_log(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_READ, &books);
	struct json_out json = { .file = stdout };
	struct printing printing = { .json = options->json ? &json : NULL };
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE)
		return code;
	if (options->json)
		r = log_print_all_json(&books, options, &printing, &error);
	else
		r = log_print(&books, options, &printing, &error);
	if (r == 0 && options->run && printing.count == 0)
		log_guess(&books, options);
	return r < 0 ? complain(&error, error.code) : EXIT_DONE;
}
