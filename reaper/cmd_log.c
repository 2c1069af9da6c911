/* sbx-reap log: what was done, when and why. */
#include "base/timespan.h"
#include "books.h"
#include "complain.h"
#include "history_text.h"
#include "notice.h"
#include "verbs.h"

/* A history_each callback. */
static void log_print_json(void *context, const struct history_entry *entry)
{
	history_json(context, entry);
}

/* A history_each callback. */
static void log_print_line(void *context, const struct history_entry *entry)
{
	char at[TIMESPAN_TEXT];

	(void)context;
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
		(void)printf("  %lld bytes", (long long)entry->bytes);
	(void)putchar('\n');
}

static int log_print(struct books *books, const struct options *options,
	void (*each)(void *context, const struct history_entry *entry), void *context,
	struct error *error)
{
	if (!books->store)
		return 0;
	return history_each(books->store, options->run, options->since_s, each, context, error);
}

static int log_print_all_json(
	struct books *books, const struct options *options, struct error *error)
{
	struct json_out json = { .file = stdout };
	int r;

	json_object(&json, NULL);
	json_int(&json, "schema", 1);
	json_array(&json, "entries");
	r = log_print(books, options, log_print_json, &json, error);
	json_array_end(&json);
	json_object_end(&json);
	return r;
}

enum exit_code cmd_log(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_READ, &books);
	struct error error = { 0 };
	int r;

	if (code != EXIT_DONE)
		return code;
	if (options->json)
		r = log_print_all_json(&books, options, &error);
	else
		r = log_print(&books, options, log_print_line, NULL, &error);
	return r < 0 ? complain(&error, error.code) : EXIT_DONE;
}
