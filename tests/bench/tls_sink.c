// SPDX-License-Identifier: ISC
/*
 * Takes mail by SMTP with STARTTLS and throws it away, as smtp-sink does without.
 *
 * usage: tls_sink [-c CIPHERS] CHAIN KEY 127.0.0.1:PORT
 *
 * Prints "mesg=NUMBER" when it has taken more messages, and at its end, by SIGTERM, how many
 * handshakes there were and how many of them were resumed. A command and its replies are served at
 * once, as they come; commands may be pipelined.
 */
#include "tls_wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, BACKLOG = 1000, LINE_SIZE = 2048, READ_SIZE = 1 << 16 };

struct session {
	struct tls_wire wire;
	enum { COMMANDS, MESSAGE, WANTS_TLS, HANDSHAKE, QUIT, LOST } phase;
	bool is_blocked; /* waits until it can write */
	size_t matched;  /* of the end of a message */
	char line[LINE_SIZE];
	size_t length;
};

static struct {
	SSL_CTX *tls;
	int epoll, listener, signals;
	unsigned messages, printed;
	unsigned handshakes, resumed;
} sink;

static void watch(int descriptor, void *data, unsigned events, int how)
{
	struct epoll_event event = {.events = events, .data.ptr = data};

	if (epoll_ctl(sink.epoll, how, descriptor, &event) != 0)
		tls_wire_fail("epoll_ctl", strerror(errno));
}

static void say(struct session *session, const char *text)
{
	tls_wire_write(&session->wire, text, strlen(text));
}

static bool is_verb(const struct session *session, const char *verb)
{
	return strncasecmp(session->line, verb, strlen(verb)) == 0;
}

static void greet(struct session *session)
{
	say(session, session->wire.tls != NULL
			     ? "250-sink.example\r\n250-PIPELINING\r\n250 8BITMIME\r\n"
			     : "250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n"
			       "250 STARTTLS\r\n");
}

static void obey(struct session *session)
{
	if (is_verb(session, "EHLO")) {
		greet(session);
	} else if (is_verb(session, "STARTTLS")) {
		say(session, "220 2.0.0 go ahead\r\n");
		session->phase = WANTS_TLS;
	} else if (is_verb(session, "DATA")) {
		say(session, "354 go ahead\r\n");
		session->phase = MESSAGE;
		session->matched = 2; /* the line before has ended */
	} else if (is_verb(session, "QUIT")) {
		say(session, "221 2.0.0 bye\r\n");
		session->phase = QUIT;
	} else {
		say(session, "250 2.0.0 ok\r\n");
	}
}

/* How many bytes of TEXT belong to the message. */
static size_t take_message(struct session *session, const char *text, size_t length)
{
	static const char end[] = "\r\n.\r\n";
	size_t i = 0;

	while (i < length) {
		if (session->matched == 0) {
			const char *next = memchr(text + i, '\r', length - i);

			if (next == NULL)
				return length;
			i = (size_t)(next - text);
		}
		if (text[i] == end[session->matched])
			session->matched++;
		else
			session->matched = text[i] == '\r';
		i++;
		if (end[session->matched] == '\0') {
			sink.messages++;
			session->phase = COMMANDS;
			say(session, "250 2.0.0 taken\r\n");
			return i;
		}
	}
	return length;
}

/* The same of a line. */
static size_t take_line(struct session *session, const char *text, size_t length)
{
	const char *end = memchr(text, '\n', length);
	size_t size = end != NULL ? (size_t)(end - text) + 1 : length;

	if (session->length + size >= LINE_SIZE) {
		session->phase = LOST;
		return length;
	}
	memcpy(session->line + session->length, text, size);
	session->length += size;
	if (end != NULL) {
		session->line[session->length] = '\0';
		session->length = 0;
		obey(session);
	}
	return size;
}

static void take(struct session *session, const char *text, size_t length)
{
	while (length > 0 && (session->phase == COMMANDS || session->phase == MESSAGE)) {
		size_t size = session->phase == MESSAGE ? take_message(session, text, length)
							: take_line(session, text, length);

		text += size;
		length -= size;
	}
}

static void shake_hands(struct session *session)
{
	int result = tls_wire_shake_hands(&session->wire);

	if (result < 0)
		session->phase = LOST;
	if (result <= 0)
		return;
	sink.handshakes++;
	sink.resumed += SSL_session_reused(session->wire.tls) == 1;
	session->phase = COMMANDS;
}

/* False: it has to wait, or has ended. */
static bool hear(struct session *session)
{
	static char text[READ_SIZE];
	ssize_t count = tls_wire_read(&session->wire, text, sizeof text);

	if (count == -1)
		return false;
	if (count <= 0)
		session->phase = LOST;
	else
		take(session, text, (size_t)count);
	return count > 0;
}

static void send_all(struct session *session)
{
	int result = tls_wire_flush(&session->wire);

	if (result < 0)
		session->phase = LOST;
	if (result >= 0 && session->is_blocked != (result == 0))
		watch(session->wire.socket, session, result == 0 ? EPOLLOUT : EPOLLIN,
		      EPOLL_CTL_MOD);
	session->is_blocked = result == 0;
	if (result == 1 && session->phase == WANTS_TLS) {
		tls_wire_secure(&session->wire, sink.tls);
		SSL_set_accept_state(session->wire.tls);
		session->phase = HANDSHAKE;
	}
}

static void work(struct session *session)
{
	bool goes_on = true;

	if (session->phase == HANDSHAKE && !session->is_blocked) {
		shake_hands(session);
		goes_on = session->phase == COMMANDS && tls_wire_has_more(&session->wire);
	}
	while (goes_on && !session->is_blocked &&
	       (session->phase == COMMANDS || session->phase == MESSAGE))
		goes_on = hear(session) && tls_wire_has_more(&session->wire);
	send_all(session);
	if (session->phase != LOST && (session->phase != QUIT || session->is_blocked))
		return;
	tls_wire_close(&session->wire);
	tls_wire_shrink(&session->wire);
	free(session);
}

static void accept_one(void)
{
	int descriptor = accept4(sink.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct session *session;
	int yes = 1;

	if (descriptor < 0)
		return;
	(void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	session = calloc(1, sizeof *session);
	if (session == NULL)
		tls_wire_fail("memory", "none");
	tls_wire_open(&session->wire, descriptor);
	watch(descriptor, session, EPOLLIN, EPOLL_CTL_ADD);
	say(session, "220 sink.example ESMTP\r\n");
	send_all(session);
}

static void print_messages(void)
{
	if (sink.messages == sink.printed)
		return;
	printf("mesg=%u\n", sink.messages);
	fflush(stdout);
	sink.printed = sink.messages;
}

static _Noreturn void end(void)
{
	printf("handshakes=%u resumed=%u\n", sink.handshakes, sink.resumed);
	exit(0);
}

static void serve(void)
{
	struct epoll_event events[EVENTS];

	for (;;) {
		int count = epoll_wait(sink.epoll, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == &sink.signals)
				end();
			else if (events[i].data.ptr == &sink.listener)
				accept_one();
			else
				work(events[i].data.ptr);
		}
		print_messages();
	}
}

static void open_listener(char *where)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	char *colon = strchr(where, ':');
	int yes = 1;

	if (colon == NULL)
		tls_wire_fail("address", where);
	*colon = '\0';
	address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, where, &address.sin_addr) != 1)
		tls_wire_fail("address", where);
	sink.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	(void)setsockopt(sink.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(sink.listener, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(sink.listener, BACKLOG) != 0)
		tls_wire_fail("listen", strerror(errno));
	watch(sink.listener, &sink.listener, EPOLLIN, EPOLL_CTL_ADD);
}

static void open_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sink.signals = signalfd(-1, &signals, SFD_CLOEXEC);
	watch(sink.signals, &sink.signals, EPOLLIN, EPOLL_CTL_ADD);
}

static void open_tls(const char *ciphers, const char *chain, const char *key)
{
	sink.tls = SSL_CTX_new(TLS_server_method());
	tls_wire_prepare(sink.tls, ciphers);
	(void)SSL_CTX_set_session_cache_mode(sink.tls, SSL_SESS_CACHE_OFF);
	if (SSL_CTX_use_certificate_chain_file(sink.tls, chain) != 1 ||
	    SSL_CTX_use_PrivateKey_file(sink.tls, key, SSL_FILETYPE_PEM) != 1)
		tls_wire_fail_tls("certificate");
}

int main(int argc, char **argv)
{
	const char *ciphers = NULL;
	int option;

	while ((option = getopt(argc, argv, "c:")) != -1) {
		if (option != 'c')
			return 2;
		ciphers = optarg;
	}
	if (optind != argc - 3)
		return 2;
	sink.epoll = epoll_create1(EPOLL_CLOEXEC);
	open_tls(ciphers, argv[optind], argv[optind + 1]);
	open_listener(argv[optind + 2]);
	open_signals();
	serve();
}
