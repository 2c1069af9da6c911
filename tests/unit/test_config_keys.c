/*
 * What the manual page and the installed file say of each setting is what the program does: which there
 * are, what they take, whether they may repeat, and what they are when nobody sets them.
 */
#include "unit.h"

#include "base/text.h"
#include "config.h"
#include "workdir.h"

#include <errno.h>

enum { SETTINGS_MAX = 64, LINE_MAX_HERE = 512, WORD_MAX = 63, VALUE_MAX = 511 };

struct entry {
	char *section, *key;
	char *says; /* the page: what it takes, and its default; the installed file: its value there */
};

struct pages {
	struct entry page[SETTINGS_MAX], installed[SETTINGS_MAX];
	size_t page_count, installed_count;
};

/* ------------------------------------------------------------------------------------ the pages */

static void entry_add(struct entry *entries, size_t *count, const char *section, const char *key)
{
	assert_true(*count < SETTINGS_MAX);
	entries[(*count)++] = (struct entry){ .section = mem_dup(section), .key = mem_dup(key) };
}

/* ".Ss \&[policy]", below it ".It Cm ttl", and in the next line what it takes. */
static void page_line(struct pages *pages, char *section, const char *line)
{
	struct entry *last = pages->page_count ? &pages->page[pages->page_count - 1] : NULL;
	char word[WORD_MAX + 1];

	if (sscanf(line, ".Ss \\&[%63[a-z]]", word) == 1)
		(void)snprintf(section, LINE_MAX_HERE, "%s", word);
	else if (text_starts(line, ".Sh"))
		*section = 0;
	else if (*section && sscanf(line, ".It Cm %63[a-z_]", word) == 1)
		entry_add(pages->page, &pages->page_count, section, word);
	else if (*section && last && !last->says)
		last->says = mem_dup(line);
}

/* "[policy]", below it ";ttl = 24h". */
static void installed_line(struct pages *pages, char *section, const char *line)
{
	char word[WORD_MAX + 1], value[VALUE_MAX + 1];

	line += *line == ';';
	if (sscanf(line, "[%63[a-z]]", word) == 1)
		(void)snprintf(section, LINE_MAX_HERE, "%s", word);
	else if (sscanf(line, "%63[a-z_] = %511[^\n]", word, value) == 2) {
		entry_add(pages->installed, &pages->installed_count, section, word);
		pages->installed[pages->installed_count - 1].says = mem_dup(value);
	}
}

static void read_lines(const char *path, struct pages *pages,
	void (*take)(struct pages *pages, char *section, const char *line))
{
	char line[LINE_MAX_HERE], section[LINE_MAX_HERE] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		fail_msg("%s: %s; tests run where the sources are", path, strerror(errno));
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		take(pages, section, line);
	}
	if (file)
		(void)fclose(file);
}

static void entries_done(struct entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(entries[i].section);
		free(entries[i].key);
		free(entries[i].says);
	}
}

static int pages_setup(void **state)
{
	struct pages *pages = mem_new(sizeof(*pages));
	struct workdir *workdir;
	int r = workdir_setup(state);

	if (r != 0)
		return r;
	workdir = *state;
	workdir->more = pages;
	read_lines("reaper/sbx-reap.ini.5", pages, page_line);
	read_lines("units/reap.ini", pages, installed_line);
	return 0;
}

static int pages_teardown(void **state)
{
	struct workdir *workdir = *state;
	struct pages *pages = workdir->more;

	entries_done(pages->page, pages->page_count);
	entries_done(pages->installed, pages->installed_count);
	free(pages);
	return workdir_teardown(state);
}

static struct pages *pages_of(void **state)
{
	return ((struct workdir *)*state)->more;
}

static const struct entry *find(
	const struct entry *entries, size_t count, const char *section, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (text_equal(entries[i].section, section) && text_equal(entries[i].key, key))
			return &entries[i];
	return NULL;
}

/* ---------------------------------------------------------------------------------- the program */

static int load(void **state, const char *text, struct settings *ret_settings, struct error *error)
{
	struct workdir *workdir = *state;

	*error = (struct error){ 0 };
	workdir_write(workdir, "tried.ini", text, strlen(text));
	return config_load(workdir_path(workdir, "tried.ini"), ret_settings, error);
}

static void refused(void **state, const char *text, struct error *ret_error)
{
	struct settings settings = { 0 };

	if (load(state, text, &settings, ret_error) == 0) {
		settings_done(&settings);
		fail_msg("'%s' was taken", text);
	}
}

/* The words behind `lead` in what the program says of an unknown section or key. */
static char *program_words(void **state, const char *section, const char *lead)
{
	char *text CLEANUP(mem_done) = mem_printf("[%s]\nno-such = 1\n", section);
	struct error error;
	const char *found;

	refused(state, text, &error);
	found = strstr(error.text, lead);
	if (!found)
		fail_msg("'%s' does not say '%s'", error.text, lead);
	return mem_dup(found + strlen(lead));
}

/* How many there are; each must be in both. */
static size_t section_is_there(void **state, const char *section)
{
	char *keys CLEANUP(mem_done) = program_words(state, section, "it has: "), *rest = NULL;
	const struct pages *pages = pages_of(state);
	size_t count = 0;

	for (char *key = strtok_r(keys, " ", &rest); key; key = strtok_r(NULL, " ", &rest)) {
		count++;
		if (!find(pages->page, pages->page_count, section, key))
			fail_msg("[%s] %s is not in sbx-reap.ini(5)", section, key);
		if (!find(pages->installed, pages->installed_count, section, key))
			fail_msg("[%s] %s is not in units/reap.ini", section, key);
	}
	return count;
}

static void what_there_is_is_there(void **state)
{
	char *sections CLEANUP(mem_done) = program_words(state, "nosuch", "there are: ");
	const struct pages *pages = pages_of(state);
	char *rest = NULL;
	size_t count = 0;

	for (char *section = strtok_r(sections, " []", &rest); section;
		section = strtok_r(NULL, " []", &rest))
		count += section_is_there(state, section);
	assert_true(count > 30);
	assert_int_equal(pages->page_count, count);
	assert_int_equal(pages->installed_count, count);
}

/* ----------------------------------------------------------------------------- what a key takes */

/* What no key of the kind takes, so that the program says what is right. */
static const char *wrong_value(const char *says)
{
	if (text_starts(says, "Duration, "))
		return "99y";
	if (text_starts(says, "Percentage, "))
		return "1000%";
	if (text_starts(says, "One of ") || text_starts(says, "Number, "))
		return "99999999999";
	return "../?";
}

/* How the program says it. */
static const struct wording {
	const char *says, *lead;
} wordings[] = {
	{ "Duration, ", "it must lie between " },
	{ "Percentage, ", "a whole percentage from " },
	{ "Number of bytes, at most 8191P, ", "a number of bytes is wanted, at most 8191P," },
	{ "Number, ", "a whole number from " },
	{ "One of ", "it is one of: " },
	{ "Path below the cgroup v2 mount", "name a group below the cgroup v2 mount" },
	{ "Path of a file whose name ends with .prom", "ends with .prom" },
	{ "Path ", "a path must be absolute" },
	{ "Name or number of a user", "there is no such user: give a name or a number" },
	{ "unix:// and the path of a socket", "write it as unix:// and an absolute path" },
	{ "Letters, digits and . _ / -, at most 128",
		"1 to 128 of the letters, digits and . _ / -" },
};

/* "1s and 3660d", "0% to 100% is wanted, like 80%", "none worktrees": as the page has it. */
static char *bounds_of(const char *program)
{
	struct text text CLEANUP(text_done) = { 0 };
	char *copy CLEANUP(mem_done) = mem_dup(program), *rest = NULL, *end;
	bool many = !strstr(copy, " and ") && !strstr(copy, " to ");

	end = strstr(copy, " is wanted");
	if (end)
		*end = 0;
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		text_addf(&text, "%s%s",
			!text.data ? ""
			: many     ? ", "
				   : " ",
			text_equal(word, "and") ? "to" : word);
	text_add(&text, ";");
	return mem_dup(text.data);
}

static const struct wording *wording_of(const struct entry *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(wordings); i++)
		if (text_starts(entry->says, wordings[i].says))
			return &wordings[i];
	fail_msg("[%s] %s: the page says '%s', which is no kind of value", entry->section,
		entry->key, entry->says);
	return NULL;
}

static void says_what_it_takes(void **state, const struct entry *entry)
{
	char *text CLEANUP(mem_done) =
		mem_printf("[%s]\n%s = %s\n", entry->section, entry->key, wrong_value(entry->says));
	char *bounds CLEANUP(mem_done) = NULL;
	struct error error;
	const struct wording *words = wording_of(entry);
	const char *found;

	refused(state, text, &error);
	found = strstr(error.text, words->lead);
	if (!found)
		fail_msg("the page says '%s' of what is refused by '%s'", entry->says, error.text);
	if (!text_ends(words->lead, " ")) /* all of it was in the words */
		return;
	bounds = bounds_of(found + strlen(words->lead));
	if (!text_starts(entry->says + strlen(words->says), bounds))
		fail_msg("[%s] %s: the page says '%s', the program '%s'", entry->section,
			entry->key, entry->says, bounds);
}

static void each_takes_what_the_page_says(void **state)
{
	const struct pages *pages = pages_of(state);

	for (size_t i = 0; i < pages->page_count; i++)
		says_what_it_takes(state, &pages->page[i]);
}

/* A value that is right: its default, or of what has none the example in the installed file. */
static char *right_value(void **state, const struct entry *entry)
{
	const struct pages *pages = pages_of(state);
	const struct entry *installed =
		find(pages->installed, pages->installed_count, entry->section, entry->key);
	const char *value = installed ? installed->says : "";

	return mem_dup(text_equal(entry->key, "owner") ? "root" : value);
}

static void each_repeats_where_the_page_says_so(void **state)
{
	const struct pages *pages = pages_of(state);

	for (size_t i = 0; i < pages->page_count; i++) {
		const struct entry *entry = &pages->page[i];
		char *value CLEANUP(mem_done) = right_value(state, entry);
		char *text CLEANUP(mem_done) = mem_printf("[%s]\n%s = %s\n%s = %s\n",
			entry->section, entry->key, value, entry->key, value);
		struct settings settings CLEANUP(settings_done) = { 0 };
		struct error error;
		bool repeats = load(state, text, &settings, &error) == 0;

		if (!repeats && !strstr(error.text, "is set twice"))
			fail_msg("'%s' gave '%s'", text, error.text);
		if (repeats != (strstr(entry->says, "; may repeat;") != NULL))
			fail_msg("[%s] %s: the page says '%s', the program %s", entry->section,
				entry->key, entry->says, repeats ? "takes two" : error.text);
	}
}

/* ---------------------------------------------------------------------------------- the defaults */

static char *default_of(const struct entry *entry)
{
	const char *found = strstr(entry->says, "; default ");

	if (!found) {
		if (!text_ends(entry->says, "; no default."))
			fail_msg("[%s] %s: neither a default nor none: '%s'", entry->section,
				entry->key, entry->says);
		return NULL;
	}
	assert_true(text_ends(found, "."));
	found += strlen("; default ");
	return mem_printf("%.*s", (int)strlen(found) - 1, found);
}

static bool same_settings(const struct settings *a, const struct settings *b)
{
	return memcmp(&a->policy, &b->policy, sizeof(a->policy)) == 0 &&
	       memcmp(&a->limits, &b->limits, sizeof(a->limits)) == 0 &&
	       memcmp(&a->disk, &b->disk, sizeof(a->disk)) == 0 && a->adopt == b->adopt &&
	       a->unseen == b->unseen && text_equal(a->database, b->database) &&
	       text_equal(a->label, b->label) && text_equal(a->cgroup_root, b->cgroup_root);
}

/* The two of [disk] stand together or not at all. */
static char *text_with_default(const struct entry *entry, const char *value)
{
	const char *other = "";

	if (text_equal(entry->key, "high"))
		other = "low = 75%\n";
	if (text_equal(entry->key, "low"))
		other = "high = 85%\n";
	return mem_printf("[%s]\n%s = %s\n%s", entry->section, entry->key, value, other);
}

static void each_default_of_the_page_changes_nothing(void **state)
{
	struct settings unset CLEANUP(settings_done) = { 0 };
	const struct pages *pages = pages_of(state);
	struct error error;
	size_t count = 0;

	assert_int_equal(load(state, "; nothing\n", &unset, &error), 0);
	for (size_t i = 0; i < pages->page_count; i++) {
		const struct entry *entry = &pages->page[i];
		char *value CLEANUP(mem_done) = default_of(entry), *text CLEANUP(mem_done) = NULL;
		struct settings settings CLEANUP(settings_done) = { 0 };

		if (!value)
			continue;
		text = text_with_default(entry, value);
		if (load(state, text, &settings, &error) < 0)
			fail_msg("'%s' is refused: %s", text, error.text);
		if (!same_settings(&settings, &unset))
			fail_msg("[%s] %s = %s is not its default", entry->section, entry->key,
				value);
		count++;
	}
	assert_true(count > 20);
}

static void the_installed_file_shows_the_defaults(void **state)
{
	const struct pages *pages = pages_of(state);

	for (size_t i = 0; i < pages->page_count; i++) {
		const struct entry *entry = &pages->page[i];
		const struct entry *installed =
			find(pages->installed, pages->installed_count, entry->section, entry->key);
		char *value CLEANUP(mem_done) = default_of(entry);

		if (value && installed && !text_equal(value, installed->says))
			fail_msg("[%s] %s = %s in units/reap.ini, but %s in the page",
				entry->section, entry->key, installed->says, value);
	}
}

int main(void)
{
#define WITH_PAGES(name) cmocka_unit_test_setup_teardown(name, pages_setup, pages_teardown)
	const struct CMUnitTest tests[] = {
		WITH_PAGES(what_there_is_is_there),
		WITH_PAGES(each_takes_what_the_page_says),
		WITH_PAGES(each_repeats_where_the_page_says_so),
		WITH_PAGES(each_default_of_the_page_changes_nothing),
		WITH_PAGES(the_installed_file_shows_the_defaults),
	};

	return cmocka_run_group_tests_name("config_keys", tests, NULL, NULL);
}
