/*
 * Tries, from inside the unit's sandbox, what the unit must not be able to do, and says what became of
 * it: "NAME ERRNO" a line, "NAME allowed" for what went well. Without the project's own code, so that
 * it shows what the unit forbids and not what we refrain from.
 *
 *   sandbox_probe VICTIM-PID        only in the lab: what is allowed is done
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t victim;

static int write_to(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int write_etc(void)
{
	return write_to("/etc/sbx-reap.probe");
}
static int write_usr(void)
{
	return write_to("/usr/sbin/sbx-reap.probe");
}
static int write_home(void)
{
	return write_to("/root/sbx-reap.probe");
}
static int write_srv(void)
{
	return write_to("/srv/sbx-reap.probe");
}
static int write_tmp(void)
{
	return write_to("/tmp/sbx-reap.probe");
}
static int make_device(void)
{
	return mknod("/srv/sbx/device", S_IFCHR | 0600, 0x103);
}

/* Of a cgroup that is no run's. */
static int write_cgroup(void)
{
	return open("/sys/fs/cgroup/system.slice/cgroup.freeze", O_WRONLY | O_CLOEXEC);
}

static int use_network(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static int use_network6(void)
{
	return socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}
static int use_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
}
static int use_packets(void)
{
	return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static int do_mount(void)
{
	return mount("none", "/srv/sbx", "tmpfs", 0, NULL);
}
static int do_unmount(void)
{
	return umount2("/srv/sbx", MNT_DETACH);
}
static int do_chroot(void)
{
	return chroot("/");
}
static int new_namespace(void)
{
	return unshare(CLONE_NEWNS);
}
static int new_user(void)
{
	return unshare(CLONE_NEWUSER);
}
static int enter_namespace(void)
{
	return setns(open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC), 0);
}

static int trace(void)
{
	return (int)ptrace(PTRACE_SEIZE, victim, 0, 0);
}

static int read_memory(void)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { &victim, 1 };

	return (int)process_vm_readv(victim, &to, 1, &from, 1, 0);
}

static int load_module(void)
{
	return (int)syscall(SYS_init_module, "", 0, "");
}
static int load_bpf(void)
{
	return (int)syscall(SYS_bpf, 0, NULL, 0);
}
static int use_ring(void)
{
	struct io_uring_params params = { 0 };

	return (int)syscall(SYS_io_uring_setup, 1, &params);
}

/* To a time that is none, so that it cannot be set even where it is allowed. */
static int set_clock(void)
{
	return settimeofday(&(struct timeval){ .tv_sec = -1 }, NULL);
}

static int do_reboot(void)
{
	return reboot(RB_ENABLE_CAD);
}
static int set_hostname(void)
{
	return sethostname("probe", 5);
}
static int become_other(void)
{
	return setresuid(65534, 65534, 65534);
}
static int own_other(void)
{
	return chown("/srv/sbx", 65534, 65534);
}
static int add_key(void)
{
	return (int)syscall(SYS_add_key, "user", "sbx-probe", "x", 1, KEY_SPEC_PROCESS_KEYRING);
}

static int lock_memory(void)
{
	return mlock(&victim, 1);
}
static int raise_priority(void)
{
	return setpriority(PRIO_PROCESS, 0, -5);
}
static int be_real_time(void)
{
	return sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
}

static int make_code(void)
{
	void *memory = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? -1 : 0;
}

static int gain_capability(void)
{
	return prctl(PR_CAPBSET_READ, 21 /* CAP_SYS_ADMIN */) == 0 ? (errno = EPERM, -1) : 0;
}

static int gain_privileges(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? (errno = EPERM, -1) : 0;
}

static const struct {
	const char *name;
	int (*attempt)(void);
} attempts[] = {
	{ "write-etc", write_etc },
	{ "write-usr", write_usr },
	{ "write-home", write_home },
	{ "write-srv", write_srv },
	{ "write-tmp", write_tmp },
	{ "write-cgroup", write_cgroup },
	{ "make-device", make_device },
	{ "use-network", use_network },
	{ "use-network6", use_network6 },
	{ "use-netlink", use_netlink },
	{ "use-packets", use_packets },
	{ "mount", do_mount },
	{ "unmount", do_unmount },
	{ "chroot", do_chroot },
	{ "new-namespace", new_namespace },
	{ "new-user", new_user },
	{ "enter-namespace", enter_namespace },
	{ "trace", trace },
	{ "read-memory", read_memory },
	{ "load-module", load_module },
	{ "load-bpf", load_bpf },
	{ "use-ring", use_ring },
	{ "set-clock", set_clock },
	{ "reboot", do_reboot },
	{ "set-hostname", set_hostname },
	{ "become-other", become_other },
	{ "own-other", own_other },
	{ "add-key", add_key },
	{ "lock-memory", lock_memory },
	{ "raise-priority", raise_priority },
	{ "be-real-time", be_real_time },
	{ "make-code", make_code },
	{ "gain-capability", gain_capability },
	{ "gain-privileges", gain_privileges },
};

/* Each in a process of its own, so that what is allowed does not change what comes after. */
static void make_attempt(const char *name, int (*attempt)(void))
{
	pid_t pid = fork();
	int r;

	if (pid > 0 && waitpid(pid, NULL, 0) == pid)
		return;
	if (pid == 0) {
		r = attempt();
		(void)printf("%s %s\n", name, r < 0 ? strerrorname_np(errno) : "allowed");
		(void)fflush(stdout);
		_exit(0);
	}
	(void)printf("%s failed\n", name);
}

int main(int argc, char **argv)
{
	if (argc != 2 || !getenv("INVOCATION_ID"))
		return 2;
	victim = (pid_t)strtol(argv[1], NULL, 10);
	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++)
		make_attempt(attempts[i].name, attempts[i].attempt);
	return 0;
}
