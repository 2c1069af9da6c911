/* A bus that is silent. What it says is seen with a real one: tests/system/test_bus.c. */
#include "unit.h"

#include "base/clock.h"
#include "child.h"
#include "os/bus.h"
#include "workdir.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

/* sd-bus would wait for 90 s. */
enum { TIMEOUT_MS = 300, PATIENCE_MS = 60 * 1000 };

static const char let_in[] = "DATA\r\nOK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n";

/* In place of the one of libsystemd; the Makefile has the linker do it. */
int __wrap_sd_booted(void);

int __wrap_sd_booted(void)
{
	return 1;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_return_code(fd, errno);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_return_code(bind(fd, (const struct sockaddr *)&address, sizeof(address)), errno);
	assert_return_code(listen(fd, 4), errno);
	return fd;
}

/* Says that, and nothing more, to one who connects. */
static pid_t serve(int socket, const char *text)
{
	pid_t pid = fork();
	int peer;

	assert_return_code(pid, errno);
	if (pid)
		return pid;
	peer = accept(socket, NULL, NULL);
	(void)!write(peer, text, strlen(text));
	for (;;)
		(void)pause();
}

static void expect_silence(struct workdir *workdir, const char *name, const char *text)
{
	const char *path = workdir_path(workdir, name);
	char *address CLEANUP(mem_done) = mem_printf("unix:path=%s", path);
	int64_t begin_ms = clock_boot_ms();
	int socket CLEANUP(fd_done) = listen_at(path);
	pid_t server = text ? serve(socket, text) : 0;
	struct error error = { 0 };
	struct bus *bus = NULL;

	assert_return_code(setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1), errno);
	assert_return_code(setenv("DBUS_SESSION_BUS_ADDRESS", address, 1), errno);
	assert_int_equal(bus_open(TIMEOUT_MS, &bus, &error), -ETIME);
	assert_in_range(clock_boot_ms() - begin_ms, TIMEOUT_MS, PATIENCE_MS);
	assert_string_equal(error.text, "systemd runs, but its bus does not answer");
	assert_null(bus);
	child_end(server);
}

static void a_bus_that_never_answers_costs_one_time_limit(void **state)
{
	expect_silence(*state, "nobody", NULL);
	expect_silence(*state, "silent", "");
	expect_silence(*state, "half", "DATA\r\nOK 0123");
}

static void so_does_one_that_lets_us_in_and_is_silent_then(void **state)
{
	expect_silence(*state, "greets", let_in);
}

static void one_that_hangs_up_is_told_apart(void **state)
{
	const char *path = workdir_path(*state, "gone");
	char *address CLEANUP(mem_done) = mem_printf("unix:path=%s", path);
	struct error error = { 0 };
	struct bus *bus = NULL;
	int socket = listen_at(path);

	(void)close(socket);
	assert_return_code(setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1), errno);
	assert_return_code(setenv("DBUS_SESSION_BUS_ADDRESS", address, 1), errno);
	assert_int_equal(bus_open(PATIENCE_MS, &bus, &error), -ECONNREFUSED);
	assert_non_null(strstr(error.text, "connecting to its bus failed"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_bus_that_never_answers_costs_one_time_limit),
		TEST(so_does_one_that_lets_us_in_and_is_silent_then),
		TEST(one_that_hangs_up_is_told_apart),
	};

	return cmocka_run_group_tests_name("bus", tests, NULL, NULL);
}
