// SPDX-License-Identifier: ISC
/* An LDAP server that answers a login with many messages, or with a long one. */
#include "directory/store/ldap/link/link.h"
#include "test.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the server says before it accepts the login: COUNT messages of SIZE bytes each, without
 * their tag and length. */
static struct {
	int listening;
	unsigned count;
	size_t size;
} server;

static bool write_all(int socket, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(socket, data, length, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		data += sent;
		length -= (size_t)sent;
	}
	return true;
}

/* An IntermediateResponse (RFC 4511 section 4.13), with a value that fills it. */
static bool write_intermediate(int socket, size_t size)
{
	static const char zeros[65536];
	size_t inside = size - 3 - 6, value = inside - 6;
	const unsigned char head[] = {0x30,
				      0x84,
				      (unsigned char)(size >> 24),
				      (unsigned char)(size >> 16),
				      (unsigned char)(size >> 8),
				      (unsigned char)size,
				      0x02,
				      0x01,
				      0x01,
				      0x79,
				      0x84,
				      (unsigned char)(inside >> 24),
				      (unsigned char)(inside >> 16),
				      (unsigned char)(inside >> 8),
				      (unsigned char)inside,
				      0x81,
				      0x84,
				      (unsigned char)(value >> 24),
				      (unsigned char)(value >> 16),
				      (unsigned char)(value >> 8),
				      (unsigned char)value};

	if (!write_all(socket, (const char *)head, sizeof head))
		return false;
	for (size_t left = value; left > 0;) {
		size_t length = left < sizeof zeros ? left : sizeof zeros;

		if (!write_all(socket, zeros, length))
			return false;
		left -= length;
	}
	return true;
}

static void *serve_login(void *unused)
{
	static const char accepted[] = "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
	char request[512];
	int socket = accept4(server.listening, NULL, NULL, SOCK_CLOEXEC);
	bool is_there = socket >= 0 && recv(socket, request, sizeof request, 0) > 0;

	(void)unused;
	for (unsigned i = 0; is_there && i < server.count; i++)
		is_there = write_intermediate(socket, server.size);
	if (is_there && write_all(socket, accepted, sizeof accepted - 1))
		(void)!recv(socket, request, sizeof request, 0); /* until it leaves */
	if (socket >= 0)
		close(socket);
	return NULL;
}

/* The result of a login before whose answer so much comes. */
static int login_after(unsigned count, size_t size)
{
	const struct link_login login = {.base = "dc=test"};
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct link_server parsed;
	LDAP *ld = NULL;
	pthread_t thread;
	char url[40];
	int code;

	server.count = count;
	server.size = size;
	server.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(server.listening, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(server.listening, 1), 0);
	assert_int_equal(getsockname(server.listening, (struct sockaddr *)&address, &length), 0);
	snprintf(url, sizeof url, "ldap://127.0.0.1:%u", ntohs(address.sin_port));
	assert_int_equal(link_server_parse(url, &parsed, &why), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve_login, NULL), 0);
	code = link_open(&parsed, &login, &ld, &why);
	if (code == LDAP_SUCCESS)
		link_close(ld);
	shutdown(server.listening, SHUT_RDWR); /* where nobody has connected */
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(server.listening);
	link_server_clear(&parsed);
	return code;
}

static void so_many_messages_come_before_the_result(void **state)
{
	(void)state;
	assert_int_equal(login_after(0, 0), LDAP_SUCCESS);
	/* the result is one of them */
	assert_int_equal(login_after(LINK_MESSAGES_MAX - 1, 100), LDAP_SUCCESS);
	assert_int_equal(login_after(LINK_MESSAGES_MAX, 100), LDAP_SIZELIMIT_EXCEEDED);
}

static void a_message_is_so_long(void **state)
{
	(void)state;
	assert_int_equal(login_after(1, LINK_MESSAGE_MAX), LDAP_SUCCESS);
	assert_int_equal(login_after(1, LINK_MESSAGE_MAX + 1), LDAP_SERVER_DOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_messages_come_before_the_result),
		cmocka_unit_test(a_message_is_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
