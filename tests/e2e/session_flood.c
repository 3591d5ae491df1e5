// SPDX-License-Identifier: ISC
/*
 * session_flood - opens SMTP sessions as fast as it can and drops each with a reset.
 *
 * usage: session_flood PORT SECONDS AT_ONCE ADDRESSES
 *
 * Connects to 127.0.0.1:PORT from the first ADDRESSES of 127.66.0.0/16 in turn, AT_ONCE at a time.
 * By turns a session is dropped as soon as it is there or after the first bytes from the server,
 * and one in eight after a login with a wrong password was answered. Prints how often, as JSON:
 * "opened" connections, those "refused" by the system, sessions "greeted", those that were
 * "turned_away" by 421, and logins that "failed".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE_MAX = 4096, EVENTS = 256, SOURCES = 0x7f420000 };

enum kind { KIND_DROPS, KIND_LOOKS, KIND_LOGS_IN };
enum step { STEP_CONNECT, STEP_GREETING, STEP_EHLO, STEP_AUTH };

struct session {
	int socket;
	enum kind kind;
	enum step step;
};

struct flood {
	struct sockaddr_in to;
	unsigned addresses;
	unsigned long begun;
	int poll;
	unsigned long opened, refused, greeted, turned_away, failed;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void say(const struct session *session, const char *text)
{
	(void)!send(session->socket, text, strlen(text), MSG_NOSIGNAL);
}

/* Logins are few: each takes its time, and a place meanwhile. */
static const enum kind kinds[] = {KIND_DROPS, KIND_LOOKS, KIND_DROPS, KIND_LOOKS,
				  KIND_DROPS, KIND_LOOKS, KIND_DROPS, KIND_LOGS_IN};

static void begin(struct flood *flood, struct session *session)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	struct epoll_event event = {.events = EPOLLOUT, .data.ptr = session};
	int one = 1;

	session->kind = kinds[flood->begun % (sizeof kinds / sizeof *kinds)];
	session->step = STEP_CONNECT;
	session->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (session->socket < 0)
		fail("socket");
	from.sin_addr.s_addr = htonl(SOURCES + (uint32_t)(flood->begun++ % flood->addresses));
	setsockopt(session->socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
	if (bind(session->socket, (struct sockaddr *)&from, sizeof from) < 0)
		fail("bind");
	if (connect(session->socket, (struct sockaddr *)&flood->to, sizeof flood->to) < 0 &&
	    errno != EINPROGRESS && errno != ECONNREFUSED)
		fail("connect");
	if (epoll_ctl(flood->poll, EPOLL_CTL_ADD, session->socket, &event) < 0)
		fail("epoll_ctl");
}

/* With a reset, and without a port that waits. */
static void drop(struct session *session)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	setsockopt(session->socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	close(session->socket);
}

static void listen_to(struct flood *flood, struct session *session)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = session};

	epoll_ctl(flood->poll, EPOLL_CTL_MOD, session->socket, &event);
}

/* False: it is over. */
static bool connected(struct flood *flood, struct session *session)
{
	int error = 0;
	socklen_t size = sizeof error;

	getsockopt(session->socket, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error != 0) {
		flood->refused++;
		return false;
	}
	flood->opened++;
	session->step = STEP_GREETING;
	listen_to(flood, session);
	return session->kind != KIND_DROPS;
}

/* The server has said something; likewise. */
static bool told(struct flood *flood, struct session *session)
{
	char text[4096];
	ssize_t count = recv(session->socket, text, sizeof text, 0);

	if (count < 3)
		return false;
	if (memcmp(text, "421", 3) == 0) {
		flood->turned_away++;
		return false;
	}
	switch (session->step) {
	case STEP_GREETING:
		flood->greeted++;
		say(session, "EHLO flood.test\r\n");
		session->step = STEP_EHLO;
		return session->kind == KIND_LOGS_IN;
	case STEP_EHLO:
		say(session, "AUTH PLAIN AGFubgB3cm9uZw==\r\n");
		session->step = STEP_AUTH;
		return true;
	case STEP_AUTH:
		flood->failed += memcmp(text, "535", 3) == 0;
		return false;
	case STEP_CONNECT:
		break;
	}
	return false;
}

static void run(struct flood *flood, unsigned at_once, double seconds)
{
	static struct session sessions[AT_ONCE_MAX];
	struct epoll_event events[EVENTS];
	double end = now() + seconds;

	for (unsigned i = 0; i < at_once; i++)
		begin(flood, &sessions[i]);
	while (now() < end) {
		int count = epoll_wait(flood->poll, events, EVENTS, 100);

		for (int i = 0; i < count; i++) {
			struct session *session = events[i].data.ptr;

			if (session->step == STEP_CONNECT ? connected(flood, session)
							  : told(flood, session))
				continue;
			drop(session);
			begin(flood, session);
		}
	}
	for (unsigned i = 0; i < at_once; i++)
		drop(&sessions[i]);
}

int main(int argc, char **argv)
{
	struct flood flood = {.to = {.sin_family = AF_INET}};
	unsigned at_once;

	if (argc != 5)
		return 2;
	flood.to.sin_port = htons((uint16_t)atoi(argv[1]));
	flood.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at_once = (unsigned)atoi(argv[3]);
	flood.addresses = (unsigned)atoi(argv[4]);
	if (at_once > AT_ONCE_MAX || flood.addresses == 0)
		return 2;
	flood.poll = epoll_create1(0);
	run(&flood, at_once, atof(argv[2]));
	printf("{\"opened\": %lu, \"refused\": %lu, \"greeted\": %lu, \"turned_away\": %lu, "
	       "\"failed\": %lu}\n",
	       flood.opened, flood.refused, flood.greeted, flood.turned_away, flood.failed);
	return 0;
}
