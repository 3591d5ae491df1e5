// SPDX-License-Identifier: ISC
/* Sockets as they are made: each option, as the system shows it; and how they end. */
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int option_of(int socket, int level, int option)
{
	int value = -1;
	socklen_t size = sizeof value;

	assert_int_equal(getsockopt(socket, level, option, &value, &size), 0);
	return value;
}

struct tcp_pair {
	int listening, own, accepted;
	union os_socket_address address, peer;
};

static struct tcp_pair connect_pair(const char *host)
{
	struct tcp_pair pair;

	assert_true(os_socket_address_parse(host, 0, &pair.address));
	pair.listening = os_socket_listen(&pair.address, 5);
	assert_true(pair.listening >= 0);
	assert_int_equal(os_socket_local_address(pair.listening, &pair.address), 0);
	pair.own = os_socket_connect(&pair.address);
	assert_true(pair.own >= 0);
	assert_int_equal(os_socket_wait(pair.own, true, 5000000), 0);
	assert_int_equal(os_socket_error(pair.own), 0);
	assert_int_equal(os_socket_wait(pair.listening, false, 5000000), 0);
	pair.accepted = os_socket_accept(pair.listening, &pair.peer);
	assert_true(pair.accepted >= 0);
	return pair;
}

static void close_pair(const struct tcp_pair *pair)
{
	close(pair->listening);
	close(pair->own);
	os_socket_close(pair->accepted);
	os_socket_close(-1);
}

static void options_of_tcp(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tcp_pair pair = connect_pair(hosts[i]);
		union os_socket_address own;

		assert_int_equal(option_of(pair.listening, SOL_SOCKET, SO_REUSEADDR), 1);
		assert_int_equal(option_of(pair.listening, SOL_SOCKET, SO_REUSEPORT), 0);
		if (i == 1)
			assert_int_equal(option_of(pair.listening, IPPROTO_IPV6, IPV6_V6ONLY), 1);
		assert_int_equal(option_of(pair.own, IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(option_of(pair.accepted, IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(os_socket_local_address(pair.own, &own), 0);
		assert_true(os_socket_address_is_equal(&own, &pair.peer));
		assert_int_equal(os_socket_accept(pair.listening, &own), -EAGAIN);
		close_pair(&pair);
	}
}

static void who_disappears_is_noticed(void **state)
{
	struct tcp_pair pair = connect_pair("127.0.0.1");

	(void)state;
	assert_int_equal(option_of(pair.own, SOL_SOCKET, SO_KEEPALIVE), 0);
	os_socket_keep_alive(pair.own);
	assert_int_equal(option_of(pair.own, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(option_of(pair.own, IPPROTO_TCP, TCP_KEEPIDLE), 20);
	assert_int_equal(option_of(pair.own, IPPROTO_TCP, TCP_KEEPINTVL), 10);
	assert_int_equal(option_of(pair.own, IPPROTO_TCP, TCP_KEEPCNT), 3);
	assert_int_equal(option_of(pair.own, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
	close_pair(&pair);
}

/* Beside one that allows it, and no longer. */
static void places_that_are_shared(void **state)
{
	union os_socket_address address;
	int first, second;

	(void)state;
	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	first = os_socket_listen(&address, 5);
	assert_int_equal(os_socket_local_address(first, &address), 0);
	assert_int_equal(os_socket_listen_beside(&address, 5), -EADDRINUSE);
	os_socket_share_address(first, true);
	assert_int_equal(option_of(first, SOL_SOCKET, SO_REUSEPORT), 1);
	assert_int_equal(os_socket_listen(&address, 5), -EADDRINUSE);
	second = os_socket_listen_beside(&address, 5);
	assert_true(second >= 0);
	assert_int_equal(option_of(second, SOL_SOCKET, SO_REUSEPORT), 0);
	os_socket_share_address(first, false);
	assert_int_equal(option_of(first, SOL_SOCKET, SO_REUSEPORT), 0);
	close(first);
	close(second);
}

static void from_an_address(void **state)
{
	union os_socket_address address, own;
	struct in6_addr source = {.s6_addr = {[10] = 0xff, 0xff, 127, 0, 0, 77}};
	int listening, made;

	(void)state;
	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	listening = os_socket_listen(&address, 5);
	assert_int_equal(os_socket_local_address(listening, &address), 0);
	made = os_socket_connect_from(&source, &address);
	assert_true(made >= 0);
	assert_int_equal(option_of(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), 1);
	assert_int_equal(option_of(made, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(os_socket_local_address(made, &own), 0);
	assert_int_equal(own.v4.sin_addr.s_addr, htonl(0x7f00004d));
	assert_true(os_socket_address_port(&own) > 0);
	close(made);
	source.s6_addr[12] = 192; /* none of ours */
	assert_int_equal(os_socket_connect_from(&source, &address), -EADDRNOTAVAIL);
	close(listening);
}

static void bytes_that_were_received(void **state)
{
	struct tcp_pair pair = connect_pair("127.0.0.1");
	char text[100];
	int pipes[2];

	(void)state;
	assert_int_equal(os_socket_received(pair.accepted), 0);
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(os_socket_write(pair.own, "0123456", 7), 7);
		assert_int_equal(os_socket_wait(pair.accepted, false, 5000000), 0);
		assert_int_equal(os_socket_read(pair.accepted, text, sizeof text), 7);
		assert_int_equal(os_socket_received(pair.accepted), 7 * i);
	}
	assert_int_equal(os_socket_read(pair.accepted, text, sizeof text), -EAGAIN);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(os_socket_received(pipes[0]), 0);
	close(pipes[0]);
	close(pipes[1]);
	close_pair(&pair);
}

static void listening_that_ends(void **state)
{
	union os_socket_address address;
	int listening, copy;

	(void)state;
	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	listening = os_socket_listen(&address, 5);
	copy = dup(listening);
	assert_int_equal(fcntl(copy, F_SETFL, 0), 0);
	assert_false(os_socket_has_ended(listening));
	assert_true((fcntl(listening, F_GETFL) & O_NONBLOCK) != 0);
	os_socket_shut(copy);
	assert_true(os_socket_has_ended(listening));
	assert_int_equal(os_socket_listen_again(listening, 5), 0);
	assert_false(os_socket_has_ended(listening));
	assert_int_equal(fcntl(copy, F_SETFL, 0), 0);
	os_socket_never_wait(listening);
	assert_true((fcntl(copy, F_GETFL) & O_NONBLOCK) != 0);
	close(listening);
	close(copy);
}

/* The peer reads what was said last, though not all that it has written was read. */
static void a_polite_end(void **state)
{
	static char text[100000];
	struct tcp_pair pair = connect_pair("127.0.0.1");
	ssize_t count;

	(void)state;
	assert_true(os_socket_write(pair.own, text, 30000) > 0);
	assert_int_equal(os_socket_wait(pair.accepted, false, 5000000), 0);
	assert_int_equal(os_socket_write(pair.accepted, "last", 4), 4);
	os_socket_close_politely(pair.accepted);
	pair.accepted = -1;
	assert_int_equal(os_socket_wait(pair.own, false, 5000000), 0);
	count = os_socket_read(pair.own, text, sizeof text);
	assert_int_equal(count, 4);
	assert_memory_equal(text, "last", 4);
	close_pair(&pair);
}

/* --- local ones --- */

static char directory[SCRATCH_SIZE];

static void local_sockets(void **state)
{
	static const unsigned modes[] = {0600, 0660, 0622, 0777};
	static const int kinds[] = {SOCK_SEQPACKET, SOCK_DGRAM};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(modes); i++)
		for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
			mode_t before = umask(027);
			int first = os_socket_listen_unix("s", kinds[kind], modes[i]), second;
			struct stat status;

			assert_int_equal(umask(before), 027);
			assert_true(first >= 0);
			assert_int_equal(stat("s", &status), 0);
			assert_int_equal(status.st_mode & 07777, modes[i]);
			if (kinds[kind] == SOCK_DGRAM)
				assert_int_equal(option_of(first, SOL_SOCKET, SO_PASSCRED), 1);
			/* another one takes its place */
			second = os_socket_listen_unix("s", kinds[kind], modes[i]);
			assert_true(second >= 0);
			close(first);
			close(second);
			assert_int_equal(unlink("s"), 0);
		}
	{
		int file = open("f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		close(file);
		assert_int_equal(os_socket_listen_unix("f", SOCK_DGRAM, 0600), -EADDRINUSE);
		assert_int_equal(os_socket_listen_unix("none/s", SOCK_DGRAM, 0600), -ENOENT);
		assert_int_equal(access("f", F_OK), 0);
	}
}

/* An answer goes to who has asked; who has no address gets none. */
static void questions_and_answers(void **state)
{
	struct os_socket_sender sender;
	char text[20];
	int server = os_socket_listen_unix("d", SOCK_DGRAM, 0600), client = os_socket_ask_unix("d"),
	    nameless = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	union os_socket_address address;

	(void)state;
	assert_true(server >= 0 && client >= 0);
	assert_int_equal(os_socket_write(client, "ask", 3), 3);
	assert_int_equal(os_socket_receive_from(server, text, sizeof text, &sender), 3);
	assert_int_equal(sender.user, getuid());
	os_socket_answer(server, "answer", 6, &sender);
	assert_int_equal(os_socket_read(client, text, sizeof text), 6);
	assert_memory_equal(text, "answer", 6);
	assert_true(os_socket_address_of_path("d", &address));
	assert_int_equal(sendto(nameless, "x", 1, 0, &address.any, sizeof address.local), 1);
	assert_int_equal(os_socket_receive_from(server, text, sizeof text, &sender), 1);
	os_socket_answer(server, "nobody", 6, &sender);
	assert_int_equal(os_socket_read(client, text, sizeof text), -EAGAIN);
	close(server);
	close(client);
	close(nameless);
}

/* One that does not fit is none, and no descriptor of it is left. */
static void packets_that_do_not_fit(void **state)
{
	int ends[2], descriptors[OS_SOCKET_DESCRIPTORS], next = dup(STDERR_FILENO);

	(void)state;
	close(next);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	for (size_t size = 1; size <= 5; size++) {
		char text[5];
		size_t count = 9;

		assert_int_equal(os_socket_send(ends[0], "abc", 3, ends, 2), 3);
		assert_int_equal(os_socket_receive(ends[1], text, size, descriptors, &count),
				 size < 3 ? -EMSGSIZE : 3);
		assert_int_equal(count, size < 3 ? 0 : 2);
		while (count > 0)
			close(descriptors[--count]);
	}
	close(ends[0]);
	assert_int_equal(os_socket_receive(ends[1], descriptors, 1, descriptors, &(size_t){0}), 0);
	close(ends[1]);
	assert_int_equal(dup(STDERR_FILENO), next); /* it is free */
	close(next);
}

static void whose_connection_it_is(void **state)
{
	int ends[2], pipes[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(os_socket_peer_user(ends[0]), getuid());
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(os_socket_peer_user(pipes[0]), (uid_t)-1);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(pipes[i]);
	}
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	return scratch_make(directory) == 0 ? chdir(directory) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(options_of_tcp),
		CASE(who_disappears_is_noticed),
		CASE(places_that_are_shared),
		CASE(from_an_address),
		CASE(bytes_that_were_received),
		CASE(listening_that_ends),
		CASE(a_polite_end),
		CASE(local_sockets),
		CASE(questions_and_answers),
		CASE(packets_that_do_not_fit),
		CASE(whose_connection_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
