/*
 * Which of the paths that trees and repositories name may be touched. Their writers name what they
 * like, also where nobody answers; so each is asked by a child first (os/answering.h), and one
 * claimant's silent paths cost neither the others their answer nor a pass its time.
 */
#pragma once

#include "base/error.h"
#include "settings.h"

struct answers {
	struct text_list answering;  /* since answers_expire() */
	struct text_list silent;     /* for good: what was silent once is not touched in a pass */
	struct text_list given_up;   /* claimants of whom one path was silent */
	struct text_list unasked;    /* to be asked, */
	struct text_list unasked_by; /* each for this claimant */
};

/*
 * Whether the path may be touched. False: nobody answers there, or `by` named a silent one before and
 * is not asked for; or it was not asked yet, and then it will be by answers_ask().
 */
bool answers_may_touch(struct answers *answers, const char *by, const char *path);

/*
 * Asks what is noted. Of one claimant a few at a time, and no more after the first that is silent.
 * 0; -ETIME not all could be asked by then, -EINTR we are asked to stop, -errno there can be no child.
 */
int answers_ask(struct answers *answers, int64_t deadline_ms, struct error *error);

/* What answered must be asked anew, and so must who was given up. */
void answers_expire(struct answers *answers);
void answers_done(struct answers *answers);
