/*
 * A pass in the journal: an entry for each run that the table would show, for each source that did not
 * answer, and one for the pass. units/sbx-reap.catalog explains each kind by its MESSAGE_ID.
 */
#pragma once

#include "report.h"

/*
 * In the words of every other form (P11), with the fields SBX_PASS, SBX_RUN, SBX_KIND (one for each kind
 * of resource), SBX_STATE, SBX_VERDICT, SBX_REASON, SBX_RESULT, SBX_BYTES (freed), SBX_DURATION_US,
 * SBX_SOURCE, SBX_AT, SBX_EXIT_CODE and the totals. Bytes from outside are escaped. 0 or -errno of the
 * first that could not be sent; the others are sent.
 */
int report_journal(const struct report *report, enum exit_code code);
