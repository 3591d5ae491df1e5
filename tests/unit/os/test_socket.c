// SPDX-License-Identifier: ISC
/* Sockets that others may have put in the way, or ended; and connections that others make. */
#include "base/str.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/socket/connector.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/stagepost-socket-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"socket", "other", "full", "late"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlink(path_of(names[i]));
	return rmdir(folder);
}

static void a_socket_has_its_mode_at_once(void **state)
{
	mode_t before = umask(027);
	struct stat status;
	int listening = os_socket_listen_unix(path_of("socket"), SOCK_STREAM, 0662);

	(void)state;
	assert_true(listening >= 0);
	assert_int_equal(lstat(path_of("socket"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0662);
	assert_int_equal(umask(before), 027);
	os_socket_close(listening);
}

static void an_ended_listener_is_known(void **state)
{
	static const int kinds[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
	union os_socket_address address;
	int listening;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		listening = os_socket_listen_unix(path_of("other"), kinds[i], 0600);
		assert_true(listening >= 0 && !os_socket_has_ended(listening));
		assert_int_equal(shutdown(listening, SHUT_RD), 0);
		assert_true(os_socket_has_ended(listening));
		os_socket_close(listening);
	}
	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	listening = os_socket_listen(&address, 5);
	assert_true(listening >= 0 && !os_socket_has_ended(listening));
	assert_int_equal(fcntl(listening, F_SETFL, 0), 0);
	assert_false(os_socket_has_ended(listening));
	assert_int_equal(fcntl(listening, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(shutdown(listening, SHUT_RDWR), 0);
	assert_true(os_socket_has_ended(listening));
	os_socket_close(listening);
}

/* Who connects for others: before each answer a false one. */
static _Noreturn void answer(int socket)
{
	static const int lies[] = {STDIN_FILENO, -EIO, -EIO, -EIO};
	const struct os_process_user nobody_else = {0};

	for (size_t i = 0; i < COUNT_OF(lies); i++) {
		struct os_connector_question question;
		struct os_connector_question other;
		int result;

		if (os_socket_wait(socket, false, 10 * SECOND_US) < 0 ||
		    os_connector_hear(socket, &question) < 0)
			_exit(1);
		other = question;
		other.number--;
		result = os_connector_connect_as(&nobody_else, question.path, question.kind);
		if (os_connector_answer(socket, &other, lies[i]) < 0 ||
		    os_connector_answer(socket, &question, result) < 0)
			_exit(2);
		os_socket_close(result);
	}
	_exit(0);
}

static void a_question_is_whole(void **state)
{
	struct os_connector_question question = {.number = 1, .kind = SOCK_STREAM};
	int sockets[2];

	(void)state;
	assert_int_equal(os_process_socket_pair(sockets), 0);
	assert_int_equal(os_connector_hear(sockets[0], &question), -EAGAIN);
	memset(question.path, 'x', sizeof question.path);
	assert_true(os_socket_send(sockets[1], &question, sizeof question, sockets, 1) > 0);
	assert_int_equal(os_connector_hear(sockets[0], &question), -EBADMSG);
	question.path[1] = '\0';
	assert_true(os_socket_send(sockets[1], &question, sizeof question - 1, NULL, 0) > 0);
	assert_int_equal(os_connector_hear(sockets[0], &question), -EBADMSG);
	os_socket_close(sockets[1]);
	assert_int_equal(os_connector_hear(sockets[0], &question), -EPIPE);
	assert_int_equal(os_connector_answer(sockets[0], &question, -EIO), -EPIPE);
	os_socket_close(sockets[0]);
}

static int listen_for_one(const char *path)
{
	union os_socket_address address;
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);

	if (!os_socket_address_of_path(path, &address) ||
	    bind(listening, &address.any, sizeof address.local) != 0 || listen(listening, 0) != 0)
		return -1;
	return listening;
}

/* Where one waits at PATH, there is no room for another one: that is not taken for a late answer.
 */
static void expect_one_of_two(const char *path)
{
	int listening = listen_for_one(path);
	union os_socket_address address;
	int connected;

	assert_true(listening >= 0 && os_socket_address_of_path(path, &address));
	connected = os_socket_connect(&address);
	assert_true(connected >= 0);
	assert_int_equal(os_socket_connect(&address), -EAGAIN);
	os_socket_close(connected);
	os_socket_close(listening);
}

static void connections_are_made_by_another(void **state)
{
	int listening = os_socket_listen_unix(path_of("other"), SOCK_SEQPACKET, 0600);
	union os_socket_address peer;
	char long_path[200];
	int sockets[2];
	int connected;
	int accepted;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(os_process_socket_pair(sockets), 0);
	pid = fork();
	if (pid == 0)
		answer(sockets[0]);
	os_connector_use(sockets[1]);
	connected = os_socket_connect_unix(path_of("other"), SOCK_SEQPACKET);
	assert_true(connected >= 0);
	accepted = os_socket_accept(listening, &peer);
	assert_true(accepted >= 0);
	assert_int_equal(os_socket_write(connected, "x", 1), 1);
	assert_int_equal(os_socket_read(accepted, long_path, sizeof long_path), 1);
	assert_int_equal(os_connector_connect(path_of("none"), SOCK_SEQPACKET), -ENOENT);
	expect_one_of_two(path_of("full"));
	memset(long_path, 'x', sizeof long_path - 1);
	long_path[sizeof long_path - 1] = '\0';
	assert_int_equal(os_connector_connect(long_path, SOCK_SEQPACKET), -ENAMETOOLONG);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	os_socket_close(listening);
	os_socket_close(connected);
	os_socket_close(accepted);
	/* nobody answers: that is waited for once, and then not for a while */
	for (int i = 0; i < 2; i++) {
		int64_t begun_us = os_clock_monotonic_us();

		assert_int_equal(os_connector_connect(path_of("other"), SOCK_SEQPACKET),
				 -ETIMEDOUT);
		assert_true((os_clock_monotonic_us() - begun_us > SECOND_US / 4) == (i == 0));
	}
	os_socket_close(sockets[0]);
	os_connector_use(-1);
}

/* Not by the connector, which this process has itself. */
static int plain_socket(int kind)
{
	return socket(AF_UNIX, kind | SOCK_CLOEXEC, 0);
}

/* The process that is asked, which was busy, answers the next question. */
static void answer_late(int socket)
{
	struct os_connector_question question;
	union os_socket_address address;
	int connected;

	assert_int_equal(os_connector_hear(socket, &question), 0);
	assert_true(os_socket_address_of_path(question.path, &address));
	connected = plain_socket(question.kind);
	assert_int_equal(connect(connected, &address.any, sizeof address.local), 0);
	assert_int_equal(os_connector_answer(socket, &question, connected), 0);
	os_socket_close(connected);
}

static size_t count_descriptors(void)
{
	size_t count = 0;

	for (int i = 0; i < 64; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
}

static void an_answer_that_comes_late_serves_the_next_request(void **state)
{
	int listening = os_socket_listen_unix(path_of("late"), SOCK_SEQPACKET, 0600);
	struct os_connector_question question;
	union os_socket_address peer;
	int sockets[2];
	int connected;
	size_t count;

	(void)state;
	assert_int_equal(os_process_socket_pair(sockets), 0);
	os_connector_use(sockets[1]);
	assert_int_equal(os_connector_connect(path_of("late"), SOCK_SEQPACKET), -ETIMEDOUT);
	answer_late(sockets[0]);
	connected = os_connector_connect(path_of("late"), SOCK_SEQPACKET);
	assert_true(connected >= 0);
	assert_int_equal(os_connector_hear(sockets[0], &question), -EAGAIN); /* not asked again */
	os_socket_close(os_socket_accept(listening, &peer));
	os_socket_close(connected);
	/* one for another path is closed, and the silence has ended: that one is asked for */
	assert_int_equal(os_connector_connect(path_of("late"), SOCK_SEQPACKET), -ETIMEDOUT);
	answer_late(sockets[0]);
	count = count_descriptors();
	assert_int_equal(os_connector_connect(path_of("none"), SOCK_SEQPACKET), -ETIMEDOUT);
	assert_int_equal(count_descriptors(), count);
	assert_int_equal(os_connector_hear(sockets[0], &question), 0);
	assert_string_equal(question.path, path_of("none"));
	/* an error is not used for the next request */
	assert_int_equal(os_connector_answer(sockets[0], &question, -ENOENT), 0);
	assert_int_equal(os_connector_connect(path_of("none"), SOCK_SEQPACKET), -ETIMEDOUT);
	assert_int_equal(os_connector_hear(sockets[0], &question), 0);
	os_socket_close(listening);
	os_socket_close(sockets[0]);
	os_connector_use(-1);
}

static void who_is_asked_again_may_give_either_answer(void **state)
{
	struct os_connector_question first;
	struct os_connector_question second;
	const int64_t begun_us = os_clock_monotonic_us();
	int sockets[2];
	int result;

	(void)state;
	assert_int_equal(os_process_socket_pair(sockets), 0);
	os_connector_use(sockets[1]);
	assert_int_equal(os_connector_connect(path_of("late"), SOCK_SEQPACKET), -ETIMEDOUT);
	assert_int_equal(os_connector_hear(sockets[0], &first), 0);
	do
		assert_int_equal(os_connector_connect(path_of("late"), SOCK_SEQPACKET), -ETIMEDOUT);
	while (os_socket_wait(sockets[0], false, SECOND_US / 50) == -ETIMEDOUT);
	result = os_connector_hear(sockets[0], &second);
	assert_int_equal(result, 0);
	assert_true(os_clock_monotonic_us() - begun_us > 2 * SECOND_US);
	assert_int_equal(first.number, second.number);
	assert_int_equal(os_connector_answer(sockets[0], &first, sockets[0]), 0);
	result = os_connector_connect(path_of("late"), SOCK_SEQPACKET);
	assert_true(result >= 0);
	os_socket_close(result);
	/* the other answer is to no later question */
	assert_int_equal(os_connector_answer(sockets[0], &second, sockets[0]), 0);
	assert_int_equal(os_connector_connect(path_of("late"), SOCK_SEQPACKET), -ETIMEDOUT);
	os_socket_close(sockets[0]);
	os_connector_use(-1);
}

/* Two ends of a connection of TCP. */
static void connect_pair(int *near, int *far)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listening >= 0 && *near >= 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(connect(*near, (struct sockaddr *)&address, sizeof address), 0);
	*far = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(*far >= 0);
	close(listening);
}

static void a_part_goes_along_with_the_rest(void **state)
{
	int near;
	int far;
	char text[8];

	(void)state;
	connect_pair(&near, &far);
	assert_int_equal(os_socket_write_part(near, "221", 3), 3);
	assert_int_equal(recv(far, text, sizeof text, MSG_DONTWAIT), -1);
	assert_int_equal(os_socket_write(near, "bye", 3), 3);
	assert_int_equal(recv(far, text, sizeof text, 0), 6);
	assert_int_equal(os_socket_write_part(near, "end", 3), 3);
	os_socket_close(near);
	assert_int_equal(recv(far, text, sizeof text, MSG_WAITALL), 3);
	os_socket_close(far);
}

static void public_addresses_are_known(void **state)
{
	static const struct {
		const char *address;
		bool is_public;
	} cases[] = {
		{"192.0.2.1", true},
		{"9.255.255.255", true},
		{"10.0.0.0", false},
		{"11.0.0.0", true},
		{"100.63.255.255", true},
		{"100.64.0.0", false},
		{"100.128.0.0", true},
		{"127.0.0.1", false},
		{"169.254.169.254", false},
		{"172.15.255.255", true},
		{"172.16.0.0", false},
		{"172.31.255.255", false},
		{"172.32.0.0", true},
		{"192.168.1.1", false},
		{"192.0.0.170", false},
		{"223.255.255.255", true},
		{"224.0.0.1", false},
		{"255.255.255.255", false},
		{"0.0.0.0", false},
		{"::1", false},
		{"::", false},
		{"fe80::1", false},
		{"fc00::1", false},
		{"fd00::1", false},
		{"ff02::1", false},
		{"2001:db8::1", true},
		{"2a00::1", true},
		{"::ffff:127.0.0.1", false},
		{"::ffff:192.0.2.1", true},
		{"2002:7f00:1::", false},
		{"64:ff9b::7f00:1", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		union os_socket_address address;

		assert_true(os_socket_address_parse(cases[i].address, 443, &address));
		if (os_socket_address_is_public(&address) != cases[i].is_public)
			fail_msg("%s", cases[i].address);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_has_its_mode_at_once),
		cmocka_unit_test(an_ended_listener_is_known),
		cmocka_unit_test(a_question_is_whole),
		cmocka_unit_test(connections_are_made_by_another),
		cmocka_unit_test(an_answer_that_comes_late_serves_the_next_request),
		cmocka_unit_test(who_is_asked_again_may_give_either_answer),
		cmocka_unit_test(a_part_goes_along_with_the_rest),
		cmocka_unit_test(public_addresses_are_known),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
