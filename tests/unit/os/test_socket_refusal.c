// SPDX-License-Identifier: ISC
/* What functions on sockets return when a call of the system fails. */
#include "os/clock.h"
#include "os/socket/connector.h"
#include "os/socket/interface.h"
#include "os/socket/limit.h"
#include "os/socket/socket.h"
#include "os/stream/system_log.h"
#include "refusal.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char directory[SCRATCH_SIZE];
static union os_socket_address loopback;
static int pair[2] = {-1, -1};

/* 0, or the error: DESCRIPTOR does not block, and is inherited by nobody; it is closed. */
static int closed_socket(int descriptor)
{
	if (descriptor < 0)
		return descriptor;
	assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
	assert_true((fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0);
	close(descriptor);
	return 0;
}

/* --- listening --- */

static int listen_v4(void)
{
	return closed_socket(REFUSED(os_socket_listen(&loopback, 5)));
}

static int listen_v6(void)
{
	union os_socket_address address;

	assert_true(os_socket_address_parse("::1", 0, &address));
	return closed_socket(REFUSED(os_socket_listen(&address, 5)));
}

static int listen_beside(void)
{
	return closed_socket(REFUSED(os_socket_listen_beside(&loopback, 5)));
}

/* A listening socket, and its address. */
static int listening_at(union os_socket_address *address_out)
{
	int listening = os_socket_listen(&loopback, 5);

	assert_true(listening >= 0);
	assert_int_equal(os_socket_local_address(listening, address_out), 0);
	return listening;
}

static int listen_again(void)
{
	union os_socket_address address;
	int listening = listening_at(&address), result;

	os_socket_shut(listening);
	result = REFUSED(os_socket_listen_again(listening, 5));
	close(listening);
	return result;
}

static int accept_connection(void)
{
	union os_socket_address address, peer;
	int listening = listening_at(&address), own = os_socket_connect(&address), accepted;

	refusal_fill(&peer, sizeof peer);
	assert_int_equal(os_socket_wait(listening, false, 1000000), 0);
	accepted = REFUSED(os_socket_accept(listening, &peer));
	refusal_check(accepted, &peer, sizeof peer);
	close(own);
	close(listening);
	return closed_socket(accepted);
}

static int listen_unix(void)
{
	int made = REFUSED(os_socket_listen_unix("s", SOCK_SEQPACKET, 0600));

	if (made < 0)
		(void)unlink("s");
	return closed_socket(made);
}

static int listen_for_datagrams(void)
{
	int made = REFUSED(os_socket_listen_unix("d", SOCK_DGRAM, 0600));

	if (made < 0)
		(void)unlink("d");
	return closed_socket(made);
}

/* --- connecting --- */

static int connect_to(int (*connect_it)(const union os_socket_address *))
{
	union os_socket_address address;
	int listening = listening_at(&address), made = connect_it(&address);

	close(listening);
	return closed_socket(made);
}

static int refused_connect(const union os_socket_address *address)
{
	return REFUSED(os_socket_connect(address));
}

static int refused_connect_from(const union os_socket_address *address)
{
	const struct in6_addr source = os_socket_address_mapped(&loopback);

	return REFUSED(os_socket_connect_from(&source, address));
}

static int refused_connect_udp(const union os_socket_address *address)
{
	return REFUSED(os_socket_connect_udp(address));
}

static int connect_v4(void)
{
	return connect_to(refused_connect);
}

static int connect_from(void)
{
	return connect_to(refused_connect_from);
}

static int connect_udp(void)
{
	return connect_to(refused_connect_udp);
}

static int connect_unix(void)
{
	int listening = os_socket_listen_unix("c", SOCK_SEQPACKET, 0600), made;

	assert_true(listening >= 0);
	made = REFUSED(os_socket_connect_unix("c", SOCK_SEQPACKET));
	close(listening);
	return closed_socket(made);
}

static int ask_unix(void)
{
	int listening = os_socket_listen_unix("a", SOCK_DGRAM, 0600), made;

	assert_true(listening >= 0);
	made = REFUSED(os_socket_ask_unix("a"));
	close(listening);
	return closed_socket(made);
}

/* --- what goes through --- */

static int read_byte(void)
{
	char byte;

	assert_int_equal(write(pair[1], "a", 1), 1);
	{
		int result = (int)REFUSED(os_socket_read(pair[0], &byte, 1));

		if (result < 0)
			assert_int_equal(read(pair[0], &byte, 1), 1);
		return result;
	}
}

static int write_byte(void)
{
	return (int)REFUSED(os_socket_write(pair[0], "a", 1));
}

static int write_first_byte(void)
{
	return (int)REFUSED(os_socket_write_part(pair[0], "a", 1));
}

static int send_packet(void)
{
	return (int)REFUSED(os_socket_send(pair[0], "a", 1, &pair[1], 1));
}

static int receive_packet(void)
{
	int descriptors[OS_SOCKET_DESCRIPTORS], result;
	size_t count = 9;
	char byte;

	assert_int_equal(os_socket_send(pair[1], "a", 1, &pair[0], 1), 1);
	result = (int)REFUSED(os_socket_receive(pair[0], &byte, 1, descriptors, &count));
	assert_int_equal(count, result < 0 ? 0 : 1);
	if (result < 0)
		assert_int_equal(os_socket_receive(pair[0], &byte, 1, descriptors, &count), 1);
	assert_int_equal(fcntl(descriptors[0], F_GETFD), FD_CLOEXEC);
	close(descriptors[0]);
	return result;
}

static int receive_from_somebody(void)
{
	struct os_socket_sender sender;
	char byte;
	int result;

	assert_int_equal(write(pair[1], "a", 1), 1);
	result = (int)REFUSED(os_socket_receive_from(pair[0], &byte, 1, &sender));
	if (result < 0)
		assert_int_equal(read(pair[0], &byte, 1), 1);
	return result;
}

static int wait_for_writing(void)
{
	return REFUSED(os_socket_wait(pair[0], true, 0));
}

static int error_of_socket(void)
{
	return REFUSED(os_socket_error(pair[0]));
}

static int local_address(void)
{
	union os_socket_address address;
	int result;

	refusal_fill(&address, sizeof address);
	result = REFUSED(os_socket_local_address(pair[0], &address));
	refusal_check(result, &address, sizeof address);
	return result;
}

/* Nobody, if it is unknown. */
static int peer_user(void)
{
	uid_t user = REFUSED(os_socket_peer_user(pair[0]));

	return user == (uid_t)-1 ? -EXFULL : 0;
}

/* --- other processes, threads, interfaces --- */

static int hear_question(void)
{
	struct os_connector_question question = {.number = 1, .kind = SOCK_STREAM}, heard;
	int result;

	refusal_fill(&heard, sizeof heard);
	assert_int_equal(write(pair[1], &question, sizeof question), sizeof question);
	result = REFUSED(os_connector_hear(pair[0], &heard));
	refusal_check(result, &heard, sizeof heard);
	if (result < 0)
		assert_int_equal(read(pair[0], &heard, sizeof heard), sizeof heard);
	return result;
}

static int answer_question(void)
{
	const struct os_connector_question question = {.number = 1};

	return REFUSED(os_connector_answer(pair[0], &question, pair[1]));
}

static int interface_addresses(void)
{
	struct in6_addr list[1];

	return REFUSED(os_interface_addresses(list, 1));
}

static int new_limit(void)
{
	struct os_socket_limit *limit;
	int result;

	refusal_fill(&limit, sizeof limit);
	result = REFUSED(os_socket_limit_new(os_clock_monotonic_us() + 60000000, &limit));
	refusal_check(result, &limit, sizeof limit);
	if (result == 0)
		os_socket_limit_free(limit);
	return result;
}

static int set_limit(void)
{
	struct os_socket_limit *limit;
	int result;

	assert_int_equal(os_socket_limit_new(os_clock_monotonic_us() + 60000000, &limit), 0);
	result = REFUSED(os_socket_limit_set(limit, pair[0]));
	os_socket_limit_free(limit);
	return result;
}

static int send_to_system_log(void)
{
	return REFUSED(os_system_log_send(pair[0], "line", 4));
}

static const struct refusal_case cases[] = {
	{"os_socket_listen", listen_v4, NULL, "IPPROTO_TCP"},
	{"os_socket_listen, IPv6", listen_v6, NULL, "IPPROTO_TCP"},
	{"os_socket_listen_beside", listen_beside, NULL, "IPPROTO_TCP SO_REUSEPORT"},
	{"os_socket_listen_again", listen_again, NULL, NULL},
	{"os_socket_accept", accept_connection, "accept4", NULL},
	{"os_socket_listen_unix", listen_unix, NULL, NULL},
	{"os_socket_listen_unix, datagrams", listen_for_datagrams, NULL, NULL},
	{"os_socket_connect", connect_v4, "connect", "IPPROTO_TCP IPPROTO_IP"},
	{"os_socket_connect_from", connect_from, "connect", "IPPROTO_TCP IPPROTO_IP"},
	{"os_socket_connect_udp", connect_udp, NULL, NULL},
	{"os_socket_connect_unix", connect_unix, NULL, NULL},
	{"os_socket_ask_unix", ask_unix, NULL, NULL},
	{"os_socket_read", read_byte, "recv", NULL},
	{"os_socket_write", write_byte, "send", NULL},
	{"os_socket_write_part", write_first_byte, "send", NULL},
	{"os_socket_send", send_packet, "sendmsg", NULL},
	{"os_socket_receive", receive_packet, "recvmsg", NULL},
	{"os_socket_receive_from", receive_from_somebody, "recvmsg", NULL},
	{"os_socket_wait", wait_for_writing, "poll", NULL},
	{"os_socket_error", error_of_socket, NULL, NULL},
	{"os_socket_local_address", local_address, NULL, NULL},
	{"os_socket_peer_user", peer_user, NULL, NULL, "getsockopt", -EXFULL},
	{"os_connector_hear", hear_question, "recvmsg", NULL},
	{"os_connector_answer", answer_question, "sendmsg", NULL},
	{"os_interface_addresses", interface_addresses, NULL, NULL},
	{"os_socket_limit_new", new_limit, NULL, NULL},
	{"os_socket_limit_set", set_limit, NULL, NULL},
	{"os_system_log_send", send_to_system_log, NULL, NULL},
};

/* What else the kernel adds is no descriptor. */
static void descriptors_among_credentials(void **state)
{
	static const int on = 1;
	int descriptors[OS_SOCKET_DESCRIPTORS], sent[OS_SOCKET_DESCRIPTORS + 1];

	(void)state;
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
	for (size_t i = 0; i < COUNT_OF(sent); i++)
		sent[i] = pair[1];
	for (size_t count = 0; count <= OS_SOCKET_DESCRIPTORS; count++) {
		struct os_socket_sender sender;
		size_t received = 99;
		char byte;

		if (count > 8)
			count = OS_SOCKET_DESCRIPTORS;
		assert_int_equal(os_socket_send(pair[1], "a", 1, sent, count), 1);
		/* the kernel has room for fewer beside the credentials */
		assert_int_equal(os_socket_receive(pair[0], &byte, 1, descriptors, &received), 1);
		assert_true(count > 8 ? received <= count : received == count);
		for (size_t i = 0; i < received; i++) {
			assert_int_equal(fcntl(descriptors[i], F_GETFD), FD_CLOEXEC);
			close(descriptors[i]);
		}
		assert_int_equal(os_socket_send(pair[1], "b", 1, NULL, 0), 1);
		assert_int_equal(os_socket_receive_from(pair[0], &byte, 1, &sender), 1);
		assert_int_equal(sender.user, getuid());
	}
	assert_int_equal(os_socket_send(pair[1], "a", 1, sent, OS_SOCKET_DESCRIPTORS + 1), -EINVAL);
}

/* Who sent it is not known, and what was in SENDER counts for nothing. */
static void a_sender_without_credentials(void **state)
{
	struct os_socket_sender sender = {.user = 0, .size = 77};
	char byte;

	(void)state;
	assert_int_equal(write(pair[1], "a", 1), 1);
	assert_int_equal(os_socket_receive_from(pair[0], &byte, 1, &sender), 1);
	assert_int_equal(sender.user, (uid_t)-1);
	assert_true(sender.size <= sizeof(sa_family_t));
}

/* Another process connects to what is local, and to nothing else. */
static void what_a_connector_is_for(void **state)
{
	int asking = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
	char question[OS_SOCKET_TEXT_SIZE];

	(void)state;
	os_connector_use(asking);
	assert_int_equal(connect_v4(), 0);
	assert_int_equal(connect_from(), 0);
	assert_int_equal(connect_udp(), 0);
	assert_int_equal(recv(pair[1], question, sizeof question, MSG_DONTWAIT), -1);
	assert_int_equal(connect_unix(), -ETIMEDOUT); /* nobody answers */
	assert_true(recv(pair[1], question, sizeof question, MSG_DONTWAIT) > 0);
	os_connector_use(-1);
	assert_int_equal(connect_unix(), 0);
}

/* Whether there is one here or not, nothing stays open. */
static void the_system_log(void **state)
{
	int next = dup(STDERR_FILENO), made;

	(void)state;
	close(next);
	made = os_system_log_connect();
	if (made >= 0)
		os_system_log_close(made);
	assert_int_equal(dup(STDERR_FILENO), next);
	close(next);
}

static void each_call_fails_once(void **state)
{
	(void)state;
	refusal_try(cases, COUNT_OF(cases));
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	assert_true(os_socket_address_parse("127.0.0.1", 0, &loopback));
	return scratch_make(directory) == 0 && chdir(directory) == 0
		       ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)
		       : -1;
}

static int tear_down(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call_fails_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_system_log, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_sender_without_credentials, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_connector_is_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(descriptors_among_credentials, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
