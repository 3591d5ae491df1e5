// SPDX-License-Identifier: ISC
/*
 * Sends messages by SMTP with STARTTLS, as smtp-source does without: the same dialogue, a command
 * at a time, in many sessions at once.
 *
 * usage: tls_source [-d] [-r] [-c CIPHERS] [-s SESSIONS] [-m MESSAGES] [-l BYTES] [-f SENDER]
 *                   [-t RECIPIENT] [-i IDLE] 127.0.0.1:PORT
 *   -d  keep sessions open, and send message after message in each
 *   -r  resume the TLS session of the connection before, where the server allows it
 *   -p  no TLS
 *   -i  instead of sending: open so many sessions, say EHLO in TLS, print "ready", and keep them
 *       until standard input ends
 * Certificates are not verified. At the end, the number of handshakes and of those that were
 * resumed is printed.
 */
#include "tls_wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, REPLY_SIZE = 4096, EACH_ADDRESS = 1000 };

/* What a session waits for: the reply to what it said last, or a handshake. */
enum phase { BANNER, EHLO, STARTTLS, HANDSHAKE, EHLO_AGAIN, MAIL, RCPT, DATA, DOT, QUIT, CLOSED };

struct session {
	struct tls_wire wire;
	enum phase phase;
	bool is_blocked; /* waits until it can write */
	char reply[REPLY_SIZE];
	size_t length;
};

static struct {
	bool keeps, resumes, plain;
	unsigned sessions, messages, idle;
	size_t size;
	const char *sender, *recipient;
	struct sockaddr_in server;
	SSL_CTX *tls;
	SSL_SESSION *ticket; /* of the latest session */
	char *message;       /* with the final dot */
	size_t message_length;
	unsigned begun; /* messages */
	unsigned done;
	unsigned opened; /* sessions */
	unsigned handshakes, resumed;
	int epoll;
} run = {.sessions = 1,
	 .messages = 1,
	 .size = 1024,
	 .sender = "sender@client.example",
	 .recipient = "user@held.example"};

static void say(struct session *session, enum phase phase, const char *text, size_t length)
{
	session->phase = phase;
	session->length = 0;
	tls_wire_write(&session->wire, text, length);
}

/* FORMAT has one "%s", for VALUE. */
static void command(struct session *session, enum phase phase, const char *format,
		    const char *value)
{
	char text[512];
	int length = snprintf(text, sizeof text, format, value);

	say(session, phase, text, (size_t)length);
}

static void watch(struct session *session, unsigned events, int how)
{
	struct epoll_event event = {.events = events, .data.ptr = session};

	if (epoll_ctl(run.epoll, how, session->wire.socket, &event) != 0)
		tls_wire_fail("epoll_ctl", strerror(errno));
}

static void open_session(struct session *session)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int yes = 1;

	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + run.opened++ / EACH_ADDRESS % 200);
	if (descriptor < 0)
		tls_wire_fail("socket", strerror(errno));
	(void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	if (run.idle > 0 && bind(descriptor, (struct sockaddr *)&from, sizeof from) != 0)
		tls_wire_fail("bind", strerror(errno));
	if (connect(descriptor, (struct sockaddr *)&run.server, sizeof run.server) != 0 &&
	    errno != EINPROGRESS)
		tls_wire_fail("connect", strerror(errno));
	tls_wire_open(&session->wire, descriptor);
	session->phase = BANNER;
	session->length = 0;
	session->is_blocked = false;
	watch(session, EPOLLIN, EPOLL_CTL_ADD);
}

/* Every session after it uses it, as many as there are at a time. OpenSSL's own cache allows this
 * to one only; so it is off, and the session is asked for its ticket at the end. */
static void keep_ticket(SSL *tls)
{
	SSL_SESSION *ticket = SSL_get1_session(tls);

	if (SSL_SESSION_is_resumable(ticket) != 1) {
		SSL_SESSION_free(ticket);
		return;
	}
	SSL_SESSION_free(run.ticket);
	run.ticket = ticket;
}

static void close_session(struct session *session)
{
	if (run.resumes && session->wire.tls != NULL)
		keep_ticket(session->wire.tls);
	tls_wire_close(&session->wire);
	session->phase = CLOSED;
	if (!run.keeps && run.opened < run.messages)
		open_session(session);
}

static void begin_tls(struct session *session)
{
	session->phase = HANDSHAKE;
	tls_wire_secure(&session->wire, run.tls);
	if (run.resumes && run.ticket != NULL)
		(void)SSL_set_session(session->wire.tls, run.ticket);
	SSL_set_connect_state(session->wire.tls);
}

static void next_message(struct session *session)
{
	if (run.begun >= run.messages) {
		command(session, QUIT, "QUIT%s\r\n", "");
		return;
	}
	run.begun++;
	command(session, MAIL, "MAIL FROM:<%s>\r\n", run.sender);
}

/* What follows a good reply. */
static void go_on(struct session *session)
{
	switch (session->phase) {
	case BANNER:
		command(session, run.plain ? EHLO_AGAIN : EHLO, "EHLO %s\r\n", "client.example");
		break;
	case EHLO:
		command(session, STARTTLS, "STARTTLS%s\r\n", "");
		break;
	case STARTTLS:
		begin_tls(session);
		break;
	case EHLO_AGAIN:
		if (run.idle > 0)
			run.done++;
		else
			next_message(session);
		break;
	case MAIL:
		command(session, RCPT, "RCPT TO:<%s>\r\n", run.recipient);
		break;
	case RCPT:
		command(session, DATA, "DATA%s\r\n", "");
		break;
	case DATA:
		say(session, DOT, run.message, run.message_length);
		break;
	case DOT:
		run.done++;
		if (run.keeps)
			next_message(session);
		else
			command(session, QUIT, "QUIT%s\r\n", "");
		break;
	default:
		close_session(session);
	}
}

/* Whether the reply is complete: its last line has a blank behind the code. */
static bool is_whole(struct session *session)
{
	const char *line = session->reply;
	const char *end;

	session->reply[session->length] = '\0';
	while ((end = strstr(line, "\r\n")) != NULL) {
		if (end - line >= 4 && line[3] == ' ')
			return true;
		line = end + 2;
	}
	return false;
}

/* False: it has to wait. */
static bool shake_hands(struct session *session)
{
	int result = tls_wire_shake_hands(&session->wire);

	if (result < 0)
		tls_wire_fail_tls("handshake");
	if (result == 0)
		return false;
	run.handshakes++;
	run.resumed += SSL_session_reused(session->wire.tls) == 1;
	command(session, EHLO_AGAIN, "EHLO %s\r\n", "client.example");
	return true;
}

/* False: it has to wait, or is another session now. */
static bool hear(struct session *session)
{
	ssize_t count = tls_wire_read(&session->wire, session->reply + session->length,
				      REPLY_SIZE - 1 - session->length);

	if (count == -1)
		return false;
	if (count <= 0 && session->phase == QUIT) {
		close_session(session);
		return false;
	}
	if (count <= 0)
		tls_wire_fail("receive", count == 0 ? "the server has closed" : "lost");
	session->length += (size_t)count;
	if (!is_whole(session))
		return true;
	if (session->reply[0] != '2' && session->reply[0] != '3')
		tls_wire_fail("refused", session->reply);
	if (session->phase == QUIT) {
		close_session(session);
		return false;
	}
	go_on(session);
	return true;
}

static void send_all(struct session *session)
{
	int result = tls_wire_flush(&session->wire);

	if (result < 0)
		tls_wire_fail("send", strerror(errno));
	if (session->is_blocked != (result == 0))
		watch(session, result == 0 ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
	session->is_blocked = result == 0;
}

/* There is something to read. Only with a handshake or a reply there is something to say. */
static void work(struct session *session)
{
	bool goes_on;

	do
		goes_on = session->phase == HANDSHAKE ? shake_hands(session) : hear(session);
	while (goes_on && (session->phase == HANDSHAKE || tls_wire_has_more(&session->wire)));
	if (session->phase != CLOSED)
		send_all(session);
	if (run.idle > 0 && !session->is_blocked)
		tls_wire_shrink(&session->wire);
}

static void serve_until(unsigned wanted)
{
	struct epoll_event events[EVENTS];

	while (run.done < wanted) {
		int count = epoll_wait(run.epoll, events, EVENTS, 60000);

		if (count == 0)
			tls_wire_fail("waiting", "no reply in a minute");
		for (int i = 0; i < count; i++) {
			struct session *session = events[i].data.ptr;

			if (session->is_blocked)
				send_all(session);
			else
				work(session);
		}
	}
}

static void make_message(void)
{
	static const char head[] = "From: <sender@client.example>\r\nSubject: load\r\n\r\n";
	size_t length = 0;

	run.message = malloc(run.size + sizeof head + 128);
	if (run.message == NULL)
		tls_wire_fail("memory", "none");
	memcpy(run.message, head, sizeof head - 1);
	length = sizeof head - 1;
	while (length < run.size) {
		memset(run.message + length, 'x', 78);
		memcpy(run.message + length + 78, "\r\n", 2);
		length += 80;
	}
	memcpy(run.message + length, ".\r\n", 3);
	run.message_length = length + 3;
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

static void read_options(int argc, char **argv)
{
	const char *ciphers = NULL;
	char *colon;
	int option;

	run.tls = SSL_CTX_new(TLS_client_method());
	while ((option = getopt(argc, argv, "drps:m:l:f:t:i:c:")) != -1) {
		switch (option) {
		case 'd':
			run.keeps = true;
			break;
		case 'r':
			run.resumes = true;
			break;
		case 'p':
			run.plain = true;
			break;
		case 's':
			run.sessions = number(optarg);
			break;
		case 'm':
			run.messages = number(optarg);
			break;
		case 'l':
			run.size = number(optarg);
			break;
		case 'f':
			run.sender = optarg;
			break;
		case 't':
			run.recipient = optarg;
			break;
		case 'i':
			run.idle = number(optarg);
			break;
		case 'c':
			ciphers = optarg;
			break;
		default:
			exit(2);
		}
	}
	tls_wire_prepare(run.tls, ciphers);
	if (optind != argc - 1 || (colon = strchr(argv[optind], ':')) == NULL)
		exit(2);
	*colon = '\0';
	run.server.sin_family = AF_INET;
	run.server.sin_port = htons((uint16_t)number(colon + 1));
	if (inet_pton(AF_INET, argv[optind], &run.server.sin_addr) != 1)
		tls_wire_fail("address", argv[optind]);
}

int main(int argc, char **argv)
{
	struct session *sessions;
	unsigned wanted;

	read_options(argc, argv);
	SSL_CTX_set_session_cache_mode(run.tls, SSL_SESS_CACHE_OFF);
	run.epoll = epoll_create1(EPOLL_CLOEXEC);
	make_message();
	wanted = run.idle > 0                  ? run.idle
		 : run.sessions < run.messages ? run.sessions
					       : run.messages;
	sessions = calloc(wanted, sizeof *sessions);
	if (sessions == NULL)
		tls_wire_fail("memory", "none");
	/* idle ones a few at a time, so that the server's backlog is enough */
	for (unsigned i = 0; i < wanted; i++) {
		open_session(&sessions[i]);
		if (run.idle > 0 && i % 50 == 49)
			serve_until(i + 1);
	}
	serve_until(run.idle > 0 ? run.idle : run.messages);
	printf("%s %u handshakes %u resumed\n", run.idle > 0 ? "ready" : "sent", run.handshakes,
	       run.resumed);
	fflush(stdout);
	while (run.idle > 0 && getchar() != EOF)
		continue;
	return 0;
}
