#include "unit.h"

#include "base/shell.h"

static char *quoted(const char *word)
{
	struct text text = { 0 };

	text_add_quoted(&text, word);
	return text.data;
}

static void what_is_plain_stays_as_it_is(void **state)
{
	char *plain CLEANUP(mem_done) = quoted("/srv/sbx/r-1+2@host=3,4:5%.keep");
	char *blank CLEANUP(mem_done) = quoted("/srv/my runs");
	char *empty CLEANUP(mem_done) = quoted("");

	(void)state;
	assert_string_equal(plain, "/srv/sbx/r-1+2@host=3,4:5%.keep");
	assert_string_equal(blank, "'/srv/my runs'");
	assert_string_equal(empty, "''");
}

/* What bash makes of it. */
static void expect_back(const char *word)
{
	char *shell_word CLEANUP(mem_done) = quoted(word), *line CLEANUP(mem_done) = NULL;
	char read_back[1024];
	size_t length;
	FILE *shell;

	for (const char *c = shell_word; *c; c++)
		assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	assert_int_equal(setenv("QUOTED", shell_word, 1), 0);
	shell = popen(
		"exec bash -c 'eval \"set -- $QUOTED\"; printf %s \"$1\"; exit $(($# - 1))'", "re");
	assert_non_null(shell);
	length = fread(read_back, 1, sizeof(read_back) - 1, shell);
	read_back[length] = 0;
	assert_int_equal(pclose(shell), 0);
	assert_string_equal(read_back, word);
}

static void a_shell_reads_back_the_same_bytes(void **state)
{
	static const char *const words[] = {
		"a b",
		"it's",
		"$HOME `id` $(id) \"x\" \\ * ? ; & | < > ~ # !",
		"-n",
		"line\nbreak",
		"escape \x1b[31m",
		"not \xff utf8 \x80",
		"\x7f",
		"back\\slash",
		"back\\slash and \x01 and 'quote'7",
		"übergröße",
		"\xe2\x80\xae",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		expect_back(words[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_plain_stays_as_it_is),
		cmocka_unit_test(a_shell_reads_back_the_same_bytes),
	};

	return cmocka_run_group_tests_name("shell", tests, NULL, NULL);
}
