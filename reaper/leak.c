#include "leak.h"

#include "state/tally.h"

static const char *const leak_names[] = {
	[LEAK_FINISHED] = "finished_uncleaned",
	[LEAK_ABANDONED] = "abandoned",
	[LEAK_OVER_DEADLINE] = "over_deadline",
	[LEAK_ORPHAN] = "orphan",
};

const char *leak_name(enum leak leak)
{
	assert(leak < LEAK_COUNT);
	return leak_names[leak];
}

enum reason leak_reason(const char *name)
{
	enum reason reason = 0;

	while (reason < REASON_COUNT && !text_equal(reason_name(reason), name))
		reason++;
	return reason;
}

enum leak leak_behind(const struct tally *tally)
{
	switch (leak_reason(tally->cause)) {
	case REASON_FINISHED_OK:
	case REASON_FINISHED_FAILED:
	case REASON_PRESSURE:
		return LEAK_FINISHED;
	case REASON_ABANDONED:
		return LEAK_ABANDONED;
	case REASON_ORPHAN:
		return LEAK_ORPHAN;
	case REASON_OVER_DEADLINE:
		return LEAK_OVER_DEADLINE;
	case REASON_REQUESTED:
	case REASON_RESUMED:
	case REASON_PINNED:
	case REASON_PIN_UNKNOWN:
	case REASON_LOCKED:
	case REASON_LIVE:
	case REASON_RETAINED:
	case REASON_UNKNOWN:
	case REASON_UNSAVED_WORK:
	case REASON_FOREIGN:
	case REASON_REFUSED:
	case REASON_CLOCK:
	case REASON_HELD:
	case REASON_BRAKE:
	case REASON_BACKOFF:
	case REASON_CHANGED:
	case REASON_FILTERED:
	case REASON_DEFERRED:
	case REASON_COUNT:
		break;
	}
	return LEAK_COUNT;
}

enum leak leak_counted(const struct tally *tally)
{
	enum leak leak = leak_behind(tally);

	if (leak_reason(tally->reason) == REASON_COUNT)
		return LEAK_COUNT;
	if (text_equal(tally->action, "stopped"))
		return LEAK_OVER_DEADLINE;
	return text_equal(tally->action, "reaped") && leak != LEAK_OVER_DEADLINE ? leak
										 : LEAK_COUNT;
}
