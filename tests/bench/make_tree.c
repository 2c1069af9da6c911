/*
 * Makes the trees that are removed, always the same ones:
 *
 *   make_tree packages DIRECTORY FILES DIRECTORIES [empty]   small files as in a node_modules
 *   make_tree flat DIRECTORY FILES                           empty ones in one directory
 *
 * DIRECTORY is made. What is random comes from a fixed seed.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum {
	DEPTH_MAX = 14,
	NEAR = 12,            /* a directory is mostly made below one of the last so many */
	PACKAGE_PERCENT = 30, /* or is a package of the top */
	SMALL_BYTES = 3000,   /* most files have less */
	LARGE_BYTES = 24000,
	LARGE_PERCENT = 4
};

struct directory {
	char *path;
	unsigned depth;
};

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "make_tree: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Splitmix64. */
static uint64_t draw(uint64_t *state, uint64_t below)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15U);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return (z ^ (z >> 31)) % below;
}

static int open_new(const char *path)
{
	int fd;

	if (mkdir(path, 0755) != 0)
		fail(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	return fd;
}

static void make_file(int directory, const char *name, size_t size)
{
	static const char bytes[LARGE_BYTES] = { "module.exports = require('./lib');\n" };
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0)
		fail(name);
}

static size_t draw_size(uint64_t *state)
{
	bool large = draw(state, 100) < LARGE_PERCENT;

	return draw(state, large ? LARGE_BYTES : SMALL_BYTES);
}

static void draw_directory(struct directory *all, size_t at, uint64_t *state)
{
	static const char *const words[] = { "lib", "dist", "src", "esm", "cjs", "node_modules",
		"types", "test" };
	const struct directory *above = &all[0];
	size_t near = at < NEAR ? at : NEAR;

	if (draw(state, 100) >= PACKAGE_PERCENT)
		above = &all[at - 1 - draw(state, near)];
	if (above->depth >= DEPTH_MAX)
		above = &all[0];
	all[at].depth = above->depth + 1;
	all[at].path =
		mem_printf("%s/%s-%zu", above->path, words[draw(state, ARRAY_SIZE(words))], at);
}

/* The files of each directory are made when it is, as whoever unpacks a package does. */
static void make_packages(const char *path, size_t files, size_t directories, bool empty)
{
	struct directory *all = mem_grow(NULL, directories, sizeof(*all));
	uint64_t state = 7;
	char name[48];

	all[0] = (struct directory){ .path = mem_dup(path) };
	for (size_t at = 0, made = 0; at < directories; at++) {
		size_t even = files * (at + 1) / directories;
		int fd;

		if (at > 0)
			draw_directory(all, at, &state);
		fd = open_new(all[at].path);
		for (; made < even; made++) {
			(void)snprintf(name, sizeof(name), "%08x-%zu.js",
				(unsigned)draw(&state, UINT32_MAX), made);
			make_file(fd, name, empty ? 0 : draw_size(&state));
		}
		(void)close(fd);
	}
	for (size_t at = 0; at < directories; at++)
		free(all[at].path);
	free(all);
}

static void make_flat(const char *path, size_t files)
{
	int fd = open_new(path);
	uint64_t state = 7;
	char name[48];

	for (size_t i = 0; i < files; i++) {
		(void)snprintf(name, sizeof(name), "object-%08x-%zu",
			(unsigned)draw(&state, UINT32_MAX), i);
		make_file(fd, name, 0);
	}
	(void)close(fd);
}

int main(int count, char **arguments)
{
	if ((count == 5 || count == 6) && text_equal(arguments[1], "packages"))
		make_packages(arguments[2], strtoul(arguments[3], NULL, 10),
			strtoul(arguments[4], NULL, 10), count == 6);
	else if (count == 4 && text_equal(arguments[1], "flat"))
		make_flat(arguments[2], strtoul(arguments[3], NULL, 10));
	else
		return 2;
	return 0;
}
