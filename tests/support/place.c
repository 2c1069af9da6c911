#include "place.h"

#include "function_name.h"
#include "unit.h"

#include <sys/uio.h>

/* Of the program, by the linker. */
extern const unsigned char __executable_start[], etext[];

enum { STACK_MAX = 256 << 10 };

/* FNV-1a, a word at a time. */
#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* Behind "call somewhere": the forms that a compiler uses. */
static bool is_behind_call(const unsigned char *at)
{
	if (at - __executable_start < 7)
		return false;
	return at[-5] == 0xe8 || (at[-6] == 0xff && at[-5] == 0x15) ||
	       (at[-2] == 0xff && (at[-1] & 0xf8) == 0xd0) ||
	       (at[-3] == 0xff && (at[-2] & 0xf8) == 0x50) ||
	       (at[-6] == 0xff && (at[-5] & 0xf8) == 0x90);
}

static bool is_return_address(uint64_t value)
{
	uint64_t begin = (uint64_t)(uintptr_t)__executable_start;

	return value > begin && value < (uint64_t)(uintptr_t)etext &&
	       is_behind_call(__executable_start + (value - begin));
}

static uint64_t add_name(uint64_t hash, const char *name)
{
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * FNV_PRIME;
	return hash * FNV_PRIME;
}

struct place place_of(const struct tracer_call *call, unsigned depth)
{
	static uint64_t words[STACK_MAX / sizeof(uint64_t)];
	struct iovec here = { words, sizeof(words) }, there;
	struct place place = { FNV_BEGIN, FNV_BEGIN };
	uint64_t last = 0;
	ssize_t length;

	if (call->stack >= call->stack_end)
		return (struct place){ 0 };
	if (call->stack_end - call->stack < sizeof(words))
		here.iov_len = call->stack_end - call->stack;
	/* An address of the other process. NOLINTNEXTLINE(performance-no-int-to-ptr) */
	there = (struct iovec){ (void *)(uintptr_t)call->stack, here.iov_len };
	length = process_vm_readv(call->pid, &here, 1, &there, 1, 0);
	for (ssize_t i = 0; i < length / (ssize_t)sizeof(*words) && depth > 0; i++) {
		if (!is_return_address(words[i]) || words[i] == last)
			continue;
		last = words[i];
		place.number = (place.number ^ (last - (uint64_t)(uintptr_t)__executable_start)) *
			       FNV_PRIME;
		place.names = add_name(place.names, function_name(last));
		depth--;
	}
	return place;
}
