#include "report_progress.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/display.h"
#include "base/text.h"
#include "report_columns.h"

enum {
	PATIENCE_MS = 500, /* what takes less needs no word */
	AGAIN_MS = 100     /* more often nobody can read */
};

static void add_share(struct text *line, const struct progress *progress)
{
	char runs[COUNT_TEXT];

	text_addf(line, "%zu of %s", progress->done, count_format(runs, progress->all, "run"));
}

static void add_run(struct text *line, const struct progress *progress)
{
	char *shown CLEANUP(mem_done) = progress->run ? text_escape(progress->run) : NULL;

	if (shown)
		text_addf(line, ", at %s", shown);
	if (shown && progress->doing)
		text_addf(line, ": %s", progress->doing);
}

/* What comes first is seen last on a narrow terminal. */
static char *line_of(const struct progress *progress)
{
	char *freed CLEANUP(mem_done) = report_size_text(progress->bytes_freed);
	struct text line = { 0 };

	switch (progress->stage) {
	case PROGRESS_LOOKING:
		text_add(&line, "looked into ");
		break;
	case PROGRESS_MEASURING:
		text_add(&line, "measured ");
		break;
	case PROGRESS_ACTING:
		text_addf(&line, "%s freed, done ", freed);
		break;
	}
	add_share(&line, progress);
	add_run(&line, progress);
	return line.data;
}

static void show(struct report_progress *shown, int64_t now_ms)
{
	char *line CLEANUP(mem_done) = line_of(&shown->progress);
	size_t room = shown->terminal.columns - 1; /* in the last column some begin a new line */
	char *cut CLEANUP(mem_done) = display_cut(line, room, shown->terminal.utf8 ? "…" : "..");

	(void)fprintf(shown->file, "\r%s\x1b[K", cut);
	(void)fflush(shown->file);
	shown->shown_ms = now_ms;
}

static void told(struct progress *progress)
{
	struct report_progress *shown =
		(struct report_progress *)((char *)progress -
					   offsetof(struct report_progress, progress));
	int64_t now_ms = clock_boot_ms();

	if (now_ms - shown->begun_ms < PATIENCE_MS ||
		(shown->shown_ms && now_ms - shown->shown_ms < AGAIN_MS))
		return;
	show(shown, now_ms);
}

struct progress *report_progress_start(
	struct report_progress *progress, FILE *file, struct terminal terminal)
{
	*progress = (struct report_progress){
		.file = file,
		.terminal = terminal,
		.begun_ms = clock_boot_ms(),
	};
	if (terminal.columns > 1 && terminal.controls)
		progress->progress.tell = told;
	return &progress->progress;
}

void report_progress_clear(struct report_progress *progress)
{
	if (!progress->shown_ms)
		return;
	(void)fputs("\r\x1b[K", progress->file);
	(void)fflush(progress->file);
	progress->shown_ms = 0;
}
