// SPDX-License-Identifier: ISC
/* A session of tls_source: a command at a time. */
#include "source.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { EACH_ADDRESS = 1000, USERS = 200 };

int64_t source_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void say(struct source_session *session, enum source_phase phase, const char *text,
		size_t length)
{
	session->phase = phase;
	session->length = 0;
	session->replies = 1;
	tls_wire_write(&session->wire, text, length);
}

/* FORMAT has one "%s", for VALUE. */
static void command(struct source_session *session, enum source_phase phase, const char *format,
		    const char *value)
{
	char text[2 * SOURCE_TEXT_SIZE];
	int length = snprintf(text, sizeof text, format, value);

	say(session, phase, text, (size_t)length);
}

static void watch(struct source_session *session, unsigned events, int how)
{
	struct epoll_event event = {.events = events, .data.ptr = session};

	if (epoll_ctl(session->source->epoll, how, session->wire.socket, &event) != 0)
		tls_wire_fail("epoll_ctl", strerror(errno));
}

/* --- begin and end --- */

/* Users are on many machines; and so many sessions as may be idle need several addresses because of
 * the ports. Those who fail are each in a network of its own, so that the server knows nothing of
 * them before. */
static void choose_address(const struct source *source, int descriptor)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	unsigned number = source->opened;
	int yes = 1;

	if (source->kind == SOURCE_SENDS && source->user == NULL)
		return;
	if (source->kind == SOURCE_SENDS)
		from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + number % USERS);
	else if (source->kind == SOURCE_IDLES)
		from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + number / EACH_ADDRESS % 200);
	else
		from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (16U << 16) + (number % 50000 << 8));
	(void)setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
	if (bind(descriptor, (struct sockaddr *)&from, sizeof from) != 0)
		tls_wire_fail("bind", strerror(errno));
}

void source_session_open(struct source *source, struct source_session *session)
{
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int yes = 1;

	if (descriptor < 0)
		tls_wire_fail("socket", strerror(errno));
	(void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	choose_address(source, descriptor);
	source->opened++;
	session->source = source;
	session->opened_us = source->rate > 0 ? source_now_us() : 0;
	if (connect(descriptor, (struct sockaddr *)&source->server, sizeof source->server) != 0 &&
	    errno != EINPROGRESS)
		tls_wire_fail("connect", strerror(errno));
	tls_wire_open(&session->wire, descriptor);
	session->phase = SOURCE_BANNER;
	session->length = 0;
	session->replies = 1;
	session->is_blocked = false;
	watch(session, EPOLLIN, EPOLL_CTL_ADD);
}

/* Every session after it uses it, as many as there are at a time. OpenSSL's own cache allows this
 * to one only; so it is off, and the session is asked for its ticket at the end. */
static void keep_ticket(struct source *source, SSL *tls)
{
	SSL_SESSION *ticket = SSL_get1_session(tls);

	if (SSL_SESSION_is_resumable(ticket) != 1) {
		SSL_SESSION_free(ticket);
		return;
	}
	SSL_SESSION_free(source->ticket);
	source->ticket = ticket;
}

static void close_session(struct source_session *session)
{
	struct source *source = session->source;

	if (source->resumes && session->wire.tls != NULL)
		keep_ticket(source, session->wire.tls);
	tls_wire_close(&session->wire);
	session->phase = SOURCE_CLOSED;
	if (source->rate > 0) {
		source->took_us[source->took++] = (uint32_t)(source_now_us() - session->opened_us);
		session->next = source->unused;
		source->unused = session;
	} else if (!source->keeps && source->opened < source->messages) {
		source_session_open(source, session);
	}
}

static void begin_tls(struct source_session *session)
{
	const struct source *source = session->source;

	session->phase = SOURCE_HANDSHAKE;
	tls_wire_secure(&session->wire, source->tls);
	if (source->resumes && source->ticket != NULL)
		(void)SSL_set_session(session->wire.tls, source->ticket);
	SSL_set_connect_state(session->wire.tls);
}

/* --- the dialogue --- */

static void quit(struct source_session *session)
{
	command(session, SOURCE_QUIT, "QUIT%s\r\n", "");
}

/* One record. As after DATA, the message comes next. */
static void pipeline_envelope(struct source_session *session)
{
	const struct source *source = session->source;
	char text[3 * SOURCE_TEXT_SIZE];
	int length = snprintf(text, sizeof text, "MAIL FROM:<%s>\r\nRCPT TO:<%s>\r\nDATA\r\n",
			      source->sender, source->recipient);

	say(session, SOURCE_DATA, text, (size_t)length);
	session->replies = 3;
}

static void next_message(struct source_session *session)
{
	struct source *source = session->source;

	if (source->begun >= source->messages) {
		quit(session);
		return;
	}
	source->begun++;
	if (source->pipelines)
		pipeline_envelope(session);
	else
		command(session, SOURCE_MAIL, "MAIL FROM:<%s>\r\n", source->sender);
}

static void begin_work(struct source_session *session)
{
	struct source *source = session->source;
	char text[SOURCE_TEXT_SIZE];

	switch (source->kind) {
	case SOURCE_SENDS:
		if (source->user == NULL) {
			next_message(session);
			break;
		}
		source_login_begin(session, text);
		command(session, SOURCE_AUTH, "%s\r\n", text);
		break;
	case SOURCE_FAILS:
		source_login_plain(source, text);
		command(session, SOURCE_AUTH, "%s\r\n", text);
		break;
	case SOURCE_NOOPS:
		command(session, SOURCE_NOOP, "NOOP%s\r\n", "");
		break;
	case SOURCE_IDLES:
		source->done++;
	}
}

/* The reply to a part of a login. */
static void go_on_login(struct source_session *session)
{
	char text[SOURCE_TEXT_SIZE];

	if (session->source->kind == SOURCE_FAILS) {
		session->source->done++;
		session->source->deferred += session->reply[0] == '4';
		quit(session);
	} else if (session->reply[0] == '3') {
		source_login_respond(session, text);
		command(session, SOURCE_AUTH, "%s\r\n", text);
	} else {
		next_message(session);
	}
}

/* What follows an expected reply. */
static void go_on(struct source_session *session)
{
	struct source *source = session->source;

	switch (session->phase) {
	case SOURCE_BANNER:
		command(session, source->plain ? SOURCE_EHLO_AGAIN : SOURCE_EHLO, "EHLO %s\r\n",
			"client.example");
		break;
	case SOURCE_EHLO:
		command(session, SOURCE_STARTTLS, "STARTTLS%s\r\n", "");
		break;
	case SOURCE_STARTTLS:
		begin_tls(session);
		break;
	case SOURCE_EHLO_AGAIN:
		begin_work(session);
		break;
	case SOURCE_AUTH:
		go_on_login(session);
		break;
	case SOURCE_MAIL:
		command(session, SOURCE_RCPT, "RCPT TO:<%s>\r\n", source->recipient);
		break;
	case SOURCE_RCPT:
		command(session, SOURCE_DATA, "DATA%s\r\n", "");
		break;
	case SOURCE_DATA:
		say(session, SOURCE_DOT, source->message, source->message_length);
		break;
	case SOURCE_DOT:
		source->done++;
		if (source->keeps)
			next_message(session);
		else
			quit(session);
		break;
	case SOURCE_NOOP:
		source->done++;
		quit(session);
		break;
	default:
		close_session(session);
	}
}

static bool is_expected(const struct source_session *session, char first)
{
	if (session->source->kind == SOURCE_FAILS && session->phase == SOURCE_AUTH)
		return first == '4' || first == '5';
	return first == '2' || first == '3';
}

/* Whether all replies are complete: the last line of one has a blank behind the code. */
static bool is_whole(struct source_session *session)
{
	const char *line = session->reply;
	unsigned count = 0;
	const char *end;

	session->reply[session->length] = '\0';
	while ((end = strstr(line, "\r\n")) != NULL) {
		if (!is_expected(session, *line))
			tls_wire_fail("refused", line);
		count += end - line >= 4 && line[3] == ' ';
		line = end + 2;
	}
	return count >= session->replies;
}

/* A server may well turn a flood away; everybody else has to be served. False, as below. */
static bool lose(struct source_session *session, const char *what, const char *why)
{
	struct source *source = session->source;

	if (source->kind != SOURCE_FAILS && source->kind != SOURCE_NOOPS)
		tls_wire_fail(what, why);
	source->lost++;
	source->done++;
	close_session(session);
	return false;
}

/* False: it has to wait, or is another session now. */
static bool shake_hands(struct source_session *session)
{
	int result = tls_wire_shake_hands(&session->wire);

	if (result < 0)
		return lose(session, "handshake", "failed");
	if (result == 0)
		return false;
	session->source->handshakes++;
	session->source->resumed += SSL_session_reused(session->wire.tls) == 1;
	command(session, SOURCE_EHLO_AGAIN, "EHLO %s\r\n", "client.example");
	return true;
}

/* Likewise. */
static bool hear(struct source_session *session)
{
	ssize_t count = tls_wire_read(&session->wire, session->reply + session->length,
				      SOURCE_REPLY_SIZE - 1 - session->length);

	if (count == -1)
		return false;
	if (count <= 0 && session->phase == SOURCE_QUIT) {
		close_session(session);
		return false;
	}
	if (count <= 0)
		return lose(session, "receive", count == 0 ? "the server has closed" : "lost");
	session->length += (size_t)count;
	if (!is_whole(session))
		return true;
	if (session->phase == SOURCE_QUIT) {
		close_session(session);
		return false;
	}
	go_on(session);
	return true;
}

static void send_all(struct source_session *session)
{
	int result = tls_wire_flush(&session->wire);

	if (result < 0)
		tls_wire_fail("send", strerror(errno));
	if (session->is_blocked != (result == 0))
		watch(session, result == 0 ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
	session->is_blocked = result == 0;
}

/* Only with a handshake or a reply there is something to say. */
void source_session_work(struct source_session *session)
{
	bool goes_on;

	if (session->is_blocked) {
		send_all(session);
		return;
	}
	do
		goes_on = session->phase == SOURCE_HANDSHAKE ? shake_hands(session) : hear(session);
	while (goes_on &&
	       (session->phase == SOURCE_HANDSHAKE || tls_wire_has_more(&session->wire)));
	if (session->phase != SOURCE_CLOSED)
		send_all(session);
	if (session->source->kind == SOURCE_IDLES && !session->is_blocked)
		tls_wire_shrink(&session->wire);
}
