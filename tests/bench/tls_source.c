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
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, REPLY_SIZE = 4096, EACH_ADDRESS = 1000 };

/* What a session waits for: the reply to what it said last, or a handshake. */
enum phase {
	CONNECT,
	BANNER,
	EHLO,
	STARTTLS,
	HANDSHAKE,
	EHLO_AGAIN,
	MAIL,
	RCPT,
	DATA,
	DOT,
	QUIT,
	CLOSED
};

struct session {
	int socket;
	SSL *tls; /* NULL: plain text */
	enum phase phase;
	char reply[REPLY_SIZE];
	size_t length;
	const char *out; /* what is still to be sent */
	size_t out_length;
	char command[512];
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

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "tls_source: %s: %s\n", what, why);
	exit(1);
}

static _Noreturn void fail_tls(const char *what)
{
	char text[256];

	ERR_error_string_n(ERR_peek_error(), text, sizeof text);
	fail(what, text);
}

static void say(struct session *session, enum phase phase, const char *text, size_t length)
{
	session->phase = phase;
	session->length = 0;
	session->out = text;
	session->out_length = length;
}

static void command(struct session *session, enum phase phase, const char *verb, const char *rest)
{
	int length = snprintf(session->command, sizeof session->command, "%s%s\r\n", verb, rest);

	say(session, phase, session->command, (size_t)length);
}

static void address(struct session *session, enum phase phase, const char *verb, const char *whom)
{
	int length = snprintf(session->command, sizeof session->command, "%s:<%s>\r\n", verb, whom);

	say(session, phase, session->command, (size_t)length);
}

static void watch(struct session *session, unsigned events, int how)
{
	struct epoll_event event = {.events = events, .data.ptr = session};

	if (epoll_ctl(run.epoll, how, session->socket, &event) != 0)
		fail("epoll_ctl", strerror(errno));
}

static void open_session(struct session *session)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	int yes = 1;

	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + run.opened++ / EACH_ADDRESS % 200);
	session->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (session->socket < 0)
		fail("socket", strerror(errno));
	(void)setsockopt(session->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	if (run.idle > 0 && bind(session->socket, (struct sockaddr *)&from, sizeof from) != 0)
		fail("bind", strerror(errno));
	if (connect(session->socket, (struct sockaddr *)&run.server, sizeof run.server) != 0 &&
	    errno != EINPROGRESS)
		fail("connect", strerror(errno));
	session->tls = NULL;
	session->phase = BANNER;
	session->length = 0;
	session->out_length = 0;
	watch(session, EPOLLIN, EPOLL_CTL_ADD);
}

static void close_session(struct session *session)
{
	if (session->tls != NULL) {
		(void)SSL_shutdown(session->tls);
		SSL_free(session->tls);
	}
	close(session->socket);
	session->phase = CLOSED;
	if (run.begun < run.messages)
		open_session(session);
}

static void begin_tls(struct session *session)
{
	session->phase = HANDSHAKE;
	session->tls = SSL_new(run.tls);
	if (session->tls == NULL || SSL_set_fd(session->tls, session->socket) != 1)
		fail_tls("SSL_new");
	if (run.resumes && run.ticket != NULL)
		(void)SSL_set_session(session->tls, run.ticket);
	SSL_set_connect_state(session->tls);
}

static void next_message(struct session *session)
{
	if (run.begun >= run.messages) {
		command(session, QUIT, "QUIT", "");
		return;
	}
	run.begun++;
	address(session, MAIL, "MAIL FROM", run.sender);
}

/* What follows a good reply. */
static void go_on(struct session *session)
{
	switch (session->phase) {
	case BANNER:
		command(session, run.plain ? EHLO_AGAIN : EHLO, "EHLO ", "client.example");
		break;
	case EHLO:
		command(session, STARTTLS, "STARTTLS", "");
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
		address(session, RCPT, "RCPT TO", run.recipient);
		break;
	case RCPT:
		command(session, DATA, "DATA", "");
		break;
	case DATA:
		say(session, DOT, run.message, run.message_length);
		break;
	case DOT:
		run.done++;
		if (run.keeps)
			next_message(session);
		else
			command(session, QUIT, "QUIT", "");
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

static ssize_t read_some(struct session *session)
{
	size_t room = REPLY_SIZE - 1 - session->length;
	char *place = session->reply + session->length;
	int count;

	if (session->tls == NULL)
		return recv(session->socket, place, room, 0);
	count = SSL_read(session->tls, place, (int)room);
	if (count > 0)
		return count;
	errno = SSL_get_error(session->tls, count) == SSL_ERROR_WANT_READ ? EAGAIN : ECONNRESET;
	return SSL_get_error(session->tls, count) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static ssize_t write_some(struct session *session)
{
	int count;

	if (session->tls == NULL)
		return send(session->socket, session->out, session->out_length, MSG_NOSIGNAL);
	count = SSL_write(session->tls, session->out, (int)session->out_length);
	if (count > 0)
		return count;
	errno = SSL_get_error(session->tls, count) == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
	return -1;
}

/* False: it has to wait. */
static bool shake_hands(struct session *session)
{
	int result = SSL_do_handshake(session->tls);

	if (result != 1) {
		int error = SSL_get_error(session->tls, result);

		if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
			fail_tls("handshake");
		return false;
	}
	run.handshakes++;
	run.resumed += SSL_session_reused(session->tls) == 1;
	command(session, EHLO_AGAIN, "EHLO ", "client.example");
	return true;
}

static bool send_rest(struct session *session)
{
	while (session->out_length > 0) {
		ssize_t count = write_some(session);

		if (count < 0 && errno == EAGAIN)
			return false;
		if (count < 0)
			fail("send", strerror(errno));
		session->out += count;
		session->out_length -= (size_t)count;
	}
	return true;
}

/* False: it has to wait. */
static bool hear(struct session *session)
{
	ssize_t count = read_some(session);

	if (count < 0 && errno == EAGAIN)
		return false;
	if (count == 0 && session->phase == QUIT) {
		close_session(session);
		return session->phase != CLOSED;
	}
	if (count <= 0)
		fail("receive", count == 0 ? "the server has closed" : strerror(errno));
	session->length += (size_t)count;
	if (!is_whole(session))
		return true;
	if (session->reply[0] != '2' && session->reply[0] != '3')
		fail("refused", session->reply);
	go_on(session);
	return session->phase != CLOSED;
}

static void work(struct session *session)
{
	bool goes_on = true;

	while (goes_on) {
		if (session->phase == HANDSHAKE)
			goes_on = shake_hands(session);
		else if (session->out_length > 0)
			goes_on = send_rest(session);
		else
			goes_on = hear(session);
	}
	if (session->phase != CLOSED)
		watch(session,
		      session->phase != HANDSHAKE && session->out_length > 0 ? EPOLLOUT : EPOLLIN,
		      EPOLL_CTL_MOD);
}

static void serve_until(unsigned wanted)
{
	struct epoll_event events[EVENTS];

	while (run.done < wanted) {
		int count = epoll_wait(run.epoll, events, EVENTS, 60000);

		if (count == 0)
			fail("waiting", "no reply in a minute");
		for (int i = 0; i < count; i++)
			work(events[i].data.ptr);
	}
}

static int keep_ticket(SSL *tls, SSL_SESSION *session)
{
	(void)tls;
	if (!run.resumes)
		return 0;
	SSL_SESSION_free(run.ticket);
	run.ticket = session;
	return 1;
}

static void make_message(void)
{
	static const char head[] = "From: <sender@client.example>\r\nSubject: load\r\n\r\n";
	size_t length = 0;

	run.message = malloc(run.size + sizeof head + 128);
	if (run.message == NULL)
		fail("memory", "none");
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
	if (ciphers != NULL && SSL_CTX_set_ciphersuites(run.tls, ciphers) != 1)
		fail_tls("ciphers");
	if (optind != argc - 1 || (colon = strchr(argv[optind], ':')) == NULL)
		exit(2);
	*colon = '\0';
	run.server.sin_family = AF_INET;
	run.server.sin_port = htons((uint16_t)number(colon + 1));
	if (inet_pton(AF_INET, argv[optind], &run.server.sin_addr) != 1)
		fail("address", argv[optind]);
}

int main(int argc, char **argv)
{
	struct session *sessions;
	unsigned wanted;

	read_options(argc, argv);
	SSL_CTX_set_session_cache_mode(run.tls, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(run.tls, keep_ticket);
	run.epoll = epoll_create1(EPOLL_CLOEXEC);
	make_message();
	wanted = run.idle > 0                  ? run.idle
		 : run.sessions < run.messages ? run.sessions
					       : run.messages;
	sessions = calloc(wanted, sizeof *sessions);
	if (sessions == NULL)
		fail("memory", "none");
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
