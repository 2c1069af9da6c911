/* What was deleted. Apart from rmtree.h, so that who counts it does not see what deletes. */
#pragma once

#include <stdint.h>

struct rmtree_report {
	int64_t entries;     /* unlinked */
	int64_t bytes_freed; /* allocated to regular files with no other link */
};
