#include "pathname.h"
#include "text.h"

char *pathname_clean(const char *path, const char *from)
{
	char *whole CLEANUP(mem_done) = NULL;
	char *clean, *end;

	if (*path != '/' && !from)
		return NULL;
	whole = *path == '/' ? mem_dup(path) : mem_printf("%s/%s", from, path);
	clean = end = mem_new(strlen(whole) + 2);
	for (char *at = whole; *at;) {
		size_t length;

		at += strspn(at, "/");
		length = strcspn(at, "/");
		if (length == 2 && memcmp(at, "..", 2) == 0) {
			while (end > clean && *--end != '/')
				;
		} else if (length && !(length == 1 && *at == '.')) {
			*end++ = '/';
			memcpy(end, at, length);
			end += length;
		}
		at += length;
	}
	if (end == clean)
		*end++ = '/';
	*end = 0;
	return clean;
}

const char *pathname_below(const char *path, const char *root)
{
	size_t length = text_equal(root, "/") ? 0 : strlen(root);

	if (strncmp(path, root, length) != 0 || path[length] != '/' || !path[length + 1])
		return NULL;
	return path + length + 1;
}

const char *pathname_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *pathname_parent(const char *path)
{
	char *parent = mem_dup(path), *slash = strrchr(parent, '/');

	assert(slash);
	slash[slash == parent] = 0;
	return parent;
}
