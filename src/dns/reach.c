// SPDX-License-Identifier: ISC
#include "dns/reach.h"
#include "base/panic.h"
#include "base/str.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/random.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	SERVERS_MAX = 8,
	PORT = 53,
	REACH_HEADER_SIZE = 12,
	QUERY_SIZE =
		REACH_HEADER_SIZE + 5, /* the root's name takes one byte, type and class four */
	RESOLV_CONF_MAX = 16384,
};

static const int64_t PATIENCE_US = 2 * SECOND_US;
static const int64_t REMEMBERED_US = 5 * SECOND_US;

struct server {
	struct dns_reach *reach;
	union os_socket_address address;
	int socket; /* -1: not asked, or it refused */
	struct os_watch *watch;
};

struct dns_reach_question {
	struct dns_reach *reach;
	void (*done)(void *context, bool is_reached);
	void *context;
	struct dns_reach_question *previous, *next;
};

struct dns_reach {
	struct os_loop *loop;
	struct os_timer *timer;
	struct server servers[SERVERS_MAX];
	size_t server_count;
	size_t asked;     /* servers that have neither answered nor refused */
	uint16_t number;  /* ID of the present question */
	int64_t until_us; /* monotonic: until then IS_REACHED is the answer for others */
	bool is_reached;
	bool is_asking;
	struct dns_reach_question *questions;
};

/* "192.0.2.1" or "192.0.2.1@5353" */
static void add_name_server(struct dns_reach *reach, struct str text)
{
	struct server *server = &reach->servers[reach->server_count];
	struct str host;
	uint64_t port = PORT;
	char copy[OS_SOCKET_TEXT_SIZE];

	if (reach->server_count == SERVERS_MAX)
		return;
	(void)str_split(&text, '@', &host);
	if (text.data != NULL && (!str_to_u64(text, &port) || port > UINT16_MAX))
		return;
	if (host.length >= sizeof copy)
		return;
	memcpy(copy, host.data, host.length);
	copy[host.length] = '\0';
	if (!os_socket_address_parse(copy, (uint16_t)port, &server->address))
		return;
	server->reach = reach;
	server->socket = -1;
	reach->server_count++;
}

static void add_resolv_conf_line(struct dns_reach *reach, struct str line)
{
	struct str word = str_trim(line);

	if (str_starts_with(word, STR("nameserver")))
		add_name_server(reach, str_trim(str_skip(word, sizeof "nameserver" - 1)));
}

/* If the file cannot be read, this machine is the name server, by resolv.conf(5). */
static void add_servers_of_system(struct dns_reach *reach)
{
	char text[RESOLV_CONF_MAX];
	int file = os_file_open(OS_FILE_HERE, "/etc/resolv.conf", OS_FILE_READ | OS_FILE_NO_BLOCK);
	ssize_t length = file < 0 ? file : os_file_read(file, text, sizeof text, 0);
	struct str rest = {text, length > 0 ? (size_t)length : 0};
	struct str line;

	if (file >= 0)
		os_file_close(file);
	while (str_split(&rest, '\n', &line))
		add_resolv_conf_line(reach, line);
	if (reach->server_count == 0)
		add_name_server(reach, STR("127.0.0.1"));
}

static void forget_server(struct server *server)
{
	if (server->socket < 0)
		return;
	os_watch_free(server->watch);
	os_socket_close(server->socket);
	server->socket = -1;
	server->reach->asked--;
}

/* Answers must come from the loop: if there is one already, the timer fires at once. */
static void decide_reach(struct dns_reach *reach, bool is_reached)
{
	for (size_t i = 0; i < reach->server_count; i++)
		forget_server(&reach->servers[i]);
	reach->is_asking = false;
	reach->is_reached = is_reached;
	reach->until_us = os_clock_monotonic_us() + REMEMBERED_US;
	os_timer_start(reach->timer, 0);
}

static void answer_reach_questions(struct dns_reach *reach)
{
	/* a callback may ask the next question, for which others must wait, too */
	while (reach->questions != NULL && !reach->is_asking) {
		struct dns_reach_question question = *reach->questions;

		dns_reach_cancel(reach->questions);
		question.done(question.context, reach->is_reached);
	}
}

static void on_reach_timer(void *context)
{
	struct dns_reach *reach = context;

	if (reach->is_asking)
		decide_reach(reach, false);
	else
		answer_reach_questions(reach);
}

static void on_name_server_readable(void *context, unsigned events)
{
	struct server *server = context;
	struct dns_reach *reach = server->reach;
	unsigned char answer[REACH_HEADER_SIZE];
	ssize_t length = os_socket_read(server->socket, answer, sizeof answer);

	(void)events;
	if (length == (ssize_t)sizeof answer && (answer[0] << 8 | answer[1]) == reach->number) {
		decide_reach(reach, true);
		return;
	}
	if (length < 0 && length != -EAGAIN)
		forget_server(server);
	if (reach->asked == 0)
		decide_reach(reach, false);
}

/* Asks for the root's name servers; the server may recurse. */
static void ask_name_server(struct server *server)
{
	struct dns_reach *reach = server->reach;
	const unsigned char query[QUERY_SIZE] = {(unsigned char)(reach->number >> 8),
						 (unsigned char)reach->number,
						 1,
						 0,
						 0,
						 1,
						 0,
						 0,
						 0,
						 0,
						 0,
						 0,
						 0,
						 0,
						 2,
						 0,
						 1};
	int socket = os_socket_connect_udp(&server->address);

	if (socket < 0)
		return;
	if (os_socket_write(socket, query, sizeof query) < 0) {
		os_socket_close(socket);
		return;
	}
	server->socket = socket;
	server->watch =
		os_watch_new(reach->loop, socket, OS_WATCH_READ, on_name_server_readable, server);
	reach->asked++;
}

static void begin_reach_test(struct dns_reach *reach)
{
	reach->is_asking = true;
	reach->number = (uint16_t)os_random_u64();
	for (size_t i = 0; i < reach->server_count; i++)
		ask_name_server(&reach->servers[i]);
	os_timer_start(reach->timer, reach->asked > 0 ? PATIENCE_US : 0);
}

struct dns_reach *dns_reach_new(struct os_loop *loop, const char *server)
{
	struct dns_reach *reach = memory_alloc_zero(1, sizeof *reach);

	reach->loop = loop;
	reach->timer = os_timer_new(loop, on_reach_timer, reach);
	if (*server != '\0')
		add_name_server(reach, str_from(server));
	else
		add_servers_of_system(reach);
	return reach;
}

void dns_reach_free(struct dns_reach *reach)
{
	if (reach == NULL)
		return;
	for (size_t i = 0; i < reach->server_count; i++)
		forget_server(&reach->servers[i]);
	os_timer_free(reach->timer);
	free(reach);
}

struct dns_reach_question *
dns_reach_ask(struct dns_reach *reach, void (*done)(void *context, bool is_reached), void *context)
{
	struct dns_reach_question *question = memory_alloc_zero(1, sizeof *question);

	*question = (struct dns_reach_question){reach, done, context, NULL, NULL};
	DL_APPEND2(reach->questions, question, previous, next);
	if (reach->is_asking)
		return question;
	if (os_clock_monotonic_us() < reach->until_us)
		os_timer_start(reach->timer, 0);
	else
		begin_reach_test(reach);
	return question;
}

void dns_reach_cancel(struct dns_reach_question *question)
{
	if (question == NULL)
		return;
	DL_DELETE2(question->reach->questions, question, previous, next);
	free(question);
}
