#include "progress.h"

#include "base/text.h"

static void tell(struct progress *progress)
{
	if (progress->tell)
		progress->tell(progress);
}

void progress_begin(struct progress *progress, enum progress_stage stage, size_t all)
{
	if (!progress)
		return;
	progress->stage = stage;
	progress->all = all;
	progress->done = 0;
	progress->run = progress->doing = NULL;
	tell(progress);
}

void progress_run(struct progress *progress, size_t done, const char *run)
{
	if (!progress)
		return;
	progress->done = done;
	progress->run = run;
	progress->doing = NULL;
	tell(progress);
}

void progress_doing(struct progress *progress, const char *doing)
{
	if (!progress || text_equal(progress->doing, doing))
		return;
	progress->doing = doing;
	tell(progress);
}
