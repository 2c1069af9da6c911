#include "failures_text.h"

#include "base/count.h"
#include "base/json_out.h"
#include "base/text.h"
#include "base/timespan.h"
#include "policy_limit.h"

bool run_is_failing(const struct run *run)
{
	return run->failures &&
	       (run->decision.verdict != VERDICT_KEEP || run->decision.reason == REASON_BACKOFF ||
		       run->decision.reason == REASON_DEFERRED);
}

/* 0: by the next pass. What failed in this pass did so after the moment that it decides for. */
static int64_t retry_s(const struct run *run, int64_t now_s)
{
	const struct failures *failures = run->failures;
	int64_t at_s = run->result == RESULT_FAILED ? failures->last_s : now_s;
	int64_t retry = policy_retry_s(failures->count, failures->last_s, at_s);

	return retry > at_s ? retry : 0;
}

char *failures_text(const struct run *run, int64_t now_s)
{
	char since[TIMESPAN_TEXT], last[TIMESPAN_TEXT], retry[TIMESPAN_TEXT], times[COUNT_TEXT];
	const struct failures *failures = run->failures;
	char *why CLEANUP(mem_done) = NULL;
	int64_t again_s;

	if (!failures)
		return NULL;
	again_s = retry_s(run, now_s);
	why = text_escape_prose(failures->error);
	return mem_printf("failed %s in a row since %s, last %s, is tried again %s%s%s%s",
		count_format(times, failures->count, "time"),
		moment_format(since, failures->since_s), moment_format(last, failures->last_s),
		again_s ? "at " : "by the next pass", again_s ? moment_format(retry, again_s) : "",
		run->error ? "" : ": ", run->error ? "" : why);
}

void failures_json(struct json_out *json, const struct run *run, int64_t now_s)
{
	const struct failures *failures = run->failures;

	if (!failures) {
		json_null(json, "failures");
		return;
	}
	json_object(json, "failures");
	json_moment(json, "since", failures->since_s);
	json_int(json, "count", failures->count);
	json_moment(json, "last", failures->last_s);
	json_moment(json, "retry", retry_s(run, now_s));
	json_bytes(json, "error", failures->error);
	json_object_end(json);
}
