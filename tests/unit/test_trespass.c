#include "unit.h"

#include "os/trespass.h"

#include "workdir.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

static const char token[] = "0123456789abcdef";

static int listener(uint16_t *ret_port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void where_nothing_is_in_the_way_the_marker_is_written(void **state)
{
	struct workdir *workdir = *state;
	const char *path = workdir_path(workdir, token);
	char bytes[64] = "";
	struct trespass trespass = trespass_file(workdir->path, token);
	int fd CLEANUP(fd_done) = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(trespass.step, TRESPASS_THROUGH);
	assert_int_equal(trespass.code, 0);
	assert_string_equal(trespass.note, "");
	assert_int_equal(read(fd, bytes, sizeof(bytes)), strlen(token));
	assert_string_equal(bytes, token);
}

static void what_refuses_the_marker_is_told_as_it_is(void **state)
{
	struct workdir *workdir = *state;
	struct trespass trespass = trespass_file(workdir_path(workdir, "missing"), token);

	assert_int_equal(trespass.step, TRESPASS_OPEN);
	assert_int_equal(trespass.code, ENOENT);
	workdir_write(workdir, token, "", 0);
	trespass = trespass_file(workdir->path, token);
	assert_int_equal(trespass.step, TRESPASS_OPEN);
	assert_int_equal(trespass.code, EEXIST);
}

static void no_link_leads_the_marker_elsewhere(void **state)
{
	struct workdir *workdir = *state;
	struct trespass trespass;

	assert_int_equal(symlink("elsewhere", workdir_path(workdir, "link")), 0);
	trespass = trespass_file(workdir->path, "link");
	assert_int_equal(trespass.step, TRESPASS_OPEN);
	assert_int_equal(trespass.code, EEXIST);
}

static void an_endpoint_that_listens_gets_the_token(void **state)
{
	uint16_t port = 0;
	int listening CLEANUP(fd_done) = listener(&port), peer CLEANUP(fd_done) = -EBADF;
	struct trespass trespass = trespass_network(port, token);
	char bytes[64] = "";

	(void)state;
	assert_int_equal(trespass.step, TRESPASS_THROUGH);
	peer = accept(listening, NULL, NULL);
	assert_int_equal(read(peer, bytes, sizeof(bytes)), strlen(token));
	assert_string_equal(bytes, token);
}

static void where_nobody_listens_the_connection_is_refused(void **state)
{
	uint16_t port = 0;
	int listening = listener(&port);
	struct trespass trespass;

	(void)state;
	(void)close(listening);
	trespass = trespass_network(port, token);
	assert_int_equal(trespass.step, TRESPASS_CONNECT);
	assert_int_equal(trespass.code, ECONNREFUSED);
}

static void each_step_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (enum trespass_step step = 0; step < TRESPASS_STEPS; step++)
		assert_int_equal(trespass_step_of(trespass_step_name(step)), step);
	assert_int_equal(trespass_step_of("dance"), TRESPASS_STEPS);
	assert_int_equal(trespass_step_of(NULL), TRESPASS_STEPS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)
	const struct CMUnitTest tests[] = {
		TEST(where_nothing_is_in_the_way_the_marker_is_written),
		TEST(what_refuses_the_marker_is_told_as_it_is),
		TEST(no_link_leads_the_marker_elsewhere),
		TEST(an_endpoint_that_listens_gets_the_token),
		TEST(where_nobody_listens_the_connection_is_refused),
		cmocka_unit_test(each_step_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests_name("trespass", tests, NULL, NULL);
}
