/*
 * Lists of texts (struct text_list, settings.h): what options and settings that may repeat become.
 */
#pragma once

#include "settings.h"

/* Adds a copy. */
void text_list_add(struct text_list *list, const char *text);

/* The same unless an equal one is there: for lists that hold no duplicates. */
void text_list_add_new(struct text_list *list, const char *text);

/* Adds the text itself, which is the list's from then on. */
void text_list_take(struct text_list *list, char *text);

bool text_list_has(const struct text_list *list, const char *text);

/* The innermost of these directories that the path lies strictly below, or NULL. */
const char *text_list_above(const struct text_list *directories, const char *path);

/* The same, or the path itself when it is one of them. */
const char *text_list_at_or_above(const struct text_list *directories, const char *path);

/* The innermost root or path_root that the path lies strictly below, or NULL. */
const char *settings_root_above(const struct settings *settings, const char *path);

void text_list_done(struct text_list *list);
