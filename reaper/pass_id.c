#include "pass_id.h"

#include <sys/random.h>
#include <time.h>

const char *pass_id(char buffer[PASS_ID], int64_t now_s)
{
	time_t now = (time_t)now_s;
	uint32_t random = 0;
	struct tm tm;
	size_t used;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	used = gmtime_r(&now, &tm) ? strftime(buffer, PASS_ID, "%Y%m%dT%H%M%SZ", &tm) : 0;
	(void)snprintf(buffer + used, PASS_ID - used, "-%08x", random);
	return buffer;
}
