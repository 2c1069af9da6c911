#include "flat.h"

#include <errno.h>

void flat_done(struct flat *flat)
{
	free(flat->samples);
	flat->samples = NULL;
	flat->sample_count = 0;
}

void flat_add(struct flat *flat, const double *numbers)
{
	size_t width = flat->column_count;

	assert(width <= FLAT_COLUMNS_MAX);
	flat->samples =
		mem_grow(flat->samples, (flat->sample_count + 1) * width, sizeof(*flat->samples));
	memcpy(flat->samples + flat->sample_count * width, numbers, width * sizeof(*numbers));
	flat->sample_count++;
}

struct half {
	double mean, most;
};

static struct half half_of(const struct flat *flat, size_t column, size_t from, size_t to)
{
	struct half half = { 0 };

	for (size_t i = from; i < to; i++) {
		double number = flat->samples[i * flat->column_count + column];

		half.mean += number / (double)(to - from);
		if (number > half.most)
			half.most = number;
	}
	return half;
}

static bool grew(
	const struct flat_column *column, const struct half *first, const struct half *then)
{
	double by_slack = first->mean + column->slack, by_factor = first->mean * column->factor;

	return column->factor > 0 && then->mean > (by_slack > by_factor ? by_slack : by_factor);
}

size_t flat_judge(const struct flat *flat, size_t skip, FILE *file)
{
	size_t middle = skip + (flat->sample_count - skip) / 2, count = 0;

	assert(middle > skip);
	(void)fprintf(file, "%-14s %21s %21s\n", "", "first half", "second half");
	(void)fprintf(file, "%-14s %12s %8s %12s %8s\n", "", "mean", "most", "mean", "most");
	for (size_t i = 0; i < flat->column_count; i++) {
		const struct flat_column *column = &flat->columns[i];
		struct half first = half_of(flat, i, skip, middle);
		struct half then = half_of(flat, i, middle, flat->sample_count);
		bool up = grew(column, &first, &then);

		(void)fprintf(file, "%-14s %12.1f %8.0f %12.1f %8.0f  %s\n", column->name,
			first.mean, first.most, then.mean, then.most,
			up                   ? "GREW"
			: column->factor > 0 ? "flat"
					     : "not judged");
		count += up;
	}
	return count;
}

int flat_write(const struct flat *flat, const char *path)
{
	FILE *file CLEANUP(file_done) = fopen(path, "we");

	if (!file)
		return -errno;
	(void)fprintf(file, "hour");
	for (size_t i = 0; i < flat->column_count; i++)
		(void)fprintf(file, "\t%s", flat->columns[i].name);
	for (size_t i = 0; i < flat->sample_count * flat->column_count; i++) {
		if (i % flat->column_count == 0)
			(void)fprintf(file, "\n%zu", i / flat->column_count);
		(void)fprintf(file, "\t%.1f", flat->samples[i]);
	}
	(void)fprintf(file, "\n");
	return ferror(file) ? -EIO : 0;
}
