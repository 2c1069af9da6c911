#include "confine.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Younger than the header of Linux 6.1 (landlock(7), ABI 3 and 5). */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15)

/* A directory that moves is made where it goes to. */
#define ACCESS_REMOVE                                                     \
	(LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REFER)
#define ACCESS_WRITE                                                                   \
	(ACCESS_REMOVE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
		LANDLOCK_ACCESS_FS_MAKE_SYM | ACCESS_TRUNCATE)
#define ACCESS_OTHER                                                           \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |           \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
		LANDLOCK_ACCESS_FS_MAKE_FIFO | ACCESS_IOCTL_DEV)

/* What a kernel of that ABI can forbid. */
static uint64_t access_known(int abi)
{
	uint64_t unknown = 0;

	if (abi < 2)
		unknown |= LANDLOCK_ACCESS_FS_REFER; /* which it always forbids */
	if (abi < 3)
		unknown |= ACCESS_TRUNCATE;
	if (abi < 5)
		unknown |= ACCESS_IOCTL_DEV;
	return (ACCESS_WRITE | ACCESS_OTHER) & ~unknown;
}

static uint64_t access_allowed(enum confine_right right)
{
	switch (right) {
	case CONFINE_REMOVE:
		return ACCESS_REMOVE;
	case CONFINE_WRITE:
		return ACCESS_WRITE;
	}
	return 0;
}

int confine_abi(struct error *error)
{
	int abi =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi >= 0)
		return abi;
	if (errno == ENOSYS || errno == EOPNOTSUPP) /* not built, not started with it */
		return 0;
	return error_set(error, errno, "ask the kernel for Landlock");
}

static int ruleset_make(uint64_t handled, struct error *error)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = handled };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	return fd < 0 ? error_set(error, errno, "confine: make a Landlock ruleset") : fd;
}

static int ruleset_allow(int ruleset, int dir, uint64_t allowed, struct error *error)
{
	const struct landlock_path_beneath_attr attr = {
		.allowed_access = allowed,
		.parent_fd = dir,
	};

	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) != 0)
		return error_set(error, errno, "confine: allow changes beneath a directory");
	return 0;
}

/* Without new privileges to come no privilege is needed for it. */
static int ruleset_enforce(int ruleset, struct error *error)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return error_set(error, errno, "confine: give up new privileges");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
		return error_set(error, errno, "confine: enforce a Landlock ruleset");
	return 1;
}

int confine_to(const int *dirs, size_t count, enum confine_right right, struct error *error)
{
	int ruleset CLEANUP(fd_done) = -EBADF;
	int abi = confine_abi(error), r = 0;
	uint64_t known;

	if (abi <= 0)
		return abi;
	/* Git writes an object under another directory first: no write without such a rename. */
	if (right == CONFINE_WRITE && abi < 2)
		return 0;
	known = access_known(abi);
	ruleset = ruleset_make(known, error);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = ruleset_allow(ruleset, dirs[i], access_allowed(right) & known, error);
	return r < 0 ? r : ruleset_enforce(ruleset, error);
}
