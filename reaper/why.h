/* sbx-reap why: a run that was looked at, and how that is told. */
#pragma once

#include "inventory.h"
#include "policy.h"
#include "report.h"
#include "session.h"
#include "state/history.h"
#include "state/salvages.h"
#include "why_subject.h"

struct look {
	struct session session;
	struct inventory inventory;
	struct run *run; /* the inventory's; NULL: nothing of that name is there */
	char *manner;    /* what further commands end with, as they were asked for here; quoted */
};

struct question look_question(const struct look *look);

/* By rules 1 to 8, whatever a hold, a full disk or the brake makes of it. */
struct decision look_own_decision(const struct look *look);

/* For what is made of the facts alone; there is a run. */
struct why_subject look_subject(const struct look *look);

struct report look_report(const struct look *look);

/* What the database has of the run; nothing where there is none yet. 0 or -errno. */
int look_each_history(const struct look *look,
	void (*each)(void *context, const struct history_entry *entry), void *context,
	struct error *error);
int look_each_salvage(const struct look *look,
	int (*each)(void *context, const struct salvage *salvage), void *context,
	struct error *error);

/* All of it on stdout. 0, or -errno where the database could not tell the rest. */
int why_text(const struct look *look, struct error *error);
int why_json(const struct look *look, struct error *error);

/* Only what was done with it, for people. */
int why_text_past(const struct look *look, struct error *error);
