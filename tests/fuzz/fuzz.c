#include "fuzz.h"

#include "base/pathname.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>

static char path[4096];
static int directory = -1;

int fuzz_directory(void)
{
	const char *above = getenv("TMPDIR");

	if (directory >= 0)
		return directory;
	(void)snprintf(path, sizeof(path), "%s/sbx-fuzz-XXXXXX", above ? above : "/tmp");
	MUST(mkdtemp(path));
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(directory >= 0);
	return directory;
}

const char *fuzz_directory_path(void)
{
	(void)fuzz_directory();
	return path;
}

void fuzz_file(const char *name, const uint8_t *bytes, size_t length)
{
	int fd CLEANUP(fd_done) = openat(fuzz_directory(), name,
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);

	MUST(fd >= 0);
	MUST(write(fd, bytes, length) == (ssize_t)length);
}

bool fuzz_path_clean(const char *name)
{
	char *clean CLEANUP(mem_done) = *name == '/' ? pathname_clean(name, NULL) : NULL;

	return clean && text_equal(clean, name);
}
