#include "report_stats.h"

#include "base/json_out.h"

static void json_date(struct json_out *json, const char *key, int64_t day)
{
	char date[STATS_DATE];

	json_text(json, key, stats_date(date, day));
}

/* Whole only within the object that is open. */
static void json_figures(struct json_out *json, const struct stats_figures *figures)
{
	struct stats_cause sum = stats_sum(figures);
	double percent = stats_leak_percent(figures);

	json_int(json, "registered", figures->registered);
	json_int(json, "reaped", sum.reaped);
	json_int(json, "partial", figures->partial);
	json_int(json, "failed", figures->failed);
	json_int(json, "stopped", figures->stopped);
	json_int(json, "leaks", sum.leaks);
	if (percent >= 0)
		json_double(json, "leak_percent", percent);
	else
		json_null(json, "leak_percent");
	json_int(json, "bytes_freed", sum.bytes);
	json_array(json, "causes");
	for (size_t i = 0; i < STATS_CAUSES; i++) {
		json_object(json, NULL);
		json_text(json, "cause", stats_cause_name(i));
		json_int(json, "leaks", figures->causes[i].leaks);
		json_int(json, "reaped", figures->causes[i].reaped);
		json_int(json, "bytes_freed", figures->causes[i].bytes);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_spans(struct json_out *json, const struct stats *stats)
{
	json_array(json, "spans");
	for (size_t i = 0; i < stats->span_count; i++) {
		json_object(json, NULL);
		json_date(json, "from", stats->spans[i].day);
		json_int(json, "days", stats->spans[i].days);
		json_figures(json, &stats->spans[i].figures);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_heap(struct json_out *json, const char *key, const struct stats_heap *heap)
{
	json_object(json, key);
	json_int(json, "runs", (int64_t)heap->runs);
	json_int(json, "bytes", heap->bytes);
	json_int(json, "unmeasured", (int64_t)heap->unmeasured);
	json_object_end(json);
}

static void json_largest(struct json_out *json, const struct stats *stats)
{
	json_array(json, "largest");
	for (size_t i = 0; i < stats->largest_count; i++) {
		const struct run *run = stats->largest[i];

		json_object(json, NULL);
		json_bytes(json, "run", run->id);
		json_text(json, "state", report_state_name(report_state_of(run)));
		json_int(json, "bytes", run->bytes);
		json_bool(json, "pinned", run->facts.pin != PIN_NONE);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_now(struct json_out *json, const struct stats *stats)
{
	json_object(json, "there");
	json_heap(json, "all", &stats->all);
	for (enum report_state state = 0; state < STATE_COUNT; state++)
		json_heap(json, report_state_name(state), &stats->states[state]);
	json_heap(json, "pinned", &stats->pinned);
	json_largest(json, stats);
	json_object_end(json);
}

static void json_unseen(struct json_out *json, const struct inventory *inventory)
{
	json_array(json, "unseen");
	for (size_t i = 0; i < inventory->source_count; i++) {
		if (inventory->sources[i].ok != TRI_NO)
			continue;
		json_object(json, NULL);
		json_text(json, "name", inventory->sources[i].name);
		json_bytes(json, "at", inventory->sources[i].at);
		json_bytes(json, "error", inventory->sources[i].error);
		json_object_end(json);
	}
	json_array_end(json);
}

void report_stats_json(const struct stats_report *report, FILE *file)
{
	const struct stats *stats = report->stats;
	struct json_out json = { .file = file };

	json_object(&json, NULL);
	json_int(&json, "schema", 1);
	json_bytes(&json, "host", report->host);
	json_moment(&json, "now", stats->now_s);
	json_date(&json, "from", stats->day);
	json_int(&json, "days", stats->days);
	json_object(&json, "total");
	json_figures(&json, &stats->total);
	json_object_end(&json);
	if (stats->before_known) {
		json_object(&json, "before");
		json_figures(&json, &stats->before);
		json_object_end(&json);
	} else {
		json_null(&json, "before");
	}
	json_spans(&json, stats);
	json_now(&json, stats);
	json_unseen(&json, report->inventory);
	json_object_end(&json);
}
