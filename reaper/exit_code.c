#include "exit_code.h"
#include "base/base.h"

#include <errno.h>

static size_t exit_code_rank(enum exit_code code)
{
	static const enum exit_code order[] = { EXIT_USAGE, EXIT_STATE, EXIT_LOCKED, EXIT_ATTENTION,
		EXIT_BLIND, EXIT_DUE, EXIT_DONE };
	size_t rank = 0;

	while (order[rank] != code) {
		rank++;
		assert(rank < ARRAY_SIZE(order));
	}
	return rank;
}

enum exit_code exit_code_worse(enum exit_code a, enum exit_code b)
{
	return exit_code_rank(a) <= exit_code_rank(b) ? a : b;
}

enum exit_code exit_code_of_error(int code)
{
	/* What a database or its directory answers when it cannot be used as it is; a lock that
	 * somebody holds (EBUSY) passes, so it is no state to mend. */
	static const int unusable[] = { EUCLEAN, ENODATA, EPROTO, EIO, EROFS, ENOSPC, EDQUOT,
		EACCES };

	for (size_t i = 0; i < ARRAY_SIZE(unusable); i++)
		if (abs(code) == unusable[i])
			return EXIT_STATE;
	return EXIT_ATTENTION;
}
