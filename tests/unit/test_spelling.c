#include "unit.h"

#include "base/spelling.h"

/* What is said of a word among others, with blanks between them. */
static void expect(const char *word, const char *among, const char *said)
{
	struct spelling spelling = { .word = word };
	char *words CLEANUP(mem_done) = mem_dup(among), *rest = words, *known;
	char *text CLEANUP(mem_done) = NULL;

	while ((known = strsep(&rest, " ")))
		spelling_consider(&spelling, known);
	text = spelling_text(&spelling);
	assert_string_equal(text, said);
}

static void a_letter_more_less_or_another_is_near(void **state)
{
	(void)state;
	expect("r-1042", "r-10421", "; is 'r-10421' meant?");
	expect("r-1042", "r-142", "; is 'r-142' meant?");
	expect("r-1042", "r-1043", "; is 'r-1043' meant?");
	expect("r-1024", "r-1042", "; is 'r-1042' meant?");
	expect("agnet-7", "agent-8", "; is 'agent-8' meant?");
	expect("r-1042", "r-9999", "");
	expect("r-1042", "xx-10", "");
}

static void half_of_a_word_or_more_is_another_word(void **state)
{
	(void)state;
	expect("r1", "r2", "");
	expect("foo", "log", "");
	expect("abc", "abd", "; is 'abd' meant?");
}

static void the_nearest_come_first_and_three_are_enough(void **state)
{
	(void)state;
	expect("r-1042", "r-1000 r-1099 r-1041", "; is 'r-1041', 'r-1000' or 'r-1099' meant?");
	expect("r-1042", "r-1000 r-1099 r-1088 r-1041",
		"; is 'r-1041', 'r-1000' or 'r-1099' meant?");
	expect("r-1042", "r-1041 r-1043", "; is 'r-1041' or 'r-1043' meant?");
}

static void the_word_itself_and_one_twice_are_not_said(void **state)
{
	(void)state;
	expect("r-1042", "r-1042", "");
	expect("r-1042", "r-1041 r-1041", "; is 'r-1041' meant?");
}

static void the_beginning_of_a_name_is_near(void **state)
{
	(void)state;
	expect("agent-17", "agent-17-20261130T1200 other", "; is 'agent-17-20261130T1200' meant?");
	expect("age", "agent-17-20261130T1200", "");
}

static void words_of_any_length_are_compared(void **state)
{
	char longest[400], other[400];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	memset(other, 'a', sizeof(other));
	longest[399] = other[399] = 0;
	other[0] = 'b';
	expect(longest, other, "");
	longest[128] = other[128] = 0;
	expect(other, longest,
		"; is 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
		" meant?");
	expect("", "a", "");
	expect("r-10\x1b", "r-10\x1c", "; is 'r-10\\x1c' meant?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_letter_more_less_or_another_is_near),
		cmocka_unit_test(half_of_a_word_or_more_is_another_word),
		cmocka_unit_test(the_nearest_come_first_and_three_are_enough),
		cmocka_unit_test(the_word_itself_and_one_twice_are_not_said),
		cmocka_unit_test(the_beginning_of_a_name_is_near),
		cmocka_unit_test(words_of_any_length_are_compared),
	};

	return cmocka_run_group_tests_name("spelling", tests, NULL, NULL);
}
