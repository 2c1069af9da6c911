/* The index that git writes, in each of its versions, cut off and damaged anywhere. */
#include "git_fixture.h"

#include "backend/worktree_index.h"
#include "base/text.h"
#include "os/dir.h"
#include "os/file.h"

#include <errno.h>

static int note_entry(void *context, const struct index_entry *entry)
{
	struct text *text = context;

	text_addf(text, "%06o %02x%02x %u %s%s\n", entry->mode, entry->id[0], entry->id[1],
		entry->stage, entry->path, entry->intent_to_add ? " (later)" : "");
	return 0;
}

static void read_index(struct git_fixture *fixture, char **ret_bytes, size_t *ret_length)
{
	char *path CLEANUP(mem_done) = mem_printf("%s/worktrees/r1", fixture->repo);
	int dir CLEANUP(fd_done) = dir_open(path, NULL);

	assert_int_equal(file_read(dir, "index", 1 << 20, ret_bytes, ret_length, NULL, NULL), 0);
}

static void every_version_lists_what_git_lists(void **state)
{
	struct git_fixture *fixture = *state;

	git_fixture_sh(fixture,
		"cd ws/r1; mkdir -p long/path/of/directories; for i in 1 2 3 4 5 6 7 8 9 10; do "
		"echo $i >long/path/of/directories/file-$i-$(head -c $i /dev/zero | tr '\\0' x); "
		"done; git add -A; echo later >later; git add -N later");
	for (int version = 2; version <= 4; version++) {
		char *bytes CLEANUP(mem_done) = NULL, *path CLEANUP(mem_done) = NULL;
		struct text text CLEANUP(text_done) = { 0 };
		size_t length = 0;
		FILE *file;

		git_fixture_sh(fixture, "git -C ws/r1 update-index --index-version %d", version);
		read_index(fixture, &bytes, &length);
		assert_int_equal(index_each(bytes, length, note_entry, &text, NULL), 0);
		path = mem_printf("%s/ours", fixture->base);
		file = fopen(path, "we");
		assert_non_null(file);
		fputs(text.data, file);
		assert_int_equal(fclose(file), 0);
		git_fixture_sh(fixture,
			"sed -i 's/ (later)//' ours; git -C ws/r1 ls-files -s | "
			"sed -E 's/^([0-9]+ ....)[0-9a-f]* ([0-9]+)\\t/\\1 \\2 /' | cmp - ours");
	}
}

static void an_index_that_is_cut_off_or_damaged_is_no_crash(void **state)
{
	struct git_fixture *fixture = *state;

	for (int version = 2; version <= 4; version += 2) {
		char *bytes CLEANUP(mem_done) = NULL;
		size_t length = 0;

		git_fixture_sh(fixture, "git -C ws/r1 update-index --index-version %d", version);
		read_index(fixture, &bytes, &length);
		for (size_t cut = 0; cut < length; cut++) {
			char *part CLEANUP(mem_done) = mem_new(cut + 1);
			struct text text CLEANUP(text_done) = { 0 };

			memcpy(part, bytes, cut);
			part = mem_grow(
				part, cut ? cut : 1, 1); /* an exact end for the sanitizer */
			(void)index_each(part, cut, note_entry, &text, NULL);
		}
		for (size_t i = 0; i < length; i++)
			for (int bit = 0; bit < 8; bit++) {
				struct text text CLEANUP(text_done) = { 0 };

				bytes[i] = (char)(bytes[i] ^ 1 << bit);
				(void)index_each(bytes, length, note_entry, &text, NULL);
				bytes[i] = (char)(bytes[i] ^ 1 << bit);
			}
	}
}

static void what_is_no_index_is_said_so(void **state)
{
	static const char rubbish[64] = "no index";
	struct error error = { 0 };

	(void)state;
	assert_int_equal(index_each(rubbish, sizeof(rubbish), note_entry, NULL, &error), -EINVAL);
	assert_non_null(strstr(error.text, "git index"));
	assert_int_equal(index_each("", 0, note_entry, NULL, NULL), -EINVAL);
}

#define case_of(f) cmocka_unit_test_setup_teardown(f, git_fixture_make, git_fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(every_version_lists_what_git_lists),
		case_of(an_index_that_is_cut_off_or_damaged_is_no_crash),
		cmocka_unit_test(what_is_no_index_is_said_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
