#include "unit.h"

#include "os/capability.h"
#include "workdir.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 0 when exactly the dropped one is gone. */
static int look_without(struct workdir *workdir, void *context)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const unsigned *dropped = context;

	(void)workdir;
	if (syscall(SYS_capget, &header, data) != 0)
		return 2;
	data[*dropped / 32].effective &= ~(1U << *dropped % 32);
	if (syscall(SYS_capset, &header, data) != 0)
		return 3;
	return capability_held(*dropped) || !capability_held(CAP_KILL);
}

static void what_was_dropped_is_not_held_and_the_rest_is(void **state)
{
	unsigned dropped[] = { CAP_FOWNER, CAP_MAC_ADMIN };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		assert_int_equal(workdir_wait(workdir_fork(look_without, NULL, &dropped[i])), 0);
	assert_true(capability_held(CAP_FOWNER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_dropped_is_not_held_and_the_rest_is),
	};

	return cmocka_run_group_tests_name("capability", tests, NULL, NULL);
}
