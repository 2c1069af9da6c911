#include "golden.h"

#include "unit.h"

#include "base/text.h"

static void renew(const char *path, const char *text)
{
	FILE *file CLEANUP(file_done) = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

static char *read_golden(const char *path)
{
	FILE *file CLEANUP(file_done) = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (!file || getdelim(&text, &room, 0, file) < 0)
		fail_msg("%s cannot be read; SBX_GOLDEN=renew writes it", path);
	return text;
}

void golden_check(const char *name, const char *text)
{
	char *path CLEANUP(mem_done) = mem_printf("tests/fixtures/golden/%s", name);
	char *golden CLEANUP(mem_done) = NULL;
	const char *wish = getenv("SBX_GOLDEN");

	if (wish && text_equal(wish, "renew"))
		renew(path, text);
	golden = read_golden(path);
	if (!text_equal(text, golden))
		fail_msg("%s is other than this; is that meant? Then run this with "
			 "SBX_GOLDEN=renew\n%s",
			path, text);
}
