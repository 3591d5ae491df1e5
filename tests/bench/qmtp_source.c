// SPDX-License-Identifier: ISC
/*
 * Sends messages by QMTP, as smtp-source does by SMTP: in many connections at once, in each of
 * which some packages are sent before the answers to those before them have come.
 *
 * usage: qmtp_source [-s CONNECTIONS] [-w WINDOW] [-m MESSAGES] [-l BYTES] [-f SENDER]
 *                    [-t RECIPIENT] 127.0.0.1:PORT
 *   -w  how many packages of a connection may be without an answer; 1: no pipelining
 * Ends with status 1 at the first answer that is not K.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, ANSWERS_SIZE = 65536, LINE = 70 };

struct connection {
	int socket;
	unsigned open;   /* packages that were begun and not answered */
	size_t position; /* in the package that is being sent; 0: none is */
	bool is_blocked;
	char answers[ANSWERS_SIZE]; /* what is not a whole one yet */
	size_t length;
};

static struct {
	unsigned connections, window, messages;
	size_t size;
	const char *sender, *recipient;
	struct sockaddr_in server;
	char *package;
	size_t package_length;
	unsigned begun, done;
	int epoll;
} run = {.connections = 1,
	 .window = 16,
	 .messages = 1,
	 .size = 1024,
	 .sender = "sender@client.example",
	 .recipient = "user@held.example"};

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "qmtp_source: %s: %s\n", what, why);
	exit(1);
}

/* A message of SIZE bytes, in lines, with CRLF as the queue has them. */
static char *make_message(void)
{
	static const char header[] = "\rSubject: test\r\n\r\n";
	char *message = malloc(sizeof header + run.size + LINE);
	size_t length = sizeof header - 1;

	if (message == NULL)
		fail("malloc", strerror(errno));
	memcpy(message, header, length);
	while (length < run.size) {
		memset(message + length, 'X', LINE - 2);
		memcpy(message + length + LINE - 2, "\r\n", 2);
		length += LINE;
	}
	message[length] = '\0';
	return message;
}

static void make_package(void)
{
	char *message = make_message();
	size_t recipient = strlen(run.recipient);
	char list[512];

	snprintf(list, sizeof list, "%zu:%s,", recipient, run.recipient);
	run.package_length =
		(size_t)asprintf(&run.package, "%zu:%s,%zu:%s,%zu:%s,", strlen(message), message,
				 strlen(run.sender), run.sender, strlen(list), list);
	free(message);
}

static void open_connection(struct connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
	int yes = 1;

	connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connection->socket < 0)
		fail("socket", strerror(errno));
	(void)setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	if (connect(connection->socket, (struct sockaddr *)&run.server, sizeof run.server) != 0 &&
	    errno != EINPROGRESS)
		fail("connect", strerror(errno));
	connection->is_blocked = true;
	if (epoll_ctl(run.epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0)
		fail("epoll_ctl", strerror(errno));
}

/* As many packages as may be open. */
static void send_packages(struct connection *connection)
{
	while (!connection->is_blocked) {
		ssize_t count;

		if (connection->position == 0) {
			if (connection->open == run.window || run.begun == run.messages)
				return;
			run.begun++;
			connection->open++;
		}
		count = write(connection->socket, run.package + connection->position,
			      run.package_length - connection->position);
		if (count < 0 && errno != EAGAIN)
			fail("write", strerror(errno));
		connection->is_blocked = count < 0;
		if (count > 0)
			connection->position =
				(connection->position + (size_t)count) % run.package_length;
	}
}

/* The length of the answer at the start of TEXT; 0: it is not whole. */
static size_t whole_answer(const char *text, size_t length)
{
	const char *colon = memchr(text, ':', length);
	size_t whole;

	if (colon == NULL)
		return 0;
	whole = (size_t)(colon - text) + 1 + strtoul(text, NULL, 10) + 1;
	if (length < whole)
		return 0;
	if (colon[1] != 'K')
		fail("refused", colon + 1);
	return whole;
}

static void take_answers(struct connection *connection)
{
	size_t done = 0;
	size_t whole;

	while ((whole = whole_answer(connection->answers + done, connection->length - done)) > 0) {
		done += whole;
		connection->open--;
		run.done++;
	}
	connection->length -= done;
	memmove(connection->answers, connection->answers + done, connection->length);
}

static void receive(struct connection *connection)
{
	ssize_t count;

	while ((count = read(connection->socket, connection->answers + connection->length,
			     ANSWERS_SIZE - 1 - connection->length)) > 0) {
		connection->length += (size_t)count;
		connection->answers[connection->length] = '\0';
		take_answers(connection);
	}
	if (count == 0)
		fail("read", "the server has closed");
	if (errno != EAGAIN)
		fail("read", strerror(errno));
}

static void on_event(const struct epoll_event *event)
{
	struct connection *connection = event->data.ptr;

	if ((event->events & EPOLLOUT) != 0)
		connection->is_blocked = false;
	if ((event->events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
		receive(connection);
	send_packages(connection);
}

static void send_all(void)
{
	struct connection *connections = calloc(run.connections, sizeof *connections);
	struct epoll_event events[EVENTS];

	run.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (connections == NULL || run.epoll < 0)
		fail("begin", strerror(errno));
	for (unsigned i = 0; i < run.connections; i++)
		open_connection(&connections[i]);
	while (run.done < run.messages) {
		int count = epoll_wait(run.epoll, events, EVENTS, -1);

		if (count < 0 && errno != EINTR)
			fail("epoll_wait", strerror(errno));
		for (int i = 0; i < count; i++)
			on_event(&events[i]);
	}
	free(connections);
}

static void parse_server(const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[64];

	if (colon == NULL || (size_t)(colon - text) >= sizeof host)
		fail(text, "not ADDRESS:PORT");
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	run.server.sin_family = AF_INET;
	run.server.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, host, &run.server.sin_addr) != 1)
		fail(host, "not an address");
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "s:w:m:l:f:t:")) != -1) {
		if (option == 's')
			run.connections = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'w')
			run.window = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'm')
			run.messages = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'l')
			run.size = strtoul(optarg, NULL, 10);
		else if (option == 'f')
			run.sender = optarg;
		else if (option == 't')
			run.recipient = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	parse_server(argv[optind]);
	make_package();
	send_all();
	free(run.package);
	return 0;
}
