#include "worktree_answers.h"

#include "base/clock.h"
#include "base/text.h"
#include "os/answering.h"
#include "os/signals.h"
#include "text_list.h"

#include <errno.h>

enum { AT_A_TIME = 4 };

bool answers_may_touch(struct answers *answers, const char *by, const char *path)
{
	if (text_list_has(&answers->answering, path))
		return true;
	if (text_list_at_or_above(&answers->silent, path) ||
		text_list_has(&answers->given_up, by) || text_list_has(&answers->unasked, path))
		return false;
	text_list_add(&answers->unasked, path);
	text_list_add(&answers->unasked_by, by);
	return false;
}

/* A claimant's next few from `at` on: how many, or -errno. */
static int ask_few(struct answers *answers, size_t at, struct error *error)
{
	const struct text_list *paths = &answers->unasked, *by = &answers->unasked_by;
	bool silent[AT_A_TIME] = { false };
	size_t count = 1;
	int r;

	while (count < AT_A_TIME && at + count < paths->count &&
		text_equal(by->items[at], by->items[at + count]))
		count++;
	r = answering_ask((const char *const *)&paths->items[at], count, silent, error);
	if (signals_stop_wanted()) /* who does not answer then may only be slow */
		return error_set(error, EINTR, "ask whether what a tree names answers");
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		text_list_add(
			silent[i] ? &answers->silent : &answers->answering, paths->items[at + i]);
		if (silent[i])
			text_list_add_new(&answers->given_up, by->items[at]);
	}
	return (int)count;
}

static void forget_unasked(struct answers *answers)
{
	text_list_done(&answers->unasked);
	text_list_done(&answers->unasked_by);
}

int answers_ask(struct answers *answers, int64_t deadline_ms, struct error *error)
{
	int r = 0;

	for (size_t at = 0; r >= 0 && at < answers->unasked.count; at += (size_t)(r > 0 ? r : 0)) {
		if (text_list_has(&answers->given_up, answers->unasked_by.items[at]))
			r = 1;
		else if (deadline_left_ms(deadline_ms) == 0)
			r = error_set(error, ETIME, "ask whether what trees name answers");
		else
			r = ask_few(answers, at, error);
	}
	forget_unasked(answers);
	return r < 0 ? r : 0;
}

void answers_expire(struct answers *answers)
{
	text_list_done(&answers->answering);
	text_list_done(&answers->given_up);
	forget_unasked(answers);
}

void answers_done(struct answers *answers)
{
	answers_expire(answers);
	text_list_done(&answers->silent);
}
