#include "worktree_lock.h"

#include "base/text.h"
#include "os/processes.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

enum { CLOCK_SLACK_S = 300 /* DESIGN.md, section 6, rule 4 */, COMM = 64 };

/* A process as a lock names it. */
struct named {
	int64_t pid;
	int64_t start; /* in ticks; 0: none, or a date */
	bool ends;     /* nothing follows it but its start and what closes a bracket */
};

/*
 * The number at the beginning of text, behind "=", ":" and blanks: *ret_end is what follows. 0: there
 * is none, or it is a part of something else ("4711th", "2026-11-29").
 */
static int64_t number_at(const char *text, const char **ret_end)
{
	const char *number = text + strspn(text, " \t:=#");
	size_t length = strspn(number, "0123456789");
	char digits[20];
	int64_t value = 0;

	*ret_end = number + length;
	if (number == text || length == 0 || length >= sizeof(digits))
		return 0;
	if (isalnum((unsigned char)**ret_end) || **ret_end == '-' || **ret_end == ':')
		return 0;
	memcpy(digits, number, length);
	digits[length] = 0;
	return text_to_int64(digits, 1, INT64_MAX, &value) == 0 ? value : 0;
}

static bool closes(const char *text)
{
	return !text[strspn(text, " \t)]}>.,;\"'")];
}

/* "start 456", "start Fri Jun 19 21:37:40 2026": a date is not asked, nobody knows of which zone. */
static void start_read(struct named *named, const char *text)
{
	const char *start = text + strspn(text, " \t,;");

	if (strncasecmp(start, "start", strlen("start")) != 0)
		return;
	start += strlen("start");
	named->start = number_at(start, &text);
	if (!named->start)
		text = start + strcspn(start, ")]}");
	named->ends = closes(text);
}

/* The next process that a text names from *at on. */
static bool named_next(const char *text, const char **at, struct named *ret_named)
{
	const char *found, *rest;

	for (; (found = strcasestr(*at, "pid")); *at = found + 1) {
		struct named named = { .pid = number_at(found + strlen("pid"), &rest) };

		if (!named.pid || (found > text && isalnum((unsigned char)found[-1])))
			continue;
		named.ends = closes(rest);
		start_read(&named, rest);
		*ret_named = named;
		*at = rest;
		return true;
	}
	return false;
}

static enum lock stale(char ret_whose[LOCK_WHOSE], pid_t pid, const char *why)
{
	(void)snprintf(ret_whose, LOCK_WHOSE, "process %d %s", pid, why);
	return LOCK_STALE;
}

/* Whether a process that has the number now is provably not who wrote the lock. */
static enum lock judge_living(const struct named *named, const struct lock_told *told,
	int64_t ticks, int64_t started_s, char ret_whose[LOCK_WHOSE])
{
	pid_t pid = (pid_t)named->pid;
	char comm[COMM];

	if (named->start && named->start != ticks)
		return stale(ret_whose, pid, "is gone; another one has its number");
	if (started_s > told->changed_s + CLOCK_SLACK_S)
		return stale(ret_whose, pid, "began after it was locked, so it is another one");
	process_comm(pid, comm, sizeof(comm));
	(void)snprintf(ret_whose, LOCK_WHOSE, "process %d (%s) is alive", pid, comm);
	return LOCK_HELD;
}

static enum lock judge_process(
	const struct named *named, const struct lock_told *told, char ret_whose[LOCK_WHOSE])
{
	struct process_start start;
	int r = named->pid > INT_MAX ? -ERANGE : process_start((pid_t)named->pid, &start);

	if (r == 0)
		return judge_living(named, told, start.ticks, told->now_s - start.age_s, ret_whose);
	if (r == -ESRCH)
		return stale(ret_whose, (pid_t)named->pid, "is gone");
	(void)snprintf(ret_whose, LOCK_WHOSE, "whether process %lld is alive cannot be told",
		(long long)named->pid);
	return LOCK_HELD;
}

/* Of several it is held by any. */
static enum lock judge_processes(const struct lock_told *told, char ret_whose[LOCK_WHOSE])
{
	enum lock lock = LOCK_HELD;
	const char *at = told->text;
	struct named named = { 0 };

	while (named_next(told->text, &at, &named)) {
		lock = judge_process(&named, told, ret_whose);
		if (lock == LOCK_HELD)
			return LOCK_HELD;
	}
	if (named.pid && !named.ends) {
		(void)snprintf(ret_whose, LOCK_WHOSE, "a person's, since no tool writes that");
		return LOCK_HELD;
	}
	return lock;
}

enum lock worktree_lock_judge(const struct lock_told *told, char ret_whose[LOCK_WHOSE])
{
	bool old = told->now_s - told->changed_s > told->lease_s;

	ret_whose[0] = 0;
	if (!text_equal(told->text, "initializing"))
		return judge_processes(told, ret_whose);
	(void)snprintf(ret_whose, LOCK_WHOSE, "%s",
		old ? "git never finished making it" : "git is making it");
	return old ? LOCK_STALE : LOCK_HELD;
}
