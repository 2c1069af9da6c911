/* sbx-reap pin: keep a run whole. */
#include "author.h"
#include "base/text.h"
#include "base/timespan.h"
#include "beside.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "os/dir.h"
#include "pin_choice.h"
#include "run_guess.h"
#include "state/marker.h"
#include "state/pins.h"
#include "text_list.h"
#include "verbs.h"

#include <errno.h>

static int64_t pin_until_s(const struct options *options, const struct books *books)
{
	int64_t for_s = options->for_s >= 0 ? options->for_s : books->settings.policy.pin_for_s;

	if (options->never)
		return 0;
	return options->until_s ? options->until_s : books->now_s + for_s;
}

static void pin_print(const struct books *books, const struct pin *pin, bool known)
{
	char *guess CLEANUP(mem_done) = NULL;
	char until[TIMESPAN_TEXT], span[TIMESPAN_TEXT];

	(void)printf("%s is pinned ", pin->run);
	if (pin->until_s)
		(void)printf("until %s (%s)", moment_format(until, pin->until_s),
			timespan_format(span, pin->until_s - books->now_s));
	else
		(void)fputs("without end", stdout);
	if (pin->by) {
		(void)fputs(" by ", stdout);
		print_escaped(pin->by, 0);
	}
	if (pin->reason) {
		(void)fputs(": ", stdout);
		print_escaped(pin->reason, 0);
	}
	if (!known)
		guess = run_guess(&books->settings, books->store, pin->run, NAMES_ON_RECORD);
	(void)printf("%s%s\n", known ? "" : "; no such run is known yet", guess ? guess : "");
}

/*
 * Whether a .keep is there that is not the mirror of the pin before: somebody made it, and it has to
 * hold on when this pin ends. -errno: it cannot be read, so it is not ours to write over either.
 */
static int keep_is_anothers(const struct books *books, const char *root_path,
	const struct pin *before, const struct pin *pin, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	int root CLEANUP(fd_done) = dir_open(root_path, NULL);
	struct pin *found;
	int r = root < 0 ? 0 : keep_read(root, pin->run, &arena, &found, error);

	if (root < 0 || r == -ENOENT)
		return 0; /* what is wrong with the root is told when it is written to */
	if (r < 0)
		return r;
	if (before && before->until_s == found->until_s && before->since_s == found->since_s)
		return 0;
	return !found->until_s || found->until_s > books->now_s;
}

/* The row keeps it already; the mirror is for those who see only the root. */
static enum exit_code pin_mirror(const struct books *books, const struct record *row,
	const struct pin *before, const struct pin *pin)
{
	const char *root = beside_root(&books->settings, pin->run, row);
	struct error error = { 0 };
	int r = root ? keep_is_anothers(books, root, before, pin, &error) : 0;

	if (r > 0) {
		notice("%s/%s.keep is not of this pin and keeps %s, too; 'unpin %s' ends both",
			root, pin->run, pin->run, pin->run);
		return EXIT_DONE;
	}
	if (r < 0) {
		notice("the pin of %s holds, but its file beside the workspace is another's: %s",
			pin->run, error.text);
		return EXIT_ATTENTION;
	}
	if (!root && books->settings.visited) {
		notice("the pin of %s holds in your books alone: there is no root beside which "
		       "others "
		       "would see it",
			pin->run);
		return EXIT_ATTENTION;
	}
	error = (struct error){ 0 };
	if (!root || keep_write(root, pin, &error) >= 0)
		return EXIT_DONE;
	notice("the pin of %s holds, but its file beside the workspace is missing: %s", pin->run,
		error.text);
	return EXIT_ATTENTION;
}

static enum exit_code pin_written(
	struct books *books, const struct inventory *before, const struct pin *pin, bool known)
{
	const struct run *run = inventory_find(before, pin->run);
	enum exit_code code = pin_mirror(books, run ? run->row : NULL, run ? run->pin : NULL, pin);

	pin_print(books, pin, known || beside_known(&books->settings, pin->run));
	return code;
}

/* All rows or none; what is wrong with a mirror is said of its run, and the others get theirs. */
static enum exit_code pin_all(struct books *books, const struct pin *pins, size_t count)
{
	struct inventory before CLEANUP(inventory_done) = { 0 };
	enum exit_code code = books_load(books, count == 1 ? pins->run : NULL, &before);
	bool *known CLEANUP(mem_done) = mem_grow(NULL, count, sizeof(*known));
	struct error error = { 0 };

	if (code != EXIT_DONE)
		return code;
	if (pins_load(books->store, &before, &error) < 0)
		return complain(&error, error.code);
	if (pins_set_all(books->store, pins, count, known, &error) < 0) {
		error_prefix(&error, "%s", count > 1 ? "none is pinned" : "it is not pinned");
		return complain(&error, error.code);
	}
	for (size_t i = 0; i < count; i++)
		code = exit_code_worse(code, pin_written(books, &before, &pins[i], known[i]));
	return code;
}

static enum exit_code pin_runs(const struct options *options, const struct text_list *runs)
{
	struct books books CLEANUP(books_done) = { 0 };
	enum exit_code code = books_open(options, STORE_WRITE, &books);
	struct pin *pins CLEANUP(mem_done) = mem_grow(NULL, runs->count, sizeof(*pins));

	for (size_t i = 0; code != EXIT_DONE && i < runs->count; i++)
		notice("%s is NOT pinned; a file ROOT/%s.keep keeps it as well", runs->items[i],
			runs->items[i]);
	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < runs->count; i++)
		pins[i] = (struct pin){
			.run = runs->items[i],
			.by = author_of(options),
			.reason = options->reason,
			.since_s = books.now_s,
			.until_s = pin_until_s(options, &books),
		};
	return pin_all(&books, pins, runs->count);
}

/* What is nobody's needs no pin to be kept. */
static bool can_be_pinned(const struct run *run)
{
	return run->facts.proven;
}

enum exit_code cmd_pin(const struct options *options)
{
	if (options->run)
		return pin_runs(options, &options->operands);
	return pin_choice(options, can_be_pinned, pin_runs);
}
