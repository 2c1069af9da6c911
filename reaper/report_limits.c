/* What keeps or presses the plan as a whole, in words. */
#include "report.h"

#include "base/count.h"
#include "base/text.h"
#include "base/timespan.h"

static void print_part(const char *before, const char *text, FILE *file)
{
	char *shown CLEANUP(mem_done) = text ? text_escape(text) : NULL;

	if (shown)
		(void)fprintf(file, "%s%s", before, shown);
}

static void print_hold(const struct hold *hold, FILE *file)
{
	char since[TIMESPAN_TEXT], until[TIMESPAN_TEXT];

	if (!hold)
		return;
	(void)fputs("held", file);
	print_part(" by ", hold->by, file);
	(void)fprintf(file, " since %s until %s", moment_format(since, hold->since_s),
		hold->until_s ? moment_format(until, hold->until_s) : "'sbx-reap resume'");
	print_part(": ", hold->reason, file);
	(void)fputc('\n', file);
}

static void print_brake(const struct brake *brake, const struct limit_settings *limits, FILE *file)
{
	char until[TIMESPAN_TEXT], runs[COUNT_TEXT];

	if (brake->state == BRAKE_OFF)
		return;
	(void)moment_format(until, brake->until_s);
	(void)fprintf(file,
		"brake: %zu of %s with proof are due (brake_runs %lld, brake_share %lld%%): ",
		brake->due, count_format(runs, brake->proven, "run"), (long long)limits->brake_runs,
		(long long)limits->brake_share);
	if (brake->state == BRAKE_HOLDS)
		(void)fprintf(file, "they stay until %s; --yes and --run pass it\n", until);
	else
		(void)fprintf(file, "an unattended pass would keep them until %s\n", until);
}

static double percent(int64_t used, int64_t total)
{
	return total > 0 ? 100.0 * (double)used / (double)total : 0;
}

static void print_pressure(
	const struct filesystem *fs, const struct disk_settings *disk, FILE *file)
{
	if (!fs->full)
		return;
	(void)fputs("pressure: ", file);
	print_part("", fs->roots[0], file);
	(void)fprintf(
		file, " has used %.1f%% of its bytes", percent(fs->used_bytes, fs->total_bytes));
	if (fs->total_inodes)
		(void)fprintf(file, " and %.1f%% of its inodes",
			percent(fs->used_inodes, fs->total_inodes));
	(void)fprintf(file, ", more than high = %lld%%; what goes %s below low = %lld%%\n",
		(long long)disk->high, fs->relieved ? "brings it" : "does not bring it",
		(long long)disk->low);
}

void report_limits(const struct report *report, FILE *file)
{
	const struct inventory *inventory = report->inventory;

	print_hold(inventory->hold, file);
	print_brake(&inventory->brake, &report->settings->limits, file);
	for (size_t i = 0; i < inventory->filesystem_count; i++)
		print_pressure(&inventory->filesystems[i], &report->settings->disk, file);
}
