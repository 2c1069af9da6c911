#include "report_stats_plot.h"

#include "base/text.h"
#include "html_text.h"
#include "report_columns.h"

enum {
	WIDTH = 1000,
	HEIGHT = 250,
	LEFT = 56, /* of the first bar, behind the numbers of the axis */
	TOP = 12,
	BOTTOM = 220, /* where the bars stand */
	TICKS = 4,
	LABELS = 8 /* dates below the axis */
};

struct canvas {
	const struct stats *stats;
	const struct stats_plot *plot;
	int64_t step; /* of the axis */
	double per_unit, pitch, bar;
	FILE *file;
};

static int64_t total_of(const struct canvas *canvas, const struct stats_figures *figures)
{
	int64_t sum = 0;

	for (size_t i = 0; i < STATS_CAUSES; i++)
		sum += canvas->plot->value(&figures->causes[i]);
	return sum;
}

/* The least of 1, 2, 5, 10, 20, 50, … of a unit that TICKS of reach the highest bar. */
static int64_t step_for(int64_t most, bool bytes)
{
	static const int64_t rounds[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500 };
	const int64_t base = bytes ? 1024 : 1000;
	int64_t unit = 1;

	while (most / TICKS >= unit * base)
		unit *= base;
	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++)
		if (rounds[i] * unit * TICKS >= most)
			return rounds[i] * unit;
	return base * unit;
}

static char *value_text(const struct canvas *canvas, int64_t value)
{
	return canvas->plot->bytes ? report_size_text(value) : mem_printf("%lld", (long long)value);
}

static void draw_axis(const struct canvas *canvas)
{
	for (int64_t i = 0; i <= TICKS; i++) {
		char *text CLEANUP(mem_done) = value_text(canvas, i * canvas->step);
		double y = BOTTOM - (double)(i * canvas->step) * canvas->per_unit;

		(void)fprintf(canvas->file,
			"<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"axis\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			i ? "grid" : "base", LEFT, WIDTH, y, y, LEFT - 10, y + 4, text);
	}
}

/* What is said when a reader points at a bar. */
static void draw_title(const struct canvas *canvas, const struct stats_span *span)
{
	char *total CLEANUP(mem_done) = value_text(canvas, total_of(canvas, &span->figures));
	char date[STATS_DATE];

	(void)fprintf(canvas->file, "<title>%s: %s", stats_date(date, span->day), total);
	for (size_t i = 0; i < STATS_CAUSES; i++) {
		int64_t value = canvas->plot->value(&span->figures.causes[i]);
		char *text CLEANUP(mem_done) = value_text(canvas, value);

		if (value > 0)
			(void)fprintf(canvas->file, "\n%s %s", stats_cause_name(i), text);
	}
	(void)fputs("</title>", canvas->file);
}

static void draw_bar(const struct canvas *canvas, size_t place)
{
	const struct stats_span *span = &canvas->stats->spans[place];
	double x = LEFT + (double)place * canvas->pitch + (canvas->pitch - canvas->bar) / 2;
	double y = BOTTOM;

	(void)fputs("<g class=\"bar\">", canvas->file);
	draw_title(canvas, span);
	/* The whole column answers, also where its bar is low. */
	(void)fprintf(canvas->file,
		"<rect class=\"column\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
		LEFT + (double)place * canvas->pitch, TOP, canvas->pitch, BOTTOM - TOP);
	for (size_t i = 0; i < STATS_CAUSES; i++) {
		int64_t value = canvas->plot->value(&span->figures.causes[i]);
		double height = (double)value * canvas->per_unit;

		if (value <= 0)
			continue;
		y -= height;
		(void)fprintf(canvas->file,
			"<rect class=\"c%zu\" x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" "
			"height=\"%.2f\"/>",
			i, x, y, canvas->bar, height);
	}
	(void)fputs("</g>\n", canvas->file);
}

static void draw_dates(const struct canvas *canvas)
{
	size_t count = canvas->stats->span_count, every = (count + LABELS - 1) / LABELS;

	for (size_t i = 0; i < count; i += every) {
		char date[STATS_DATE];

		(void)fprintf(canvas->file,
			"<text class=\"axis\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
			LEFT + ((double)i + 0.5) * canvas->pitch, BOTTOM + 22,
			stats_date(date, canvas->stats->spans[i].day) + strlen("2026-"));
	}
}

void report_stats_plot(const struct stats *stats, const struct stats_plot *plot, FILE *file)
{
	struct canvas canvas = { .stats = stats, .plot = plot, .file = file };
	int64_t most = 0;

	for (size_t i = 0; i < stats->span_count; i++) {
		int64_t value = total_of(&canvas, &stats->spans[i].figures);

		most = value > most ? value : most;
	}
	canvas.step = step_for(most, plot->bytes);
	canvas.per_unit = (double)(BOTTOM - TOP) / (double)(canvas.step * TICKS);
	canvas.pitch = (double)(WIDTH - LEFT) / (double)stats->span_count;
	canvas.bar = canvas.pitch * 0.68 < 56 ? canvas.pitch * 0.68 : 56;
	(void)fprintf(file, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
		HEIGHT, plot->what);
	draw_axis(&canvas);
	for (size_t i = 0; i < stats->span_count; i++)
		draw_bar(&canvas, i);
	draw_dates(&canvas);
	(void)fputs("</svg>\n", file);
}
