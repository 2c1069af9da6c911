#include "runid.h"
#include "text.h"

#include <errno.h>

static bool letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* What is wrong with it, or NULL. */
static const char *runid_fault(const char *run)
{
	static const char *const endings[] = { ".", ".lock", ".sbx", ".keep" };
	size_t length = strlen(run);

	if (length == 0)
		return "it is empty";
	if (length > RUNID_MAX)
		return "it is longer than 128 bytes";
	if (!letter_or_digit(run[0]))
		return "it must begin with a letter or digit";
	for (const char *c = run; *c; c++)
		if (!letter_or_digit(*c) && !strchr("._+=@-", *c))
			return "only letters, digits and ._+=@- may stand in it";
	if (strstr(run, ".."))
		return "it contains '..'";
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (text_ends(run, endings[i]))
			return "it must not end in '.', '.lock', '.sbx' or '.keep'";
	return NULL;
}

bool runid_valid(const char *run)
{
	return run && !runid_fault(run);
}

int runid_check(const char *run, struct error *error)
{
	const char *fault = runid_fault(run);
	char *shown CLEANUP(mem_done) = NULL;

	if (!fault)
		return 0;
	shown = text_escape(run);
	return error_say(error, EINVAL, "'%.160s' is no run identifier: %s", shown, fault);
}
