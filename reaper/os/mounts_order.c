#include "mounts_order.h"

#include "base/pathname.h"

/* The byte of a path as paths are ordered: a '/' before every other, the end before that. */
static unsigned path_byte(char byte)
{
	return byte == '/' ? 1 : byte ? (unsigned char)byte + 1U : 0;
}

/* By components, so that all that lies below a path follows it at once: "/a" "/a/b" "/a-b". */
static int path_order(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (int)path_byte(*a) - (int)path_byte(*b);
}

static int point_order(const void *a, const void *b)
{
	const struct mount *left = *(const struct mount *const *)a;
	const struct mount *right = *(const struct mount *const *)b;
	int order = path_order(left->point, right->point);

	return order ? order : (left > right) - (left < right);
}

void mounts_sort(struct mount_table *table)
{
	table->by_path = mem_grow(NULL, table->count, sizeof(*table->by_path));
	for (size_t i = 0; i < table->count; i++)
		table->by_path[i] = &table->mounts[i];
	qsort(table->by_path, table->count, sizeof(*table->by_path), point_order);
}

/* Where in by_path the points begin that do not come before the path. */
static size_t first_from(const struct mount_table *table, const char *path)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path_order(table->by_path[middle]->point, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where in by_path, from there on, they do not lie at or below the path any more. */
static size_t first_outside(const struct mount_table *table, const char *path, size_t low)
{
	size_t high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *point = table->by_path[middle]->point;

		if (text_equal(point, path) || pathname_below(point, path))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t mounts_within(
	const struct mount_table *table, const char *path, const struct mount *const **ret_first)
{
	size_t first = first_from(table, path);

	*ret_first = table->count ? table->by_path + first : NULL;
	return first_outside(table, path, first) - first;
}

const struct mount *mounts_below(const struct mount_table *table, const char *path)
{
	const struct mount *const *first;
	size_t count = mounts_within(table, path, &first);

	return first && count ? *first : NULL;
}

const struct mount *mounts_at(const struct mount_table *table, const char *path)
{
	const struct mount *const *list, **order CLEANUP(mem_done) = NULL;
	size_t count = mounts_within(table, path, &list), at = 0;

	while (at < count && text_equal(list[at]->point, path))
		at++;
	if (!at)
		return NULL;
	order = mounts_downward(list, at);
	return order[0];
}

/* A mount and where it hangs: what is sorted to find the children of each. */
struct hanging {
	const struct mount *mount;
	uint64_t parent;
	bool beside; /* not mounted over its parent's own root */
	bool below;  /* its parent is in the list as well */
	bool taken;  /* into the order */
};

static int id_order(const void *a, const void *b)
{
	uint64_t left = (*(const struct mount *const *)a)->id;
	uint64_t right = (*(const struct mount *const *)b)->id;

	return (left > right) - (left < right);
}

/* By parent; what is mounted over the parent first. */
static int hanging_order(const void *a, const void *b)
{
	const struct hanging *left = a, *right = b;

	if (left->parent != right->parent)
		return left->parent > right->parent ? 1 : -1;
	return (int)left->beside - (int)right->beside;
}

static struct hanging *hang(const struct mount *const *list, size_t count)
{
	struct hanging *all = mem_grow(NULL, count, sizeof(*all));
	const struct mount **by_id CLEANUP(mem_done) = mem_grow(NULL, count, sizeof(*by_id));

	memcpy(by_id, list, count * sizeof(*by_id));
	qsort(by_id, count, sizeof(*by_id), id_order);
	for (size_t i = 0; i < count; i++) {
		const struct mount sought = { .id = list[i]->parent }, *key = &sought;
		const struct mount **parent = bsearch(&key, by_id, count, sizeof(*by_id), id_order);

		all[i] = (struct hanging){
			.mount = list[i],
			.parent = list[i]->parent,
			.beside = !parent || !text_equal((*parent)->point, list[i]->point),
			.below = parent && *parent != list[i],
		};
	}
	qsort(all, count, sizeof(*all), hanging_order);
	return all;
}

/* The first of the children of that mount; those follow each other. */
static size_t first_child(const struct hanging *all, size_t count, uint64_t parent)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The order while it is made, from its end to its start. */
struct ordering {
	struct hanging *all;
	size_t count;
	const struct mount **order, **open;
	size_t left, opened;
};

static void ordering_open(struct ordering *ordering, struct hanging *hanging)
{
	if (!hanging->taken)
		ordering->open[ordering->opened++] = hanging->mount;
	hanging->taken = true;
}

/* A mount and all that hangs on it. Without recursion: mounts can be stacked by the thousand. */
static void ordering_take(struct ordering *ordering, struct hanging *top)
{
	ordering_open(ordering, top);
	while (ordering->opened) {
		const struct mount *mount = ordering->open[--ordering->opened];
		size_t i = first_child(ordering->all, ordering->count, mount->id);

		ordering->order[--ordering->left] = mount;
		for (; i < ordering->count && ordering->all[i].parent == mount->id; i++)
			ordering_open(ordering, &ordering->all[i]);
	}
}

/*
 * Each before what hangs on it, and so from the end of the order to its start. A table that changed
 * while it was read may name parents in a circle: those mounts come in any order.
 */
const struct mount **mounts_downward(const struct mount *const *list, size_t count)
{
	struct hanging *all CLEANUP(mem_done) = hang(list, count);
	const struct mount **open CLEANUP(mem_done) = mem_grow(NULL, count, sizeof(*open));
	struct ordering ordering = {
		.all = all,
		.count = count,
		.order = mem_grow(NULL, count, sizeof(*ordering.order)),
		.open = open,
		.left = count,
	};

	for (size_t i = 0; i < count; i++)
		if (!all[i].below)
			ordering_take(&ordering, &all[i]);
	for (size_t i = 0; i < count; i++)
		if (!all[i].taken)
			ordering_take(&ordering, &all[i]);
	assert(ordering.left == 0);
	return ordering.order;
}
