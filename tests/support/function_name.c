#include "function_name.h"

#include "base/text.h"
#include "unit.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Of the program, by the linker: where it is loaded, that is address 0 of its symbols (it is a PIE). */
extern const unsigned char __executable_start[];

struct function {
	uint64_t begin, size; /* from where the program is loaded */
	const char *name;
};

struct functions {
	struct function *list;
	size_t count;
};

static const unsigned char *map_program(void)
{
	int fd CLEANUP(fd_done) = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat stat = { 0 };
	void *bytes;

	assert_true(fd >= 0 && fstat(fd, &stat) == 0);
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(bytes != MAP_FAILED);
	return bytes;
}

static void take_symbols(
	struct functions *functions, const Elf64_Sym *symbols, size_t count, const char *names)
{
	functions->list = mem_grow(NULL, count, sizeof(*functions->list));
	for (size_t i = 0; i < count; i++) {
		const char *name = names + symbols[i].st_name;

		if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || symbols[i].st_size == 0)
			continue;
		functions->list[functions->count++] = (struct function){
			.begin = symbols[i].st_value,
			.size = symbols[i].st_size,
			.name = mem_printf("%.*s", (int)strcspn(name, "."), name),
		};
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	return (left->begin > right->begin) - (left->begin < right->begin);
}

static void read_symbols(struct functions *functions)
{
	const unsigned char *file = map_program();
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			take_symbols(functions, (const void *)(file + sections[i].sh_offset),
				sections[i].sh_size / sizeof(Elf64_Sym),
				(const char *)file + sections[sections[i].sh_link].sh_offset);
	assert_true(functions->count > 0);
	qsort(functions->list, functions->count, sizeof(*functions->list), by_begin);
}

const char *function_name(uint64_t address)
{
	static struct functions functions;
	uint64_t offset = address - (uint64_t)(uintptr_t)__executable_start;
	const struct function *at;
	size_t low = 0, high;

	if (!functions.count)
		read_symbols(&functions);
	for (high = functions.count; low + 1 < high;)
		if (functions.list[(low + high) / 2].begin <= offset)
			low = (low + high) / 2;
		else
			high = (low + high) / 2;
	at = &functions.list[low];
	return offset >= at->begin && offset - at->begin < at->size ? at->name : "";
}
