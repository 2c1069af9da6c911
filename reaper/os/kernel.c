#include "kernel.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

static bool has_openat2(void)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	int fd CLEANUP(fd_done) = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	return fd >= 0;
}

/* Signal 0 only asks (kill(2)). */
static bool has_pidfd(void)
{
	int self CLEANUP(fd_done) = pidfd_open(getpid(), 0);

	return self >= 0 && pidfd_send_signal(self, 0, NULL, 0) == 0;
}

static const struct {
	const char *name, *since;
	bool (*has)(void);
} calls[] = {
	[KERNEL_OPENAT2] = { "openat2(2)", "5.6", has_openat2 },
	[KERNEL_PIDFD] = { "pidfd_open(2)", "5.3", has_pidfd },
};

bool kernel_has(enum kernel_call call)
{
	return calls[call].has();
}

const char *kernel_call_name(enum kernel_call call)
{
	return calls[call].name;
}

const char *kernel_call_since(enum kernel_call call)
{
	return calls[call].since;
}

char *kernel_release(void)
{
	struct utsname name;

	return uname(&name) == 0 ? mem_printf("%s %s", name.sysname, name.release)
				 : mem_dup("unknown");
}
