/* sbx-reap pins: every pin, from its row or from a file beside the workspace. */
#include "base/clock.h"
#include "base/count.h"
#include "base/json_out.h"
#include "base/runid.h"
#include "base/text.h"
#include "base/timespan.h"
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "pin_size.h"
#include "pin_watch.h"
#include "report_columns.h"
#include "state/marker.h"
#include "state/pins.h"
#include "verbs.h"

#include <errno.h>

/* How long measuring all of them may take. */
enum { SIZE_LIMIT_MS = 60 * 1000 };

struct listed_pin {
	struct pin pin;
	const char *file;  /* NULL: it is a row */
	const char *fault; /* of a file that cannot be read; NULL: none */
	int64_t bytes;     /* that its run holds on disk; -1: not known */
};

struct pin_list {
	struct arena arena;
	struct listed_pin *pins;
	size_t count;
	const struct settings *settings;
	struct inventory runs;
	int64_t now_s;
};

static void pin_list_done(struct pin_list *list)
{
	free(list->pins);
	inventory_done(&list->runs);
	arena_done(&list->arena);
}

static struct listed_pin *pin_list_new(struct pin_list *list, const char *run)
{
	struct listed_pin *added;

	list->pins = mem_grow(list->pins, list->count + 1, sizeof(*list->pins));
	added = &list->pins[list->count++];
	*added = (struct listed_pin){ .pin.run = arena_dup(&list->arena, run) };
	return added;
}

static void pin_list_add_row(void *context, const struct pin *pin)
{
	struct pin_list *list = context;
	struct listed_pin *added = pin_list_new(list, pin->run);

	added->pin.by = arena_dup(&list->arena, pin->by);
	added->pin.reason = arena_dup(&list->arena, pin->reason);
	added->pin.since_s = pin->since_s;
	added->pin.until_s = pin->until_s;
}

/* The mirror of a row says nothing new; a file that ends at another time is a pin of its own. */
static bool pin_is_mirror(const struct pin_list *list, const struct pin *pin)
{
	for (size_t i = 0; i < list->count; i++)
		if (!list->pins[i].file && text_equal(list->pins[i].pin.run, pin->run) &&
			list->pins[i].pin.until_s == pin->until_s)
			return true;
	return false;
}

/* A beside_entry. */
static int pin_list_add_file(void *context, int root, const char *root_path, const char *run)
{
	struct pin_list *list = context;
	struct error error = { 0 };
	struct listed_pin *added;
	struct pin *pin = NULL;
	int r = runid_check(run, &error);

	if (r == 0)
		r = keep_read(root, run, &list->arena, &pin, &error);
	if (r == -ENOENT || (r == 0 && pin_is_mirror(list, pin)))
		return 0;
	added = pin_list_new(list, run);
	added->file = arena_printf(&list->arena, "%s/%s.keep", root_path, run);
	if (!pin) {
		added->fault = arena_dup(&list->arena, error.text);
		return 0;
	}
	added->pin.by = pin->by;
	added->pin.reason = pin->reason;
	added->pin.since_s = pin->since_s;
	added->pin.until_s = pin->until_s;
	return 0;
}

static bool pin_is_over(const struct pin_list *list, const struct listed_pin *listed)
{
	return listed->pin.until_s && listed->pin.until_s <= list->now_s;
}

static bool pin_is_known(const struct pin_list *list, const struct listed_pin *listed)
{
	const struct run *run = inventory_find(&list->runs, listed->pin.run);

	return (run && run->row) ||
	       (runid_valid(listed->pin.run) && beside_known(list->settings, listed->pin.run));
}

/* What costs most comes first, what is not known last. */
static int pin_compare(const void *a, const void *b)
{
	const struct listed_pin *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return strcmp(left->pin.run, right->pin.run);
}

static void pins_measure(struct pin_list *list)
{
	int64_t deadline_ms = deadline_in_ms(SIZE_LIMIT_MS);

	for (size_t i = 0; i < list->count; i++)
		list->pins[i].bytes =
			pin_size(&list->runs, list->settings, list->pins[i].pin.run, deadline_ms);
}

static void pin_print_json(
	struct json_out *json, const struct pin_list *list, const struct listed_pin *listed)
{
	json_object(json, NULL);
	json_bytes(json, "run", listed->pin.run);
	json_bytes(json, "by", listed->pin.by);
	json_bytes(json, "reason", listed->pin.reason);
	json_moment(json, "since", listed->pin.since_s);
	json_moment(json, "until", listed->pin.until_s);
	json_bool(json, "over", pin_is_over(list, listed));
	json_bool(json, "ends_soon", pin_ends_soon(&listed->pin, list->now_s));
	if (listed->bytes >= 0)
		json_int(json, "bytes", listed->bytes);
	else
		json_null(json, "bytes");
	json_bool(json, "known", pin_is_known(list, listed));
	json_bytes(json, "file", listed->file);
	json_text(json, "error", listed->fault);
	json_object_end(json);
}

static void pins_print_json(const struct pin_list *list)
{
	struct json_out json = { .file = stdout };

	json_object(&json, NULL);
	json_int(&json, "schema", 1);
	json_array(&json, "pins");
	for (size_t i = 0; i < list->count; i++)
		pin_print_json(&json, list, &list->pins[i]);
	json_array_end(&json);
	json_object_end(&json);
}

static void pin_print_line(const struct pin_list *list, const struct listed_pin *listed)
{
	char *size CLEANUP(mem_done) = report_size_text(listed->bytes);
	char until[TIMESPAN_TEXT];

	print_escaped(listed->pin.run, 24);
	if (listed->fault)
		(void)printf("  %-20s", "unreadable");
	else
		(void)printf("  %-20s",
			listed->pin.until_s ? moment_format(until, listed->pin.until_s) : "no end");
	(void)printf("  %5s  ", size);
	print_escaped(listed->pin.by ? listed->pin.by : "-", 12);
	(void)fputs("  ", stdout);
	if (listed->fault)
		(void)fputs(listed->fault, stdout);
	else
		print_escaped(listed->pin.reason ? listed->pin.reason : "-", 0);
	if (listed->file) {
		(void)fputs(" (file ", stdout);
		print_escaped(listed->file, 0);
		(void)fputs(")", stdout);
	}
	(void)fputs(pin_is_over(list, listed) ? " (over)" : "", stdout);
	(void)fputs(pin_ends_soon(&listed->pin, list->now_s) ? " (ends soon)" : "", stdout);
	(void)puts(pin_is_known(list, listed) ? "" : " (no such run is known)");
}

/* A run may have two pins, and holds its bytes once. */
static void pins_print_total(const struct pin_list *list)
{
	int64_t limit = list->settings->policy.pinned_bytes_warn, bytes = 0;
	char *held CLEANUP(mem_done) = NULL, *most CLEANUP(mem_done) = NULL;
	char pins[COUNT_TEXT];
	bool cut = false;

	for (size_t i = 0; i < list->runs.run_count; i++) {
		const struct run *run = list->runs.runs[i];

		if (run->measured)
			bytes += run->bytes < 0 ? run->bytes_least : run->bytes;
		cut |= run->measured && run->bytes < 0 && run->bytes_least > 0;
	}
	if (!list->count)
		return;
	held = report_size_text(bytes);
	most = report_size_text(limit);
	(void)printf("%s: %s%s held", count_format(pins, list->count, "pin"),
		cut ? "at least " : "", held);
	if (limit && bytes > limit)
		(void)printf(", more than pinned_bytes_warn = %s", most);
	(void)putchar('\n');
}

static void pins_print_table(const struct pin_list *list)
{
	if (list->count)
		(void)printf(
			"%-24s  %-20s  %5s  %-12s  %s\n", "RUN", "UNTIL", "SIZE", "BY", "REASON");
	for (size_t i = 0; i < list->count; i++)
		pin_print_line(list, &list->pins[i]);
	pins_print_total(list);
}

/* A root that cannot be read hides pins, and whoever asks must know that. */
static enum exit_code pins_gather(struct books *books, struct pin_list *list)
{
	enum exit_code code = books_load(books, NULL, &list->runs);
	struct error error = { 0 };

	if (code != EXIT_DONE)
		return code;
	if (books->store && pins_each(books->store, pin_list_add_row, list, &error) < 0)
		return complain(&error, error.code);
	for (size_t i = 0; i < books->settings.roots.count; i++) {
		struct error unread = { 0 };

		if (beside_each(books->settings.roots.items[i], ".keep", pin_list_add_file, list,
			    &unread) == 0)
			continue;
		notice("%s", unread.text);
		code = EXIT_BLIND;
	}
	return exit_code_worse(code, books_notice_lost_roots(books));
}

enum exit_code cmd_pins(const struct options *options)
{
	struct books books CLEANUP(books_done) = { 0 };
	struct pin_list list CLEANUP(pin_list_done) = { 0 };
	enum exit_code code = books_open(options, STORE_READ, &books);

	if (code != EXIT_DONE)
		return code;
	list.settings = &books.settings;
	list.now_s = books.now_s;
	code = pins_gather(&books, &list);
	if (code != EXIT_DONE && code != EXIT_BLIND)
		return code;
	pins_measure(&list);
	if (list.count)
		qsort(list.pins, list.count, sizeof(*list.pins), pin_compare);
	if (options->json)
		pins_print_json(&list);
	else
		pins_print_table(&list);
	for (size_t i = 0; i < list.count; i++)
		if (list.pins[i].fault)
			code = exit_code_worse(code, EXIT_ATTENTION);
	return code;
}
