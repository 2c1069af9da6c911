#include "text_list.h"

#include "base/pathname.h"

void text_list_add(struct text_list *list, const char *text)
{
	list->items = mem_grow(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = mem_dup(text);
}

void text_list_add_new(struct text_list *list, const char *text)
{
	if (!text_list_has(list, text))
		text_list_add(list, text);
}

bool text_list_has(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_equal(list->items[i], text))
			return true;
	return false;
}

const char *text_list_above(const struct text_list *directories, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < directories->count; i++) {
		const char *directory = directories->items[i];

		if (pathname_below(path, directory) && (!best || strlen(directory) > strlen(best)))
			best = directory;
	}
	return best;
}

void text_list_done(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct text_list){ 0 };
}
