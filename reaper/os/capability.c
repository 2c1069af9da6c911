#include "capability.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

bool capability_held(unsigned capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	assert(capability < 32 * _LINUX_CAPABILITY_U32S_3);
	return syscall(SYS_capget, &header, data) == 0 &&
	       data[capability / 32].effective & (1U << capability % 32);
}
