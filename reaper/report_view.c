#include "report_view.h"

#include "base/text.h"

#include <errno.h>
#include <strings.h>

static const char *const headings[] = {
	[COLUMN_RUN] = "RUN",
	[COLUMN_STATE] = "STATE",
	[COLUMN_AGE] = "AGE",
	[COLUMN_SIZE] = "SIZE",
	[COLUMN_DECISION] = "DECISION",
	[COLUMN_REASON] = "REASON",
	[COLUMN_DUE] = "DUE",
	[COLUMN_PIN] = "PIN",
	[COLUMN_BY] = "BY",
	[COLUMN_REPO] = "REPO",
	[COLUMN_BYTES] = "BYTES",
	[COLUMN_HOLDER] = "HOLDER",
};

static const enum report_column keys[] = { COLUMN_RUN, COLUMN_AGE, COLUMN_SIZE, COLUMN_DUE,
	COLUMN_REASON, COLUMN_STATE };

_Static_assert(ARRAY_SIZE(headings) == COLUMN_COUNT, "a heading for each column");
_Static_assert(ARRAY_SIZE(keys) == REPORT_KEYS, "room for each key once");
_Static_assert(REASON_COUNT <= 32, "a bit for each reason");

enum report_state report_state_of(const struct run *run)
{
	if (run->facts.claim != CLAIM_NONE)
		return STATE_CLAIMED;
	if (!run->facts.recorded)
		return STATE_UNREGISTERED;
	return run->facts.finished_s ? STATE_FINISHED : STATE_ACTIVE;
}

const char *report_state_name(enum report_state state)
{
	static const char *const names[] = {
		[STATE_ACTIVE] = "active",
		[STATE_FINISHED] = "finished",
		[STATE_CLAIMED] = "claimed",
		[STATE_UNREGISTERED] = "unregistered",
	};

	assert(state < STATE_COUNT);
	return names[state];
}

const char *report_column_heading(enum report_column column)
{
	assert(column < COLUMN_COUNT);
	return headings[column];
}

/* The words that one option knows. */
struct vocabulary {
	const char *what; /* "the states are" */
	size_t count;
	const char *(*name)(size_t at);
};

static const char *state_word(size_t at)
{
	return report_state_name((enum report_state)at);
}

static const char *reason_word(size_t at)
{
	return reason_name((enum reason)at);
}

static const char *key_word(size_t at)
{
	return headings[keys[at]];
}

static const char *column_word(size_t at)
{
	return headings[at];
}

static int word_unknown(const struct vocabulary *known, const char *word, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(word);
	struct text CLEANUP(text_done) list = { 0 };

	for (size_t i = 0; i < known->count; i++) {
		text_addf(&list, "%s", i ? ", " : "");
		for (const char *c = known->name(i); *c; c++)
			text_addf(&list, "%c", *c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
	}
	return error_say(error, EINVAL, "'%.40s': %s %s", shown, known->what, list.data);
}

/* Calls back for each word; whether a '-' stood before it is only told where keys are asked for. */
static int words_take(struct report_view *view, const struct vocabulary *known, const char *words,
	int (*take)(struct report_view *view, size_t at, bool reversed, struct error *error),
	struct error *error)
{
	char *copy CLEANUP(mem_done) = mem_dup(words), *rest = copy, *word;
	int r = 0;

	while (r == 0 && (word = strsep(&rest, ","))) {
		bool reversed = known->name == key_word && *word == '-';
		size_t at = 0;

		word += reversed;
		while (at < known->count && strcasecmp(known->name(at), word) != 0)
			at++;
		r = at < known->count ? take(view, at, reversed, error)
				      : word_unknown(known, word, error);
	}
	return r;
}

static int take_state(struct report_view *view, size_t at, bool reversed, struct error *error)
{
	(void)reversed;
	(void)error;
	view->states |= 1U << at;
	return 0;
}

static int take_reason(struct report_view *view, size_t at, bool reversed, struct error *error)
{
	(void)reversed;
	(void)error;
	view->reasons |= 1U << at;
	return 0;
}

static int take_key(struct report_view *view, size_t at, bool reversed, struct error *error)
{
	for (size_t i = 0; i < view->key_count; i++)
		if (view->keys[i].column == keys[at])
			return error_say(error, EINVAL, "a key stands twice in it");
	view->keys[view->key_count++] = (struct report_key){ keys[at], reversed };
	return 0;
}

static int take_column(struct report_view *view, size_t at, bool reversed, struct error *error)
{
	(void)reversed;
	for (size_t i = 0; i < view->column_count; i++)
		if (view->columns[i] == (enum report_column)at)
			return error_say(error, EINVAL, "a column stands twice in it");
	view->columns[view->column_count++] = (enum report_column)at;
	return 0;
}

static const struct vocabulary vocabularies[] = {
	[WORDS_STATES] = { "the states are", STATE_COUNT, state_word },
	[WORDS_REASONS] = { "the reasons are", REASON_COUNT, reason_word },
	[WORDS_KEYS] = { "the keys, '-' before one for the other way round, are", REPORT_KEYS,
		key_word },
	[WORDS_COLUMNS] = { "the columns are", COLUMN_COUNT, column_word },
};

int report_view_take_states(struct report_view *view, const char *words, struct error *error)
{
	view->states = 0;
	return words_take(view, &vocabularies[WORDS_STATES], words, take_state, error);
}

int report_view_take_reasons(struct report_view *view, const char *words, struct error *error)
{
	view->reasons = 0;
	return words_take(view, &vocabularies[WORDS_REASONS], words, take_reason, error);
}

int report_view_take_keys(struct report_view *view, const char *words, struct error *error)
{
	view->key_count = 0;
	return words_take(view, &vocabularies[WORDS_KEYS], words, take_key, error);
}

int report_view_take_columns(struct report_view *view, const char *words, struct error *error)
{
	view->column_count = 0;
	return words_take(view, &vocabularies[WORDS_COLUMNS], words, take_column, error);
}

const char *report_view_word(enum report_words of, size_t at)
{
	return at < vocabularies[of].count ? vocabularies[of].name(at) : NULL;
}
