#include "stats.h"

#include "base/timespan.h"
#include "disk.h"
#include "state/tally.h"

/* So many bars fit an eye, and a terminal. */
enum { BARS = 35 };

static int64_t span_days(int64_t days)
{
	static const int64_t lengths[] = { 1, 7, 30, 365 };
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(lengths) && days > lengths[i] * BARS)
		i++;
	return lengths[i];
}

static int64_t first_day(int64_t since_s, int64_t today)
{
	int64_t day = (since_s + STATS_DAY_S - 1) / STATS_DAY_S;

	if (!since_s)
		return today - STATS_DAYS + 1;
	return day < today ? day : today;
}

void stats_begin(struct stats *ret_stats, int64_t since_s, int64_t now_s)
{
	int64_t today = now_s / STATS_DAY_S;
	int64_t day = first_day(since_s, today), days = today - day + 1, length = span_days(days);

	*ret_stats = (struct stats){ .now_s = now_s, .day = day, .days = days };
	ret_stats->span_count = (size_t)((days + length - 1) / length);
	ret_stats->spans = mem_new(ret_stats->span_count * sizeof(*ret_stats->spans));
	for (size_t i = 0; i < ret_stats->span_count; i++) {
		struct stats_span *span = &ret_stats->spans[i];

		span->day = day + (int64_t)i * length;
		span->days = today + 1 - span->day < length ? today + 1 - span->day : length;
	}
}

void stats_done(struct stats *stats)
{
	free(stats->spans);
	*stats = (struct stats){ 0 };
}

int64_t stats_first_day(const struct stats *stats)
{
	return stats->day - stats->days;
}

static void figures_add(struct stats_figures *figures, const struct tally *tally)
{
	enum leak counted = leak_counted(tally);
	struct stats_cause *cause = &figures->causes[leak_behind(tally)];

	if (text_equal(tally->action, "registered")) {
		figures->registered += tally->runs;
		return;
	}
	figures->partial += text_equal(tally->action, "partial") ? tally->runs : 0;
	figures->failed += text_equal(tally->action, "failed") ? tally->runs : 0;
	figures->stopped += text_equal(tally->action, "stopped") ? tally->runs : 0;
	cause->reaped += text_equal(tally->action, "reaped") ? tally->runs : 0;
	cause->bytes += tally->bytes;
	if (counted < LEAK_COUNT)
		figures->causes[counted].leaks += tally->runs;
}

void stats_add(struct stats *stats, int64_t day, const struct tally *tally)
{
	int64_t place = day - stats->day;

	if (place >= stats->days || place < -stats->days)
		return;
	if (place < 0) {
		figures_add(&stats->before, tally);
		stats->before_known = true;
		return;
	}
	figures_add(&stats->total, tally);
	figures_add(&stats->spans[place / stats->spans[0].days].figures, tally);
}

static void heap_add(struct stats_heap *heap, const struct run *run)
{
	heap->runs++;
	heap->unmeasured += run->bytes < 0 && disk_run_takes_space(run);
	heap->bytes += run->bytes < 0 ? run->bytes_least : run->bytes;
}

/* Among the largest, in order; what is as large as another one comes behind it. */
static void rank(struct stats *stats, const struct run *run)
{
	size_t at = stats->largest_count;

	if (run->bytes <= 0)
		return;
	while (at > 0 && stats->largest[at - 1]->bytes < run->bytes)
		at--;
	if (at == STATS_LARGEST)
		return;
	if (stats->largest_count < STATS_LARGEST)
		stats->largest_count++;
	for (size_t i = stats->largest_count - 1; i > at; i--)
		stats->largest[i] = stats->largest[i - 1];
	stats->largest[at] = run;
}

void stats_see(struct stats *stats, const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->run_count; i++) {
		const struct run *run = inventory->runs[i];

		heap_add(&stats->all, run);
		heap_add(&stats->states[report_state_of(run)], run);
		if (run->facts.pin != PIN_NONE)
			heap_add(&stats->pinned, run);
		rank(stats, run);
	}
}

struct stats_cause stats_sum(const struct stats_figures *figures)
{
	struct stats_cause sum = { 0 };

	for (size_t i = 0; i < STATS_CAUSES; i++) {
		sum.leaks += figures->causes[i].leaks;
		sum.reaped += figures->causes[i].reaped;
		sum.bytes += figures->causes[i].bytes;
	}
	return sum;
}

double stats_leak_percent(const struct stats_figures *figures)
{
	if (figures->registered == 0)
		return -1;
	return 100.0 * (double)stats_sum(figures).leaks / (double)figures->registered;
}

const char *stats_cause_name(size_t cause)
{
	return cause < LEAK_COUNT ? leak_name((enum leak)cause) : "other";
}

const char *stats_date(char buffer[STATS_DATE], int64_t day)
{
	char moment[TIMESPAN_TEXT];

	(void)moment_format(moment, day * STATS_DAY_S);
	(void)snprintf(buffer, STATS_DATE, "%.10s", moment);
	return buffer;
}
