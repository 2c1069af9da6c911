#include "fnv.h"

#define FNV_PRIME UINT64_C(0x100000001b3)

uint64_t fnv_add(uint64_t sum, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ at[i]) * FNV_PRIME;
	return sum;
}
