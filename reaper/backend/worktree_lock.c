#include "worktree_lock.h"

#include "base/text.h"
#include "os/processes.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

/* The number behind a word, "pid 12", "pid: 12", "PID=12". 0 when there is none. */
static int64_t number_behind(const char *text, const char *word)
{
	char digits[20];
	int64_t value = 0;

	for (const char *at = text; (at = strcasestr(at, word)); at += strlen(word)) {
		const char *number = at + strlen(word);
		size_t length;

		number += strspn(number, " \t:=#");
		length = strspn(number, "0123456789");
		if (number == at + strlen(word) || (at > text && isalnum((unsigned char)at[-1])) ||
			length == 0 || length >= sizeof(digits))
			continue;
		memcpy(digits, number, length);
		digits[length] = 0;
		if (text_to_int64(digits, 1, INT64_MAX, &value) == 0)
			return value;
	}
	return 0;
}

static bool process_gone(int64_t pid, int64_t start)
{
	char token[PROCESS_TOKEN];
	const char *ticks;
	int64_t actual = 0;
	int r;

	if (pid > INT_MAX)
		return false;
	r = process_token((pid_t)pid, token, NULL);
	if (r < 0)
		return r == -ESRCH;
	ticks = strrchr(token, ':');
	return start && ticks && text_to_int64(ticks + 1, 0, INT64_MAX, &actual) == 0 &&
	       actual != start;
}

enum lock worktree_lock_judge(const char *text, int64_t changed_s, int64_t now_s, int64_t lease_s)
{
	int64_t pid = number_behind(text, "pid");

	if (text_equal(text, "initializing"))
		return now_s - changed_s > lease_s ? LOCK_STALE : LOCK_HELD;
	if (pid && process_gone(pid, number_behind(text, "start")))
		return LOCK_STALE;
	return LOCK_HELD;
}
