#include "pin_watch.h"

#include "base/count.h"
#include "base/text.h"
#include "base/timespan.h"
#include "report_columns.h"

enum { SOON_S = 86400, LINES_MAX = 10 };

bool pin_ends_soon(const struct pin *pin, int64_t now_s)
{
	return pin && pin->until_s > now_s && pin->until_s - now_s <= SOON_S;
}

bool pin_end_is_news(const struct inventory *inventory, const struct run *run)
{
	const struct pin *pin = run->pin;
	int64_t soon_s;

	if (!pin_ends_soon(pin, inventory->now_s))
		return false;
	soon_s = pin->until_s - SOON_S;
	if (pin->since_s > soon_s)
		soon_s = pin->since_s;
	return inventory->host.last_pass_s < soon_s;
}

char *pin_end_text(const struct run *run, int64_t now_s)
{
	const struct pin *pin = run->pin;
	char until[TIMESPAN_TEXT], span[TIMESPAN_TEXT];
	struct text text = { 0 };

	text_add(&text, "the pin of ");
	text_add_escaped(&text, run->id);
	if (pin->by) {
		text_add(&text, " by ");
		text_add_escaped(&text, pin->by);
	}
	text_addf(&text, " ends at %s (in %s)", moment_format(until, pin->until_s),
		timespan_format(span, pin->until_s - now_s));
	if (pin->reason) {
		text_add(&text, ": ");
		text_add_escaped(&text, pin->reason);
	}
	return text.data;
}

bool pins_are_too_large(const struct report *report)
{
	int64_t limit = report->settings->policy.pinned_bytes_warn;

	return limit > 0 && report_count(report).pinned_bytes > limit;
}

char *pins_too_large_text(const struct report *report)
{
	char *held CLEANUP(mem_done) = NULL, *most CLEANUP(mem_done) = NULL;

	if (!pins_are_too_large(report))
		return NULL;
	held = report_size_text(report_count(report).pinned_bytes);
	most = report_size_text(report->settings->policy.pinned_bytes_warn);
	return mem_printf("pins hold %s, more than pinned_bytes_warn = %s", held, most);
}

static int end_order(const void *a, const void *b)
{
	int64_t left = (*(const struct run *const *)a)->pin->until_s;
	int64_t right = (*(const struct run *const *)b)->pin->until_s;

	return (left > right) - (left < right);
}

void report_pins(const struct report *report, FILE *file)
{
	const struct inventory *inventory = report->inventory;
	const struct run **ending CLEANUP(mem_done) =
		mem_grow(NULL, inventory->run_count, sizeof(*ending));
	char *too_large CLEANUP(mem_done) = pins_too_large_text(report);
	char pins[COUNT_TEXT];
	size_t count = 0;

	for (size_t i = 0; i < inventory->run_count; i++)
		if (pin_ends_soon(inventory->runs[i]->pin, inventory->now_s))
			ending[count++] = inventory->runs[i];
	if (count)
		qsort(ending, count, sizeof(*ending), end_order);
	for (size_t i = 0; i < count && i < LINES_MAX; i++) {
		char *line CLEANUP(mem_done) = pin_end_text(ending[i], inventory->now_s);

		(void)fprintf(file, "%s\n", line);
	}
	if (count > LINES_MAX)
		(void)fprintf(file, "ending within a day as well: %s, see 'sbx-reap pins'\n",
			count_format(pins, count - LINES_MAX, "pin"));
	if (too_large)
		(void)fprintf(file, "%s: sbx-reap pins\n", too_large);
}
