#include "text_list.h"

#include "base/pathname.h"

void text_list_take(struct text_list *list, char *text)
{
	list->items = mem_grow(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = text;
}

void text_list_add(struct text_list *list, const char *text)
{
	text_list_take(list, mem_dup(text));
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

const char *text_list_at_or_above(const struct text_list *directories, const char *path)
{
	return text_list_has(directories, path) ? path : text_list_above(directories, path);
}

const char *settings_root_above(const struct settings *settings, const char *path)
{
	const char *a = text_list_above(&settings->roots, path);
	const char *b = text_list_above(&settings->path_roots, path);

	return !a || (b && strlen(b) > strlen(a)) ? b : a;
}

void text_list_done(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct text_list){ 0 };
}
