#include "count.h"

/* "entries", but "days". */
static bool ends_in_consonant_and_y(const char *noun)
{
	size_t length = strlen(noun);

	return length > 1 && noun[length - 1] == 'y' && !strchr("aeiou", noun[length - 2]);
}

const char *count_format(char buffer[COUNT_TEXT], int64_t count, const char *noun)
{
	size_t length = strlen(noun);
	const char *ending = "s";

	if (ends_in_consonant_and_y(noun)) {
		length--;
		ending = "ies";
	} else if (length && noun[length - 1] == 's') {
		ending = "es";
	}
	if (count == 1)
		(void)snprintf(buffer, COUNT_TEXT, "1 %s", noun);
	else
		(void)snprintf(buffer, COUNT_TEXT, "%lld %.*s%s", (long long)count, (int)length,
			noun, ending);
	return buffer;
}
