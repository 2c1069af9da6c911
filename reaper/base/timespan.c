#include "timespan.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <time.h>

struct unit {
	const char *name;
	int64_t ms;
};

/* The units of systemd.time(7) from milliseconds up; a month and a year are averages, as there. */
static const struct unit units[] = {
	{ "", 1000 },
	{ "ms", 1 },
	{ "msec", 1 },
	{ "s", 1000 },
	{ "sec", 1000 },
	{ "second", 1000 },
	{ "seconds", 1000 },
	{ "m", 60000 },
	{ "min", 60000 },
	{ "minute", 60000 },
	{ "minutes", 60000 },
	{ "h", 3600000 },
	{ "hr", 3600000 },
	{ "hour", 3600000 },
	{ "hours", 3600000 },
	{ "d", 86400000 },
	{ "day", 86400000 },
	{ "days", 86400000 },
	{ "w", 604800000 },
	{ "week", 604800000 },
	{ "weeks", 604800000 },
	{ "M", 2629800000 },
	{ "month", 2629800000 },
	{ "months", 2629800000 },
	{ "y", 31557600000 },
	{ "year", 31557600000 },
	{ "years", 31557600000 },
};

static int64_t unit_find_ms(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strlen(units[i].name) == length && memcmp(units[i].name, name, length) == 0)
			return units[i].ms;
	return 0;
}

static int timespan_refuse(const char *text, int code, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(text);

	return error_say(error, code,
		code == ERANGE ? "duration '%s' is too long: at most 100 years"
			       : "'%s' is no duration: write it like 90s, 15m, 2h, 1d12h or 2w",
		shown);
}

int timespan_parse_ms(const char *text, int64_t *ret_ms, struct error *error)
{
	const char *at = text + strspn(text, " ");
	int64_t total_ms = 0;

	if (!*at)
		return timespan_refuse(text, EINVAL, error);
	while (*at) {
		int64_t amount = 0, unit_ms;
		size_t digits = strspn(at, "0123456789"), letters;

		if (digits == 0)
			return timespan_refuse(text, EINVAL, error);
		for (size_t i = 0; i < digits; i++)
			if (__builtin_mul_overflow(amount, 10, &amount) ||
				__builtin_add_overflow(amount, at[i] - '0', &amount))
				return timespan_refuse(text, ERANGE, error);
		at += digits + strspn(at + digits, " ");
		for (letters = 0; isalpha((unsigned char)at[letters]);)
			letters++;
		unit_ms = unit_find_ms(at, letters);
		if (!unit_ms)
			return timespan_refuse(text, EINVAL, error);
		if (__builtin_mul_overflow(amount, unit_ms, &amount) ||
			__builtin_add_overflow(total_ms, amount, &total_ms) ||
			total_ms > TIMESPAN_MAX_S * 1000)
			return timespan_refuse(text, ERANGE, error);
		at += letters;
		at += strspn(at, " ");
	}
	*ret_ms = total_ms;
	return 0;
}

int timespan_parse_s(const char *text, int64_t *ret_s, struct error *error)
{
	int64_t ms = 0;
	int r = timespan_parse_ms(text, &ms, error);

	if (r < 0)
		return r;
	if (ms % 1000)
		return error_say(error, EINVAL, "'%s': only whole seconds count here", text);
	*ret_s = ms / 1000;
	return 0;
}

static int moment_refuse(const char *text, struct error *error)
{
	char *shown CLEANUP(mem_done) = text_escape(text);

	return error_say(error, EINVAL,
		"'%s' is no time: write it like 2026-11-29T15:33:00Z, @1764430380, +2h or -15m",
		shown);
}

static int moment_parse_relative(
	const char *text, int64_t now_s, int64_t *ret_s, struct error *error)
{
	int64_t span_s;
	int r = timespan_parse_s(text + 1, &span_s, error);

	if (r < 0)
		return r;
	now_s += *text == '-' ? -span_s : span_s;
	if (now_s < 0 || now_s > MOMENT_MAX_S)
		return moment_refuse(text, error);
	*ret_s = now_s;
	return 0;
}

/*
 * Two digits at *at within [0, max]; moves past them and past the character after, if it is next.
 */
static int digits_take(const char **at, int count, int max, const char *after, int *ret_value)
{
	int value = 0;

	for (; count > 0; count--, (*at)++) {
		if (!isdigit((unsigned char)**at))
			return -EINVAL;
		value = value * 10 + (**at - '0');
	}
	if (*after) {
		if (!**at || !strchr(after, **at))
			return -EINVAL;
		(*at)++;
	}
	if (value > max)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static int offset_take(const char **at, int *ret_offset_s)
{
	int sign, hours, minutes;

	if (**at == 'Z' || **at == 'z') {
		(*at)++;
		*ret_offset_s = 0;
		return 0;
	}
	if (**at != '+' && **at != '-')
		return -EINVAL;
	sign = *(*at)++ == '-' ? -1 : 1;
	if (digits_take(at, 2, 23, ":", &hours) < 0 || digits_take(at, 2, 59, "", &minutes) < 0)
		return -EINVAL;
	*ret_offset_s = sign * (hours * 3600 + minutes * 60);
	return 0;
}

static int moment_parse_rfc3339(const char *text, int64_t *ret_s)
{
	struct tm tm = { 0 };
	const char *at = text;
	int offset_s, day;
	int64_t moment_s;

	if (digits_take(&at, 4, 9999, "-", &tm.tm_year) < 0 ||
		digits_take(&at, 2, 12, "-", &tm.tm_mon) < 0 ||
		digits_take(&at, 2, 31, "Tt ", &tm.tm_mday) < 0 ||
		digits_take(&at, 2, 23, ":", &tm.tm_hour) < 0 ||
		digits_take(&at, 2, 59, ":", &tm.tm_min) < 0 ||
		digits_take(&at, 2, 60, "", &tm.tm_sec) < 0)
		return -EINVAL;
	if (*at == '.') {
		size_t digits = strspn(at + 1, "0123456789");

		if (digits == 0)
			return -EINVAL;
		at += 1 + digits;
	}
	if (offset_take(&at, &offset_s) < 0 || *at || tm.tm_mon < 1 || tm.tm_mday < 1 ||
		tm.tm_year < 1970)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	if (tm.tm_sec == 60) /* a leap second: timegm would carry it into the next day */
		tm.tm_sec = 59;
	day = tm.tm_mday;
	moment_s = timegm(&tm);
	if (tm.tm_mday != day) /* 30 February: timegm made it a day of March */
		return -EINVAL;
	moment_s -= offset_s;
	if (moment_s < 0 || moment_s > MOMENT_MAX_S)
		return -EINVAL;
	*ret_s = moment_s;
	return 0;
}

int moment_parse_s(const char *text, int64_t now_s, int64_t *ret_s, struct error *error)
{
	if (*text == '+' || *text == '-')
		return moment_parse_relative(text, now_s, ret_s, error);
	if (*text == '@')
		return text_to_int64(text + 1, 0, MOMENT_MAX_S, ret_s) < 0
			       ? moment_refuse(text, error)
			       : 0;
	return moment_parse_rfc3339(text, ret_s) < 0 ? moment_refuse(text, error) : 0;
}

const char *timespan_format(char buffer[TIMESPAN_TEXT], int64_t span_s)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} steps[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	int64_t rest = span_s < 0 ? -span_s : span_s;
	size_t used = 0, shown = 0;

	if (span_s < 0)
		buffer[used++] = '-';
	for (size_t i = 0; i < ARRAY_SIZE(steps) && shown < 2; i++) {
		int64_t amount = rest / steps[i].seconds;

		rest %= steps[i].seconds;
		if (amount == 0 && (shown > 0 || i + 1 < ARRAY_SIZE(steps))) {
			shown += shown > 0;
			continue;
		}
		used += (size_t)snprintf(buffer + used, TIMESPAN_TEXT - used, "%s%lld%s",
			shown ? " " : "", (long long)amount, steps[i].name);
		shown++;
	}
	return buffer;
}

const char *timespan_format_short(char buffer[TIMESPAN_TEXT], int64_t span_s)
{
	static const struct {
		int64_t seconds;
		char name;
	} steps[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	const char *sign = span_s < 0 ? "-" : "";
	int64_t rest = span_s < 0 ? -span_s : span_s, first, second;
	size_t at = 0;

	while (at + 1 < ARRAY_SIZE(steps) && rest < steps[at].seconds)
		at++;
	first = rest / steps[at].seconds;
	second = at + 1 < ARRAY_SIZE(steps) ? rest % steps[at].seconds / steps[at + 1].seconds : 0;
	if (first >= 10 || second == 0)
		(void)snprintf(
			buffer, TIMESPAN_TEXT, "%s%lld%c", sign, (long long)first, steps[at].name);
	else
		(void)snprintf(buffer, TIMESPAN_TEXT, "%s%lld%c%lld%c", sign, (long long)first,
			steps[at].name, (long long)second, steps[at + 1].name);
	return buffer;
}

const char *moment_format(char buffer[TIMESPAN_TEXT], int64_t moment_s)
{
	time_t moment = (time_t)moment_s;
	struct tm tm;

	if (!gmtime_r(&moment, &tm) ||
		strftime(buffer, TIMESPAN_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(buffer, TIMESPAN_TEXT, "@%lld", (long long)moment_s);
	return buffer;
}
