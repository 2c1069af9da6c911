#include "author.h"

#include <pwd.h>

const char *author_of(const struct options *options)
{
	const char *sudo = getenv("SUDO_USER");
	const struct passwd *entry;

	if (options->by)
		return options->by;
	if (sudo && *sudo && geteuid() == 0)
		entry = getpwnam(sudo);
	else
		entry = getpwuid(getuid());
	return entry ? entry->pw_name : NULL;
}
