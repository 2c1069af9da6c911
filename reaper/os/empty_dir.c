#include "empty_dir.h"

#include <errno.h>
#include <fcntl.h>

int empty_dir_remove(int parent, const char *name, struct error *error)
{
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST)
		return 0;
	return error_set(error, errno, "remove the empty directory %s", name);
}
