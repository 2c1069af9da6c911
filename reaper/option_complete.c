/*
 * The command line as far as it is written, to be completed: by the tables that parse it, so that a shell
 * offers what the program takes.
 */
#include "base/text.h"
#include "option_take.h"
#include "verbs.h"

#include <strings.h>

enum { OPTION_NONE = -1 };

/* What the words before the last one say. */
struct scan {
	const struct verb *verb; /* NULL: unknown */
	uint64_t given;
	int operands; /* behind the verb */
	int open;     /* the option whose value comes next, or OPTION_NONE */
};

static uint64_t scan_set(const struct scan *scan)
{
	return scan->verb->options | OPTIONS_COMMON;
}

/* The option of the verb that a word like "--run" or "--run=r1" names. */
static int option_named(const struct scan *scan, const char *word)
{
	size_t length = strcspn(word, "=");

	for (int id = 0; id < OPTION_COUNT; id++) {
		const char *name = option_spec_of((enum option_id)id, 0).name;

		if (scan_set(scan) >> id & 1 && strlen(name) + 2 == length &&
			strncmp(word + 2, name, length - 2) == 0)
			return id;
	}
	return OPTION_NONE;
}

static void scan_option(struct scan *scan, const char *word)
{
	int id = option_named(scan, word);

	if (id == OPTION_NONE)
		return;
	scan->given |= UINT64_C(1) << id;
	if (option_spec_of((enum option_id)id, scan_set(scan)).value && !strchr(word, '='))
		scan->open = id;
}

static void scan_word(struct scan *scan, const char *word)
{
	if (!scan->verb)
		return;
	if (scan->open != OPTION_NONE)
		scan->open = OPTION_NONE;
	else if (text_starts(word, "--"))
		scan_option(scan, word);
	else if (word[0] == '-' && word[1])
		return;
	else if (!*scan->verb->name)
		scan->verb = verb_find(word);
	else
		scan->operands++;
}

static void offer(FILE *file, const char *before, const char *word, const char *help)
{
	(void)fprintf(file, "%s%s%s%s\n", before, word, help ? "\t" : "", help ? help : "");
}

static void offer_verbs(const char *beginning, FILE *file)
{
	const struct verb *verb;

	for (size_t i = 0; (verb = verb_at(i)); i++)
		if (text_starts(verb->name, beginning))
			offer(file, "", verb->name, verb->summary);
}

/* Those of the verb that may still be given. */
static void offer_options(const struct scan *scan, const char *beginning, FILE *file)
{
	for (int id = 0; id < OPTION_COUNT; id++) {
		struct option_spec spec = option_spec_of((enum option_id)id, scan_set(scan));
		char *word CLEANUP(mem_done) = mem_printf("--%s", spec.name);
		bool again = spec.value && spec.repeats;

		if (scan_set(scan) >> id & 1 && (again || !(scan->given >> id & 1)) &&
			text_starts(word, beginning))
			offer(file, "", word, spec.help);
	}
}

static bool stands_in(const char *list, size_t length, const char *word)
{
	while (length > 0) {
		size_t one = strcspn(list, ",");

		if (strlen(word) == one && strncasecmp(list, word, one) == 0)
			return true;
		list += one + 1;
		length -= one + 1;
	}
	return false;
}

/* The last of some words with commas between them; those that stand there already are not offered. */
static void offer_words(enum report_words of, const char *before, const char *list, FILE *file)
{
	const char *comma = strrchr(list, ','), *beginning = comma ? comma + 1 : list, *word;
	char *head CLEANUP(mem_done) = NULL;
	size_t length = (size_t)(beginning - list);
	bool reversed = of == WORDS_KEYS && *beginning == '-';

	beginning += reversed;
	head = mem_printf("%s%.*s%s", before, (int)length, list, reversed ? "-" : "");
	for (size_t i = 0; (word = report_view_word(of, i)); i++) {
		char *lower CLEANUP(mem_done) = mem_dup(word);

		for (char *c = lower; *c; c++)
			*c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
		if (text_starts(lower, beginning) && !stands_in(list, length, lower))
			offer(file, head, lower, NULL);
	}
}

static void offer_kinds(const char *before, const char *beginning, FILE *file)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		char *word CLEANUP(mem_done) = mem_printf("%s=", kind_name((enum kind)kind));

		if (text_starts(word, beginning))
			offer(file, before, word, NULL);
	}
}

static const struct {
	enum option_id id;
	enum report_words of;
} word_options[] = {
	{ OPTION_STATE, WORDS_STATES },
	{ OPTION_REASON, WORDS_REASONS },
	{ OPTION_IF_REASON, WORDS_REASONS },
	{ OPTION_SORT, WORDS_KEYS },
	{ OPTION_COLUMNS, WORDS_COLUMNS },
};

/* What its value is called says what it is: of an option that comes to the table, too. */
static enum option_wanted offer_value(
	const struct scan *scan, int id, const char *before, const char *beginning, FILE *file)
{
	struct option_spec spec = option_spec_of((enum option_id)id, scan_set(scan));

	for (size_t i = 0; i < ARRAY_SIZE(word_options); i++)
		if ((int)word_options[i].id == id &&
			(id != OPTION_REASON || scan_set(scan) & OPTION_BIT(SORT)))
			offer_words(word_options[i].of, before, beginning, file);
	if (id == OPTION_RESOURCE)
		offer_kinds(before, beginning, file);
	if (id == OPTION_FOR && scan_set(scan) & OPTION_BIT(UNTIL) &&
		text_starts("never", beginning))
		offer(file, before, "never", NULL);
	if (text_equal(spec.value, "RUN"))
		return WANTED_RUN;
	if (text_equal(spec.value, "DIR"))
		return WANTED_DIRECTORY;
	return text_equal(spec.value, "FILE") ? WANTED_FILE : WANTED_NOTHING;
}

static enum option_wanted offer_operand(const struct scan *scan, const char *beginning, FILE *file)
{
	const struct verb *verb = scan->verb;

	if (!*verb->name)
		offer_verbs(beginning, file);
	else if (verb->operand == OPERAND_RUNS ||
		 (verb->operand != OPERAND_NONE && scan->operands == 0))
		return WANTED_RUN;
	else if (verb->operand == OPERAND_RUN_MAYBE_DIR && scan->operands == 1)
		return WANTED_DIRECTORY;
	else if (!*beginning)
		offer_options(scan, beginning, file);
	return WANTED_NOTHING;
}

/* "--run=r": the option, and what stands before and behind the '='. */
static enum option_wanted offer_behind_equals(
	const struct scan *scan, const char *word, const char **ret_beginning, FILE *file)
{
	int id = option_named(scan, word);
	size_t length = strcspn(word, "=") + 1;
	char *before CLEANUP(mem_done) = mem_printf("%.*s", (int)length, word);

	*ret_beginning = word + length;
	if (id == OPTION_NONE || !option_spec_of((enum option_id)id, 0).value)
		return WANTED_NOTHING;
	return offer_value(scan, id, before, *ret_beginning, file);
}

void options_complete(char *const *words, int count, struct option_place *ret_place, FILE *file)
{
	struct scan scan = { .verb = verb_default(), .open = OPTION_NONE };
	const char *last = count ? words[count - 1] : "";

	for (int i = 0; i + 1 < count; i++)
		scan_word(&scan, words[i]);
	*ret_place = (struct option_place){ .verb = scan.verb, .beginning = last };
	if (!scan.verb)
		return;
	if (scan.open != OPTION_NONE)
		ret_place->wanted = offer_value(&scan, scan.open, "", last, file);
	else if (text_starts(last, "--") && strchr(last, '='))
		ret_place->wanted = offer_behind_equals(&scan, last, &ret_place->beginning, file);
	else if (*last == '-')
		offer_options(&scan, last, file);
	else
		ret_place->wanted = offer_operand(&scan, last, file);
}
