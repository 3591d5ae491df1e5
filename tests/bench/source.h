// SPDX-License-Identifier: ISC
/*
 * tests/bench/source.h - the sessions of tls_source: their dialogue with the server, and their
 * logins.
 */
#ifndef BENCH_SOURCE_H
#define BENCH_SOURCE_H

#include "tls_wire.h"
#include <netinet/in.h>
#include <stdint.h>

enum { SOURCE_REPLY_SIZE = 4096, SOURCE_TEXT_SIZE = 512 };

/* What a session waits for: the reply to what it said last, or a handshake. */
enum source_phase {
	SOURCE_BANNER,
	SOURCE_EHLO,
	SOURCE_STARTTLS,
	SOURCE_HANDSHAKE,
	SOURCE_EHLO_AGAIN,
	SOURCE_AUTH,
	SOURCE_NOOP,
	SOURCE_MAIL,
	SOURCE_RCPT,
	SOURCE_DATA,
	SOURCE_DOT,
	SOURCE_QUIT,
	SOURCE_CLOSED,
};

/* What a session does after EHLO. */
enum source_kind {
	SOURCE_SENDS, /* messages, after a login if there is a user */
	SOURCE_FAILS, /* a login with a wrong password, which must be refused */
	SOURCE_NOOPS, /* NOOP, once */
	SOURCE_IDLES, /* nothing */
};

/* The options, and what the sessions share. */
struct source {
	bool keeps, resumes, plain, pipelines;
	enum source_kind kind;
	unsigned sessions; /* at a time; with a rate as many as it takes */
	unsigned rate;     /* sessions that begin in a second; 0: one begins when another ends */
	unsigned messages; /* or sessions, where each does one thing */
	size_t size;
	const char *sender, *recipient;
	const char *user, *password; /* NULL: no login */
	struct sockaddr_in server;
	SSL_CTX *tls;
	SSL_SESSION *ticket; /* of the latest session */
	char *message;       /* with the final dot */
	size_t message_length;
	unsigned begun, done; /* messages; or sessions */
	unsigned opened;      /* sessions */
	unsigned handshakes, resumed;
	unsigned deferred; /* logins without a verdict */
	unsigned lost;     /* sessions of a flood that the server ended */
	int epoll;
	struct source_session *unused;
	uint32_t *took_us; /* each session with a rate, from connect to the end */
	unsigned took;
};

struct source_session {
	struct source *source;
	struct tls_wire wire;
	enum source_phase phase;
	bool is_blocked; /* waits until it can write */
	int64_t opened_us;
	unsigned login_step;
	char nonce[32];   /* of its login */
	unsigned replies; /* that it waits for */
	char reply[SOURCE_REPLY_SIZE];
	size_t length;
	struct source_session *next; /* unused */
};

int64_t source_now_us(void);

/* SESSION is zeroed, or has ended. */
void source_session_open(struct source *source, struct source_session *session);
/* Something can be read, or written. */
void source_session_work(struct source_session *session);

/* The lines of a login, without their ends, in TEXT of SOURCE_TEXT_SIZE bytes. By PLAIN: a whole
 * one. By SCRAM-SHA-256 (RFC 7677): the first, and after each reply 334, which is in
 * session->reply, the next. The server's proof is not checked. */
void source_login_plain(const struct source *source, char *text);
void source_login_begin(struct source_session *session, char *text);
void source_login_respond(struct source_session *session, char *text);

#endif
