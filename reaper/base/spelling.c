#include "spelling.h"

#include "runid.h"
#include "text.h"

enum { NEAR = 2, PREFIX_LEAST = 4, WORD_MAX = RUNID_MAX };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Rows of the table of distances: of the letters before the last two, before the last, with it. */
struct rows {
	size_t before[WORD_MAX + 1], above[WORD_MAX + 1], row[WORD_MAX + 1];
};

/* Fills the row of a[at]; answers the least in it, which no later row falls below. */
static size_t rows_next(struct rows *rows, const char *a, size_t at, const char *b, size_t length)
{
	size_t lowest = rows->row[0] = at + 1;

	for (size_t j = 0; j < length; j++) {
		size_t change = rows->above[j] + (a[at] != b[j]);
		size_t one_more = least(rows->above[j + 1], rows->row[j]) + 1;

		rows->row[j + 1] = least(change, one_more);
		if (at > 0 && j > 0 && a[at] == b[j - 1] && a[at - 1] == b[j])
			rows->row[j + 1] = least(rows->row[j + 1], rows->before[j - 1] + 1);
		lowest = least(lowest, rows->row[j + 1]);
	}
	memcpy(rows->before, rows->above, sizeof(rows->before));
	memcpy(rows->above, rows->row, sizeof(rows->above));
	return lowest;
}

/* How many letters were mistyped (optimal string alignment); more than NEAR: too many. */
static size_t distance_of(const char *a, const char *b)
{
	size_t length_a = strlen(a), length_b = strlen(b);
	size_t apart = length_a > length_b ? length_a - length_b : length_b - length_a;
	struct rows rows = { 0 };

	if (apart > NEAR || length_a > WORD_MAX || length_b > WORD_MAX)
		return NEAR + 1;
	for (size_t j = 0; j <= length_b; j++)
		rows.above[j] = j;
	for (size_t i = 0; i < length_a; i++)
		if (rows_next(&rows, a, i, b, length_b) > NEAR)
			return NEAR + 1;
	return rows.above[length_b];
}

static bool is_near(size_t distance, const char *known)
{
	return distance > 0 && distance <= NEAR && 2 * distance < strlen(known);
}

void spelling_consider(struct spelling *spelling, const char *known)
{
	size_t distance = distance_of(spelling->word, known), place;
	bool goes_on = strlen(spelling->word) >= PREFIX_LEAST && text_starts(known, spelling->word);

	if (distance == 0 || (!goes_on && !is_near(distance, known)))
		return;
	for (place = 0; place < spelling->count; place++)
		if (text_equal(spelling->nearest[place], known))
			return;
	while (place > 0 && spelling->distances[place - 1] > distance)
		place--;
	if (place == SPELLING_NEAREST)
		return;
	spelling->count = least(spelling->count + 1, SPELLING_NEAREST);
	for (size_t i = spelling->count - 1; i > place; i--) {
		spelling->nearest[i] = spelling->nearest[i - 1];
		spelling->distances[i] = spelling->distances[i - 1];
	}
	spelling->nearest[place] = known;
	spelling->distances[place] = distance;
}

char *spelling_text(const struct spelling *spelling)
{
	struct text text = { 0 };

	text_add(&text, spelling->count ? "; is " : "");
	for (size_t i = 0; i < spelling->count; i++) {
		text_add(&text, i == 0 ? "'" : i + 1 < spelling->count ? "', '" : "' or '");
		text_add_escaped(&text, spelling->nearest[i]);
	}
	text_add(&text, spelling->count ? "' meant?" : "");
	return text.data;
}
