/*
 * What of a plan is shown, and how: chosen on the command line, for the eyes only. It never has a part
 * in what a pass does.
 */
#pragma once

#include "base/error.h"
#include "model.h"

/* The words of the table, and of --columns; some are also keys of --sort. */
enum report_column {
	COLUMN_RUN,
	COLUMN_STATE,
	COLUMN_AGE,
	COLUMN_SIZE,
	COLUMN_DECISION,
	COLUMN_REASON,
	COLUMN_DUE,
	COLUMN_PIN,
	COLUMN_BY,
	COLUMN_REPO,
	COLUMN_BYTES,
	COLUMN_HOLDER,
	COLUMN_COUNT
};

/* The first so many are shown where nobody chooses; what comes behind them, where there is room. */
enum { COLUMNS_BASIC = COLUMN_PIN + 1, REPORT_KEYS = 6 };

struct report_key {
	enum report_column column;
	bool reversed;
};

/* Zeroed: everything, by what matters. */
struct report_view {
	unsigned states;  /* a set of enum report_state, a bit each; 0: all */
	unsigned reasons; /* a set of enum reason; 0: all */
	int64_t older_s;  /* 0: of whatever age */
	struct text_list
		in_repos; /* repositories, or directories above them; empty: of any, or none */
	struct report_key keys[REPORT_KEYS];
	size_t key_count;
	enum report_column columns[COLUMN_COUNT];
	size_t column_count;
};

enum report_state { STATE_ACTIVE, STATE_FINISHED, STATE_CLAIMED, STATE_UNREGISTERED, STATE_COUNT };

enum report_state report_state_of(const struct run *run);
const char *report_state_name(enum report_state state);

/* "RUN", as it stands above the column. */
const char *report_column_heading(enum report_column column);

/*
 * Words with commas between them, as on the command line: "active,claimed", "live,unknown",
 * "-size,run" (the largest first), "run,reason". 0, or -EINVAL with an error that lists the right
 * words. What was there before is replaced.
 */
int report_view_take_states(struct report_view *view, const char *words, struct error *error);
int report_view_take_reasons(struct report_view *view, const char *words, struct error *error);
int report_view_take_keys(struct report_view *view, const char *words, struct error *error);
int report_view_take_columns(struct report_view *view, const char *words, struct error *error);

/* The same words one by one, in either case, for who completes them; NULL behind the last. */
enum report_words { WORDS_STATES, WORDS_REASONS, WORDS_KEYS, WORDS_COLUMNS };
const char *report_view_word(enum report_words of, size_t at);
